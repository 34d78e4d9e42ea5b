"""Commands for asks."""
