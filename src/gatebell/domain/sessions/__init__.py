"""A person in an agent's session."""
