-- The schema of a new store, written by `make schema` from the migrations.

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
    started_by TEXT NOT NULL,
    owner TEXT NOT NULL,
    opened_at TEXT NOT NULL,
    digest TEXT NOT NULL,
    priority INTEGER NOT NULL,
    confidence REAL,
    activity TEXT NOT NULL,
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
    version INTEGER NOT NULL, call TEXT, deferred INTEGER NOT NULL DEFAULT 0, terms TEXT, task TEXT NOT NULL DEFAULT '', project_key TEXT NOT NULL DEFAULT '', attachments TEXT, answer_attachments TEXT, assume TEXT,
    CHECK (decision IS NULL OR status = 'answered')
) STRICT;

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
, attachments TEXT) STRICT;

CREATE TABLE messages (
    seq INTEGER PRIMARY KEY,
    ask_id TEXT NOT NULL REFERENCES asks (id),
    author TEXT NOT NULL,
    by_asker INTEGER NOT NULL,
    text TEXT NOT NULL,
    sent_at TEXT NOT NULL
) STRICT;

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
, label TEXT NOT NULL DEFAULT '', scopes TEXT NOT NULL DEFAULT 'ask answer read') STRICT, WITHOUT ROWID;

CREATE TABLE group_members (
    name TEXT NOT NULL,
    member TEXT NOT NULL REFERENCES people (name) ON DELETE CASCADE,
    PRIMARY KEY (name, member)
) STRICT, WITHOUT ROWID;

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

CREATE TABLE traits (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

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
, project_key TEXT NOT NULL DEFAULT '') STRICT, WITHOUT ROWID;

CREATE TABLE notes (
    seq INTEGER PRIMARY KEY,
    author TEXT NOT NULL,
    project TEXT NOT NULL,
    text TEXT NOT NULL,
    sent_at TEXT NOT NULL
) STRICT;

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

CREATE TABLE ask_keys (
    key TEXT PRIMARY KEY,
    ask_id TEXT NOT NULL REFERENCES asks (id)
) STRICT, WITHOUT ROWID;

CREATE TABLE deliveries (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    ask_id TEXT NOT NULL,
    recipient TEXT NOT NULL,
    route TEXT NOT NULL,
    written_at TEXT NOT NULL,
    due_at TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    claimed_until TEXT,
    sent_at TEXT,
    given_up_at TEXT,
    problem TEXT NOT NULL
, message TEXT NOT NULL DEFAULT '', receipt TEXT NOT NULL DEFAULT '') STRICT, WITHOUT ROWID;

CREATE TABLE runs (
    -- Numbers of deleted runs are not given again: the audit trail still names them.
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    flow TEXT NOT NULL,
    source TEXT NOT NULL,
    source_digest TEXT NOT NULL,
    prompt TEXT NOT NULL,
    project TEXT NOT NULL,
    started_by TEXT NOT NULL,
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
    stopped_at TEXT NOT NULL,
    ready_at TEXT,
    waiting_since TEXT,
    ended_at TEXT,
    parent INTEGER,
    parent_path TEXT NOT NULL,
    claim INTEGER NOT NULL,
    owner TEXT NOT NULL,
    lease_until TEXT,
    crash_count INTEGER NOT NULL
, task TEXT NOT NULL DEFAULT '', priority INTEGER NOT NULL DEFAULT 2, project_key TEXT NOT NULL DEFAULT '', host TEXT NOT NULL DEFAULT '', changed_at TEXT NOT NULL DEFAULT '', pool TEXT NOT NULL DEFAULT '') STRICT;

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

CREATE TABLE "visits" (
    id TEXT PRIMARY KEY,
    ask_id TEXT NOT NULL REFERENCES asks (id),
    number INTEGER NOT NULL,
    by TEXT NOT NULL,
    cli TEXT NOT NULL,
    session TEXT NOT NULL,
    process TEXT NOT NULL,
    started_at TEXT NOT NULL,
    program TEXT NOT NULL,
    ended_at TEXT,
    "end" TEXT NOT NULL CHECK ("end" IN ('', 'left', 'time', 'failed', 'lost', 'stopped')),
    problem TEXT NOT NULL,
    transcript TEXT NOT NULL,
    expires_at TEXT,
    UNIQUE (ask_id, number)
) STRICT;

CREATE TABLE tasks (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL,
    project TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    created_by TEXT NOT NULL,
    description TEXT NOT NULL,
    role TEXT NOT NULL,
    priority INTEGER NOT NULL CHECK (priority BETWEEN 0 AND 4),
    size TEXT NOT NULL CHECK (size IN ('small', 'medium', 'large')),
    type TEXT NOT NULL CHECK (type IN ('task', 'bug', 'chore')),
    parent TEXT NOT NULL,
    needs TEXT NOT NULL,
    test_command TEXT NOT NULL,
    test_from TEXT NOT NULL,
    state TEXT NOT NULL CHECK (
        state IN (
            'open', 'in_progress', 'awaiting_input', 'blocked', 'deferred', 'failed', 'closed'
        )
    ),
    status TEXT NOT NULL,
    summary TEXT NOT NULL,
    details TEXT NOT NULL,
    confidence REAL,
    run INTEGER NOT NULL,
    goes_on_from INTEGER NOT NULL,
    claimed_by TEXT NOT NULL,
    answered_at TEXT,
    branch TEXT NOT NULL,
    closed_at TEXT,
    answer_within_seconds REAL,
    on_timeout TEXT NOT NULL,
    unmet INTEGER NOT NULL,
    version INTEGER NOT NULL,
    more TEXT NOT NULL
, project_key TEXT NOT NULL DEFAULT '') STRICT;

CREATE TABLE task_needs (
    task TEXT NOT NULL REFERENCES tasks (id),
    needed TEXT NOT NULL,
    PRIMARY KEY (task, needed)
) STRICT, WITHOUT ROWID;

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
        WHEN kind = 'session' AND status = 'answered' THEN coalesce(decision, 'completed')
        WHEN kind = 'session' AND status = 'cancelled' AND settled_via = 'failed' THEN 'failed'
        WHEN status = 'answered' THEN coalesce(decision, 'approved')
        ELSE status
    END AS status,
    coalesce(value, json_quote(decision)) AS response,
    opened_at AS created_at,
    settled_at AS resolved_at,
    CASE WHEN terms IS NOT NULL THEN json_object(
        'systemPrompt', terms ->> '$[1]',
        'context', json(coalesce(context, 'null')),
        'model', terms ->> '$[2]',
        'cwd', coalesce(nullif(terms ->> '$[3]', ''), cwd),
        'mcpConfig', terms ->> '$[4]',
        'timeout', CAST(round((terms ->> '$[5]') * 1000) AS INTEGER),
        'captureTranscript', json(CASE WHEN terms ->> '$[6]' THEN 'true' ELSE 'false' END),
        'outcomeSchema', json_object(
            'type', CASE terms ->> '$[0]'
                WHEN 'choice' THEN 'selection'
                WHEN 'text' THEN 'freeform'
                WHEN 'form' THEN 'structured'
                ELSE 'approval'
            END,
            'options', json(options),
            'schema', json(schema)
        )
    ) END AS session_config,
    (
        SELECT group_concat(transcript, char(10)) FROM "visits"
        WHERE ask_id = asks.id AND transcript <> ''
    ) AS session_transcript,
    (
        -- Not unixepoch: with 'subsec' it is NULL in the SQLite of many who read this.
        SELECT CAST(round(sum(julianday(coalesce(ended_at, settled_at))
            - julianday(started_at)) * 86400000) AS INTEGER)
        FROM "visits" WHERE ask_id = asks.id AND "end" <> 'lost'
    ) AS session_duration
FROM asks;

CREATE TABLE members (
    -- The kind and the identity of the process.
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    process TEXT NOT NULL,
    url TEXT NOT NULL,
    joined_at TEXT NOT NULL,
    beat_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE presence (
    person TEXT PRIMARY KEY,
    seen_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE attachments (
    digest TEXT PRIMARY KEY,
    size INTEGER NOT NULL,
    media_type TEXT NOT NULL,
    kept_at TEXT NOT NULL,
    used INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE uploads (
    whose TEXT NOT NULL,
    digest TEXT NOT NULL,
    kept_at TEXT NOT NULL,
    PRIMARY KEY (whose, digest)
) STRICT, WITHOUT ROWID;

CREATE TABLE freezes (
    seq INTEGER PRIMARY KEY,
    made_by TEXT NOT NULL,
    made_at TEXT NOT NULL,
    reason TEXT NOT NULL,
    lifted_at TEXT,
    lifted_by TEXT NOT NULL DEFAULT ''
) STRICT;

CREATE TABLE devices (
    id TEXT PRIMARY KEY,
    person TEXT NOT NULL,
    endpoint TEXT NOT NULL,
    p256dh TEXT NOT NULL,
    auth TEXT NOT NULL,
    -- Of the login that signed it up: it tells one browser from another.
    seal TEXT NOT NULL,
    token_id TEXT NOT NULL,
    label TEXT NOT NULL,
    added_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE shadow_rules (
    id TEXT PRIMARY KEY,
    pattern TEXT NOT NULL,
    project TEXT NOT NULL,
    project_key TEXT NOT NULL,
    client TEXT NOT NULL,
    ask_id TEXT NOT NULL,
    made_by TEXT NOT NULL,
    made_at TEXT NOT NULL,
    until TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('active', 'suspended', 'promoted', 'removed')),
    ended_at TEXT
) STRICT, WITHOUT ROWID;

CREATE TABLE chat_links (
    id TEXT PRIMARY KEY,
    chat TEXT NOT NULL,
    person TEXT NOT NULL,
    verified INTEGER NOT NULL,
    -- Of the token with which it was made; it ends with that token.
    token_id TEXT NOT NULL,
    made_at TEXT NOT NULL,
    -- The digest of a code that works once; empty after its use.
    code TEXT NOT NULL,
    -- The account in the chat, and the conversation with it; both empty before.
    account TEXT NOT NULL,
    room TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE chat_messages (
    chat TEXT NOT NULL,
    room TEXT NOT NULL,
    message TEXT NOT NULL,
    ask_id TEXT NOT NULL,
    -- Of the question that was shown.
    digest TEXT NOT NULL,
    kind TEXT NOT NULL,
    sent_at TEXT NOT NULL,
    PRIMARY KEY (chat, room, message)
) STRICT, WITHOUT ROWID;

CREATE INDEX asks_pending ON asks (priority, opened_at, seq) WHERE status = 'pending';

CREATE INDEX asks_due ON asks (due_at) WHERE status = 'pending' AND due_at IS NOT NULL;

CREATE INDEX asks_settled ON asks (settled_at) WHERE settled_at IS NOT NULL;

CREATE UNIQUE INDEX asks_attachable ON asks (session, digest)
    WHERE substr(session, -1) NOT IN ('', '/') AND token_digest = '' AND delivered_at IS NULL
    AND status IN ('pending', 'answered');

CREATE INDEX answers_of_ask ON answers (ask_id, seq);

CREATE UNIQUE INDEX answers_key ON answers (ask_id, principal, key) WHERE key <> '';

CREATE INDEX messages_of_ask ON messages (ask_id, seq);

CREATE INDEX secrets_by_age ON secrets (kept_at);

CREATE INDEX tokens_of_person ON tokens (person);

CREATE INDEX groups_of_member ON group_members (member);

CREATE INDEX events_of_subject ON events (subject, kind);

CREATE INDEX asks_pending_of_session ON asks (session) WHERE status = 'pending' AND session <> '';

CREATE UNIQUE INDEX asks_deferred ON asks (session)
    WHERE deferred = 1 AND delivered_at IS NULL AND status IN ('pending', 'answered');

CREATE INDEX rules_in_force ON rules (id) WHERE ended_at IS NULL;

CREATE INDEX logins_by_age ON logins (expires_at);

CREATE INDEX drafts_by_age ON drafts (saved_at);

CREATE INDEX deliveries_due ON deliveries (route, due_at)
    WHERE sent_at IS NULL AND given_up_at IS NULL;

CREATE INDEX deliveries_by_age ON deliveries (written_at);

CREATE INDEX deliveries_of_reminders ON deliveries (ask_id, route)
    WHERE kind = 'reminder' AND sent_at IS NULL AND given_up_at IS NULL;

CREATE INDEX outbox_reminders ON outbox (ask_id) WHERE kind = 'reminder';

CREATE INDEX runs_asleep ON runs (ready_at)
    WHERE state = 'waiting_human' AND ready_at IS NOT NULL;

CREATE INDEX runs_active ON runs (id) WHERE state IN ('ready', 'running', 'waiting_human');

CREATE INDEX calls_waiting ON calls (run, ask_id) WHERE state = 'waiting';

CREATE INDEX turns_of_run ON turns (run, path, number);

CREATE UNIQUE INDEX turns_open ON turns (cli, session) WHERE ended_at IS NULL AND session <> '';

CREATE INDEX asks_of_owner ON asks (owner) WHERE owner <> '';

CREATE INDEX asks_of_task ON asks (task) WHERE task <> '';

CREATE INDEX runs_of_task ON runs (task) WHERE task <> '';

CREATE INDEX runs_ready ON runs (ready_at, priority, id) WHERE state = 'ready';

CREATE INDEX tasks_unfinished ON tasks (project, answered_at IS NULL, priority, seq)
    WHERE state <> 'closed';

CREATE INDEX tasks_listed ON tasks (project, answered_at IS NULL, priority, seq);

CREATE INDEX tasks_next ON tasks (project, priority, seq)
    WHERE state = 'open' AND unmet = 0 AND run = 0;

CREATE INDEX tasks_awaiting ON tasks (project, priority, seq) WHERE state = 'awaiting_input';

CREATE INDEX tasks_in_progress ON tasks (seq) WHERE state = 'in_progress';

CREATE INDEX tasks_beneath ON tasks (parent) WHERE parent <> '';

CREATE INDEX tasks_levels
    ON tasks (project, parent, state = 'closed', answered_at IS NULL, priority, seq);

CREATE INDEX tasks_needing ON task_needs (needed);

CREATE INDEX deliveries_with_problems ON deliveries (written_at) WHERE problem <> '';

CREATE UNIQUE INDEX visits_open ON visits (ask_id) WHERE ended_at IS NULL;

CREATE UNIQUE INDEX visits_held ON visits (cli, session)
    WHERE ended_at IS NULL AND session <> '';

CREATE INDEX tasks_of_key ON tasks (project_key, project) WHERE project_key <> '';

CREATE INDEX runs_changed ON runs (changed_at) WHERE changed_at <> '';

CREATE INDEX runs_driven ON runs (owner) WHERE state = 'running';

CREATE INDEX runs_leased ON runs (lease_until) WHERE state = 'running';

CREATE INDEX deliveries_of_ask ON deliveries (ask_id);

CREATE INDEX deliveries_of_message ON deliveries (message) WHERE message <> '';

CREATE INDEX deliveries_told ON deliveries (route, sent_at)
    WHERE sent_at IS NOT NULL AND kind IN ('opened', 'reminder');

CREATE INDEX attachments_unused ON attachments (kept_at) WHERE used = 0;

CREATE INDEX uploads_by_age ON uploads (kept_at);

CREATE UNIQUE INDEX freezes_lasting ON freezes (lifted_by) WHERE lifted_at IS NULL;

CREATE INDEX asks_settled_of_agent ON asks (agent, settled_at) WHERE settled_at IS NOT NULL;

CREATE INDEX asks_settled_of_project ON asks (project, settled_at) WHERE settled_at IS NOT NULL;

CREATE INDEX asks_settled_by ON asks (settled_by, settled_at) WHERE settled_at IS NOT NULL;

CREATE INDEX asks_settled_by_several ON asks (settled_at)
    WHERE settled_at IS NOT NULL AND requirement IS NOT NULL;

CREATE INDEX devices_of_people ON devices (person, added_at);

CREATE INDEX shadow_rules_open ON shadow_rules (project) WHERE state IN ('active', 'suspended');

CREATE INDEX asks_about_calls ON asks (project, settled_at)
    WHERE settled_at IS NOT NULL AND call IS NOT NULL;

CREATE INDEX asks_objected ON asks (project, settled_at)
    WHERE status = 'answered' AND call IS NOT NULL
    AND (decision <> 'approved' OR value IS NOT NULL OR note <> '' OR asked_back > 0);

CREATE INDEX events_of_grants ON events (at) WHERE kind = 'grant.used';

CREATE INDEX turns_by_time ON turns (started_at);

CREATE UNIQUE INDEX chat_links_of_accounts ON chat_links (chat, account) WHERE account <> '';

CREATE INDEX chat_messages_of_asks ON chat_messages (ask_id, sent_at);

CREATE INDEX chat_messages_by_time ON chat_messages (sent_at);
