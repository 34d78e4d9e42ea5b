-- name: lock_run
SELECT id FROM runs WHERE id = :id FOR UPDATE;

-- name: lock_offer
-- So that neither the run nor the person's question ends before the signal is there.
SELECT runs.id FROM turns JOIN runs ON runs.id = turns.run WHERE turns.id = :id FOR SHARE OF runs;

-- name: lock_ask_of_offer
SELECT asks.id FROM turns JOIN asks ON asks.id = turns.ask_id WHERE turns.id = :id
FOR SHARE OF asks;

-- name: extend_leases
-- The leases of all runs that one process drives, each only under the claim that it knows.
UPDATE runs SET lease_until = :lease_until
WHERE state = 'running' AND (id, claim) IN (
    SELECT CAST(value ->> 0 AS bigint), CAST(value ->> 1 AS bigint)
    FROM json_array_elements(CAST(:held AS json)) AS value
)
RETURNING id;

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
