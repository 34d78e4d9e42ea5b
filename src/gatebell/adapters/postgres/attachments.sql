-- name: hold_attachment
SELECT 1 FROM attachments WHERE digest = :digest FOR UPDATE;

-- name: write_part
INSERT INTO attachment_parts (digest, number, content) VALUES (:digest, :number, :content);

-- name: count_parts
SELECT count(*) FROM attachment_parts WHERE digest = ?;

-- name: read_part
SELECT content FROM attachment_parts WHERE digest = ? AND number = ?;

-- name: remove_parts
DELETE FROM attachment_parts WHERE digest = :digest;
