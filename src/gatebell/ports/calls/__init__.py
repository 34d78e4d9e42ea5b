"""Tool calls of agents that wait for a person."""
