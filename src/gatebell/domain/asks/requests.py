"""A new ask before it is checked, and what its asker gets back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gatebell.domain.enums import AskKind, Priority
from gatebell.domain.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.asks.attachments import Attachment
    from gatebell.domain.asks.deadlines import Escalation
    from gatebell.domain.permissions.calls import Call
    from gatebell.domain.sessions.visits import Terms


class Request(NamedTuple):
    """The fields of a new ask, before they are checked."""

    prompt: str
    kind: str = AskKind.TEXT
    options: tuple[str, ...] = ()
    multiple: bool = False
    schema: dict[str, Any] | None = None
    context: Any = None
    activity: str = ""
    priority: int | str = Priority.NORMAL
    confidence: float | None = None
    default: Any = None
    secret: bool = False
    requirement: Mapping[str, Any] | None = None
    expires_seconds: float | None = None
    hard: bool = False
    remind_every_seconds: float | None = None
    escalations: tuple[Escalation, ...] = ()
    call: Call | None = None
    deferred: bool = False
    session: Terms | None = None
    attachments: tuple[Attachment, ...] = ()
    """Files whose bytes the store has already."""
    assume: str | None = None
    """What the asker assumes until the answer comes; None: it waits."""


class Opened(NamedTuple):
    """The ask, and the token for its secret answer, if it has one."""

    ask: Ask
    token: str
    attached: bool
    """Whether the same session had already asked this, and the answer was not taken yet."""
