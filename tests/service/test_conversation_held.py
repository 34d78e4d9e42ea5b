"""A conversation of a run that somebody has open through a session ask is not held twice."""

from __future__ import annotations

import pytest
from tests.joinable import desk

from gatebell.app.runtime import crew
from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.asks import Origin
from gatebell.domain.sessions.visits import Terms
from gatebell.errors import RefusedError
from gatebell.services.asks import answer_ask, create_ask
from gatebell.services.asks.create_ask import Request
from gatebell.services.sessions import joining, sitting

__all__ = ["desk"]

NEEDS = {"status": "NEEDS_HUMAN", "question": "Which way?"}
DONE = {"status": "DONE"}


@pytest.mark.proves("SES-129", "LAW-5")
def test_who_sits_in_an_agents_conversation_has_it_alone(desk):
    run = desk.run(NEEDS, DONE)
    (asked,) = desk.store.asks.pending_of_run(run.id)
    (turn,) = desk.store.runs.turns(run.id)
    terms = Terms("text", resume_session=f"{turn.cli}/{turn.session}")
    request = Request("Why so?", "session", session=terms)
    ask = create_ask.ask(desk.store, request, Origin(), desk.caller()).ask
    seated = sitting.sit(desk.store, ask.id, desk.caller("bob"), "claude", "new")
    assert (seated.sitting.cli, seated.sitting.session) == (turn.cli, turn.session)
    with pytest.raises(RefusedError, match="person:bob has this session open"):
        joining.join(desk.store, crew(desk.store), asked.id, desk.caller())
    answer_ask.answer(desk.store, asked.id, desk.caller(), Given("left"))
    held = desk.drive(run)
    assert held.state == "ready" and held.ready_at, "it looks again later"
    assert len(desk.store.runs.turns(run.id)) == 1
    sitting.rise(desk.store, seated.sitting, desk.caller("bob"), "left")
    ended = desk.drive(run)
    assert (ended.state, len(desk.store.runs.turns(run.id))) == ("completed", 2)
