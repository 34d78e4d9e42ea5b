"""The backlog: change tasks and work through them."""
