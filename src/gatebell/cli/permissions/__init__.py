"""Commands for gates and grants."""
