"""Options of `ask_interactive`, in a flow, from a program, or awaited."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

from gatebell.api.schemas import ExpectedAnswer, expect_answer
from gatebell.domain.asks.deadlines import Escalation
from gatebell.domain.asks.times import as_seconds
from gatebell.domain.enums import AskKind
from gatebell.domain.lists import as_list
from gatebell.domain.sessions.visits import Terms
from gatebell.domain.text.options import refuse_unknown
from gatebell.services.asks.create_ask import Request

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gatebell.domain.asks.times import Seconds


class InteractiveOptions(TypedDict, total=False):
    """Options of a session; docs/sessions.md describes them."""

    returns: object
    """`Approval`, `Selection(options)`, a type or a JSON Schema; without it, text."""
    context: Any
    """JSON for the agent and the person; the agent gets it as a file."""
    system_prompt: str
    """Describes the decision to the agent."""
    model: str
    """The model of the agent; `sonnet` by default."""
    cwd: str
    """Where the session opens; by default the folder of the asker."""
    mcp_config: str
    """A file that names more tools for the agent."""
    session_timeout: Seconds | None
    """How long people may stay, all their visits together."""
    timeout: Seconds | None
    """When the ask expires."""
    capture_transcript: bool
    """Keep the words of the conversation."""
    resume_session: str
    """The `session_id` of an earlier session, to go on with its conversation."""
    participants: Sequence[str]
    """All of these people must approve, each in their own visit."""
    notify: Sequence[str]
    """People or groups to notify at once."""
    max_attempts: int
    """After so many failed attempts the session ends as `failed`."""


# The store has another word for this option.
_STORED = {"session_timeout": "session_seconds"}
# An escalation that is due as soon as the ask is open.
_AT_ONCE_SECONDS = 0.001


def build_request(prompt: str, options: InteractiveOptions) -> tuple[Request, ExpectedAnswer]:
    """Return the request of a session, and the type that its answer becomes.

    Raises:
        UnknownOptionError: An option does not exist.
        UsageError: An option has a value that it cannot have.
    """
    given: dict[str, Any] = dict(options)
    refuse_unknown("ask_interactive", given, InteractiveOptions.__annotations__)
    expected = expect_answer(given.pop("returns", None))
    context, timeout = given.pop("context", None), given.pop("timeout", None)
    participants = list(as_list(given.pop("participants", ()), "participants"))
    notify = as_list(given.pop("notify", ()), "notify")
    if given.get("session_timeout") is not None:
        given["session_timeout"] = as_seconds(given["session_timeout"], "session_timeout")
    terms = Terms(
        answer=expected.answered_as,
        **{_STORED.get(name, name): value for name, value in given.items()},
    )
    request = Request(
        prompt,
        AskKind.SESSION,
        expected.options,
        expected.multiple,
        expected.schema,
        context,
        requirement={"all": participants} if participants else None,
        expires_seconds=None if timeout is None else as_seconds(timeout, "timeout"),
        escalations=tuple(Escalation(_AT_ONCE_SECONDS, who) for who in notify),
        session=terms,
    )
    return request, expected
