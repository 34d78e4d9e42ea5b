-- Several hosts use one store: their processes report that they live, and projects have keys.

CREATE TABLE members (
    -- The kind and the identity of the process.
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    process TEXT NOT NULL,
    url TEXT NOT NULL,
    joined_at TEXT NOT NULL,
    beat_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The same project on two hosts has one key. Rows of older versions have none.
ALTER TABLE asks ADD COLUMN project_key TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN project_key TEXT NOT NULL DEFAULT '';
ALTER TABLE tasks ADD COLUMN project_key TEXT NOT NULL DEFAULT '';
ALTER TABLE rules ADD COLUMN project_key TEXT NOT NULL DEFAULT '';
CREATE INDEX tasks_of_key ON tasks (project_key, project) WHERE project_key <> '';

-- A run is driven on the host that has its folder. Runs of older versions have none.
ALTER TABLE runs ADD COLUMN host TEXT NOT NULL DEFAULT '';

-- When it changed in a way that people see; steps and leases do not count.
ALTER TABLE runs ADD COLUMN changed_at TEXT NOT NULL DEFAULT '';
CREATE INDEX runs_changed ON runs (changed_at) WHERE changed_at <> '';

-- No reader of running runs reads all of them: only those of one process, or with an old lease.
DROP INDEX runs_running;
CREATE INDEX runs_driven ON runs (owner) WHERE state = 'running';
CREATE INDEX runs_leased ON runs (lease_until) WHERE state = 'running';
