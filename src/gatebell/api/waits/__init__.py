"""How `AsyncGate` waits: on a store, or at a server."""
