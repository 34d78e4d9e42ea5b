"""`Human`: asking one person at a time, also for sessions that they work through with an agent."""
