-- Deliveries: each notice on each of its roads, from when it is due until it is sent or given up.

CREATE TABLE deliveries (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    ask_id TEXT NOT NULL,
    recipient TEXT NOT NULL,
    road TEXT NOT NULL,
    written_at TEXT NOT NULL,
    due_at TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    claimed_until TEXT,
    sent_at TEXT,
    given_up_at TEXT,
    trouble TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX deliveries_due ON deliveries (road, due_at)
    WHERE sent_at IS NULL AND given_up_at IS NULL;
CREATE INDEX deliveries_in_trouble ON deliveries (written_at) WHERE trouble <> '';
CREATE INDEX deliveries_by_age ON deliveries (written_at);
CREATE INDEX deliveries_of_reminders ON deliveries (ask_id, road)
    WHERE kind = 'reminder' AND sent_at IS NULL AND given_up_at IS NULL;
CREATE INDEX outbox_reminders ON outbox (ask_id) WHERE kind = 'reminder';
