"""Notifications: routes, messages and notes."""
