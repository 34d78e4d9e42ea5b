-- Browsers in which people get notifications by web push.
CREATE TABLE devices (
    id TEXT PRIMARY KEY,
    person TEXT NOT NULL,
    endpoint TEXT NOT NULL,
    p256dh TEXT NOT NULL,
    auth TEXT NOT NULL,
    -- Of the login that signed it up: it tells one browser from another.
    seal TEXT NOT NULL,
    token_id TEXT NOT NULL,
    label TEXT NOT NULL,
    added_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX devices_of_people ON devices (person, added_at);
