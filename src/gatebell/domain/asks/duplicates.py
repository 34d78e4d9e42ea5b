"""Duplicate asks: the same question, so that one answer may settle all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.domain.asks.asks import question_digest
from gatebell.domain.digests import digest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gatebell.domain.asks.asks import Ask


def digest_likeness(ask: Ask) -> str:
    """Return a digest that is equal for asks that may be answered together.

    Approvals must be equal in everything that is shown, except ids and times: a yes to one
    must not approve an ask that looks different.
    """
    origin, question = ask.origin, ask.question
    if ask.token_digest or (question.gates and ask.version > 1):
        # A secret is for one asker. A changed approval has messages, votes or moved deadlines.
        return ask.id
    if not question.gates:
        return question_digest(question, origin._replace(project="", owner=""))
    remark = question.call.remark if question.call else ""
    shown = [ask.activity, ask.confidence, ask.priority, ask.deadlines.hard, remark, ask.assume]
    where = list(origin._replace(tool_use_id=""))
    return digest([question_digest(question, origin), where, shown])


def alike(ask: Ask, others: Iterable[Ask]) -> list[Ask]:
    """Return the other asks that may get the same answer."""
    wanted = digest_likeness(ask)
    return [other for other in others if other.id != ask.id and digest_likeness(other) == wanted]


def groups(asks: Iterable[Ask]) -> list[tuple[str, list[list[Ask]]]]:
    """Group asks by project and then by identical question; keep their order."""
    projects: dict[str, dict[str, list[Ask]]] = {}
    for ask in asks:
        project = projects.setdefault(ask.origin.project, {})
        project.setdefault(digest_likeness(ask), []).append(ask)
    return [(project, list(found.values())) for project, found in projects.items()]
