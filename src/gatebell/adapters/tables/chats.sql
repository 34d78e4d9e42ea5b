-- name: add_chat_link
-- Unless its token has been revoked since then.
INSERT INTO chat_links (id, chat, person, verified, token_id, made_at, code, account, room)
SELECT :id, :chat, :person, CAST(:verified AS INTEGER), :token_id, :made_at, :code, :account, :room
WHERE :token_id = '' OR EXISTS (SELECT 1 FROM tokens WHERE substr(digest, 1, 8) = :token_id);

-- name: drop_old_chat_codes
DELETE FROM chat_links WHERE code <> '' AND made_at <= :before;

-- name: get_chat_code
SELECT id FROM chat_links WHERE id = :id AND code = :code AND code <> '' AND made_at > :since;

-- name: use_chat_code
UPDATE chat_links SET code = '', account = :account, room = :room
WHERE id = :id AND code = :code AND code <> '' AND made_at > :since;

-- name: get_chat_link
SELECT id, chat, person, verified, token_id, made_at, code, account, room FROM chat_links
WHERE id = ?;

-- name: chat_link_of_account
SELECT id, chat, person, verified, token_id, made_at, code, account, room FROM chat_links
WHERE chat = ? AND account = ? AND account <> '';

-- name: all_chat_links
SELECT id, chat, person, verified, token_id, made_at, code, account, room FROM chat_links
ORDER BY person, made_at, id;

-- name: remove_chat_link
DELETE FROM chat_links WHERE id = :id;

-- name: remove_chat_account
DELETE FROM chat_links WHERE chat = :chat AND account = :account AND account <> '';

-- name: remove_chat_links_of_token
DELETE FROM chat_links WHERE token_id = :token_id;

-- name: remove_chat_links_of_person
-- Those that proved to be this person; a link of the OS user is not one of them.
DELETE FROM chat_links WHERE person = :person AND verified = 1;

-- name: add_chat_message
INSERT INTO chat_messages (chat, room, message, ask_id, digest, kind, sent_at)
VALUES (:chat, :room, :message, :ask_id, :digest, :kind, :sent_at)
ON CONFLICT (chat, room, message) DO NOTHING;

-- name: get_chat_message
SELECT chat, room, message, ask_id, digest, kind, sent_at FROM chat_messages
WHERE chat = ? AND room = ? AND message = ?;

-- name: chat_messages_about
SELECT chat, room, message, ask_id, digest, kind, sent_at FROM chat_messages
WHERE ask_id = ? ORDER BY sent_at, message;

-- name: drop_old_chat_messages
DELETE FROM chat_messages WHERE sent_at < :before;
