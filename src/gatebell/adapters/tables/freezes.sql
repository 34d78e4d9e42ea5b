-- name: insert_freeze
-- Fails on its index if a freeze lasts.
INSERT INTO freezes (made_by, made_at, reason) VALUES (:made_by, :made_at, :reason);

-- name: lift_freeze
UPDATE freezes SET lifted_at = :now, lifted_by = :by WHERE lifted_by = '' AND lifted_at IS NULL;

-- name: lasting_freeze
SELECT made_by, made_at, reason FROM freezes
WHERE lifted_by = '' AND lifted_at IS NULL;
