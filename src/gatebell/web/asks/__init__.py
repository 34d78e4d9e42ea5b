"""Pages of asks."""
