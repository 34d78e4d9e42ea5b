-- name: extend_leases
-- The leases of all runs that one process drives, each only under the claim that it knows. Their rows
-- are locked in the order of their numbers.
WITH held AS (
    SELECT id FROM runs
    WHERE state = 'running' AND (id, claim) IN (
        SELECT CAST(value ->> 0 AS bigint), CAST(value ->> 1 AS bigint)
        FROM json_array_elements(CAST(:held AS json)) AS value
    )
    ORDER BY id FOR UPDATE
)
UPDATE runs SET lease_until = :lease_until FROM held WHERE runs.id = held.id
RETURNING runs.id;

-- name: ready_if_answered
-- An answer, or a question back to the agent, may have come while the run was about to park.
UPDATE runs SET state = 'ready', ready_at = NULL
WHERE id = :id AND state = 'waiting_human' AND EXISTS (
    SELECT 1 FROM calls JOIN asks ON asks.id = calls.ask_id
    WHERE calls.run = runs.id AND calls.state = 'waiting'
        -- Other calls may still be open, for example in a branch next to one that failed.
        AND strpos(' ' || runs.stopped_at || ' ', ' ' || calls.path || ' ') > 0
        AND (asks.status <> 'pending' OR (asks.asked_back > asks.heard AND calls.name = 'run'))
);

-- name: skip_run_numbers
SELECT setval(
    pg_get_serial_sequence('runs', 'id'),
    nextval(pg_get_serial_sequence('runs', 'id')) + CAST(:count AS bigint)
);
