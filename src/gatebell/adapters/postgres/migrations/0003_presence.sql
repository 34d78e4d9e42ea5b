-- oldest reader: 2
-- Who is here now, which message a delivery went out in, and how a channel finds it again.

CREATE TABLE presence (
    person text COLLATE "C" NOT NULL,
    seen_at text COLLATE "C" NOT NULL,
    PRIMARY KEY (person)
);

ALTER TABLE deliveries ADD COLUMN message text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE deliveries ADD COLUMN receipt text COLLATE "C" NOT NULL DEFAULT '';
CREATE INDEX deliveries_of_ask ON deliveries (ask_id);
CREATE INDEX deliveries_of_message ON deliveries (message) WHERE message <> '';
CREATE INDEX deliveries_told ON deliveries (route, sent_at)
    WHERE sent_at IS NOT NULL AND kind IN ('opened', 'reminder');
