"""The places of runs: where an engine may have a ready run driven.

A trigger in the database writes the same names. They are short, because an engine makes names of
channels from them.
"""

from __future__ import annotations

from gatebell.domain.digests import text_digest

_DIGEST_LENGTH = 12
_MAX_NAME_LENGTH = 22
_KEPT_LENGTH = 9


def host_place(host: str) -> str:
    """Return the beginning of the places of runs whose folder is on this host."""
    return f"host:{_shorten(host)}"


def pool_place(pool: str, project_key: str) -> str:
    """Return the place of a project's runs that workers of a pool may drive."""
    # The workers of a pool have different projects. So each looks only where its projects are.
    return f"pool:{_shorten(pool)}/{_digest(project_key)}"


def split_place(place: str) -> tuple[str, str]:
    """Return the host or pool of a place, and the digest of its project."""
    where, _, project = place.rpartition("/")
    return where, project


def _shorten(name: str) -> str:
    if len(name) <= _MAX_NAME_LENGTH:
        return name
    # No name of a host or pool has this character.
    return f"{name[:_KEPT_LENGTH]}~{_digest(name)}"


def _digest(text: str) -> str:
    return text_digest(text)[:_DIGEST_LENGTH]
