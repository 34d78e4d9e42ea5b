"""Read the project's and the user's own files: flows, roles, templates, backlog settings."""
