"""The backend on a server, over HTTP."""
