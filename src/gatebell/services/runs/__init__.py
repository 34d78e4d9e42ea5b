"""Start, drive and stop runs."""
