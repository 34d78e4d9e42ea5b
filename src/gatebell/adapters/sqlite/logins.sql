-- name: add_login
-- Unless the token it was made with has been revoked meanwhile.
INSERT INTO logins
SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8
WHERE ?6 = '' OR EXISTS (SELECT 1 FROM tokens WHERE substr(digest, 1, 8) = ?6);

-- name: get_login
SELECT person, verified, scopes, expires_at, token_id, seal FROM logins
WHERE digest = ? AND kind = ? AND expires_at > ?;

-- name: end_login
DELETE FROM logins WHERE digest = ?;

-- name: drop_old_logins
DELETE FROM logins WHERE expires_at <= ?;

-- name: end_logins_of_token
DELETE FROM logins WHERE token_id = ?;

-- name: end_logins_of_person
-- Those who proved to be this person; whoever was let in as the OS user is not one of them.
DELETE FROM logins WHERE person = ? AND verified = 1;
