"""Create, answer and wait for asks."""
