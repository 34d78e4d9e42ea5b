-- name: add_device
-- The same browser may have been signed up before, also by another person.
INSERT INTO devices (id, person, endpoint, p256dh, auth, seal, token_id, label, added_at)
SELECT :id, :person, :endpoint, :p256dh, :auth, :seal, :token_id, :label, :added_at
WHERE :token_id = '' OR EXISTS (SELECT 1 FROM tokens WHERE substr(digest, 1, 8) = :token_id)
ON CONFLICT (id) DO UPDATE SET
    person = excluded.person, p256dh = excluded.p256dh, auth = excluded.auth,
    seal = excluded.seal, token_id = excluded.token_id, label = excluded.label,
    added_at = excluded.added_at;

-- name: get_device
SELECT id, person, endpoint, p256dh, auth, seal, token_id, label, added_at FROM devices
WHERE id = ?;

-- name: all_devices
SELECT id, person, endpoint, p256dh, auth, seal, token_id, label, added_at FROM devices
ORDER BY person, added_at;

-- name: remove_device
DELETE FROM devices WHERE id = :id;

-- name: remove_devices_of_token
DELETE FROM devices WHERE token_id = :token_id;

-- name: remove_devices_of_person
DELETE FROM devices WHERE person = :person;

-- name: remove_devices_of_login
DELETE FROM devices WHERE seal <> '' AND seal = (SELECT seal FROM logins WHERE digest = :digest);

-- name: remove_devices_of_others
-- Another person has signed in to the same browser.
DELETE FROM devices WHERE seal <> '' AND seal = :seal AND person <> :person;
