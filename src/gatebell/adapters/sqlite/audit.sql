-- name: head
SELECT seq, hash FROM events ORDER BY seq DESC LIMIT 1;

-- name: first_to_seal
-- Whether the event after this one is the first that seals rows, in a throwaway store.
SELECT 1 FROM events WHERE seq = ? AND EXISTS (SELECT 1 FROM traits WHERE name = 'throwaway')
  AND CASE WHEN json_valid(content) THEN json_type(content, '$.rows') IS NULL END;

-- name: append_event
INSERT INTO events (seq, at, kind, subject, actor, content, content_digest, hash)
VALUES (:seq, :at, :kind, :subject, :actor, :content, :content_digest, :hash);

-- name: entries_after
SELECT * FROM events WHERE seq > ? ORDER BY seq LIMIT ?;

-- name: entries_of_subject
SELECT * FROM events WHERE subject = ? ORDER BY seq;

-- name: newest_entries
SELECT * FROM (SELECT * FROM events ORDER BY seq DESC LIMIT ?) ORDER BY seq;

-- name: subjects_since
-- Without DISTINCT, for which SQLite would read the whole index of subjects.
SELECT subject FROM events WHERE seq > ?;

-- name: schema
SELECT type, name, sql FROM main.sqlite_schema WHERE name NOT LIKE 'sqlite~_%' ESCAPE '~';
