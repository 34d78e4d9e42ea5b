-- name: insert_task
INSERT INTO tasks (
    id, title, project, created_at, updated_at, created_by, description, role, priority, size,
    type, parent, needs, test_command, test_from, state, status, summary, details, confidence,
    run, goes_on_from, claimed_by, answered_at, branch, closed_at, answer_within_seconds,
    on_timeout, unmet, version, more, project_key
) VALUES (
    :id, :title, :project, :created_at, :updated_at, :created_by, :description, :role, :priority,
    :size, :type, :parent, :needs, :test_command, :test_from, :state, :status, :summary, :details,
    :confidence, :run, :goes_on_from, :claimed_by, :answered_at, :branch, :closed_at,
    :answer_within_seconds, :on_timeout, :unmet, :version, :more, :project_key
);

-- name: change_task
-- The conditional write: only from the version of the decision. The number of open needs is counted
-- by `count_unmet` alone: it changes without a new version.
UPDATE tasks SET
    title = :title, project = :project, created_at = :created_at, updated_at = :updated_at,
    created_by = :created_by, description = :description, role = :role, priority = :priority,
    size = :size, type = :type, parent = :parent, needs = :needs, test_command = :test_command,
    test_from = :test_from, state = :state, status = :status, summary = :summary,
    details = :details, confidence = :confidence, run = :run, goes_on_from = :goes_on_from,
    claimed_by = :claimed_by, answered_at = :answered_at, branch = :branch,
    closed_at = :closed_at, answer_within_seconds = :answer_within_seconds,
    on_timeout = :on_timeout, version = :version, more = :more, project_key = :project_key
WHERE id = :id AND version = :expected_version;

-- name: get_task
SELECT * FROM tasks WHERE id = ?;

-- name: matching_tasks
SELECT id FROM tasks WHERE id >= ?1 AND id < ?1 || '~' ORDER BY id LIMIT ?2;

-- name: count_tasks
SELECT coalesce(max(seq), 0) FROM tasks;

-- name: forget_needs
DELETE FROM task_needs WHERE task = :task;

-- name: add_need
INSERT INTO task_needs (task, needed) VALUES (:task, :needed) ON CONFLICT DO NOTHING;

-- name: needing
SELECT tasks.* FROM task_needs JOIN tasks ON tasks.id = task WHERE needed = ? ORDER BY seq;

-- name: count_unmet
-- A task that does not exist yet, as during an import, does not count as closed.
UPDATE tasks SET unmet = (
    SELECT count(*) FROM task_needs
    WHERE task = tasks.id AND NOT EXISTS (
        SELECT 1 FROM tasks AS other WHERE other.id = needed AND other.state = 'closed'
    )
)
WHERE id = :id OR id IN (SELECT task FROM task_needs WHERE needed = :id);

-- name: unfinished_tasks
SELECT * FROM tasks WHERE project = ? AND state <> 'closed'
ORDER BY answered_at IS NULL, priority, seq LIMIT ?;

-- name: all_tasks
SELECT * FROM tasks WHERE project = ? ORDER BY answered_at IS NULL, priority, seq LIMIT ?;

-- name: ready_tasks
SELECT * FROM tasks WHERE project = ? AND state = 'open' AND unmet = 0
ORDER BY answered_at IS NULL, priority, seq LIMIT ?;

-- name: awaiting_tasks
SELECT * FROM tasks WHERE project = ? AND state = 'awaiting_input' ORDER BY priority, seq LIMIT ?;

-- name: next_task
SELECT * FROM tasks WHERE project = ? AND state = 'open' AND unmet = 0 AND run = 0
ORDER BY priority, seq LIMIT 1;

-- name: claimed_tasks
SELECT * FROM tasks WHERE state = 'in_progress' ORDER BY seq;

-- name: tasks_beneath
SELECT * FROM tasks WHERE parent = ? AND parent <> '' ORDER BY priority, seq;

-- name: level_of_tasks
SELECT * FROM tasks WHERE project = ?1 AND parent = ?2 AND (state = 'closed') <= (?4 = 1)
ORDER BY state = 'closed', answered_at IS NULL, priority, seq LIMIT ?3;

-- name: count_of_level
SELECT count(*) FROM tasks WHERE project = ? AND parent = ? AND (state = 'closed') <= (? = 1);

-- name: count_of_project
SELECT count(*) FROM tasks WHERE project = ? AND (state = 'closed') <= (? = 1);

-- name: task_projects
-- From each project to the next one along the index, not over every task.
WITH RECURSIVE found (project) AS (
    SELECT min(project) FROM tasks
    UNION ALL
    SELECT (SELECT min(project) FROM tasks WHERE project > found.project) FROM found
    WHERE found.project IS NOT NULL
)
SELECT project FROM found WHERE project IS NOT NULL;

-- name: folders_of_key
WITH RECURSIVE found (project) AS (
    SELECT min(project) FROM tasks WHERE project_key = ?1 AND project_key <> ''
    UNION ALL
    SELECT (
        SELECT min(project) FROM tasks
        WHERE project_key = ?1 AND project_key <> '' AND project > found.project
    ) FROM found WHERE found.project IS NOT NULL
)
SELECT project FROM found WHERE project IS NOT NULL;
