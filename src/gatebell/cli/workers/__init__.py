"""Workers, their hosts and engines."""
