-- Patterns that decide nothing yet, and are compared with what people decide.
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
CREATE INDEX shadow_rules_open ON shadow_rules (project) WHERE state IN ('active', 'suspended');

-- How people decided the tool calls of a project, newest first; then those that they did not allow
-- as they were.
CREATE INDEX asks_about_calls ON asks (project, settled_at)
    WHERE settled_at IS NOT NULL AND call IS NOT NULL;
CREATE INDEX asks_objected ON asks (project, settled_at)
    WHERE status = 'answered' AND call IS NOT NULL
    AND (decision <> 'approved' OR value IS NOT NULL OR note <> '' OR asked_back > 0);

-- The numbers of a period.
CREATE INDEX events_of_grants ON events (at) WHERE kind = 'grant.used';
CREATE INDEX turns_by_time ON turns (started_at);
