"""The hold test: break a gate in every way, and look whether the tool ran."""
