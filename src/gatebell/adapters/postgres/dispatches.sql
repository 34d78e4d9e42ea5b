-- name: get_engine
SELECT name, store FROM engine;

-- name: use_engine
SELECT gate_use_engine(:name);

-- name: dispatch_missing
SELECT gate_dispatch_missing(:changed_before);

-- name: take_dispatches
-- Rows that another relay is taking are skipped.
UPDATE dispatches SET taken_until = :until
WHERE run IN (
    SELECT run FROM dispatches WHERE due_at <= :now AND taken_until <= :now
    ORDER BY due_at, priority, seq LIMIT :limit FOR UPDATE SKIP LOCKED
)
RETURNING run, seq, place, priority, claim;

-- name: finish_dispatch
DELETE FROM dispatches WHERE run = :run AND seq = :seq;

-- name: next_dispatch
SELECT min(greatest(due_at, taken_until)) FROM dispatches;

-- name: waiting_places
-- Runs that could be driven for a while already, by place.
SELECT host, pool, min(project), count(*) FROM runs
WHERE state = 'ready' AND owner = '' AND changed_at < :before
    AND (ready_at IS NULL OR ready_at < :before)
GROUP BY host, pool, project_key ORDER BY host, pool, project_key LIMIT 50;
