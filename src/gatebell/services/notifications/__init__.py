"""Notes, and notifications that are sent once."""
