"""Stores: the only room that imports a database library."""
