"""Nouns and rules, pure: no input or output, no clock, no database."""
