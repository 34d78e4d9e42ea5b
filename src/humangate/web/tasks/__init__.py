"""Pages of tasks."""
