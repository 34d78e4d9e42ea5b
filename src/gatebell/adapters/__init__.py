"""Adapters: what the ports are on this machine."""
