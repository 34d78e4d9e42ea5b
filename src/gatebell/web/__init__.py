"""The inbox in a browser."""
