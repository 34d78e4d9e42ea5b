"""Steps of a run: their records in the run and in the audit trail."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from tests.support.people import a_person

from gatebell.domain.audit.events import Event
from gatebell.domain.digests import text_digest
from gatebell.domain.runs import resumption, runs
from gatebell.domain.runs.identities import Identity, parse_identity
from gatebell.domain.runs.runs import FlowCall, Run, RunChange, Turn
from gatebell.errors import RefusedError

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)
ADA = a_person("ada")
# The origin of a step in the audit trail.
BY_ADA = {"via": "cli", "evidence": {"uid": 1000}}


def a_run(state="running", **more):
    return Run(42, "feature", "f.py", "d1", "Add", "/p", "person:ada", NOW, state=state, **more)


def a_call(path="1", name="step", state="open", **more):
    return FlowCall(42, path, name, "l", "digest", NOW, state=state, **more)


@pytest.mark.proves("RUN-413", "LAW-9")
def test_trail_records_the_start_of_a_run():
    seen = {"flow": "d1"}
    told = {
        "seen": seen, "flow": "feature", "source": "d1", "prompt": text_digest("Add"), "parent": 41,
        "at_call": "3", **BY_ADA,
    }  # fmt: skip
    started = runs.build_started_event(a_run(parent=41, parent_path="3"), ADA, seen)
    assert started == Event("run.started", "run:42", "person:ada", told)


@pytest.mark.proves("RUN-413", "LAW-9")
def test_trail_records_the_message_of_a_turn():
    turn = Turn("t-1", 42, "3", 1, "coder", "claude", "s1", "Do it", NOW)
    told = {
        "call": "3", "turn": "t-1", "role": "coder", "role_digest": "r1", "session": "claude/s1",
        "sent": text_digest("Do it"),
    }  # fmt: skip
    assert runs.build_turn_event(a_run(), turn, "r1") == Event("turn.began", "run:42", "gate", told)


@pytest.mark.proves("RUN-415", "RUN-416", "LAW-9")
def test_trail_tells_who_stopped_and_resumed_a_run():
    stopped = runs.stop(a_run(), ADA, "enough", NOW)
    told = {"reason": "enough", **BY_ADA}
    assert stopped.events == (Event("run.stopped", "run:42", "person:ada", told),)
    resumed = resumption.resume(stopped.run, [], [], ADA, seen={"flow": "d2"})
    told = {"again": [], "accepted": "", "seen": {"flow": "d2"}, **BY_ADA}
    assert resumed.events == (Event("run.resumed", "run:42", "person:ada", told),)
    assert (resumed.run.state, resumed.run.reason) == ("ready", "")


@pytest.mark.proves("RUN-413", "LAW-9")
def test_first_event_says_who_makes_a_step():
    events = (runs.event("run.stopped", a_run(), "person:ada"), runs.event("x", a_run(), "bob"))
    assert RunChange(a_run(), events=events).actor == "person:ada"
    assert runs.claim(a_run(), "b/1/1", LATER).actor == "gate"


@pytest.mark.proves("RUN-413", "RUN-443")
def test_claim_counts_drivers_that_died():
    assert runs.claim(a_run("running", crash_count=2), "b/1/1", LATER).run.crash_count == 3
    assert runs.claim(a_run("ready", crash_count=2), "b/1/1", LATER).run.crash_count == 0
    assert runs.let_go(a_run("waiting_human", claim=4)).run.claim == 5


@pytest.mark.proves("RUN-413")
def test_run_that_sleeps_or_ends_has_no_reason():
    waited = a_run("waiting_human", reason="Which?", agent="coder", stopped_at="3")
    asleep = runs.sleep(waited, LATER).run
    assert (asleep.reason, asleep.agent) == ("", "")
    over = runs.complete(waited, None, NOW).run
    assert (over.reason, over.agent, over.stopped_at) == ("", "", "")


@pytest.mark.proves("RUN-413")
def test_reason_is_cut_behind_its_limit():
    assert runs.give_up(a_run(), "x" * 4_000, "", NOW).run.reason == "x" * 4_000
    assert runs.give_up(a_run(), "x" * 4_001, "", NOW).run.reason == "x" * 4_000 + "…"


@pytest.mark.proves("RUN-417", "RUN-421")
@pytest.mark.parametrize("name", ["pause", "ask"])
def test_answer_is_never_kept_for_another_question(name):
    with pytest.raises(RefusedError) as refused:
        resumption.resume(a_run("stuck"), [a_call("2", name, "recorded")], [], ADA, accept="2")
    assert str(refused.value) == (
        "call 2 asks another question now, so its old answer cannot be kept: "
        "gate resume 42 --from 2 asks again, in a new run"
    )


@pytest.mark.proves("RUN-422")
def test_call_whose_ask_is_done_asks_again():
    after = runs.close_ask(a_call(state="waiting", ask_id="a-1", asked=1))
    assert after == a_call(state="open", ask_id="", asked=2)


def list_filled(record):
    return [name for name, value in record._asdict().items() if value]


@pytest.mark.proves("RUN-400")
def test_new_records_have_only_the_given_fields():
    run = Run(42, "feature", "f.py", "d1", "Add", "/p", "person:ada", NOW)
    assert list_filled(run) == [*Run._fields[:8], "state", "priority"] and not run.is_kept
    call = FlowCall(42, "1", "step", "l", "digest", NOW)
    assert list_filled(call) == [*FlowCall._fields[:7], "attempt"]
    turn = Turn("t-1", 42, "3", 1, "coder", "claude", "s1", "Do it", NOW)
    assert list_filled(turn) == [*Turn._fields[:9]]


@pytest.mark.proves("RUN-100")
def test_identity_is_read_as_it_is_written():
    known = Identity("boot:4026531836", 77, "5")
    assert str(known) == "boot:4026531836/77/5"
    assert parse_identity(str(known)) == known
