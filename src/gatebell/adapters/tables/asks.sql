-- name: insert_ask
-- A new ask. Fails on its id or on the attachable index.
INSERT INTO asks (
    id, kind, prompt, context, options, multiple, other, schema, default_value, secret,
    requirement, project, cwd, agent, session, tool_use_id, started_by, owner, opened_at, digest,
    priority, confidence, activity, token_digest, hard, remind_every_seconds, escalations,
    expires_at, moved_seconds, remind_at, escalated, escalate_at, due_at, status, decision, value,
    note, settled_at, settled_by, settled_via, delivered_at, delivered_to, asked_back, heard,
    version, call, deferred, terms, task, project_key, attachments, answer_attachments, assume
) VALUES (
    :id, :kind, :prompt, :context, :options, :multiple, :other, :schema, :default_value, :secret,
    :requirement, :project, :cwd, :agent, :session, :tool_use_id, :started_by, :owner, :opened_at,
    :digest, :priority, :confidence, :activity, :token_digest, :hard, :remind_every_seconds,
    :escalations, :expires_at, :moved_seconds, :remind_at, :escalated, :escalate_at, :due_at,
    :status, :decision, :value, :note, :settled_at, :settled_by, :settled_via, :delivered_at,
    :delivered_to, :asked_back, :heard, :version, :call, :deferred, :terms, :task,
    :project_key, :attachments, :answer_attachments, :assume
);

-- name: insert_ask_key
INSERT INTO ask_keys (key, ask_id) VALUES (:key, :ask_id);

-- name: ask_with_key
SELECT asks.* FROM asks JOIN ask_keys ON ask_id = id WHERE key = ?;

-- name: change_ask
-- The conditional write: only changing columns, and only from the version of the decision.
UPDATE asks SET
    expires_at = :expires_at, moved_seconds = :moved_seconds, remind_at = :remind_at,
    escalated = :escalated, escalate_at = :escalate_at, due_at = :due_at, status = :status,
    decision = :decision, value = :value, note = :note, settled_at = :settled_at,
    settled_by = :settled_by, settled_via = :settled_via, delivered_at = :delivered_at,
    delivered_to = :delivered_to, asked_back = :asked_back, heard = :heard, version = :version,
    answer_attachments = :answer_attachments
WHERE id = :id AND version = :expected_version;

-- name: get_ask
SELECT * FROM asks WHERE id = ?;

-- name: deferred_ask
-- The one call of this session that its host has deferred.
SELECT * FROM asks
WHERE session = ? AND deferred = 1 AND delivered_at IS NULL AND status IN ('pending', 'answered');

-- name: matching_ids
SELECT id FROM asks WHERE id >= ?1 AND id < ?1 || '~' ORDER BY id LIMIT ?2;

-- name: count_asks
-- The newest row number: rows are never removed, and counting a million takes too long.
SELECT coalesce(max(seq), 0) FROM asks;

-- name: pending_asks
SELECT * FROM asks WHERE status = 'pending' ORDER BY priority, opened_at, seq LIMIT ?;

-- name: pending_asks_of_project
-- Reads the inbox in its order and stops at the limit; another index would slow every ask.
SELECT * FROM asks WHERE status = 'pending'
    AND (project = :project OR (project_key = :key AND project_key <> ''))
ORDER BY priority, opened_at, seq LIMIT :limit;

-- name: pending_asks_of_session
SELECT * FROM asks WHERE session = ? AND status = 'pending' AND session <> '' ORDER BY seq;

-- name: pending_asks_of_run
-- From `run:42/` to before `run:420`.
SELECT * FROM asks
WHERE status = 'pending' AND owner <> '' AND owner >= ?1 AND owner < ?2 ORDER BY seq;

-- name: asks_of_run
SELECT * FROM asks WHERE owner <> '' AND owner >= ?1 AND owner < ?2 ORDER BY seq;

-- name: asks_of_task
SELECT * FROM asks WHERE task = ? AND task <> '' ORDER BY seq;

-- name: wake_run
-- In the transaction that settles its ask.
UPDATE runs SET state = 'ready', ready_at = NULL WHERE id = :id AND state = 'waiting_human';

-- name: settled_asks
-- Newest first; other conditions follow the index, and it stops at the limit.
SELECT * FROM asks
WHERE settled_at IS NOT NULL
    AND settled_at >= :since AND settled_at < :until
    AND (:outcome = '' OR decision = :outcome OR (decision IS NULL AND status = :outcome))
    AND (:agent = '' OR agent = :agent) AND (:project = '' OR project = :project)
    -- In both databases, a text without its part is another text.
    AND (:search = '' OR replace(lower(prompt), :search, '') <> lower(prompt)
        OR replace(lower(note), :search, '') <> lower(note)
        OR replace(id, :search, '') <> id)
ORDER BY settled_at DESC LIMIT :limit;

-- name: settled_asks_of_agent
SELECT * FROM asks
WHERE settled_at IS NOT NULL AND agent = :agent
    AND settled_at >= :since AND settled_at < :until
    AND (:outcome = '' OR decision = :outcome OR (decision IS NULL AND status = :outcome))
    AND (:project = '' OR project = :project)
    -- In both databases, a text without its part is another text.
    AND (:search = '' OR replace(lower(prompt), :search, '') <> lower(prompt)
        OR replace(lower(note), :search, '') <> lower(note)
        OR replace(id, :search, '') <> id)
ORDER BY settled_at DESC LIMIT :limit;

-- name: settled_asks_of_project
SELECT * FROM asks
WHERE settled_at IS NOT NULL AND project = :project
    AND settled_at >= :since AND settled_at < :until
    AND (:outcome = '' OR decision = :outcome OR (decision IS NULL AND status = :outcome))
    AND (:agent = '' OR agent = :agent)
    -- In both databases, a text without its part is another text.
    AND (:search = '' OR replace(lower(prompt), :search, '') <> lower(prompt)
        OR replace(lower(note), :search, '') <> lower(note)
        OR replace(id, :search, '') <> id)
ORDER BY settled_at DESC LIMIT :limit;

-- name: settled_asks_by
SELECT * FROM asks
WHERE settled_at IS NOT NULL AND settled_by = :person
    AND settled_at >= :since AND settled_at < :until
    AND (:outcome = '' OR decision = :outcome OR (decision IS NULL AND status = :outcome))
    AND (:agent = '' OR agent = :agent) AND (:project = '' OR project = :project)
    -- In both databases, a text without its part is another text.
    AND (:search = '' OR replace(lower(prompt), :search, '') <> lower(prompt)
        OR replace(lower(note), :search, '') <> lower(note)
        OR replace(id, :search, '') <> id)
ORDER BY settled_at DESC LIMIT :limit;

-- name: settled_asks_by_several
-- Several people may have to answer; then all their names are there.
SELECT * FROM asks
WHERE settled_at IS NOT NULL AND requirement IS NOT NULL
    AND replace(', ' || settled_by || ', ', ', ' || :person || ', ', '') <> ', ' || settled_by || ', '
    AND settled_at >= :since AND settled_at < :until
    AND (:outcome = '' OR decision = :outcome OR (decision IS NULL AND status = :outcome))
    AND (:agent = '' OR agent = :agent) AND (:project = '' OR project = :project)
    -- In both databases, a text without its part is another text.
    AND (:search = '' OR replace(lower(prompt), :search, '') <> lower(prompt)
        OR replace(lower(note), :search, '') <> lower(note)
        OR replace(id, :search, '') <> id)
ORDER BY settled_at DESC LIMIT :limit;

-- name: due_asks
SELECT * FROM asks
WHERE status = 'pending' AND due_at IS NOT NULL AND due_at <= ? ORDER BY due_at LIMIT ?;

-- name: asks_without_events
-- Every ask has an event of its opening, every settled ask one of its settling, and every taken ask
-- one of its taking.
SELECT id FROM asks
WHERE id > '' AND (
    NOT EXISTS (SELECT 1 FROM events WHERE subject = asks.id AND kind = 'ask.opened')
    OR (status <> 'pending' AND NOT EXISTS (
        SELECT 1 FROM events
        WHERE subject = asks.id AND kind IN ('ask.answered', 'ask.cancelled', 'ask.timed_out')
    ))
    OR (delivered_at IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM events WHERE subject = asks.id AND kind = 'ask.taken'
    ))
)
ORDER BY id;

-- name: asks_to_fence
-- The approvals that a call could still use, and the calls that wait for one.
SELECT * FROM asks
WHERE seq > ? AND seq <= ? AND delivered_at IS NULL
    AND (decision = 'approved' OR (status = 'pending' AND call IS NOT NULL))
ORDER BY seq;

-- name: insert_answer
INSERT INTO answers (
    ask_id, principal, verified, via, value, decision, note, given_at, outcome, reason, key,
    fingerprint, attachments
) VALUES (
    :ask_id, :principal, :verified, :via, :value, :decision, :note, :given_at, :outcome, :reason,
    :key, :fingerprint, :attachments
);

-- name: answers_of_ask
SELECT * FROM answers WHERE ask_id = ? ORDER BY seq;

-- name: answer_with_key
SELECT * FROM answers WHERE ask_id = ? AND principal = ? AND key = ? AND key <> '';

-- name: insert_message
INSERT INTO messages (ask_id, author, by_asker, text, sent_at)
VALUES (:ask_id, :author, :by_asker, :text, :sent_at);

-- name: messages_of_ask
SELECT ask_id, author, by_asker, text, sent_at FROM messages WHERE ask_id = ? ORDER BY seq;

-- name: save_draft
INSERT INTO drafts (ask_id, principal, text, saved_at)
VALUES (:ask_id, :principal, :text, :saved_at)
ON CONFLICT (ask_id, principal) DO UPDATE SET text = excluded.text, saved_at = excluded.saved_at;

-- name: drop_draft
-- After the person's own answer; drafts of others stay.
DELETE FROM drafts WHERE ask_id = :ask_id AND principal = :principal;

-- name: get_draft
SELECT text FROM drafts WHERE ask_id = ? AND principal = ?;

-- name: drafts_since
SELECT ask_id, principal FROM drafts JOIN asks ON id = ask_id
WHERE saved_at > ? AND status = 'pending' ORDER BY saved_at;

-- name: waiting_counts
-- A project with a key is counted once, under one of its folders.
SELECT project, sum(waiting) FROM (
    SELECT min(project) AS project, count(*) AS waiting FROM asks WHERE status = 'pending'
    GROUP BY CASE WHEN project_key = '' THEN project ELSE project_key END
) AS counted
GROUP BY project ORDER BY 2 DESC, 1;

-- name: keep_secret
INSERT INTO secrets (ask_id, value, kept_at) VALUES (:ask_id, :value, :kept_at);

-- name: get_secret
SELECT value FROM secrets WHERE ask_id = ?;

-- name: erase_secret
DELETE FROM secrets WHERE ask_id = :ask_id;

-- name: old_secrets
SELECT ask_id FROM secrets WHERE kept_at < ?;

-- name: wake
INSERT INTO wakes (owner, ask_id, woken_at) VALUES (:owner, :ask_id, :woken_at);

-- name: woken
SELECT owner FROM wakes ORDER BY seq;

-- name: write_visit
INSERT INTO visits (
    id, ask_id, number, by, cli, session, process, started_at, program, ended_at, "end", problem,
    transcript, expires_at
) VALUES (
    :id, :ask_id, :number, :by, :cli, :session, :process, :started_at, :program, :ended_at, :end,
    :problem, :transcript, :expires_at
)
ON CONFLICT (id) DO UPDATE SET
    session = excluded.session, started_at = excluded.started_at, program = excluded.program,
    ended_at = excluded.ended_at, "end" = excluded."end", problem = excluded.problem,
    transcript = excluded.transcript;

-- name: visits_of_ask
SELECT * FROM visits WHERE ask_id = ? ORDER BY number;

-- name: get_visit
SELECT * FROM visits WHERE id = ?;

-- name: open_visits
SELECT * FROM visits WHERE ended_at IS NULL ORDER BY ask_id;

-- name: open_visit
SELECT * FROM visits WHERE cli = ? AND session = ? AND session <> '' AND ended_at IS NULL;

-- name: past_calls
-- The newest settled asks about tool calls of a project.
SELECT id, call, session, project_key, status, decision, value, note, asked_back, settled_at
FROM asks WHERE project = :project AND settled_at IS NOT NULL AND call IS NOT NULL
ORDER BY settled_at DESC LIMIT :limit;

-- name: objected_calls
-- Those that a person did not approve as they were. The condition is that of the index.
SELECT id, call, session, project_key, status, decision, value, note, asked_back, settled_at
FROM asks WHERE project = :project AND status = 'answered' AND call IS NOT NULL
    AND (decision <> 'approved' OR value IS NOT NULL OR note <> '' OR asked_back > 0)
ORDER BY settled_at DESC LIMIT :limit;

-- name: count_objections
SELECT count(*) FROM asks WHERE project = :project AND status = 'answered' AND call IS NOT NULL
    AND (decision <> 'approved' OR value IS NOT NULL OR note <> '' OR asked_back > 0);

-- name: waits_since
-- The asks that were settled since then. Their times tell how long their askers waited.
SELECT session, owner, opened_at, settled_at, status, decision, call IS NOT NULL,
    assume IS NOT NULL
FROM asks WHERE settled_at IS NOT NULL AND settled_at >= :since AND opened_at < :until
    AND (:project = '' OR project = :project);

-- name: waits_now
SELECT session, owner, opened_at, settled_at, status, decision, call IS NOT NULL,
    assume IS NOT NULL
FROM asks WHERE status = 'pending' AND opened_at < :until
    AND (:project = '' OR project = :project);
