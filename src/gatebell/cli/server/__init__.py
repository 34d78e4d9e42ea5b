"""Start, stop and enter the web inbox."""
