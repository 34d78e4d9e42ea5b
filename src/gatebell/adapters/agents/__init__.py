"""How the agents' command lines are talked to and read."""
