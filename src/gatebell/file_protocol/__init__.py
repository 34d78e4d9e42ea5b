"""Agents that have nothing but a shell: they ask by files, and one listener answers them."""
