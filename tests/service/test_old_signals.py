"""A signal file that is older than a visit never counts in it."""

from __future__ import annotations

import os

import pytest
from tests.support.sessions import desk
from tests.support.visits import dead_process

from gatebell.adapters.files.signal_files import LocalSignalFiles
from gatebell.app import runtime
from gatebell.domain.runs import signals
from gatebell.domain.runs.runs import RunChange
from gatebell.errors import GateError, RefusedError
from gatebell.services.asks import create_ask
from gatebell.services.runs import manage_runs
from gatebell.services.sessions import run_session

__all__ = ["desk"]

NEEDS = {"status": "NEEDS_HUMAN", "question": "Which way?"}
DONE = {"status": "DONE", "summary": "to the left"}


@pytest.mark.proves("RUN-394", "RUN-380")
def test_old_signal_file_of_killed_join_never_counts(desk, monkeypatch):
    """`gate continue` is killed at the write that gives it the session."""
    run = desk.run(NEEDS, DONE)
    (ask,) = desk.store.asks.pending_of_run(run.id)
    (told,) = [turn for turn in desk.store.runs.turns(run.id) if turn.sent]
    path = os.path.join(run.folder, signals.signal_file(told.role, told.id))
    with open(path, "w", encoding="utf-8") as file:
        file.write('{"status": "DONE", "summary": "an old one"}')

    def kill(store, turn):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(run_session, "_hold", kill)
        killed_late = _killed_after_write(desk.store, LocalSignalFiles.remove)
        patched.setattr(LocalSignalFiles, "remove", killed_late)
        with pytest.raises(KeyboardInterrupt):
            run_session.open_visit(
                desk.store, runtime.build_dependencies(desk.store), ask.id, desk.caller()
            )
    (turn,) = desk.store.runs.list_joined_turns()
    now = manage_runs.get(desk.store, run.id)
    dead = turn._replace(process=dead_process())
    assert desk.store.runs.change(RunChange(now, turns=(dead,)), now)
    run_session.take_back(desk.store, dead)
    assert create_ask.get(desk.store, ask.id).pending, "the file was there before the visit"
    assert desk.store.runs.turn(turn.id).signal is None


def _killed_after_write(store, clear):
    """The process is killed after the visit was written, before or after the file is cleared."""

    def clear_unless_late(*words):
        if store.runs.list_joined_turns():
            raise KeyboardInterrupt
        clear(*words)

    return clear_unless_late


@pytest.mark.proves("RUN-394", "LAW-10")
def test_signal_file_that_stays_keeps_session_shut(desk, monkeypatch):
    run = desk.run(NEEDS)
    (ask,) = desk.store.asks.pending_of_run(run.id)

    def refuse(*_, **__):
        raise PermissionError

    with monkeypatch.context() as patched:
        patched.setattr(os, "unlink", refuse)
        with pytest.raises(GateError, match="has an old signal that must not count"):
            run_session.open_visit(
                desk.store, runtime.build_dependencies(desk.store), ask.id, desk.caller()
            )
    assert desk.store.runs.list_joined_turns() == []


@pytest.mark.proves("RUN-394")
def test_second_joiner_does_not_clear_first_ones_signal(desk, monkeypatch):
    run = desk.run(NEEDS)
    (ask,) = desk.store.asks.pending_of_run(run.id)
    prepare = LocalSignalFiles.prepare
    first = []

    def overtaken(*words):
        """Another process joins and reports while this one starts."""
        mine = prepare(*words)
        monkeypatch.setattr(LocalSignalFiles, "prepare", prepare)
        who = desk.caller("bob")
        first.append(
            run_session.open_visit(desk.store, runtime.build_dependencies(desk.store), ask.id, who)
        )
        with open(first[0].environ["GATE_SIGNAL_FILE"], "w", encoding="utf-8") as file:
            file.write('{"status": "DONE", "summary": "to the left"}')
        return mine

    monkeypatch.setattr(LocalSignalFiles, "prepare", overtaken)
    with pytest.raises(RefusedError, match="person:bob has had this session open"):
        run_session.open_visit(
            desk.store, runtime.build_dependencies(desk.store), ask.id, desk.caller()
        )
    left = run_session.leave(desk.store, first[0], desk.caller("bob"))
    assert (left.ask.status, left.signal.own_words) == ("answered", "to the left")


@pytest.mark.proves("RUN-394")
def test_join_waits_for_no_stopped_joiner(desk):
    run = desk.run(NEEDS)
    (ask,) = desk.store.asks.pending_of_run(run.id)
    os.makedirs(f"{desk.store.path}-visits", exist_ok=True)
    with (
        desk.store.machine.join_alone(),
        pytest.raises(RefusedError, match="is opening a session: try again"),
    ):
        run_session.open_visit(
            desk.store, runtime.build_dependencies(desk.store), ask.id, desk.caller()
        )
    assert run_session.open_visit(
        desk.store, runtime.build_dependencies(desk.store), ask.id, desk.caller()
    )
