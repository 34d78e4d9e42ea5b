"""Rules of runs: paths, fitting records, resuming and forking."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, strategies as st
from tests.support.people import a_person

from gatebell.domain.asks.asks import Ask, Origin
from gatebell.domain.asks.owners import owner_of, run_of
from gatebell.domain.asks.questions import make_question
from gatebell.domain.runs import journals, resumption, runs
from gatebell.domain.runs.journals import Carried
from gatebell.domain.runs.runs import FlowCall, Run, Turn
from gatebell.errors import RefusedError, UsageError

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)


def a_run(state="running", **more):
    return Run(42, "feature", "f.py", "d", "Add", "/p", "person:ada", NOW, state=state, **more)


def a_call(path="1", name="pause", state="recorded", label="Go?", **more):
    return FlowCall(42, path, name, label, "digest", NOW, state=state, **more)


def a_turn(path="1", turn_id="t-1", ended_at=NOW):
    return Turn(turn_id, 42, path, 1, "coder", "claude", "s", "", NOW, ended_at=ended_at)


def an_ask(prompt, opened_at=NOW):
    return Ask("a-222", make_question("text", prompt), Origin(), opened_at, "d")


paths = st.lists(st.integers(1, 4), min_size=0, max_size=2).flatmap(
    lambda more: st.lists(
        st.integers(1, 4), min_size=2 * len(more) + 1, max_size=2 * len(more) + 1
    ).map(lambda parts: ".".join(map(str, parts)))
)


@pytest.mark.proves("RUN-411")
@pytest.mark.parametrize(
    ("first", "second", "before"),
    [
        ("1", "2", True), ("2", "1", False), ("2", "10", True), ("1", "1", False),
        ("1", "4.1.2", True), ("4.1.2", "5", True), ("4.1.1", "4.1.2", True), ("4.1.2", "4.1.1", False),
        ("4.1.1", "4.2.1", False), ("4.2.1", "4.1.9", False), ("4", "4.1.1", False), ("4.1.1", "4", False),
        ("4.1.1.1.1", "4.1.2", True), ("4.1.1.1.1", "4.1.1.2.1", False), ("4.1.1.1.1", "4.2.1", False),
    ],
)  # fmt: skip
def test_call_precedes_another_only_if_it_ended_before(first, second, before):
    assert journals.is_before(first, second) is before


@pytest.mark.proves("RUN-411")
@given(paths, paths)
def test_of_two_calls_never_both_are_before_the_other(one, other):
    assert not (journals.is_before(one, other) and journals.is_before(other, one))
    if journals.is_before(one, other):
        assert journals.order(one) < journals.order(other) and not journals.is_beneath(other, one)


@pytest.mark.proves("RUN-411")
@given(paths, paths, paths)
def test_before_is_passed_on(one, two, three):
    if journals.is_before(one, two) and journals.is_before(two, three):
        assert journals.is_before(one, three)


@pytest.mark.proves("RUN-411")
def test_paths_sort_as_numbers_and_contain_those_beneath():
    assert sorted(["10", "2", "4.1.1", "4"], key=journals.order) == ["2", "4", "4.1.1", "10"]
    assert journals.is_beneath("4", "4") and journals.is_beneath("4.1.1", "4")
    assert not journals.is_beneath("41", "4") and not journals.is_beneath("4", "4.1.1")


@pytest.mark.proves("RUN-412")
@pytest.mark.parametrize(
    ("owner", "run"),
    [("run:42/3", 42), ("run:42", 42), ("job:42", None), ("run:x/1", None), ("run:²", None), ("", None), ("42/1", None)],
)  # fmt: skip
def test_owner_names_the_run_its_answer_wakes(owner, run):
    assert run_of(owner) == run


@pytest.mark.proves("RUN-412")
def test_owner_is_read_as_it_is_written():
    assert run_of(owner_of(7, "4.1.2")) == 7
    assert a_run().name == "run:42"


@pytest.mark.proves("RUN-413", "S2-37", "S2-38", "S2-39", "S2-40")
def test_run_goes_from_claim_to_end():
    run = a_run("ready", ready_at=LATER, reason="x")
    held = runs.claim(run, "b/1/1", LATER).run
    assert (held.state, held.owner, held.claim, held.ready_at, held.reason) == (
        "running", "b/1/1", 1, None, "",
    )  # fmt: skip
    free = (None, "")
    asleep = runs.sleep(held, LATER).run
    assert (asleep.state, asleep.ready_at, asleep.lease_until, asleep.owner) == (
        "ready",
        LATER,
        *free,
    )
    let_go = runs.release(held).run
    assert (let_go.state, let_go.ready_at, let_go.lease_until, let_go.owner) == (
        "ready",
        None,
        *free,
    )
    over = [
        runs.complete(held, {"a": 1}, NOW), runs.give_up(held, "why", "3", NOW),
        runs.break_down(held, "ValueError: x", "Traceback", "3 4.1.1", NOW),
    ]  # fmt: skip
    assert [change.run.state for change in over] == ["completed", "stuck", "failed"]
    assert [change.events[0].kind for change in over] == [
        "run.completed",
        "run.stuck",
        "run.failed",
    ]
    assert [change.run.stopped_at for change in over] == ["", "3", "3 4.1.1"]
    assert over[0].run.result == {"a": 1} and over[2].run.error == "Traceback"
    for change in over:
        assert change.run.has_ended and change.run.ended_at == NOW and change.run.owner == ""
    assert not held.has_ended


@pytest.mark.proves("PHASE-54")
def test_kept_run_stays_with_its_owner():
    kept = runs.keep(a_run("ready", lease_until=LATER), "b/1/1")
    driven = runs.claim(kept, "b/1/1", None).run
    parked, asleep = runs.park(driven, [], []).run, runs.sleep(driven, LATER).run
    assert all(one.is_kept and one.owner == "b/1/1" for one in (kept, driven, parked, asleep))
    for over in (runs.release(driven), runs.complete(driven, 1, NOW), runs.let_go(parked)):
        assert not over.run.is_kept and over.run.owner == ""
    assert not runs.claim(kept, "b/1/1", LATER).run.is_kept


@pytest.mark.proves("RUN-413", "S2-9", "S2-10")
def test_parked_run_says_the_reason_and_time_of_waiting():
    calls = [
        a_call("2"),
        a_call("3.1.1", "run", label="coder"),
        a_call("3.2.1", "run", label="tester"),
    ]
    asks = [an_ask("Later?", LATER), an_ask("First?")]
    change = runs.park(a_run(owner="b/1/1", lease_until=LATER), calls, asks, LATER)
    run = change.run
    assert (run.state, run.reason, run.agent) == ("waiting_human", "Later?; First?", "coder")
    assert (run.stopped_at, run.waiting_since, run.ready_at) == ("2 3.1.1 3.2.1", NOW, LATER)
    assert (run.owner, run.lease_until) == ("", None)
    assert change.events[0].content == {"calls": ["2", "3.1.1", "3.2.1"]}
    nobody = runs.park(a_run(agent="coder"), [], []).run
    assert (nobody.agent, nobody.waiting_since, nobody.reason) == ("", None, "")


@pytest.mark.proves("RUN-413")
def test_reasons_are_bounded_and_storable():
    change = runs.break_down(a_run(), "x\udc80" * 9_000, "Trace\udc80back\0", "", NOW)
    assert len(change.run.reason) < 5_000 and change.run.reason.endswith("…")
    for text in (
        change.run.reason,
        change.run.error,
        runs.give_up(a_run(), "a\ud800", "", NOW).run.reason,
    ):
        assert text.encode() and "\0" not in text


@pytest.mark.proves("RUN-414")
def test_call_is_recorded_or_fails_with_its_event():
    recorded = runs.record(a_run(), a_call(state="open"), [1], NOW)
    failed = runs.fail(a_run(), a_call(state="waiting"), {"kind": "E", "message": "m"}, NOW)
    assert recorded.calls[0] == a_call(value=[1], ended_at=NOW)
    assert failed.calls[0].error == {"kind": "E", "message": "m"}
    assert recorded.calls[0].over and failed.calls[0].over and not a_call(state="held").over
    assert recorded.events[0].content == {"call": "1", "name": "pause"}
    assert failed.events[0].content == {"call": "1", "name": "pause", "kind": "E"}
    assert runs.build_started_event(a_run(), a_person()).content["prompt"] != "Add"


@pytest.mark.proves("RUN-415", "S2-B20")
def test_only_a_run_that_goes_on_is_stopped():
    run = a_run("waiting_human", agent="coder", stopped_at="3", claim=4)
    change = runs.stop(run, a_person(), "enough", NOW)
    after = change.run
    assert (after.state, after.reason, after.claim) == ("stuck", "enough", 5)
    assert (after.agent, after.stopped_at) == ("coder", "3")
    assert change.events[0].actor == "person:ada" and change.events[0].kind == "run.stopped"
    for state in runs.ENDED:
        with pytest.raises(RefusedError, match="already ended"):
            runs.stop(a_run(state), a_person(), "", NOW)
    runs.must_be_ended(a_run("stuck"))
    with pytest.raises(RefusedError, match="gate stop 42"):
        runs.must_be_ended(a_run("ready"))


@pytest.mark.proves("RUN-416")
def test_resuming_reopens_failed_and_unanswered_calls():
    run = a_run("failed", stopped_at="4 4.1.2", claim=3, error="T", ended_at=NOW)
    calls = [
        a_call("1", "step", "failed"), a_call("2", "step"), a_call("3", state="waiting", ask_id="a-1"),
        a_call("4", "parallel", "failed", attempt=2, asked=3, error={}), a_call("4.1.2", "step", "failed"),
        a_call("4.2.1", state="waiting", ask_id="a-2"), a_call("4.3.1", "run", "open"),
    ]  # fmt: skip
    change = resumption.resume(run, calls, ["a-2"], a_person())
    assert (change.run.state, change.run.claim, change.run.error) == ("ready", 4, "")
    assert change.run.ended_at is None
    assert [call.path for call in change.calls] == ["4", "4.1.2", "4.2.1"]
    again = change.calls[0]
    assert (again.state, again.attempt, again.asked, again.error) == ("open", 3, 0, None)
    assert change.calls[2].ask_id == ""
    assert change.events[0].content["again"] == ["4", "4.1.2", "4.2.1"]


@pytest.mark.proves("RUN-416", "RUN-440")
def test_resuming_remembers_a_started_dangerous_step():
    call = a_call("1", "step", "waiting", ask_id="a-1", dangerous=True, owner="b/1/1")
    (again,) = resumption.resume(a_run("stuck"), [call], ["a-1"], a_person()).calls
    assert again.owner == "b/1/1"


@pytest.mark.proves("RUN-416")
def test_only_runs_ended_without_a_result_are_resumed():
    with pytest.raises(RefusedError, match="--from"):
        resumption.resume(a_run("completed"), [], [], a_person())
    with pytest.raises(RefusedError, match="not ended"):
        resumption.resume(a_run("waiting_human"), [], [], a_person())


@pytest.mark.proves("RUN-417")
def test_person_keeps_a_record_despite_changed_arguments():
    run = a_run("stuck", stopped_at="2")
    change = resumption.resume(run, [a_call("1"), a_call("2", "step")], [], a_person(), "2")
    assert [(call.path, call.accepted) for call in change.calls] == [("2", True)]
    assert change.events[0].content["accepted"] == "2" and change.events[0].content["again"] == []
    with pytest.raises(UsageError, match="no call 9"):
        resumption.resume(run, [a_call("1")], [], a_person(), "9")


@pytest.mark.proves("RUN-417")
def test_record_that_does_not_fit_says_how_to_continue():
    call = a_call("3", "run", label="coder")
    assert journals.explain_misfit(call, "run", "coder", "digest") == ""
    other_name = journals.explain_misfit(call, "pause", "Go\x1b?", "digest")
    assert "was run('coder') and is now pause(" in other_name and "--from 3" in other_name
    assert "\x1b" not in other_name
    other_role = journals.explain_misfit(call, "run", "tester", "digest")
    assert "is now run('tester')" in other_role
    arguments = journals.explain_misfit(call, "run", "coder", "other")
    assert "other arguments" in arguments and "read(), now()" in arguments
    assert "gate resume 42 --accept 3" in arguments
    assert journals.explain_misfit(call._replace(accepted=True), "run", "coder", "other") == ""
    gate = call._replace(name="pause", label="Go?")
    assert "--from 3" in journals.explain_misfit(gate, "pause", "Go?", "other")
    assert journals.describe_call("now", "") == "now()"


@pytest.mark.proves("RUN-418")
def test_fork_shares_earlier_records_but_no_used_approval():
    calls = [
        a_call("0", "setup"), a_call("1", "run"), a_call("2", "pause"), a_call("3", "run"),
        a_call("4", "parallel"), a_call("4.1.1", "step"), a_call("4.2.1", "pause"), a_call("4.2.2", "run"),
        a_call("5", "parallel"), a_call("5.1.1", "step"), a_call("6", "run", "open"),
    ]  # fmt: skip
    shared = [call.path for call in journals.list_shared(calls, "6")]
    # Its folder is new, and calls with an approval are asked again.
    assert shared == ["1", "3", "4.1.1", "4.2.2", "5", "5.1.1"]
    assert [call.path for call in journals.list_shared(calls, "2")] == ["1"]
    for path in ("4.1.1", "x", "-1", ""):
        with pytest.raises(UsageError, match="number of a call"):
            journals.list_shared(calls, path)
    with pytest.raises(UsageError, match="no call 9"):
        journals.list_shared(calls, "9")


@pytest.mark.proves("RUN-418")
def test_approval_followed_by_nothing_counts_in_the_fork():
    calls = [
        a_call("1", "parallel"),
        a_call("1.1.1", "pause"),
        a_call("1.2.1", "step"),
        a_call("2", "run"),
    ]
    kept = journals.list_shared([*calls[:3], a_call("0", "setup")], "1")
    assert kept == []
    assert [call.path for call in journals.list_shared(calls, "2")] == ["1.2.1"]


@pytest.mark.proves("RUN-418")
def test_fork_shares_no_unfinished_call():
    calls = [
        a_call("1", "parallel", "failed"),
        a_call("1.1.1", "ask", "waiting"),
        a_call("2", "run"),
    ]
    assert [call.path for call in journals.list_shared(calls, "2")] == ["1"]


@pytest.mark.proves("RUN-418", "RUN-407")
def test_finished_turns_are_copied_with_their_calls():
    turns = [a_turn("1"), a_turn("2", "t-2"), a_turn("1", "t-3", None)]
    carried = journals.build_carried([a_call("1")], turns)
    assert carried == Carried((a_call("1"),), (turns[0],))
    mine = carried.by(50)
    assert (mine.calls[0].run, mine.turns[0].id, mine.turns[0].run) == (50, "t-1+50", 50)
    assert mine.by(51).turns[0].id == "t-1+51"
    assert journals.is_carried(mine.turns[0]) and not journals.is_carried(turns[0])


@pytest.mark.proves("RUN-419")
def test_key_of_a_call_changes_only_with_its_attempt():
    call = a_call("4.1.2")
    assert call.key == "run-42/4.1.2/1" == call._replace(asked=3, state="open").key
    assert call._replace(attempt=2).key == "run-42/4.1.2/2"
