-- name: get_trait
SELECT value FROM traits WHERE name = ?;

-- name: mark_throwaway
-- Only while it has no events.
INSERT INTO traits SELECT 'throwaway', 'yes' WHERE NOT EXISTS (SELECT 1 FROM events);

-- name: has_devices
SELECT 1 FROM devices UNION ALL SELECT 1 FROM chat_links LIMIT 1;
