-- name: announce_attachment
-- Before its bytes are written: a process that is killed leaves no bytes without a row.
INSERT INTO attachments (digest, size, media_type, kept_at, used)
VALUES (:digest, :size, :media_type, :kept_at, 0)
ON CONFLICT (digest) DO UPDATE SET kept_at = excluded.kept_at;

-- name: use_attachment
-- In the transaction that writes the ask or the answer.
UPDATE attachments SET used = 1 WHERE digest = :digest;

-- name: used_attachments
SELECT digest FROM attachments WHERE digest > ? AND used = 1 ORDER BY digest LIMIT ?;

-- name: unused_attachments
SELECT digest FROM attachments WHERE used = 0 AND kept_at < ?;

-- name: forget_attachment
DELETE FROM attachments WHERE digest = :digest AND used = 0 AND kept_at < :before;

-- name: note_upload
INSERT INTO uploads (whose, digest, kept_at) VALUES (:whose, :digest, :kept_at)
ON CONFLICT (whose, digest) DO UPDATE SET kept_at = excluded.kept_at;

-- name: find_upload
SELECT media_type, size FROM uploads JOIN attachments ON attachments.digest = uploads.digest
WHERE whose = ? AND uploads.digest = ? AND uploads.kept_at > ?;

-- name: count_uploaded
SELECT coalesce(sum(size), 0) FROM uploads JOIN attachments ON attachments.digest = uploads.digest
WHERE whose = ? AND uploads.kept_at > ?;

-- name: forget_uploads
DELETE FROM uploads WHERE kept_at < :before;
