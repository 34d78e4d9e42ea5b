"""One call of an agent in a run."""
