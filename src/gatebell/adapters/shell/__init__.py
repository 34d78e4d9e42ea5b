"""Reads command lines of shells."""
