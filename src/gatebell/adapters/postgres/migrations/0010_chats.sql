-- oldest reader: 10
-- Programs of older versions would ignore the ways by which an ask may be answered, so they refuse
-- the store from here on.
-- The accounts of people in chats. A row is an invitation until its code was used.
CREATE TABLE chat_links (
    id text COLLATE "C" NOT NULL,
    chat text COLLATE "C" NOT NULL,
    person text COLLATE "C" NOT NULL,
    verified bigint NOT NULL,
    -- Of the token with which it was made; it ends with that token.
    token_id text COLLATE "C" NOT NULL,
    made_at text COLLATE "C" NOT NULL,
    -- The digest of a code that works once; empty after its use.
    code text COLLATE "C" NOT NULL,
    -- The account in the chat, and the conversation with it; both empty before.
    account text COLLATE "C" NOT NULL,
    room text COLLATE "C" NOT NULL,
    PRIMARY KEY (id)
);
CREATE UNIQUE INDEX chat_links_of_accounts ON chat_links (chat, account) WHERE account <> '';
CREATE TRIGGER noted AFTER INSERT OR UPDATE OR DELETE ON chat_links
    FOR EACH ROW EXECUTE FUNCTION note_row(
        'id', 'chat', 'person', 'verified', 'token_id', 'made_at', 'code', 'account', 'room'
    );
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON chat_links EXECUTE FUNCTION refuse_truncate();

-- Messages about asks in these conversations: what a reply belongs to, and what is changed later.
CREATE TABLE chat_messages (
    chat text COLLATE "C" NOT NULL,
    room text COLLATE "C" NOT NULL,
    message text COLLATE "C" NOT NULL,
    ask_id text COLLATE "C" NOT NULL,
    -- Of the question that was shown.
    digest text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    sent_at text COLLATE "C" NOT NULL,
    PRIMARY KEY (chat, room, message)
);
CREATE INDEX chat_messages_of_asks ON chat_messages (ask_id, sent_at);
CREATE INDEX chat_messages_by_time ON chat_messages (sent_at);
