-- name: add_person
INSERT INTO people VALUES (?, ?) ON CONFLICT DO NOTHING;

-- name: remove_person
DELETE FROM people WHERE name = ?;

-- name: all_people
SELECT name, added_at, (SELECT count(*) FROM tokens WHERE person = name)
FROM people ORDER BY name;

-- name: add_token
INSERT INTO tokens SELECT ?2, name, ?3, ?4, ?5 FROM people WHERE name = ?1;

-- name: token_of_digest
SELECT digest, person, scopes, label, made_at FROM tokens WHERE digest = ?;

-- name: all_tokens
SELECT digest, person, scopes, label, made_at FROM tokens ORDER BY person, made_at, digest;

-- name: remove_token
DELETE FROM tokens WHERE substr(digest, 1, 8) = ?;

-- name: empty_group
DELETE FROM group_members WHERE name = ?;

-- name: add_member
INSERT INTO group_members VALUES (?, ?) ON CONFLICT DO NOTHING;

-- name: all_members
SELECT name, member FROM group_members ORDER BY name, member;
