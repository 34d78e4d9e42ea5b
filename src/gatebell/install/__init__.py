"""Agent CLIs: what stands in their settings so that they ask, and how it gets there and away."""
