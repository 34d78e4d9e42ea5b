"""How a phone reaches the web inbox."""
