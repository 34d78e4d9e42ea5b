-- oldest reader: 2
-- Engines on several hosts: where a run may be driven, and how a ready run is handed to an engine.

-- The pool of workers that may drive a run without a host.
ALTER TABLE runs ADD COLUMN pool text COLLATE "C" NOT NULL DEFAULT '';

-- The engine that drives the runs of this store, in one row; without a name, the local engine.
CREATE TABLE engine (
    name text COLLATE "C" NOT NULL CHECK (name IN ('', 'procrastinate', 'temporal')),
    -- The newest migration of procrastinate's own tables.
    tables text COLLATE "C" NOT NULL DEFAULT '',
    -- Tells this store from others at the same server of an engine.
    store text COLLATE "C" NOT NULL DEFAULT left(gen_random_uuid()::text, 8)
);
CREATE UNIQUE INDEX engine_is_one ON engine ((true));
INSERT INTO engine (name) VALUES ('');

-- Ready runs that are not yet handed over to an engine outside of this database.
CREATE TABLE dispatches (
    run bigint PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
    -- Tells a row from a later one of the same run.
    seq bigint GENERATED ALWAYS AS IDENTITY,
    place text COLLATE "C" NOT NULL,
    priority bigint NOT NULL,
    claim bigint NOT NULL,
    due_at text COLLATE "C" NOT NULL,
    taken_until text COLLATE "C" NOT NULL DEFAULT ''
);
CREATE INDEX dispatches_due ON dispatches (due_at);

-- The same names as domain/runs/places.py. procrastinate listens to a channel for each queue, and the
-- name of a channel has at most 63 bytes.
CREATE FUNCTION gate_short_digest(given text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
SELECT left(encode(sha256(convert_to(given, 'UTF8')), 'hex'), 12)
$$;

CREATE FUNCTION gate_short_name(given text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
SELECT CASE WHEN length(given) <= 22 THEN given
    ELSE left(given, 9) || '~' || gate_short_digest(given) END
$$;

CREATE FUNCTION gate_place(host text, pool text, project_key text) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
SELECT CASE WHEN host <> '' THEN 'host:' || gate_short_name(host)
    ELSE 'pool:' || gate_short_name(pool) END || '/' || gate_short_digest(project_key)
$$;

-- A run that its keeper drives, or that waits for people alone, is no work for an engine.
CREATE FUNCTION gate_is_work(run runs) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
SELECT run.owner = '' AND (run.host <> '' OR run.pool <> '')
    AND (run.state = 'ready' OR (run.state = 'waiting_human' AND run.ready_at IS NOT NULL))
$$;

CREATE FUNCTION gate_dispatch(run runs, used text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    place text := gate_place(run.host, run.pool, run.project_key);
BEGIN
    IF used = 'procrastinate' THEN
        PERFORM procrastinate_defer_jobs_v1(ARRAY[ROW(
            place, 'gatebell.drive', -run.priority, NULL, 'gate-run:' || run.id,
            jsonb_build_object('run_id', run.id), run.ready_at::timestamptz
        )::procrastinate_job_to_defer_v1]);
        -- A worker does not know every project of its host, so it listens for the host.
        IF run.host <> '' THEN
            PERFORM pg_notify('procrastinate_queue_v1#' || split_part(place, '/', 1),
                '{"type": "job_inserted", "job_id": 0}');
        END IF;
    ELSE
        INSERT INTO dispatches (run, place, priority, claim, due_at)
        VALUES (run.id, place, run.priority, run.claim, coalesce(run.ready_at, ''));
    END IF;
END $$;

-- In the transaction that changes a run. A job that waits is replaced, never left: the worker that
-- just fetches it would still see the run as it was before this transaction.
CREATE FUNCTION gate_hand_over() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    used text := (SELECT name FROM engine);
BEGIN
    IF used = 'procrastinate' THEN
        DELETE FROM procrastinate_jobs
        WHERE queueing_lock = 'gate-run:' || NEW.id AND status = 'todo';
    ELSIF used = 'temporal' THEN
        DELETE FROM dispatches WHERE run = NEW.id;
    ELSE
        RETURN NULL;
    END IF;
    IF gate_is_work(NEW) THEN
        PERFORM gate_dispatch(NEW, used);
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER handed_over_new AFTER INSERT ON runs
    FOR EACH ROW WHEN (NEW.state IN ('ready', 'waiting_human'))
    EXECUTE FUNCTION gate_hand_over();
-- A step or a lease names these columns, too, and changes none of them.
CREATE TRIGGER handed_over AFTER UPDATE OF state, ready_at, owner, host, pool, priority ON runs
    FOR EACH ROW WHEN (
        -- A comparison of two rows would be another definition after pg_dump and pg_restore.
        OLD.state IS DISTINCT FROM NEW.state OR OLD.ready_at IS DISTINCT FROM NEW.ready_at
        OR OLD.owner IS DISTINCT FROM NEW.owner OR OLD.host IS DISTINCT FROM NEW.host
        OR OLD.pool IS DISTINCT FROM NEW.pool OR OLD.priority IS DISTINCT FROM NEW.priority
    )
    EXECUTE FUNCTION gate_hand_over();

-- Dispatch the runs that are work and have no job, if they did not change since a time. Returns how
-- many there were.
CREATE FUNCTION gate_dispatch_missing(changed_before text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    used text := (SELECT name FROM engine);
    run runs;
    found bigint := 0;
BEGIN
    IF used = '' THEN
        RETURN 0;
    END IF;
    FOR run IN
        SELECT * FROM runs WHERE state = 'ready' AND changed_at < changed_before
        UNION ALL
        SELECT * FROM runs
        WHERE state = 'waiting_human' AND ready_at IS NOT NULL AND changed_at < changed_before
    LOOP
        CONTINUE WHEN NOT gate_is_work(run);
        IF used = 'procrastinate' THEN
            CONTINUE WHEN EXISTS (
                SELECT 1 FROM procrastinate_jobs
                WHERE queueing_lock = 'gate-run:' || run.id AND status = 'todo'
            );
        ELSE
            CONTINUE WHEN EXISTS (SELECT 1 FROM dispatches WHERE dispatches.run = run.id);
        END IF;
        BEGIN
            PERFORM gate_dispatch(run, used);
            found := found + 1;
        EXCEPTION WHEN unique_violation THEN
            -- Another process was faster.
            NULL;
        END;
    END LOOP;
    RETURN found;
END $$;

-- The queues in which procrastinate has jobs: one step along its index for each.
CREATE FUNCTION gate_list_queues() RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY WITH RECURSIVE found (name) AS (
        SELECT min(queue_name) FROM procrastinate_jobs
        UNION ALL
        SELECT (SELECT min(queue_name) FROM procrastinate_jobs WHERE queue_name > found.name)
        FROM found WHERE found.name IS NOT NULL
    )
    SELECT name FROM found WHERE name IS NOT NULL;
END $$;

CREATE FUNCTION gate_use_engine(used text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE engine SET name = used;
    DELETE FROM dispatches;
    IF to_regclass('procrastinate_jobs') IS NOT NULL THEN
        DELETE FROM procrastinate_jobs WHERE task_name = 'gatebell.drive' AND status = 'todo';
    END IF;
    -- Later than every run.
    PERFORM gate_dispatch_missing('9');
END $$;
