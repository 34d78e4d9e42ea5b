"""Freezing everything, and lifting that."""
