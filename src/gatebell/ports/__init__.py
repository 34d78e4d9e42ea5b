"""Ports: the Protocols of everything that services need from outside."""
