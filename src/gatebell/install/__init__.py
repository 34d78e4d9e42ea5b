"""Write our entries into the settings of agent CLIs, and remove them again."""
