"""Notification messages for the channels."""

from __future__ import annotations

from datetime import UTC, datetime

from gatebell.domain.asks.asks import Ask, Origin
from gatebell.domain.asks.questions import make_question
from gatebell.domain.enums import Priority
from gatebell.domain.notifications.messages import Delivery, compose


def a_letter(prompt="Deploy?", agent="coder", priority=2):
    now = datetime.now(UTC)
    question = make_question("approval", prompt, context="the context")
    ask = Ask(
        "a-222", question, Origin(project="/p/shop", agent=agent), now, "d" * 64, Priority(priority)
    )
    delivery = Delivery("i" * 32, "opened", "a-222", "", "x", now, now)
    return compose(delivery, "https://gate.example.org", ask)
