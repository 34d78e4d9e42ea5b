"""Chats: people link their accounts, and answer there."""
