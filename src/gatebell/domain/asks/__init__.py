"""Asks: questions to people, their answers and their forms."""
