"""Adapters: the implementations of the ports on this machine."""
