"""The command line: one file per command; only the used one is imported."""
