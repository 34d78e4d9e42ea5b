-- name: head
SELECT seq, hash FROM events ORDER BY seq DESC LIMIT 1;

-- name: append_event
INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?);

-- name: entries_after
SELECT * FROM events WHERE seq > ? ORDER BY seq LIMIT ?;

-- name: entries_of_subject
SELECT * FROM events WHERE subject = ? ORDER BY seq;

-- name: newest_entries
SELECT * FROM (SELECT * FROM events ORDER BY seq DESC LIMIT ?) ORDER BY seq;

-- name: subjects_since
-- Without DISTINCT, for which SQLite would walk the whole index of subjects.
SELECT subject FROM events WHERE seq > ?;

-- name: schema
SELECT type, name, sql FROM main.sqlite_schema WHERE name NOT LIKE 'sqlite~_%' ESCAPE '~';
