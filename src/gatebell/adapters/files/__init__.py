"""The project's and the user's own files: flows, roles, templates, settings of the backlog."""
