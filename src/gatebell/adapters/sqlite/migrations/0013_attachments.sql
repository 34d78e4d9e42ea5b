-- Files beside questions and answers. The rows have JSON of name, media type, size and digest; the
-- bytes are in files beside the store.
ALTER TABLE asks ADD COLUMN attachments TEXT;
ALTER TABLE asks ADD COLUMN answer_attachments TEXT;
ALTER TABLE answers ADD COLUMN attachments TEXT;

-- One row for each digest. Bytes that no ask or answer names are removed after a day.
CREATE TABLE attachments (
    digest TEXT PRIMARY KEY,
    size INTEGER NOT NULL,
    media_type TEXT NOT NULL,
    kept_at TEXT NOT NULL,
    used INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX attachments_unused ON attachments (kept_at) WHERE used = 0;

-- Who has uploaded which bytes over HTTP: only they may name the digest in an ask or answer.
CREATE TABLE uploads (
    whose TEXT NOT NULL,
    digest TEXT NOT NULL,
    kept_at TEXT NOT NULL,
    PRIMARY KEY (whose, digest)
) STRICT, WITHOUT ROWID;
CREATE INDEX uploads_by_age ON uploads (kept_at);
