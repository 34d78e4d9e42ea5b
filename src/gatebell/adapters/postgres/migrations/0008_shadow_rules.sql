-- oldest reader: 5
-- Patterns that decide nothing yet, and are compared with what people decide. Older programs do not
-- compare; before one becomes a grant, all past asks are looked through again.
CREATE TABLE shadow_rules (
    id text COLLATE "C" NOT NULL,
    pattern text COLLATE "C" NOT NULL,
    project text COLLATE "C" NOT NULL,
    project_key text COLLATE "C" NOT NULL,
    client text COLLATE "C" NOT NULL,
    ask_id text COLLATE "C" NOT NULL,
    made_by text COLLATE "C" NOT NULL,
    made_at text COLLATE "C" NOT NULL,
    until text COLLATE "C" NOT NULL,
    state text COLLATE "C" NOT NULL CHECK (state IN ('active', 'suspended', 'promoted', 'removed')),
    ended_at text COLLATE "C",
    PRIMARY KEY (id)
);
CREATE INDEX shadow_rules_open ON shadow_rules (project) WHERE state IN ('active', 'suspended');
CREATE TRIGGER noted AFTER INSERT OR UPDATE OR DELETE ON shadow_rules
    FOR EACH ROW EXECUTE FUNCTION note_row(
        'id', 'state', 'ended_at'
    );
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON shadow_rules EXECUTE FUNCTION refuse_truncate();

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
