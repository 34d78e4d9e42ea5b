"""`claude-helpers listen`, in the working directory."""

from .hil.listener import listen_command

listen_command()
