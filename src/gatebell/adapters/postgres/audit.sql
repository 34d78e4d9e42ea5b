-- name: any_event
SELECT 1 FROM events LIMIT 1;

-- name: append_event
INSERT INTO events (at, kind, subject, actor, content, content_digest)
VALUES (:at, :kind, :subject, :actor, :content, :content_digest);

-- name: head
SELECT seq, hash FROM events WHERE seq IS NOT NULL ORDER BY seq DESC LIMIT 1;

-- name: entries_after
SELECT seq, at, kind, subject, actor, content, content_digest, hash FROM events
WHERE seq > ? ORDER BY seq LIMIT ?;

-- name: unsealed_entries
SELECT id, at, kind, subject, actor, content, content_digest FROM events
WHERE seq IS NULL ORDER BY id LIMIT ?;

-- name: any_unsealed
SELECT 1 FROM events WHERE seq IS NULL LIMIT 1;

-- name: lock_sealer
-- Only one process seals at a time. The lock ends with the transaction.
SELECT pg_advisory_xact_lock(720220);

-- name: try_to_lock_sealer
SELECT pg_try_advisory_xact_lock(720220);

-- name: seal_events
UPDATE events SET seq = sealed.seq, hash = sealed.hash
FROM (
    SELECT * FROM unnest(CAST(:ids AS bigint[]), CAST(:seqs AS bigint[]), CAST(:hashes AS text[]))
) AS sealed (id, seq, hash)
WHERE events.id = sealed.id AND events.seq IS NULL;

-- name: add_up_waiting
-- The rows that are deleted are those that are added up: others may come in at the same time.
WITH taken AS (
    DELETE FROM waiting_changes RETURNING project, project_key, number
)
INSERT INTO waiting (project, project_key, number)
SELECT project, project_key, sum(number) FROM taken GROUP BY project, project_key
ON CONFLICT (project, project_key) DO UPDATE SET number = waiting.number + excluded.number;

-- name: entries_of_subject
SELECT seq, at, kind, subject, actor, content, content_digest, hash FROM events
WHERE subject = ? AND seq IS NOT NULL ORDER BY seq;

-- name: newest_entries
SELECT * FROM (
    SELECT seq, at, kind, subject, actor, content, content_digest, hash FROM events
    WHERE seq IS NOT NULL ORDER BY seq DESC LIMIT ?
) AS newest ORDER BY seq;

-- name: position
-- Every transaction before this one has ended.
SELECT CAST(CAST(pg_snapshot_xmin(pg_current_snapshot()) AS text) AS bigint);

-- name: subjects_since
SELECT subject FROM events WHERE xid >= CAST(CAST(CAST(? AS bigint) AS text) AS xid8);
