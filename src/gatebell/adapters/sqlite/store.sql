-- name: get_trait
SELECT value FROM traits WHERE name = ?;

-- name: mark_throwaway
-- Only while nothing has happened in it.
INSERT INTO traits SELECT 'throwaway', 'yes' WHERE NOT EXISTS (SELECT 1 FROM events);
