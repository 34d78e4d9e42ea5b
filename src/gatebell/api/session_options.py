"""What `ask_interactive` takes, wherever it is called: in a flow, from a program, or awaited."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

from gatebell.api.schemas import ExpectedAnswer, wish
from gatebell.domain.asks.deadlines import Escalation
from gatebell.domain.enums import AskKind
from gatebell.domain.lists import as_list
from gatebell.domain.sessions.visits import Terms
from gatebell.domain.text.suggestions import suggest
from gatebell.errors import UsageError
from gatebell.services.asks.create_ask import Request

if TYPE_CHECKING:
    from collections.abc import Sequence

    class InteractiveOptions(TypedDict, total=False):
        """How a session is worked out; see docs/sessions.md."""

        system_prompt: str
        context: Any
        model: str
        cwd: str
        mcp_config: str
        session_seconds: float | None
        expires: float | None
        outcome: object
        capture_transcript: bool
        resume_session: str
        participants: Sequence[str]
        notify: Sequence[str]
        max_attempts: int


_OWN = ("outcome", "context", "expires", "participants", "notify")
# Told as soon as the ask is open.
_AT_ONCE_SECONDS = 0.001


def request(prompt: str, options: InteractiveOptions) -> tuple[Request, ExpectedAnswer]:
    """The ask of a session, and what its answer becomes."""
    given = dict(options)
    wanted = wish(given.pop("outcome", None))
    context, expires = given.pop("context", None), given.pop("expires", None)
    participants = list(as_list(given.pop("participants", ()), "participants"))
    notify = as_list(given.pop("notify", ()), "notify")
    if unknown := sorted(set(given) - set(Terms._fields[1:])):
        near = suggest(unknown[0], (*Terms._fields[1:], *_OWN))
        raise UsageError(f"ask_interactive takes no {unknown[0]}{near}")
    terms = Terms(answer=wanted.answered_as, **given)  # type: ignore[arg-type]
    made = Request(
        prompt,
        AskKind.SESSION,
        wanted.options,
        wanted.multiple,
        wanted.schema,
        context,
        requirement={"all": participants} if participants else None,
        expires_seconds=expires,  # type: ignore[arg-type]
        escalations=tuple(Escalation(_AT_ONCE_SECONDS, who) for who in notify),
        session=terms,
    )
    return made, wanted
