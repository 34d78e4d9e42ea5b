"""The hook by which an agent's host asks before the agent acts."""
