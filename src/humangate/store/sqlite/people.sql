-- name: add_person
INSERT INTO people VALUES (?, ?) ON CONFLICT DO NOTHING;

-- name: remove_person
DELETE FROM people WHERE name = ?;

-- name: all_people
SELECT name, added_at, (SELECT count(*) FROM tokens WHERE person = name)
FROM people ORDER BY name;

-- name: add_token
INSERT INTO tokens SELECT ?2, name, ?3 FROM people WHERE name = ?1;

-- name: person_of_token
SELECT person FROM tokens WHERE digest = ?;

-- name: empty_group
DELETE FROM group_members WHERE name = ?;

-- name: add_member
INSERT INTO group_members VALUES (?, ?) ON CONFLICT DO NOTHING;

-- name: all_members
SELECT name, member FROM group_members ORDER BY name, member;
