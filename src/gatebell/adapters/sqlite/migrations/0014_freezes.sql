-- A person freezes everything: no turn begins and no tool call gets a yes until it is lifted.
CREATE TABLE freezes (
    seq INTEGER PRIMARY KEY,
    made_by TEXT NOT NULL,
    made_at TEXT NOT NULL,
    reason TEXT NOT NULL,
    lifted_at TEXT,
    lifted_by TEXT NOT NULL DEFAULT ''
) STRICT;
-- At most one lasts: those that are lifted have a name.
CREATE UNIQUE INDEX freezes_lasting ON freezes (lifted_by) WHERE lifted_at IS NULL;

-- The history of an agent, a project or a person, newest first.
CREATE INDEX asks_settled_of_agent ON asks (agent, settled_at) WHERE settled_at IS NOT NULL;
CREATE INDEX asks_settled_of_project ON asks (project, settled_at) WHERE settled_at IS NOT NULL;
CREATE INDEX asks_settled_by ON asks (settled_by, settled_at) WHERE settled_at IS NOT NULL;
CREATE INDEX asks_settled_by_several ON asks (settled_at)
    WHERE settled_at IS NOT NULL AND requirement IS NOT NULL;
