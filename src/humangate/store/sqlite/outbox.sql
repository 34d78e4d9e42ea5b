-- name: put_notice
INSERT INTO outbox VALUES (NULL, ?, ?, ?, ?);

-- name: waiting_notices
SELECT kind, ask_id, recipient FROM outbox ORDER BY seq LIMIT ?;
