"""Questions in files, for agents that have only a shell; one listener answers them."""
