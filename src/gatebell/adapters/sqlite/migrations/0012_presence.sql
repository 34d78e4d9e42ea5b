-- Who is here now, which message a delivery went out in, and how a channel finds it again.

CREATE TABLE presence (
    person TEXT PRIMARY KEY,
    seen_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

ALTER TABLE deliveries ADD COLUMN message TEXT NOT NULL DEFAULT '';
ALTER TABLE deliveries ADD COLUMN receipt TEXT NOT NULL DEFAULT '';
CREATE INDEX deliveries_of_ask ON deliveries (ask_id);
CREATE INDEX deliveries_of_message ON deliveries (message) WHERE message <> '';
CREATE INDEX deliveries_told ON deliveries (route, sent_at)
    WHERE sent_at IS NOT NULL AND kind IN ('opened', 'reminder');
