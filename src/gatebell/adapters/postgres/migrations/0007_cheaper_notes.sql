-- oldest reader: 5
-- The same notes of written rows at half the cost: a row becomes JSON once, not once for each column.
-- It was a third of the server's time for a run.
CREATE OR REPLACE FUNCTION note_row() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    before jsonb;
    after jsonb;
BEGIN
    IF TG_OP <> 'INSERT' THEN
        SELECT jsonb_object_agg(key, value) INTO before
        FROM jsonb_each(to_jsonb(OLD)) WHERE key = ANY (TG_ARGV);
    END IF;
    IF TG_OP <> 'DELETE' THEN
        SELECT jsonb_object_agg(key, value) INTO after
        FROM jsonb_each(to_jsonb(NEW)) WHERE key = ANY (TG_ARGV);
    END IF;
    IF before IS DISTINCT FROM after THEN
        PERFORM set_config(
            'gate.noted',
            coalesce(current_setting('gate.noted', true), '')
                || jsonb_build_array(TG_TABLE_NAME, before, after) || E'\n',
            true
        );
    END IF;
    RETURN NULL;
END $$;
