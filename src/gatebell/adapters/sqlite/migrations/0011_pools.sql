-- The pool of workers that may drive a run without a host.
ALTER TABLE runs ADD COLUMN pool TEXT NOT NULL DEFAULT '';
