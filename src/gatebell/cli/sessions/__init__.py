"""Open an agent's session in this terminal."""
