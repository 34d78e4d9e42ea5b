"""The tools by which agents ask, over the Model Context Protocol."""
