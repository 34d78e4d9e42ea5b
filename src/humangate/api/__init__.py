"""The public API: what `from humangate import …` gives."""
