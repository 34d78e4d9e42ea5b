"""Asks, runs and tasks as lines of a terminal, for the command line and the TUI."""
