"""The nouns of the store in tables, for every database: rows to values and back."""
