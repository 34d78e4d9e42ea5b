"""The door by which an agent's host asks before it lets the agent act."""
