"""Data types and rules as pure functions: no input or output, no clock, no database."""
