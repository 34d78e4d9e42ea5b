"""The questions of a host's own question tool, as asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.domain.asks.questions import OTHER
from gatebell.domain.asks.requests import Request
from gatebell.domain.enums import AskKind
from gatebell.errors import UsageError

if TYPE_CHECKING:
    from gatebell.domain.permissions.calls import Call

QUESTIONS = "AskUserQuestion"
"""The tool by which Claude Code lets an agent ask its person."""


def build_requests(
    call: Call, activity: str, expires_seconds: float, remind_every_seconds: float | None
) -> list[Request]:
    """Return the host's questions as asks; refuse an unknown form.

    A question without options is answered with any words.
    """
    try:
        return [
            Request(
                prompt=one["question"],
                kind=AskKind.CHOICE if one["options"] else AskKind.TEXT,
                options=(*(option["label"] for option in one["options"]), OTHER)
                if one["options"]
                else (),
                multiple=bool(one.get("multiSelect")),
                context={o["label"]: o.get("description", "") for o in one["options"]},
                activity=activity,
                expires_seconds=expires_seconds,
                hard=True,
                remind_every_seconds=remind_every_seconds,
            )
            for one in call.input.get("questions") or ()
        ]
    except (TypeError, KeyError, AttributeError):
        raise UsageError("the host's questions have an unknown form") from None
