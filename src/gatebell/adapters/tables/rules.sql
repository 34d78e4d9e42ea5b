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
