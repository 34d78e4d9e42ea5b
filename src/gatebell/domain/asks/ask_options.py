"""Options that every ask takes, in a program and in a flow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

from gatebell.domain.asks.deadlines import make_escalations
from gatebell.domain.asks.times import as_seconds
from gatebell.domain.text.options import refuse_unknown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gatebell.domain.asks.times import Seconds


class AskOptions(TypedDict, total=False):
    """Options that every ask takes; docs/python.md describes them."""

    context: Any
    """JSON that is shown beside the question: a diff, data, text."""
    activity: str
    """The agent's last words and changes, for the person who decides."""
    priority: int | str
    """`urgent`, `high`, `normal`, `low` or `backlog`; or 0 to 4."""
    confidence: float
    """How sure the asker is of its own proposal, from 0 to 1."""
    default: Any
    """The value after the timeout; never an approval."""
    secret: bool
    """The answer is kept apart, handed over once, and then erased."""
    requirement: Mapping[str, Any]
    """Whose answers settle the ask, and how many: `{"n": 2, "of": "ops"}`."""
    timeout: Seconds
    """When the ask expires."""
    hard: bool
    """The timeout is never extended, not even while a person types."""
    remind_every: Seconds
    """How often people are reminded."""
    escalations: Sequence[tuple[Seconds, str]]
    """Pairs of a time and a person or group that is notified after it."""
    attachments: Sequence[Any]
    """Paths of files that are shown with the question; not in a flow."""
    owner: str
    """A name that becomes ready in the store when the ask settles."""


KNOWN = tuple(AskOptions.__annotations__)
# The store and the journals of runs have other words for some options.
_STORED = {"timeout": "expires_seconds", "remind_every": "remind_every_seconds"}


def read_options(call: str, given: Mapping[str, Any], *beside: str) -> dict[str, Any]:
    """Return the options of an ask as the fields of a `Request`.

    Args:
        call: the call that they were given to, for errors
        given: the options by name
        beside: other keywords that this call takes, which an error may suggest

    Raises:
        UnknownOptionError: One of them does not exist.
        UsageError: A time is not a number of seconds or a timedelta.
    """
    refuse_unknown(call, given, (*KNOWN, *beside))
    fields = {_STORED.get(name, name): value for name, value in given.items()}
    for name in ("timeout", "remind_every"):
        if given.get(name) is None:
            fields.pop(_STORED[name], None)
        else:
            fields[_STORED[name]] = as_seconds(given[name], name)
    if "escalations" in given:
        fields["escalations"] = make_escalations(given["escalations"])
    return fields
