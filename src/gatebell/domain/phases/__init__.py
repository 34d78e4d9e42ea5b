"""Workflows of phases."""
