-- name: lock_token
-- So that the token is not revoked before the login that is made with it can be ended with it.
SELECT digest FROM tokens WHERE substr(digest, 1, 8) = :token_id FOR SHARE;

-- name: lock_person
SELECT name FROM people WHERE name = :person FOR SHARE;
