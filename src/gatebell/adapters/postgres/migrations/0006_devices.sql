-- oldest reader: 5
-- Browsers in which people get notifications by web push.
CREATE TABLE devices (
    id text COLLATE "C" NOT NULL,
    person text COLLATE "C" NOT NULL,
    endpoint text COLLATE "C" NOT NULL,
    p256dh text COLLATE "C" NOT NULL,
    auth text COLLATE "C" NOT NULL,
    -- Of the login that signed it up: it tells one browser from another.
    seal text COLLATE "C" NOT NULL,
    token_id text COLLATE "C" NOT NULL,
    label text COLLATE "C" NOT NULL,
    added_at text COLLATE "C" NOT NULL,
    PRIMARY KEY (id)
);
CREATE INDEX devices_of_people ON devices (person, added_at);
CREATE TRIGGER noted AFTER INSERT OR UPDATE OR DELETE ON devices
    FOR EACH ROW EXECUTE FUNCTION note_row(
        'id', 'person', 'endpoint', 'p256dh', 'auth', 'seal', 'token_id', 'label', 'added_at'
    );
CREATE TRIGGER not_truncated BEFORE TRUNCATE ON devices EXECUTE FUNCTION refuse_truncate();
