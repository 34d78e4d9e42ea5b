"""Runs and asks on one screen, live."""
