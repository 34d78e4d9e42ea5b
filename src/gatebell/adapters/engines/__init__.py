"""Engines decide where and when a ready run is driven."""
