"""Drive the agents' command lines, and read their logs."""
