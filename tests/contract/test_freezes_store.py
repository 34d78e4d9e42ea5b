"""Each store keeps a freeze, and refuses what may not happen in it."""

from __future__ import annotations

import pytest
from tests.support.interleaving import together
from tests.support.people import a_person
from tests.support.run_claims import claim
from tests.support.run_records import add_run

from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.asks import Origin
from gatebell.domain.enums import RuleKind
from gatebell.domain.permissions.rules import Rule
from gatebell.domain.runs.runs import RunChange
from gatebell.errors import FrozenError
from gatebell.services import audit, freezes
from gatebell.services.asks import answer_ask, create_ask, wait_for_ask
from gatebell.services.asks.create_ask import Request

__all__ = ["together"]

ADA = a_person("ada", verified=True)


def add_grant(store):
    rule = Rule("g-1", RuleKind.GRANT, "Bash(make)", "person:ada", store.now())
    store.rules.add([rule], [])
    return rule.id


def approve(store):
    ask = create_ask.ask(store, Request("Go?", "approval"), Origin("/p"), a_person()).ask
    answer_ask.answer(store, ask.id, ADA, Given("yes"))
    return store.asks.get(ask.id)


def begin_turn(store, run):
    return store.runs.change(RunChange(run, unless_frozen=True), run)


@pytest.mark.proves("FREEZE-1", "LAW-9")
def test_one_freeze_lasts_until_it_is_lifted(store):
    assert freezes.find(store) is None and freezes.lift(store, ADA) is None
    freeze, is_new = freezes.begin(store, ADA, " broken \n")
    assert is_new and freeze.reason == "broken" and freezes.find(store) == freeze
    store.clock.advance(60)
    assert freezes.begin(store, a_person("bob"), "again") == (freeze, False)
    assert freezes.lift(store, ADA) == freeze and freezes.find(store) is None
    assert freezes.begin(store, ADA)[1]
    events = store.audit.of_subject("freeze")
    assert [entry.event.kind for entry in events] == [
        "freeze.begun",
        "freeze.lifted",
        "freeze.begun",
    ]
    assert audit.verify(store) == []


@pytest.mark.proves("FREEZE-3", "FREEZE-5")
def test_frozen_store_refuses_grants_yeses_and_turns(store):
    grant, ask, run = add_grant(store), approve(store), claim(store, add_run(store, state="ready"))
    freezes.begin(store, ADA)
    assert not store.rules.use(grant, [])
    with pytest.raises(FrozenError):
        wait_for_ask.take(store, ask, "agent", unless_frozen=True)
    assert not begin_turn(store, run)
    assert store.runs.change(RunChange(run), run), "other writes of a run go on"
    freezes.lift(store, ADA)
    assert store.rules.use(grant, []) and begin_turn(store, run)
    assert wait_for_ask.take(store, ask, "agent", unless_frozen=True)


DEEDS = {
    "grant": (add_grant, lambda store, grant: store.rules.use(grant, [])),
    "yes": (
        approve,
        lambda store, ask: wait_for_ask.take(store, ask, "agent", unless_frozen=True),
    ),
    "turn": (lambda store: claim(store, add_run(store, state="ready")), begin_turn),
}


@pytest.mark.proves("FREEZE-8", "PG-3")
@pytest.mark.parametrize("deed", DEEDS)
@pytest.mark.parametrize("frozen_first", [False, True])
def test_freeze_waits_for_open_transactions(together, deed, frozen_first):
    """The first one stops before its COMMIT: the other waits for it, and then sees it."""
    prepare, do = DEEDS[deed]
    given = prepare(together.store)

    def freeze(store):
        return freezes.begin(store, ADA)[1]

    def act(store):
        try:
            return do(store, given)
        except FrozenError:
            return False

    results = together.run(*((freeze, act) if frozen_first else (act, freeze)))
    assert results == ((True, False) if frozen_first else (True, True))
