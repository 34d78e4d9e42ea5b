"""Text from agents: made safe to show, without secrets."""
