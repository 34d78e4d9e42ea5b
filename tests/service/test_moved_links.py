"""An approval is for the shown file, even if a link to it has moved."""

from __future__ import annotations

import pytest
from tests.support.call_hosts import PlannedHost
from tests.support.people import a_person, an_agent

from gatebell.app.wiring import call
from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.asks import Origin
from gatebell.domain.permissions.rules import Scope
from gatebell.services.asks import answer_ask
from gatebell.services.permissions import permit_call
from gatebell.services.permissions.permit_call import Held, Permission
from gatebell.testing import MemoryStore, ScriptedPerson

ADA = a_person(verified=True)


@pytest.fixture
def store():
    return MemoryStore()


@pytest.fixture
def link(tmp_path):
    made = tmp_path / "link"
    made.symlink_to(tmp_path / "seen")
    return made


def move(link):
    link.unlink()
    link.symlink_to(link.parent / "other")


def hold(link, call_id="t1", **host):
    folder = str(link.parent)
    made = call("Write", {"file_path": str(link), "content": "x"}, folder)
    origin = Origin(folder, folder, "claude", "claude/s1", call_id, "person:ada")
    return Held(made, origin, 600.0, PlannedHost(**host))


@pytest.mark.proves("HOOK-13")
def test_grant_ends_at_another_file(store, link):
    first = hold(link)
    ask = permit_call._open(store, first, an_agent(), 60)
    answer_ask.answer(store, ask.id, ADA, Given("yes", scope=Scope("hour")))
    assert permit_call.by_rule(store, first.call, first.origin) == Permission(allow=True)
    move(link)
    assert permit_call.by_rule(store, hold(link).call, first.origin) is None


@pytest.mark.proves("HOOK-13")
def test_deferred_yes_is_not_for_another_file(store, link):
    assert permit_call.defer(store, hold(link), an_agent()) is None
    (first,) = store.asks.pending(9)
    answer_ask.answer(store, first.id, ADA, Given("yes"))
    move(link)
    assert permit_call.defer(store, hold(link), an_agent()) is None
    (second,) = store.asks.pending(9)
    assert second.question.call.real_path == str(link.parent / "other")
    answer_ask.answer(store, second.id, ADA, Given("yes"))
    assert permit_call.defer(store, hold(link), an_agent()) == Permission(allow=True)


@pytest.mark.proves("HOOK-14")
@pytest.mark.parametrize("moved", [False, True])
def test_link_moved_during_wait_is_denied(store, link, moved):
    ScriptedPerson(store, "ada").will_answer("Change", "yes")
    waiting = hold(link, on_ask=lambda _: move(link) if moved else None)
    decided = permit_call.decide(store, waiting, an_agent())
    assert decided.allow is not moved
    assert ("Make the call again" in decided.message) is moved


@pytest.mark.proves("HOOK-14")
def test_link_moved_during_wait_asks_again(store, link):
    ScriptedPerson(store, "ada").will_answer("seen", "yes").will_answer("other", "no")
    waiting = hold(link, on_ask=lambda _: move(link))
    assert permit_call.decide(store, waiting, an_agent()).allow is False
    again = permit_call.decide(store, hold(link, "t2"), an_agent())
    assert again.message == "A person said no to this"
