"""Commands for people."""
