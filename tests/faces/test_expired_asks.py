"""An expired ask is shown as expired, even when no process has swept the store."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from tests.support.flow_harness import Harness
from tests.support.web_inbox import inbox

from gatebell import Gate
from gatebell.api.flows import pause
from gatebell.app.wiring import open_throwaway_store
from gatebell.services.asks import apply_deadlines
from gatebell.testing import FakeClock
from gatebell.tui import run_rows

__all__ = ["inbox"]


@pytest.fixture
def left(world):
    """Make a run whose question expired yesterday, when the machine was off."""
    if world.web:
        # A server applies deadlines at once.
        world.web.stop()
    clock = FakeClock(datetime.now(UTC) - timedelta(days=2))
    store = open_throwaway_store(world.path, clock)
    store.clock = clock
    house = Harness(world.ada.folder, store)
    house.go(lambda _: bool(pause("Deploy?")))
    if world.web:
        world.web.start()
    yield house
    house.close()
    store.close()


@pytest.mark.proves("EASE-3")
@pytest.mark.parametrize("words", [("list",), ("status", "1"), ("show", "1")])
def test_expired_ask_of_run_is_not_waiting(world, left, words):
    told = world.plain.gate(*words).out
    assert (
        "ready" in told and "waiting_human" not in told and "Deploy?" not in told.split("Calls")[0]
    )
    (ask,) = world.store.asks.of_run(1)
    assert ask.status == "timed_out"


@pytest.mark.proves("EASE-3")
def test_status_tells_which_ask_expired(world, left):
    (ask,) = world.store.asks.of_run(1)
    assert f"{ask.id} timed out at " in world.plain.gate("status", "1").out


@pytest.mark.proves("EASE-3")
@pytest.mark.parametrize("words", [("status", "1"), ("show", "1")])
def test_call_of_expired_ask_is_not_waiting(world, left, words):
    (line,) = [one for one in world.plain.gate(*words).out.split("\n") if "pause Deploy?" in one]
    assert line.split("Deploy?")[1].split() == ["timed", "out", "2d"]


@pytest.mark.proves("EASE-3")
def test_the_tui_shows_an_expired_call(world, left):
    apply_deadlines.sweep(world.store)
    ((_, line),) = run_rows.list_calls(world.store, world.store.runs.get(1), 80)
    assert line.endswith("timed out (2d)")


@pytest.mark.proves("EASE-3")
@pytest.mark.parametrize("words", [("list", "--json"), ("status", "1", "--json")])
def test_document_of_run_names_no_expired_ask(world, left, words):
    found = json.loads(world.plain.gate(*words).out)
    found = found[0] if isinstance(found, list) else found
    assert (found["state"], found["waiting_for"]) == ("ready", [])


@pytest.mark.proves("EASE-3")
@pytest.mark.parametrize("path", ["/", "/numbers", "/runs", "/runs/1", "/api/runs", "/api/runs/1"])
def test_page_applies_deadlines_before_it_shows(inbox, tmp_path, path):
    inbox.store.clock = inbox.clock
    house = Harness(tmp_path, inbox.store)
    house.go(lambda _: bool(pause("Deploy?")))
    client = inbox.client("read")
    assert client.get(path).status_code == 200 and house.pending()
    inbox.clock.advance(86_400)
    shown = client.get(path).text
    assert not house.pending()
    assert '"waiting_for":[]' in shown if "api" in path else "waiting_human" not in shown
    assert "waiting for a person" not in shown
    house.close()


@pytest.mark.proves("EASE-3")
def test_handle_knows_that_its_ask_expired(tmp_path):
    clock = FakeClock()
    store = open_throwaway_store(str(tmp_path / "gate.db"), clock)
    human = Gate(store).human
    human.open("Why?", timeout=60)
    assert human.status == "pending"
    clock.advance(60)
    assert human.status == "resolved"
    store.close()
