-- name: insert_rule
INSERT INTO rules (
    id, kind, pattern, identity, project, session, owner, branch, expires_at, uses_left, made_by,
    made_at, ask_id, project_key
) VALUES (
    :id, :kind, :pattern, :identity, :project, :session, :owner, :branch, :expires_at, :uses_left,
    :made_by, :made_at, :ask_id, :project_key
);

-- name: rules_in_force
SELECT * FROM rules
WHERE ended_at IS NULL AND (expires_at IS NULL OR expires_at > ?) AND coalesce(uses_left, 1) > 0
ORDER BY id;

-- name: any_gate
SELECT 1 FROM rules WHERE kind <> 'grant' LIMIT 1;

-- name: use_rule
-- The conditional write: after the last use, the end or the expiry, it changes nothing.
UPDATE rules SET uses_left = uses_left - 1
WHERE id = :id AND ended_at IS NULL AND (expires_at IS NULL OR expires_at > :now)
    AND coalesce(uses_left, 1) > 0;

-- name: end_rule
UPDATE rules SET ended_at = :now WHERE id = :id AND ended_at IS NULL;

-- name: insert_shadow_rule
INSERT INTO shadow_rules (
    id, pattern, project, project_key, client, ask_id, made_by, made_at, until, state, ended_at
) VALUES (
    :id, :pattern, :project, :project_key, :client, :ask_id, :made_by, :made_at, :until, :state,
    :ended_at
);

-- name: open_shadow_rules
SELECT id, pattern, project, project_key, client, ask_id, made_by, made_at, until, state, ended_at
FROM shadow_rules WHERE state IN ('active', 'suspended') ORDER BY project, id;

-- name: shadow_rules_of_project
SELECT id, pattern, project, project_key, client, ask_id, made_by, made_at, until, state, ended_at
FROM shadow_rules WHERE project = ? AND state IN ('active', 'suspended') ORDER BY id;

-- name: suspend_shadow_rule
UPDATE shadow_rules SET state = 'suspended' WHERE id = :id AND state = 'active';

-- name: end_shadow_rule
-- The conditional write: a suspended rule cannot be promoted any more.
UPDATE shadow_rules SET state = :state, ended_at = :now
WHERE id = :id AND (state = 'active' OR (state = 'suspended' AND :state = 'removed'));

-- name: grant_uses
-- By the time of its event; the project is that of the grant.
SELECT events.at, events.actor FROM events JOIN rules ON rules.id = events.subject
WHERE events.kind = 'grant.used' AND events.at >= :since AND events.at < :until
    AND (:project = '' OR rules.project = :project);
