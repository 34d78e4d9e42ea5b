"""The verbs of a store in process, or of a server."""
