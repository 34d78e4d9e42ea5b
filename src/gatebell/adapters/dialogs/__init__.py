"""Dialogs on the desktop: one file for each program that shows them."""
