"""What `gate install` writes, one module for each agent CLI."""
