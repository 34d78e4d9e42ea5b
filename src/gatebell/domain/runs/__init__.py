"""Runs of flows: calls, turns, signals and roles."""
