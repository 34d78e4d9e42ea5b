-- name: lock_tasks
-- These tasks, and the tasks that need them: their number of open needs may change.
SELECT id FROM tasks
WHERE id IN (SELECT json_array_elements_text(CAST(:ids AS json)))
    OR id IN (
        SELECT task FROM task_needs
        WHERE needed IN (SELECT json_array_elements_text(CAST(:ids AS json)))
    )
ORDER BY id FOR UPDATE;

-- name: lock_new_tasks
-- A task that does not exist yet has no row to lock, but another one may already need it.
SELECT pg_advisory_xact_lock(720221);

-- name: lock_task_of_run
SELECT id FROM tasks
WHERE id = (SELECT task FROM runs WHERE id = :run)
    OR id IN (
        SELECT task_needs.task FROM task_needs JOIN runs ON runs.task = needed WHERE runs.id = :run
    )
ORDER BY id FOR UPDATE;
