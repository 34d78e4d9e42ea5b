"""Transcripts of sessions, and the proposals from them."""

from __future__ import annotations

from typing import Any

from gatebell.domain.sessions.proposals import PERSON, Said, propose


def person(*texts: str) -> list[Said]:
    return [Said(PERSON, text) for text in texts]


def value(said: list[Said], answered_as: str = "approval", *more: Any, **named: Any) -> Any:
    found = propose(said, answered_as, *more, **named)
    assert found is None or found.value is not None
    return found.value if found else None
