"""Commands for the web inbox."""
