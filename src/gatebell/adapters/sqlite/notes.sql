-- name: insert_note
INSERT INTO notes VALUES (NULL, ?, ?, ?, ?);

-- name: newest_notes
SELECT author, project, text, sent_at FROM notes ORDER BY seq DESC LIMIT ?;
