-- name: ready_if_answered
-- An answer, or a question back to the agent, may have come while the run was about to park.
UPDATE runs SET state = 'ready', ready_at = NULL
WHERE id = :id AND state = 'waiting_human' AND EXISTS (
    SELECT 1 FROM calls JOIN asks ON asks.id = calls.ask_id
    WHERE calls.run = runs.id AND calls.state = 'waiting'
        -- Other calls may still be open, for example in a branch next to one that failed.
        AND instr(' ' || runs.stopped_at || ' ', ' ' || calls.path || ' ')
        AND (asks.status <> 'pending' OR (asks.asked_back > asks.heard AND calls.name = 'run'))
);

-- name: extend_leases
-- The leases of all runs that one process drives, each only under the claim that it knows.
UPDATE runs SET lease_until = :lease_until
WHERE state = 'running' AND (id, claim) IN (
    SELECT value ->> 0, value ->> 1 FROM json_each(:held)
)
RETURNING id;

-- name: skip_run_numbers
UPDATE sqlite_sequence SET seq = seq + :count WHERE name = 'runs';
