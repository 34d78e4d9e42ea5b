-- oldest reader: 10
-- Cheaper triggers: those of a run were half of the server's time for it.

-- Make the trigger that notes these columns of a table, or replace it. Its function names them, which
-- is much faster than a list of names. A write that changes none of them, such as the extension of a
-- lease, does not call it.
CREATE FUNCTION gate_note_columns(name text, VARIADIC columns text[]) RETURNS void
LANGUAGE plpgsql AS $make$
DECLARE
    old_values text := (SELECT string_agg(format('%L, OLD.%I', one, one), ', ') FROM unnest(columns) one);
    new_values text := replace(old_values, ', OLD.', ', NEW.');
    differs text := (
        SELECT string_agg(format('OLD.%I IS DISTINCT FROM NEW.%I', one, one), ' OR ')
        FROM unnest(columns) one
    );
BEGIN
    EXECUTE format($function$
        CREATE OR REPLACE FUNCTION %I() RETURNS trigger LANGUAGE plpgsql AS $body$
        DECLARE
            before jsonb;
            after jsonb;
            noted text := coalesce(current_setting('gate.noted', true), '');
        BEGIN
            IF TG_OP <> 'INSERT' THEN
                before := jsonb_build_object(%s);
            END IF;
            IF TG_OP <> 'DELETE' THEN
                after := jsonb_build_object(%s);
            END IF;
            noted := noted || jsonb_build_array(TG_TABLE_NAME, before, after) || E'\n';
            noted := set_config('gate.noted', noted, true);
            RETURN NULL;
        END $body$
    $function$, 'note_' || name, old_values, new_values);
    EXECUTE format('DROP TRIGGER IF EXISTS noted ON %I', name);
    EXECUTE format('DROP TRIGGER IF EXISTS noted_change ON %I', name);
    EXECUTE format(
        'CREATE TRIGGER noted AFTER INSERT OR DELETE ON %I FOR EACH ROW EXECUTE FUNCTION %I()',
        name, 'note_' || name
    );
    EXECUTE format(
        'CREATE TRIGGER noted_change AFTER UPDATE ON %I FOR EACH ROW WHEN (%s) EXECUTE FUNCTION %I()',
        name, differs, 'note_' || name
    );
END $make$;

-- For every table that has such a trigger, with the columns that it names.
SELECT gate_note_columns(relname, VARIADIC columns)
FROM (
    SELECT relname::text, array_remove(
        string_to_array(replace(encode(tgargs, 'escape'), '\000', ' '), ' '), ''
    ) AS columns
    FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
    WHERE tgname = 'noted' AND relnamespace = current_schema()::regnamespace
) AS found;
DROP FUNCTION note_row();

-- Only a run that was work, or becomes it, has to do with the jobs of an engine. The end of a drive
-- that was no work before looks for no job.
DROP TRIGGER handed_over ON runs;
CREATE TRIGGER handed_over AFTER UPDATE OF state, ready_at, owner, host, pool, priority ON runs
    FOR EACH ROW WHEN (
        (
            OLD.state IS DISTINCT FROM NEW.state OR OLD.ready_at IS DISTINCT FROM NEW.ready_at
            OR OLD.owner IS DISTINCT FROM NEW.owner OR OLD.host IS DISTINCT FROM NEW.host
            OR OLD.pool IS DISTINCT FROM NEW.pool OR OLD.priority IS DISTINCT FROM NEW.priority
        ) AND (
            OLD.state = 'ready' OR (OLD.state = 'waiting_human' AND OLD.ready_at IS NOT NULL)
            OR NEW.state = 'ready' OR (NEW.state = 'waiting_human' AND NEW.ready_at IS NOT NULL)
        )
    )
    EXECUTE FUNCTION gate_hand_over();

-- A step changes no indexed column of its run. With room in the page, it writes no index.
ALTER TABLE runs SET (fillfactor = 80);
