"""Signals in a joined session: each way counts once, and never too late."""

from __future__ import annotations

import json
import os
from datetime import timedelta

import pytest
from tests.support.sessions import desk
from tests.support.visits import dead_process, write_log

from gatebell.app import runtime, wiring
from gatebell.app.runtime import build_dependencies
from gatebell.domain.asks.answers import Given
from gatebell.domain.runs.runs import RunChange
from gatebell.domain.runs.signals import Signal
from gatebell.errors import AlreadySettledError, RefusedError, StoreError
from gatebell.services.asks import answer_ask, create_ask
from gatebell.services.asks.apply_deadlines import sweep
from gatebell.services.notifications import notes
from gatebell.services.runs import manage_runs
from gatebell.services.sessions import run_session

__all__ = ["desk"]

NEEDS = {"status": "NEEDS_HUMAN", "question": "Which way?"}
DONE = {"status": "DONE", "summary": "to the left"}
AGAIN = {"status": "DONE", "summary": "by itself"}
GATE = """
from gatebell import flow, run, pause
@flow
def feature(prompt):
    run("coder", "Do it.")
    return bool(pause("Ship it?"))
"""


SHARED = """
from gatebell import flow, run
@flow
def feature(prompt):
    return run("coder", "Do it.", session="shared-1").summary
"""
HURRIED = """
from gatebell import flow, run
@flow(human_timeout=600)
def feature(prompt):
    return run("coder", "Do it.").summary
"""


def join(desk, run):
    (ask,) = desk.store.asks.pending_of_run(run.id)
    return ask, run_session.open_visit(
        desk.store, build_dependencies(desk.store), ask.id, desk.caller()
    )


def kill_holder(desk, joined):
    """Simulate a kill of `gate continue` after its offer was written."""
    now = manage_runs.get(desk.store, joined.turn.run)
    dead = joined.turn._replace(process=dead_process())
    assert desk.store.runs.change(RunChange(now, turns=(dead,)), now)


def told_file(desk, run):
    """Return the signal file that the message to the agent names."""
    (sent,) = [turn.sent for turn in desk.store.runs.turns(run.id) if turn.sent]
    name = sent.split("or write it to the file ")[1].split()[0]
    return os.path.join(run.folder, name)


def write_signal(path, given):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(given, file)


@pytest.mark.proves("RUN-380")
def test_file_that_the_agent_knows_counts_in_joined_session(desk):
    run = desk.run(NEEDS)
    path = told_file(desk, run)
    assert os.path.exists(path), "the agent asked by this file"
    ask, joined = join(desk, run)
    assert joined.environ["GATE_SIGNAL_FILE"] == path
    assert not os.path.exists(path), "what it holds from now on is news"
    write_signal(path, DONE)
    left = run_session.leave(desk.store, joined, desk.caller())
    assert left.ask.settled_via == "session" and left.ask.id == ask.id
    assert desk.drive(run).result == ["DONE", "to the left"]


@pytest.mark.proves("RUN-380")
def test_old_file_is_not_a_new_signal(desk):
    run = desk.run(NEEDS)
    path = told_file(desk, run)
    for _ in range(2):
        write_signal(path, DONE)
        _, joined = join(desk, run)
        left = run_session.leave(desk.store, joined, desk.caller())
        assert (left.signal, left.ask.pending) == (None, True)


class Hosts:
    """Use the logs of claude for any program of a role."""

    def __init__(self):
        self.asked = []

    def open(self, cli):
        self.asked.append(cli)
        return wiring.host("claude")


@pytest.mark.proves("RUN-381")
@pytest.mark.parametrize(
    ("said", "counts"),
    [
        ([("assistant", 'So: {"status": "DONE", "summary": "to the left"}')], True),
        ([("assistant", '{"status": "DONE"}'), ("assistant", "Anything else?")], False),
        ([("assistant", '{"status": "DONE"}'), ("user", "no, wait")], False),
        ([("user", '{"status": "DONE"}')], False),
        ([("assistant", '> {"status": "DONE"}')], False),
        ([], False),
    ],
    ids=["last", "earlier", "contradicted", "the person's", "quoted", "silence"],
)
def test_only_last_words_of_agent_count(desk, tmp_path, monkeypatch, said, counts):
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    run = desk.run(NEEDS)
    _, joined = join(desk, run)
    write_log(tmp_path, desk.store, joined.turn.session, *said)
    hosts = Hosts()
    left = run_session.leave(desk.store, joined, desk.caller(), hosts)
    assert hosts.asked == ["command"] and left.ask.pending is not counts
    if counts:
        assert desk.drive(run).result == ["DONE", "to the left"]


@pytest.mark.proves("RUN-381")
def test_words_said_before_joining_do_not_count(desk, tmp_path, monkeypatch):
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    run = desk.run(NEEDS)
    session = desk.store.runs.turns(run.id)[-1].session
    write_log(tmp_path, desk.store, session, ("assistant", '{"status": "DONE"}'))
    path = tmp_path / "claude" / "projects" / "p" / f"{session}.jsonl"
    path.write_text(path.read_text().replace('"20', '"19'))
    _, joined = join(desk, run)
    assert run_session.leave(desk.store, joined, desk.caller(), Hosts()).ask.pending


@pytest.mark.proves("RUN-381")
def test_agent_without_log_has_no_last_words(desk):
    run = desk.run(NEEDS)
    _, joined = join(desk, run)
    assert run_session.leave(desk.store, joined, desk.caller(), wiring.hosts()).ask.pending


@pytest.mark.proves("RUN-382", "LAW-1")
@pytest.mark.parametrize("way", ["tool", "file"])
@pytest.mark.parametrize("who", ["resume", "worker", "continue"])
def test_signal_survives_killed_gate_continue(desk, way, who):
    run = desk.run(NEEDS)
    ask, joined = join(desk, run)
    if way == "tool":
        assert notes.offer(desk.store, joined.turn.id, Signal(**DONE)).startswith("Recorded")
    else:
        write_signal(told_file(desk, run), DONE)
    kill_holder(desk, joined)
    if who == "worker":
        made = runtime.build_worker(desk.store, desk.driver, 1)
        made._drives.look()
        assert desk.store.runs.get(run.id).state == "ready"
    elif who == "continue":
        with pytest.raises(AlreadySettledError, match="answered by person:ada"):
            join_again(desk, ask)
    over = desk.drive(run)
    assert (over.state, over.result) == ("completed", ["DONE", "to the left"])
    settled = desk.store.asks.get(ask.id)
    assert (settled.settled_by, settled.settled_via) == ("person:ada", "session")
    assert len((desk.project / "turns").read_text().split()) == 1, "the agent is not asked again"


def join_again(desk, ask):
    return run_session.open_visit(
        desk.store, build_dependencies(desk.store), ask.id, desk.caller("bob")
    )


@pytest.mark.proves("RUN-382")
def test_two_who_take_back_count_it_once(desk):
    run = desk.run(NEEDS)
    _, joined = join(desk, run)
    desk.store.runs.offer(joined.turn.id, DONE)
    kill_holder(desk, joined)
    (found,) = desk.store.runs.list_joined_turns()
    run_session.take_back(desk.store, found)
    run_session.take_back(desk.store, found)
    assert desk.store.runs.turn(joined.turn.id).signal == DONE
    assert desk.drive(run).result == ["DONE", "to the left"]


@pytest.mark.proves("RUN-382", "LAW-10")
def test_store_error_loses_no_signal(desk, monkeypatch):
    run = desk.run(NEEDS)
    _, joined = join(desk, run)
    desk.store.runs.offer(joined.turn.id, DONE)

    def problem(*_):
        raise StoreError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(answer_ask, "answer", problem)
        with pytest.raises(StoreError):
            run_session.leave(desk.store, joined, desk.caller())
    kill_holder(desk, joined)
    assert desk.drive(run).result == ["DONE", "to the left"]


@pytest.mark.proves("RUN-383")
@pytest.mark.parametrize("status", ["DONE", "NEEDS_HUMAN"])
def test_answer_in_the_last_moment_wins(desk, monkeypatch, status):
    """An answer arrives between the look at the ask and the write."""
    run = desk.run(NEEDS, AGAIN)
    ask, joined = join(desk, run)
    desk.store.runs.offer(joined.turn.id, {"status": status, "question": "And when?"})
    look = run_session.apply_deadlines

    def answered_meanwhile(store, found):
        seen = look(store, found)
        answer_ask.answer(store, ask.id, desk.caller("bob"), Given("left"))
        return seen

    with monkeypatch.context() as patched:
        patched.setattr(run_session, "apply_deadlines", answered_meanwhile)
        left = run_session.leave(desk.store, joined, desk.caller())
    assert isinstance(left.problem, AlreadySettledError)
    assert desk.drive(run).result == ["DONE", "by itself"] and "left" in desk.read_heard(1)


@pytest.mark.proves("RUN-382")
def test_holder_without_signal_leaves_question_open(desk):
    run = desk.run(NEEDS, AGAIN)
    ask, joined = join(desk, run)
    sweep(desk.store)
    assert not desk.store.runs.turn(joined.turn.id).ended_at, "its holder lives"
    kill_holder(desk, joined)
    sweep(desk.store)
    assert desk.store.runs.turn(joined.turn.id).ended_at
    assert desk.drive(run).state == "waiting_human"
    answer_ask.answer(desk.store, ask.id, desk.caller("bob"), Given("left"))
    assert desk.drive(run).result == ["DONE", "by itself"] and "left" in desk.read_heard(1)


@pytest.mark.proves("RUN-383")
@pytest.mark.parametrize("way", ["tool", "file"])
@pytest.mark.parametrize("end", ["left", "killed"])
def test_signal_after_stop_never_counts(desk, tmp_path, way, end):
    run = desk.run(NEEDS, AGAIN)
    _, joined = join(desk, run)
    manage_runs.stop(desk.store, run.id, desk.caller("bob"), "enough")
    if way == "tool":
        with pytest.raises(RefusedError, match=r"has ended \(stuck: enough\).*gate resume"):
            notes.offer(desk.store, joined.turn.id, Signal("DONE"))
        assert desk.store.runs.turn(joined.turn.id).offered is None
    else:
        write_signal(told_file(desk, run), DONE)
    if end == "left":
        left = run_session.leave(desk.store, joined, desk.caller())
        assert left.ask.status == "cancelled" and bool(left.problem) is (way == "file")
    else:
        kill_holder(desk, joined)
    manage_runs.resume(desk.store, run.id, desk.caller())
    after = desk.drive(run)
    if after.state == "waiting_human":
        # Its question is asked again.
        (asked,) = desk.store.asks.pending_of_run(run.id)
        answer_ask.answer(desk.store, asked.id, desk.caller(), Given("left"))
        after = desk.drive(run)
    assert after.result == ["DONE", "by itself"], "what was said after the stop is no result"


@pytest.mark.proves("RUN-383")
def test_late_signal_of_older_version_does_not_count(desk):
    """An earlier version closed the turn with a signal that came too late."""
    run = desk.run(NEEDS, AGAIN)
    _, joined = join(desk, run)
    manage_runs.stop(desk.store, run.id, desk.caller("bob"), "enough")
    now = manage_runs.get(desk.store, run.id)
    closed = joined.turn._replace(ended_at=desk.store.now(), signal=DONE)
    assert desk.store.runs.change(RunChange(now, turns=(closed,)), now)
    manage_runs.resume(desk.store, run.id, desk.caller())
    assert desk.drive(run).result == ["DONE", "by itself"]


@pytest.mark.proves("RUN-383")
def test_signal_after_answer_from_elsewhere_is_refused(desk):
    run = desk.run(NEEDS, AGAIN)
    ask, joined = join(desk, run)
    answer_ask.answer(desk.store, ask.id, desk.caller("bob"), Given("left"))
    with pytest.raises(RefusedError, match=r"answered by person:bob.*does not count"):
        notes.offer(desk.store, joined.turn.id, Signal("DONE"))
    run_session.leave(desk.store, joined, desk.caller())
    assert desk.drive(run).result == ["DONE", "by itself"] and "left" in desk.read_heard(1)


@pytest.mark.proves("RUN-384", "LAW-3")
@pytest.mark.parametrize("end", ["left", "killed"])
def test_signal_at_gate_is_only_a_proposal(desk, end):
    run = desk.run(AGAIN, flow=GATE)
    ask, joined = join(desk, run)
    said = notes.offer(desk.store, joined.turn.id, Signal("CONTINUE"))
    assert said.startswith("Passed on as a proposal: CONTINUE. It decides nothing: only a person")
    assert ask.id in said and "Recorded" not in said and "counts" not in said
    if end == "left":
        left = run_session.leave(desk.store, joined, desk.caller())
        assert left.ask.pending and left.signal.status == "CONTINUE" and left.problem is None
    else:
        kill_holder(desk, joined)
        sweep(desk.store)
    kept = desk.store.runs.turn(joined.turn.id)
    assert kept.ended_at and kept.signal is None
    assert desk.drive(run).state == "waiting_human" and desk.store.asks.get(ask.id).pending


@pytest.mark.proves("RUN-391")
def test_ask_does_not_expire_during_a_visit(desk, monkeypatch):
    run = desk.run(NEEDS, flow=HURRIED)
    ask, joined = join(desk, run)
    desk.store.runs.offer(joined.turn.id, DONE)
    later = desk.store.now() + timedelta(hours=7)
    monkeypatch.setattr(desk.store, "now", lambda: later)
    sweep(desk.store)
    assert create_ask.get(desk.store, ask.id).pending
    assert run_session.leave(desk.store, joined, desk.caller()).ask.status == "answered"
    assert desk.drive(run).result == "to the left"


@pytest.mark.proves("RUN-391")
@pytest.mark.parametrize("end", ["left", "killed"])
@pytest.mark.parametrize(("after", "grace"), [(60, 540), (1200, 120)], ids=["soon", "late"])
def test_earlier_deadline_counts_after_leaving(desk, monkeypatch, end, after, grace):
    run = desk.run(NEEDS, flow=HURRIED)
    (ask,) = desk.store.asks.pending_of_run(run.id)
    opened = ask.deadlines.expires_at - timedelta(seconds=600)
    _, joined = join(desk, run)
    now = opened + timedelta(seconds=after)
    monkeypatch.setattr(desk.store, "now", lambda: now)
    if end == "left":
        run_session.leave(desk.store, joined, desk.caller())
    else:
        kill_holder(desk, joined)
        sweep(desk.store)
    found = create_ask.get(desk.store, ask.id)
    assert found.pending and found.deadlines.expires_at == now + timedelta(seconds=grace)


@pytest.mark.proves("RUN-391")
def test_late_deadline_does_not_move(desk):
    ask, joined = join(desk, desk.run(NEEDS))
    assert ask.deadlines.expires_at - desk.store.now() > timedelta(hours=20)
    run_session.leave(desk.store, joined, desk.caller())
    assert create_ask.get(desk.store, ask.id) == ask


@pytest.mark.proves("RUN-392", "RUN-382")
def test_other_run_keeps_signal_of_dead_holder(desk):
    first = desk.run(NEEDS, AGAIN, flow=SHARED)
    ask, joined = join(desk, first)
    desk.store.runs.offer(joined.turn.id, DONE)
    kill_holder(desk, joined)
    other = desk.run(NEEDS, AGAIN, flow=SHARED)
    assert other.result == "by itself"
    assert create_ask.get(desk.store, ask.id).status == "answered"
    assert desk.drive(first).result == "to the left"
