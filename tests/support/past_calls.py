"""Past asks about tool calls, decided by a person."""

from __future__ import annotations

from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.asks import Origin
from gatebell.domain.enums import AskKind
from gatebell.domain.permissions.calls import make_call
from gatebell.services.asks import answer_ask, create_ask
from gatebell.services.asks.create_ask import Request
from tests.support.people import a_person, an_agent


def ask_about(store, command, project="/p", session="claude/s1"):
    """Ask about a command, in a session of its own."""
    call = make_call("Bash", {"command": command}, project)
    request = Request(f"Run {command}?", AskKind.APPROVAL, call=call)
    number = store.asks.count()
    origin = Origin(project, project, "claude", f"{session}-{number}", f"t{number}", "person:ada")
    return create_ask.ask(store, request, origin, an_agent()).ask


def decide(store, command, value="yes", note="", project="/p"):
    """Ask about a command, and answer; return the settled ask."""
    ask = ask_about(store, command, project)
    given = Given(value, note)
    return answer_ask.answer(store, ask.id, a_person(verified=True), given)[1]
