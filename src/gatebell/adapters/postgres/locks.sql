-- name: lock_new_tasks
-- A task that does not exist yet has no row to lock, but another one may already need it.
SELECT pg_advisory_xact_lock(720221);

-- name: lock_freezes_off
SELECT pg_advisory_xact_lock_shared(720223);

-- name: lock_freezing
SELECT pg_advisory_xact_lock(720223);

-- name: lock_tasks
-- These tasks, and the tasks that need them: their number of open needs may change.
SELECT id FROM tasks
WHERE id IN (SELECT json_array_elements_text(CAST(:ids AS json)))
    OR id IN (
        SELECT task FROM task_needs
        WHERE needed IN (SELECT json_array_elements_text(CAST(:ids AS json)))
    )
ORDER BY id FOR UPDATE;

-- name: lock_task_of_run
SELECT id FROM tasks
WHERE id = (SELECT task FROM runs WHERE id = :run)
    OR id IN (
        SELECT task_needs.task FROM task_needs JOIN runs ON runs.task = needed WHERE runs.id = :run
    )
ORDER BY id FOR UPDATE;

-- name: lock_run
SELECT id FROM runs WHERE id = :id FOR UPDATE;

-- name: lock_run_of_turn
-- So that neither the run nor the person's question ends before the signal is there.
SELECT runs.id FROM turns JOIN runs ON runs.id = turns.run WHERE turns.id = :id FOR SHARE OF runs;

-- name: lock_ask_of_turn
SELECT asks.id FROM turns JOIN asks ON asks.id = turns.ask_id WHERE turns.id = :id
FOR SHARE OF asks;

-- name: lock_person
SELECT name FROM people WHERE name = :person FOR SHARE;

-- name: lock_token
-- So that the token is not revoked before the login that is made with it can be ended with it.
SELECT digest FROM tokens WHERE substr(digest, 1, 8) = :token_id FOR SHARE;

-- name: lock_groups
-- A member that is being added has no row to lock yet, so two lists of members would be merged.
SELECT pg_advisory_xact_lock(720224);

-- name: lock_chat_link
SELECT id FROM chat_links WHERE id = :id FOR SHARE;

-- name: lock_standing_rules
-- A grant that is being made has no row to lock yet, so an objection would not end it.
SELECT pg_advisory_xact_lock(720225);
