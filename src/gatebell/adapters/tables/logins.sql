-- name: add_login
-- Unless its token has been revoked since then.
INSERT INTO logins (digest, kind, person, verified, scopes, token_id, expires_at, seal)
SELECT :digest, :kind, :person, CAST(:verified AS INTEGER), :scopes, :token_id, :expires_at, :seal
WHERE :token_id = '' OR EXISTS (SELECT 1 FROM tokens WHERE substr(digest, 1, 8) = :token_id);

-- name: get_login
SELECT person, verified, scopes, expires_at, token_id, seal FROM logins
WHERE digest = ? AND kind = ? AND expires_at > ?;

-- name: end_login
DELETE FROM logins WHERE digest = :digest;

-- name: drop_old_logins
DELETE FROM logins WHERE expires_at <= :now;

-- name: end_logins_of_token
DELETE FROM logins WHERE token_id = :token_id;

-- name: end_logins_of_person
-- Those that proved to be this person; a login of the OS user is not one of them.
DELETE FROM logins WHERE person = :person AND verified = 1;

-- name: end_all_logins
DELETE FROM logins;
