-- Tasks: the backlogs of projects, worked on by runs.

ALTER TABLE asks ADD COLUMN task TEXT NOT NULL DEFAULT '';
CREATE INDEX asks_of_task ON asks (task) WHERE task <> '';

ALTER TABLE runs ADD COLUMN task TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN priority INTEGER NOT NULL DEFAULT 2;
CREATE INDEX runs_of_task ON runs (task) WHERE task <> '';
DROP INDEX runs_ready;
CREATE INDEX runs_ready ON runs (ready_at, priority, id) WHERE state = 'ready';

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
) STRICT;

-- The order of every list: answered ones first, then by priority, then by age.
CREATE INDEX tasks_unfinished ON tasks (project, answered_at IS NULL, priority, seq)
    WHERE state <> 'closed';
CREATE INDEX tasks_listed ON tasks (project, answered_at IS NULL, priority, seq);
CREATE INDEX tasks_next ON tasks (project, priority, seq)
    WHERE state = 'open' AND unmet = 0 AND run = 0;
CREATE INDEX tasks_awaiting ON tasks (project, priority, seq) WHERE state = 'awaiting_input';
CREATE INDEX tasks_in_progress ON tasks (seq) WHERE state = 'in_progress';
CREATE INDEX tasks_beneath ON tasks (parent) WHERE parent <> '';

-- One level of the tree: what is closed comes last.
CREATE INDEX tasks_levels
    ON tasks (project, parent, state = 'closed', answered_at IS NULL, priority, seq);

CREATE TABLE task_needs (
    task TEXT NOT NULL REFERENCES tasks (id),
    needed TEXT NOT NULL,
    PRIMARY KEY (task, needed)
) STRICT, WITHOUT ROWID;

CREATE INDEX tasks_needing ON task_needs (needed);
