-- Runs of flows, with their calls and the turns of their agents.

CREATE TABLE runs (
    -- Numbers of deleted runs are not given again: the audit trail still names them.
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    flow TEXT NOT NULL,
    source TEXT NOT NULL,
    source_digest TEXT NOT NULL,
    prompt TEXT NOT NULL,
    project TEXT NOT NULL,
    sponsor TEXT NOT NULL,
    created_at TEXT NOT NULL,
    folder TEXT NOT NULL,
    root TEXT NOT NULL,
    branch TEXT NOT NULL,
    base TEXT NOT NULL,
    state TEXT NOT NULL CHECK (
        state IN ('ready', 'running', 'waiting_human', 'completed', 'stuck', 'failed')
    ),
    reason TEXT NOT NULL,
    error TEXT NOT NULL,
    result TEXT,
    agent TEXT NOT NULL,
    at_path TEXT NOT NULL,
    ready_at TEXT,
    waiting_since TEXT,
    ended_at TEXT,
    parent INTEGER,
    parent_path TEXT NOT NULL,
    claim INTEGER NOT NULL,
    owner TEXT NOT NULL,
    lease_until TEXT,
    falls INTEGER NOT NULL
) STRICT;

CREATE INDEX runs_ready ON runs (ready_at, id) WHERE state = 'ready';
CREATE INDEX runs_asleep ON runs (ready_at)
    WHERE state = 'waiting_human' AND ready_at IS NOT NULL;
CREATE INDEX runs_running ON runs (id) WHERE state = 'running';
CREATE INDEX runs_active ON runs (id) WHERE state IN ('ready', 'running', 'waiting_human');

CREATE TABLE calls (
    run INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    path TEXT NOT NULL,
    name TEXT NOT NULL,
    label TEXT NOT NULL,
    digest TEXT NOT NULL,
    started_at TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('open', 'waiting', 'held', 'recorded', 'failed')),
    value TEXT,
    error TEXT,
    ask_id TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    asked INTEGER NOT NULL,
    dangerous INTEGER NOT NULL,
    accepted INTEGER NOT NULL,
    snapshot TEXT NOT NULL,
    owner TEXT NOT NULL,
    ended_at TEXT,
    PRIMARY KEY (run, path)
) STRICT, WITHOUT ROWID;

CREATE INDEX calls_waiting ON calls (run, ask_id) WHERE state = 'waiting';

CREATE TABLE turns (
    id TEXT PRIMARY KEY,
    run INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    path TEXT NOT NULL,
    number INTEGER NOT NULL,
    role TEXT NOT NULL,
    cli TEXT NOT NULL,
    session TEXT NOT NULL,
    sent TEXT NOT NULL,
    started_at TEXT NOT NULL,
    fork_of TEXT NOT NULL,
    process TEXT NOT NULL,
    person TEXT NOT NULL,
    ask_id TEXT NOT NULL,
    ended_at TEXT,
    signal TEXT,
    words TEXT NOT NULL,
    offered TEXT
) STRICT, WITHOUT ROWID;

CREATE INDEX turns_of_run ON turns (run, path, number);
-- One session has one holder: a person or an agent's process, never two.
CREATE UNIQUE INDEX turns_open ON turns (cli, session) WHERE ended_at IS NULL AND session <> '';

CREATE INDEX asks_of_owner ON asks (owner) WHERE owner <> '';
