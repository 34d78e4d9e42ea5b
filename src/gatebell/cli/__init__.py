"""The command line. Each command is a file of its own; only the one that is used is imported."""
