-- Logins to the web inbox, what a token may do, and asks that were opened under a key.

ALTER TABLE tokens ADD COLUMN label TEXT NOT NULL DEFAULT '';
ALTER TABLE tokens ADD COLUMN scopes TEXT NOT NULL DEFAULT 'ask answer read';

-- A link is exchanged for a login, once. Of either only a digest is kept, and of the seal.
CREATE TABLE logins (
    digest TEXT PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('link', 'login')),
    person TEXT NOT NULL,
    verified INTEGER NOT NULL,
    scopes TEXT NOT NULL,
    token_id TEXT NOT NULL,
    expires_at TEXT NOT NULL,
    seal TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX logins_by_age ON logins (expires_at);

CREATE TABLE ask_keys (
    key TEXT PRIMARY KEY,
    ask_id TEXT NOT NULL REFERENCES asks (id)
) STRICT, WITHOUT ROWID;

CREATE INDEX drafts_by_age ON drafts (saved_at);
