"""Use cases that bring the web inbox to a phone."""
