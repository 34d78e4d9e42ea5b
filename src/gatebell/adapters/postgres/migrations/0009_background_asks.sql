-- oldest reader: 9
-- What the agent does until the answer comes; NULL: it waits. Programs of older versions would show
-- a question without it, so they refuse the store from here on.
ALTER TABLE asks ADD COLUMN assume text COLLATE "C";
