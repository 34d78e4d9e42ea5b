-- Asks with their answers, messages, drafts and secrets; people; the outbox; the audit chain.
-- Times are ISO 8601 in UTC with six decimals, so that they sort as text.

CREATE TABLE asks (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    prompt TEXT NOT NULL,
    context TEXT,
    options TEXT,
    multiple INTEGER NOT NULL,
    other INTEGER NOT NULL,
    schema TEXT,
    default_value TEXT,
    secret INTEGER NOT NULL,
    requirement TEXT,
    project TEXT NOT NULL,
    cwd TEXT NOT NULL,
    agent TEXT NOT NULL,
    session TEXT NOT NULL,
    tool_use_id TEXT NOT NULL,
    sponsor TEXT NOT NULL,
    owner TEXT NOT NULL,
    opened_at TEXT NOT NULL,
    digest TEXT NOT NULL,
    priority INTEGER NOT NULL,
    confidence REAL,
    going_on TEXT NOT NULL,
    token_digest TEXT NOT NULL,
    hard INTEGER NOT NULL,
    remind_every_seconds REAL,
    escalations TEXT,
    expires_at TEXT,
    moved_seconds REAL NOT NULL,
    remind_at TEXT,
    escalated INTEGER NOT NULL,
    escalate_at TEXT,
    due_at TEXT,
    status TEXT NOT NULL CHECK (status IN ('pending', 'answered', 'timed_out', 'cancelled')),
    decision TEXT CHECK (decision IN ('approved', 'rejected')),
    value TEXT,
    note TEXT NOT NULL,
    settled_at TEXT,
    settled_by TEXT NOT NULL,
    settled_via TEXT NOT NULL,
    delivered_at TEXT,
    delivered_to TEXT NOT NULL,
    asked_back INTEGER NOT NULL,
    heard INTEGER NOT NULL,
    version INTEGER NOT NULL,
    CHECK (decision IS NULL OR status = 'answered')
) STRICT;

CREATE INDEX asks_pending ON asks (priority, opened_at, seq) WHERE status = 'pending';
CREATE INDEX asks_due ON asks (due_at) WHERE status = 'pending' AND due_at IS NOT NULL;
CREATE INDEX asks_settled ON asks (settled_at) WHERE settled_at IS NOT NULL;
-- Law 4: a repeated request attaches to an ask that is pending or answered and not taken.
CREATE UNIQUE INDEX asks_attachable ON asks (session, digest)
    WHERE substr(session, -1) NOT IN ('', '/') AND token_digest = '' AND delivered_at IS NULL
    AND status IN ('pending', 'answered');

CREATE TABLE answers (
    seq INTEGER PRIMARY KEY,
    ask_id TEXT NOT NULL REFERENCES asks (id),
    principal TEXT NOT NULL,
    verified INTEGER NOT NULL,
    via TEXT NOT NULL,
    value TEXT,
    decision TEXT,
    note TEXT NOT NULL,
    given_at TEXT NOT NULL,
    outcome TEXT NOT NULL,
    reason TEXT NOT NULL,
    key TEXT NOT NULL,
    fingerprint TEXT NOT NULL
) STRICT;

CREATE INDEX answers_of_ask ON answers (ask_id, seq);
CREATE UNIQUE INDEX answers_key ON answers (ask_id, principal, key) WHERE key <> '';

CREATE TABLE messages (
    seq INTEGER PRIMARY KEY,
    ask_id TEXT NOT NULL REFERENCES asks (id),
    author TEXT NOT NULL,
    by_asker INTEGER NOT NULL,
    text TEXT NOT NULL,
    sent_at TEXT NOT NULL
) STRICT;

CREATE INDEX messages_of_ask ON messages (ask_id, seq);

CREATE TABLE drafts (
    ask_id TEXT NOT NULL REFERENCES asks (id),
    principal TEXT NOT NULL,
    text TEXT NOT NULL,
    saved_at TEXT NOT NULL,
    PRIMARY KEY (ask_id, principal)
) STRICT, WITHOUT ROWID;

CREATE TABLE secrets (
    ask_id TEXT PRIMARY KEY REFERENCES asks (id),
    value TEXT NOT NULL,
    kept_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX secrets_by_age ON secrets (kept_at);

CREATE TABLE wakes (
    seq INTEGER PRIMARY KEY,
    owner TEXT NOT NULL,
    ask_id TEXT NOT NULL,
    woken_at TEXT NOT NULL
) STRICT;

CREATE TABLE outbox (
    seq INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    ask_id TEXT NOT NULL,
    recipient TEXT NOT NULL,
    written_at TEXT NOT NULL
) STRICT;

CREATE TABLE people (
    name TEXT PRIMARY KEY,
    added_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE tokens (
    digest TEXT PRIMARY KEY,
    person TEXT NOT NULL REFERENCES people (name) ON DELETE CASCADE,
    made_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX tokens_of_person ON tokens (person);

CREATE TABLE group_members (
    name TEXT NOT NULL,
    member TEXT NOT NULL REFERENCES people (name) ON DELETE CASCADE,
    PRIMARY KEY (name, member)
) STRICT, WITHOUT ROWID;

CREATE INDEX groups_of_member ON group_members (member);

CREATE TABLE events (
    seq INTEGER PRIMARY KEY,
    at TEXT NOT NULL,
    kind TEXT NOT NULL,
    subject TEXT NOT NULL,
    actor TEXT NOT NULL,
    content TEXT,
    content_digest TEXT NOT NULL,
    hash TEXT NOT NULL
) STRICT;

CREATE INDEX events_of_subject ON events (subject, kind);

CREATE TABLE traits (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- For programs that read the older shape of this record. There `approved` also stands for
-- an answer that decides nothing, such as a choice; `response` tells what was answered.
CREATE VIEW human_interactions AS
SELECT
    id,
    owner AS execution_id,
    CASE kind
        WHEN 'approval' THEN 'confirmation'
        WHEN 'choice' THEN 'select'
        WHEN 'session' THEN 'interactive_session'
        ELSE 'input'
    END AS type,
    prompt,
    options,
    CASE
        WHEN status = 'timed_out' THEN 'timeout'
        WHEN status = 'answered' THEN coalesce(decision, 'approved')
        ELSE status
    END AS status,
    coalesce(value, json_quote(decision)) AS response,
    opened_at AS created_at,
    settled_at AS resolved_at,
    NULL AS session_config,
    NULL AS session_transcript,
    NULL AS session_duration
FROM asks;
