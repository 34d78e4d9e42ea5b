"""Runs and asks on one live screen."""
