"""The backlog and its tasks."""
