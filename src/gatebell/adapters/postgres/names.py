"""Read the address of a PostgreSQL store, and name it without its password."""

from __future__ import annotations

from urllib.parse import urlsplit


def name_store(dsn: str) -> str:
    """Return the address for messages: without the user, the password and all options."""
    try:
        parts = urlsplit(dsn)
        port = f":{parts.port}" if parts.port else ""
        return f"postgresql://{parts.hostname or ''}{port}{parts.path}"
    except ValueError:
        return "postgresql://…"
