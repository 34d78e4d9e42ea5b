-- oldest reader: 4
-- Files beside questions and answers. Programs of older versions would show a question without its
-- files, so they refuse the store from here on.

ALTER TABLE asks ADD COLUMN attachments text COLLATE "C";
ALTER TABLE asks ADD COLUMN answer_attachments text COLLATE "C";
ALTER TABLE answers ADD COLUMN attachments text COLLATE "C";
DROP TRIGGER noted ON asks;
CREATE TRIGGER noted AFTER INSERT OR UPDATE OR DELETE ON asks
    FOR EACH ROW EXECUTE FUNCTION note_row(
        'id', 'expires_at', 'moved_seconds', 'remind_at', 'escalated', 'escalate_at', 'due_at',
        'status', 'decision', 'value', 'note', 'settled_at', 'settled_by', 'settled_via',
        'delivered_at', 'delivered_to', 'asked_back', 'answer_attachments'
    );

-- One row for each digest. Bytes that no ask or answer names are removed after a day.
CREATE TABLE attachments (
    digest text COLLATE "C" PRIMARY KEY,
    size bigint NOT NULL,
    media_type text COLLATE "C" NOT NULL,
    kept_at text COLLATE "C" NOT NULL,
    used bigint NOT NULL
);
CREATE INDEX attachments_unused ON attachments (kept_at) WHERE used = 0;

-- Who has uploaded which bytes over HTTP: only they may name the digest in an ask or answer.
CREATE TABLE uploads (
    whose text COLLATE "C" NOT NULL,
    digest text COLLATE "C" NOT NULL,
    kept_at text COLLATE "C" NOT NULL,
    PRIMARY KEY (whose, digest)
);
CREATE INDEX uploads_by_age ON uploads (kept_at);

-- The bytes. A statement has a deadline, so a long file has several parts.
CREATE TABLE attachment_parts (
    digest text COLLATE "C" NOT NULL,
    number bigint NOT NULL,
    content bytea NOT NULL,
    PRIMARY KEY (digest, number)
);
-- Images are compressed already.
ALTER TABLE attachment_parts ALTER COLUMN content SET STORAGE EXTERNAL;
