"""This machine: its clock, processes and environment."""
