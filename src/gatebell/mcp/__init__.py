"""The door by which agents ask: tools over the Model Context Protocol."""
