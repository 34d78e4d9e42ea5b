-- name: insert_run
INSERT INTO runs (
    flow, source, source_digest, prompt, project, started_by, created_at, folder, root, branch, base,
    state, reason, error, result, agent, stopped_at, ready_at, waiting_since, ended_at, parent,
    parent_path, claim, owner, lease_until, crash_count, task, priority, project_key, host,
    changed_at, pool
) VALUES (
    :flow, :source, :source_digest, :prompt, :project, :started_by, :created_at, :folder, :root,
    :branch, :base, :state, :reason, :error, :result, :agent, :stopped_at, :ready_at, :waiting_since,
    :ended_at, :parent, :parent_path, :claim, :owner, :lease_until, :crash_count, :task, :priority,
    :project_key, :host, :changed_at, :pool
) RETURNING id;

-- name: change_run
-- The conditional write of every step: an owner without the newest claim writes nothing.
UPDATE runs SET
    source_digest = :source_digest, folder = :folder, root = :root, branch = :branch,
    base = :base, state = :state, reason = :reason, error = :error, result = :result,
    agent = :agent, stopped_at = :stopped_at, ready_at = :ready_at, waiting_since = :waiting_since,
    ended_at = :ended_at, claim = :claim, owner = :owner, lease_until = :lease_until,
    crash_count = :crash_count, host = :host, pool = :pool,
    changed_at = coalesce(CAST(:touched_at AS text), changed_at)
WHERE id = :id AND claim = :expected_claim AND state = :expected_state;

-- name: extend_lease
-- The same condition, for a step that changes nothing else of the run.
UPDATE runs SET
    lease_until = :lease_until, changed_at = coalesce(CAST(:touched_at AS text), changed_at)
WHERE id = :id AND claim = :claim AND state = 'running';

-- name: prove_run
-- Only the condition, for a step with a lease that is still long, and for people who write beside
-- the driver.
UPDATE runs SET changed_at = coalesce(CAST(:touched_at AS text), changed_at)
WHERE id = :id AND claim = :expected_claim AND state = :expected_state;

-- name: last_run
SELECT coalesce(max(id), 0) FROM runs;

-- name: raise_claims
UPDATE runs SET claim = claim + :by WHERE id > :after AND id <= :until;

-- name: get_run
SELECT * FROM runs WHERE id = ?;

-- name: newest_runs
SELECT * FROM runs ORDER BY id DESC LIMIT ?;

-- name: active_runs
SELECT * FROM runs WHERE state IN ('ready', 'running', 'waiting_human') ORDER BY id DESC LIMIT ?;

-- name: ready_runs
-- Runs without a time come first. A run may also wait for people and for a time at once. A run of a
-- pool is left to the engine that knows which projects its workers have. Without project and folder,
-- it needs a worker that has its project: `unplaced_runs`.
SELECT id, ready_at, priority FROM runs
WHERE state = 'ready' AND ready_at IS NULL AND owner = '' AND (host = ?3 OR host || pool = '')
    AND (project <> '' OR folder <> '')
UNION ALL
SELECT id, ready_at, priority FROM runs
WHERE state = 'ready' AND ready_at <= ?1 AND owner = '' AND (host = ?3 OR host || pool = '')
    AND (project <> '' OR folder <> '')
UNION ALL
SELECT id, ready_at, priority FROM runs
WHERE state = 'waiting_human' AND ready_at IS NOT NULL AND ready_at <= ?1 AND owner = ''
    AND (host = ?3 OR host || pool = '')
ORDER BY ready_at NULLS FIRST, priority, id LIMIT ?2;

-- name: unplaced_runs
SELECT * FROM runs
WHERE state = 'ready' AND ready_at IS NULL AND owner = '' AND host IN ('', ?1)
    AND project = '' AND folder = '' AND task = '' AND project_key = ?2
UNION ALL
SELECT * FROM runs
WHERE state = 'ready' AND ready_at <= ?4 AND owner = '' AND host IN ('', ?1)
    AND project = '' AND folder = '' AND task = '' AND project_key = ?2
ORDER BY priority, id LIMIT ?3;

-- name: kept_runs
-- Without an order: to order by id, SQLite would read the whole table.
SELECT * FROM runs WHERE state = 'ready' AND ready_at IS NULL AND owner <> ''
UNION ALL
SELECT * FROM runs WHERE state = 'ready' AND ready_at <= ?1 AND owner <> ''
UNION ALL
SELECT * FROM runs
WHERE state = 'waiting_human' AND ready_at IS NOT NULL AND ready_at <= ?1 AND owner <> '';

-- name: next_ready_at
SELECT min(at) FROM (
    SELECT min(ready_at) AS at FROM runs
    WHERE state = 'ready' AND ready_at IS NOT NULL AND owner = '' AND (host = ?1 OR host || pool = '')
    UNION ALL
    SELECT min(ready_at) FROM runs
    WHERE state = 'waiting_human' AND ready_at IS NOT NULL AND owner = '' AND (host = ?1 OR host || pool = '')
) AS found;

-- name: late_runs
-- A run without a lease is kept by its process; only that process is proof.
SELECT * FROM runs WHERE state = 'running' AND lease_until IS NULL
UNION ALL
SELECT * FROM runs WHERE state = 'running' AND lease_until <= ?;

-- name: run_owners
-- From each owner to the next one along the index, not over every run.
WITH RECURSIVE found (owner) AS (
    SELECT min(owner) FROM runs WHERE state = 'running'
    UNION ALL
    SELECT (SELECT min(owner) FROM runs WHERE state = 'running' AND owner > found.owner)
    FROM found WHERE found.owner IS NOT NULL
)
SELECT owner FROM found WHERE owner IS NOT NULL;

-- name: runs_of_owner
SELECT * FROM runs WHERE state = 'running' AND owner = ?;

-- name: runs_of_host
-- Along the index of the runs that have not ended: it is only asked while a host is lost.
SELECT * FROM runs
WHERE state IN ('ready', 'running', 'waiting_human') AND host = ? AND id > 0 ORDER BY id;

-- name: changed_runs
SELECT id, changed_at, state, claim FROM runs WHERE changed_at <> '' AND changed_at >= ?;

-- name: runs_of_task
SELECT * FROM runs WHERE task = ? AND task <> '' ORDER BY id;

-- name: set_priority
UPDATE runs SET priority = :priority WHERE id = :id;

-- name: put_call
INSERT INTO calls (
    run, path, name, label, digest, started_at, state, value, error, ask_id, attempt, asked,
    dangerous, accepted, snapshot, owner, ended_at
) VALUES (
    :run, :path, :name, :label, :digest, :started_at, :state, :value, :error, :ask_id, :attempt,
    :asked, :dangerous, :accepted, :snapshot, :owner, :ended_at
)
ON CONFLICT (run, path) DO UPDATE SET
    name = excluded.name, label = excluded.label, digest = excluded.digest, state = excluded.state,
    value = excluded.value, error = excluded.error, ask_id = excluded.ask_id,
    attempt = excluded.attempt, asked = excluded.asked, dangerous = excluded.dangerous,
    accepted = excluded.accepted, snapshot = excluded.snapshot, owner = excluded.owner,
    ended_at = excluded.ended_at;

-- name: calls_of_run
SELECT * FROM calls WHERE run = ?;

-- name: put_turn
-- Only the agent writes the column `offered`.
INSERT INTO turns (
    id, run, path, number, role, cli, session, sent, started_at, fork_of, process, person, ask_id,
    ended_at, signal, words
) VALUES (
    :id, :run, :path, :number, :role, :cli, :session, :sent, :started_at, :fork_of, :process,
    :person, :ask_id, :ended_at, :signal, :words
)
ON CONFLICT (id) DO UPDATE SET
    session = excluded.session, sent = excluded.sent, process = excluded.process,
    started_at = excluded.started_at, ended_at = excluded.ended_at,
    -- Several processes may end the turn of a dead holder: the first one writes the signal.
    signal = CASE WHEN turns.ended_at IS NULL THEN excluded.signal ELSE turns.signal END,
    words = excluded.words;

-- name: turns_of_run
SELECT * FROM turns WHERE run = ? ORDER BY started_at, number;

-- name: get_turn
SELECT * FROM turns WHERE id = ?;

-- name: holder_of_session
SELECT * FROM turns WHERE cli = ? AND session = ? AND ended_at IS NULL AND session <> '';

-- name: joined_turns
SELECT * FROM turns WHERE ended_at IS NULL AND session <> '' AND person <> '' ORDER BY started_at;

-- name: offer_signal
-- No signal counts after the run was stopped, or after a person's question was settled.
UPDATE turns SET offered = :offered WHERE id = :id AND ended_at IS NULL
    AND NOT EXISTS (
        SELECT 1 FROM runs
        WHERE runs.id = turns.run AND runs.state IN ('completed', 'stuck', 'failed')
    )
    AND (person = '' OR EXISTS (
        SELECT 1 FROM asks WHERE asks.id = turns.ask_id AND asks.status = 'pending'
    ));

-- name: delete_run
DELETE FROM runs WHERE id = :id AND claim = :claim;

-- name: turn_times
-- Turns of agents; those with a person in their session are not.
SELECT turns.cli, turns.session, turns.started_at, turns.ended_at
FROM turns JOIN runs ON runs.id = turns.run
WHERE turns.started_at >= :since AND turns.started_at < :until AND turns.person = ''
    AND (:project = '' OR runs.project = :project);
