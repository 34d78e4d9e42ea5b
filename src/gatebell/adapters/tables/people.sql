-- name: add_person
INSERT INTO people (name, added_at) VALUES (:name, :added_at) ON CONFLICT DO NOTHING;

-- name: remove_person
DELETE FROM people WHERE name = :name;

-- name: all_people
SELECT name, added_at, (SELECT count(*) FROM tokens WHERE person = name)
FROM people ORDER BY name;

-- name: add_token
INSERT INTO tokens (digest, person, made_at, label, scopes)
SELECT :digest, name, :made_at, :label, :scopes FROM people WHERE name = :person;

-- name: token_of_digest
SELECT digest, person, scopes, label, made_at FROM tokens WHERE digest = ?;

-- name: all_tokens
SELECT digest, person, scopes, label, made_at FROM tokens ORDER BY person, made_at, digest;

-- name: remove_token
DELETE FROM tokens WHERE substr(digest, 1, 8) = :id;

-- name: empty_group
DELETE FROM group_members WHERE name = :name;

-- name: add_member
-- A person who was removed since then is left out.
INSERT INTO group_members (name, member)
SELECT :name, name FROM people WHERE name = :member ON CONFLICT DO NOTHING;

-- name: all_members
SELECT name, member FROM group_members ORDER BY name, member;
