-- name: insert_note
INSERT INTO notes (author, project, text, sent_at) VALUES (:author, :project, :text, :sent_at);

-- name: newest_notes
SELECT author, project, text, sent_at FROM notes ORDER BY seq DESC LIMIT ?;
