-- Tool calls that a host holds until they are decided, rules about them, and notes to people.

ALTER TABLE asks ADD COLUMN call TEXT;
ALTER TABLE asks ADD COLUMN deferred INTEGER NOT NULL DEFAULT 0;

CREATE INDEX asks_pending_of_session ON asks (session) WHERE status = 'pending' AND session <> '';
-- A host that defers two calls of one session loses one of them, so there is one at most.
CREATE UNIQUE INDEX asks_deferred ON asks (session)
    WHERE deferred = 1 AND delivered_at IS NULL AND status IN ('pending', 'answered');

CREATE TABLE rules (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('ask', 'deny', 'grant')),
    pattern TEXT NOT NULL,
    identity TEXT NOT NULL,
    project TEXT NOT NULL,
    session TEXT NOT NULL,
    owner TEXT NOT NULL,
    branch TEXT NOT NULL,
    expires_at TEXT,
    uses_left INTEGER,
    made_by TEXT NOT NULL,
    made_at TEXT NOT NULL,
    ask_id TEXT NOT NULL,
    ended_at TEXT
) STRICT, WITHOUT ROWID;

CREATE INDEX rules_in_force ON rules (id) WHERE ended_at IS NULL;

CREATE TABLE notes (
    seq INTEGER PRIMARY KEY,
    author TEXT NOT NULL,
    project TEXT NOT NULL,
    text TEXT NOT NULL,
    sent_at TEXT NOT NULL
) STRICT;
