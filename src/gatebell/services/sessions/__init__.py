"""A person opens an agent's session."""
