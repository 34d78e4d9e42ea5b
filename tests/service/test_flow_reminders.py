"""Reminders of a flow: `remind_every` and `on_timeout="notify_again"`."""

from __future__ import annotations

import pytest
from tests.support.flow_harness import done, house, needs

from gatebell.api.flows import ask, flow, pause, run
from gatebell.errors import UsageError
from gatebell.services.asks import apply_deadlines
from gatebell.services.permissions import permit_call
from gatebell.services.permissions.permit_call import Permission

__all__ = ["house"]


def count_reminders(house):
    found = house.store.audit.of_subject(house.ask().id)
    return sum(entry.event.kind == "ask.reminded" for entry in found)


def wait(house, seconds):
    house.clock.advance(seconds)
    apply_deadlines.sweep(house.store)
    return house.drive()


@pytest.mark.proves("EASE-1", "S2-77")
@pytest.mark.parametrize("what", ["pause", "ask", "run"])
def test_timed_out_ask_reminds_and_waits_on(house, what):
    calls = {
        "pause": lambda _: bool(pause("Go?")),
        "ask": lambda _: ask("Name?").value == "yes",
        "run": lambda _: run("coder").status == "DONE",
    }
    house.agent("coder", needs("Which?"), done("late"))
    house.go(flow(on_timeout="notify_again", human_timeout=60)(calls[what]))
    assert wait(house, 59).state == "waiting_human" and count_reminders(house) == 0
    assert wait(house, 1).state == "waiting_human" and count_reminders(house) == 1
    assert wait(house, 60).state == "waiting_human" and count_reminders(house) == 2
    assert house.answer_and_drive("yes").result is True


@pytest.mark.proves("EASE-1")
def test_ask_keeps_its_own_time_and_default(house):
    @flow(on_timeout="notify_again", human_timeout=60)
    def careful(_):
        pause("Go?", timeout=20)
        return ask("Name?", timeout=30, default="x").value

    house.go(careful)
    clock = house.ask().deadlines
    assert clock.expires_at is None and clock.remind_every_seconds == 20
    house.answer_and_drive("yes")
    clock = house.ask().deadlines
    assert clock.expires_at and clock.remind_every_seconds is None
    house.clock.advance(30)
    assert house.drive().result == "x"


@pytest.mark.proves("EASE-2")
@pytest.mark.parametrize(("ways", "reminds"), [
    ({"remind_every": 10}, 10),
    ({"remind_every": 10, "on_timeout": "notify_again"}, 10),
    ({"remind_every": 90, "on_timeout": "notify_again"}, 60),
])  # fmt: skip
def test_flow_reminds_at_its_interval(house, ways, reminds):
    house.go(flow(human_timeout=60, **ways)(lambda _: bool(pause("Go?"))))
    clock = house.ask().deadlines
    assert clock.remind_every_seconds == reminds
    assert (clock.expires_at is None) == ("on_timeout" in ways)


@pytest.mark.proves("EASE-2")
def test_held_call_reminds_as_the_flow_says(house, monkeypatch):
    held = []
    denied = Permission(False, "no")
    monkeypatch.setattr(permit_call, "decide", lambda *given: held.append(given[1]) or denied)
    monkeypatch.setattr(permit_call, "hand_over", lambda *_: None)

    def asks(_order, events):
        return done(events.permit("Bash", {"command": "ls"}, "c-1").message)

    house.agent("coder", asks)
    house.go(flow(on_timeout="notify_again", human_timeout=60)(lambda _: run("coder").status))
    assert held[0].remind_every_seconds == 60 and held[0].limit_seconds > 86_400


@pytest.mark.proves("EASE-2")
@pytest.mark.parametrize(("ways", "told"), [
    ({"remind_every": 0}, "remind_every must be a number of seconds at least 1, or a timedelta, got 0"),
    ({"remind_every": "1h"}, "remind_every must be a number of seconds at least 1, or a timedelta, got '1h'"),
    ({"remind_every": True}, "remind_every must be a number"),
    ({"human_timeout": float("nan")}, "human_timeout must be a number of seconds above 0, or a timedelta, got nan"),
    ({"human_timeout": float("inf")}, "human_timeout must be a number of seconds above 0, or a timedelta, got inf"),
    ({"human_timeout": 0.5, "on_timeout": "notify_again"}, "at least 1, or a timedelta, got 0.5"),
    ({"on_timeout": "remind"}, "stuck, fail, return, notify_again, not 'remind'"),
])  # fmt: skip
def test_flow_refuses_times_that_mean_nothing(ways, told):
    with pytest.raises(UsageError, match=told):
        flow(**ways)
