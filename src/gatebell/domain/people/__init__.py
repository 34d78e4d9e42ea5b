"""People, agents and logins."""
