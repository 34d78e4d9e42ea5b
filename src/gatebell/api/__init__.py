"""The public API: what `from gatebell import …` gives."""
