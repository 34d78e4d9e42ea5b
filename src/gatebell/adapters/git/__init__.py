"""Work with the folders of agents through git."""
