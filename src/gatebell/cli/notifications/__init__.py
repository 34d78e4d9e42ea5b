"""Commands for notifications."""
