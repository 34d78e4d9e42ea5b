"""Asks, runs and tasks as lines of a terminal, for the faces that have one."""
