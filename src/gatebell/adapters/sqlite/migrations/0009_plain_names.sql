-- Columns and tables get the names that the code uses: one word per thing.

ALTER TABLE asks RENAME COLUMN sponsor TO started_by;
ALTER TABLE asks RENAME COLUMN going_on TO activity;
ALTER TABLE runs RENAME COLUMN sponsor TO started_by;
ALTER TABLE runs RENAME COLUMN at_path TO stopped_at;
ALTER TABLE runs RENAME COLUMN falls TO crash_count;

ALTER TABLE deliveries RENAME COLUMN road TO route;
ALTER TABLE deliveries RENAME COLUMN trouble TO problem;
DROP INDEX deliveries_in_trouble;
CREATE INDEX deliveries_with_problems ON deliveries (written_at) WHERE problem <> '';

ALTER TABLE sittings RENAME TO visits;
ALTER TABLE visits RENAME COLUMN trouble TO problem;
DROP INDEX sittings_open;
DROP INDEX sittings_held;
-- One person at a time in a session, and one in a conversation that several asks share.
CREATE UNIQUE INDEX visits_open ON visits (ask_id) WHERE ended_at IS NULL;
CREATE UNIQUE INDEX visits_held ON visits (cli, session)
    WHERE ended_at IS NULL AND session <> '';
