-- What the agent does until the answer comes; NULL: it waits.
ALTER TABLE asks ADD COLUMN assume TEXT;
