-- name: see_person
INSERT INTO presence (person, seen_at) VALUES (:person, :seen_at)
ON CONFLICT (person) DO UPDATE SET seen_at = excluded.seen_at;

-- name: last_seen
SELECT seen_at FROM presence WHERE person = ?;
