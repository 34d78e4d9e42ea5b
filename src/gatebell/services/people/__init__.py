"""People, tokens, groups and logins."""
