"""The channels: one file for each kind of route."""
