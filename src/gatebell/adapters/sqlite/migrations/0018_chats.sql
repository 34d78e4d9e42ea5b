-- The accounts of people in chats. A row is an invitation until its code was used.
CREATE TABLE chat_links (
    id TEXT PRIMARY KEY,
    chat TEXT NOT NULL,
    person TEXT NOT NULL,
    verified INTEGER NOT NULL,
    -- Of the token with which it was made; it ends with that token.
    token_id TEXT NOT NULL,
    made_at TEXT NOT NULL,
    -- The digest of a code that works once; empty after its use.
    code TEXT NOT NULL,
    -- The account in the chat, and the conversation with it; both empty before.
    account TEXT NOT NULL,
    room TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX chat_links_of_accounts ON chat_links (chat, account) WHERE account <> '';

-- Messages about asks in these conversations: what a reply belongs to, and what is changed later.
CREATE TABLE chat_messages (
    chat TEXT NOT NULL,
    room TEXT NOT NULL,
    message TEXT NOT NULL,
    ask_id TEXT NOT NULL,
    -- Of the question that was shown.
    digest TEXT NOT NULL,
    kind TEXT NOT NULL,
    sent_at TEXT NOT NULL,
    PRIMARY KEY (chat, room, message)
) STRICT, WITHOUT ROWID;
CREATE INDEX chat_messages_of_asks ON chat_messages (ask_id, sent_at);
CREATE INDEX chat_messages_by_time ON chat_messages (sent_at);
