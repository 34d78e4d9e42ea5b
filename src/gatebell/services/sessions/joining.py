"""Joining the session of a run's agent, one person at a time, and leaving it."""

from __future__ import annotations

import os
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.asks import make_id, settled_sentence
from gatebell.domain.enums import AskKind
from gatebell.domain.people.principals import Caller, Sighting, must_be_a_person
from gatebell.domain.runs import prompts, signals
from gatebell.domain.runs.runs import RunChange, Turn
from gatebell.domain.sessions import changes, joined_sessions, visits
from gatebell.domain.sessions.proposals import AGENT
from gatebell.errors import (
    AlreadySettledError,
    GateError,
    RefusedError,
    StoreTroubleError,
)
from gatebell.ports.agents import Order
from gatebell.ports.results import Done
from gatebell.services.asks import answer_ask, ask_messages, create_ask
from gatebell.services.asks.apply_deadlines import apply_deadlines, fall_due
from gatebell.services.runs import manage_runs
from gatebell.services.runs.agent_call import signal_files
from gatebell.services.sessions import presence
from gatebell.services.sessions.sitting import MAY_STAY_SECONDS

if TYPE_CHECKING:
    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.runs.runs import Run
    from gatebell.domain.runs.signals import Signal
    from gatebell.domain.sessions.joined_sessions import Seat
    from gatebell.ports.agents import Talk
    from gatebell.ports.store import Store
    from gatebell.services.runs.run_journal import Crew
    from gatebell.services.sessions.visits import Hosts


class Joined(NamedTuple):
    """A session in a person's hands, and what opens it in their terminal."""

    turn: Turn
    ask: Ask
    settles: bool
    """Whether a new signal of the agent settles the ask."""
    words: list[str]
    environ: dict[str, str]
    """For the program, beside what stands around this process."""
    cwd: str


class Left(NamedTuple):
    """What came of it."""

    ask: Ask
    """As it is now."""
    signal: Signal | None = None
    """What the agent signalled in the session."""
    trouble: GateError | None = None
    """Why the signal did not settle the ask."""


def join(store: Store, crew: Crew, ask_id: str, caller: Caller) -> Joined:
    """Take the session that an ask of a run belongs to; RefusedError says who has it."""
    must_be_a_person(caller, "joins an agent's session")
    while True:
        ask = fall_due(store, create_ask.get(store, ask_id))
        if not ask.pending:
            raise AlreadySettledError(settled_sentence(ask))
        run = manage_runs.get(store, joined_sessions.run_of(ask))
        turns = store.runs.turns(run.id)
        seat = joined_sessions.seat(ask, store.runs.calls(run.id), turns)
        if other := presence.sits_in(store, seat.last.cli, seat.last.session):
            orphans = presence.orphans(store, other)
            raise RefusedError(visits.held(other, other.ask_id, orphans, store.now()))
        if holder := store.runs.holder(seat.last.cli, seat.last.session):
            _close_if_left(store, holder, ask.id)
            continue
        turn = Turn(
            id=make_id(12, os.urandom(16), "t-"),
            run=run.id,
            path=seat.last.path,
            number=sum(one.path == seat.last.path for one in turns) + 1,
            role=seat.last.role,
            cli=seat.last.cli,
            session=seat.last.session,
            sent="",
            started_at=store.now(),
            process=str(store.machine.me()),
            by=caller.actor,
            ask_id=ask.id,
        )
        told = joined_sessions.told_in(turn, turns)
        joined = _prepared(crew, run, turn, ask, seat, told)
        if _is_entered(store, run, turn, told, caller):
            _hold(store, turn)
            return joined


def _is_entered(store: Store, run: Run, turn: Turn, told: Turn, caller: Caller) -> bool:
    """Whether the visit is written; a signal file that was there before it never counts."""
    store.machine.enter_visit(turn.id)
    written = False
    try:
        # One at a time: nobody may clear the file of a visit that another process has just begun.
        with store.machine.join_alone():
            if store.runs.holder(turn.cli, turn.session) is None:
                # Before the write: a process that is killed in between must leave no old signal.
                signal_files.clear(run.folder, told.role, told.id)
                written = store.runs.change(joined_sessions.join(run, turn, caller), run)
    finally:
        if not written:
            store.machine.leave_visit(turn.id)
    return written


def _hold(store: Store, turn: Turn) -> None:
    """Keep the ask from expiring while a person is in the session: a signal there must count."""
    while change := changes.join(create_ask.get(store, turn.ask_id), turn, MAY_STAY_SECONDS):
        if isinstance(store.asks.change(change, change.ask.version - 1), Done):
            return


def _let_go(store: Store, turn: Turn) -> None:
    """They have left: the deadline from before counts again."""
    said = [entry.event for entry in store.audit.of_subject(turn.ask_id)]
    held = [
        event.content["before"]
        for event in said
        if event.content.get("turn") == turn.id and "before" in event.content
    ]
    before = datetime.fromisoformat(held[0]) if held else None
    while change := changes.leave(create_ask.get(store, turn.ask_id), turn, before, store.now()):
        if isinstance(store.asks.change(change, change.ask.version - 1), Done):
            return


def _prepared(crew: Crew, run: Run, turn: Turn, ask: Ask, seat: Seat, told: Turn) -> Joined:
    role = crew.role(run, turn.role)
    if role.cli != turn.cli:
        # The role was given to another program since; the session is still this one's.
        role = role._replace(cli=turn.cli, model="", arguments=())
    environ = signal_files.environ(run.id, turn.id, run.folder, role.name, told.id)
    order = Order(
        turn_id=turn.id,
        role=role,
        session=turn.session,
        fresh=False,
        fork_of="",
        text="",
        cwd=run.folder,
        environ=environ,
        project=run.project,
    )
    words = crew.driver(role, None).join(order)
    return Joined(turn, ask, seat.settles, words, environ, run.folder)


def _close_if_left(store: Store, holder: Turn, ask_id: str) -> None:
    """Take back the session of somebody whose process died; otherwise RefusedError says who has it."""
    lives = not holder.by or presence.lives(store, holder)
    orphans = [] if lives else presence.orphans(store, holder)
    if lives or orphans:
        raise RefusedError(joined_sessions.held(holder, orphans, ask_id, store.now()))
    take_back(store, holder)


def take_back(store: Store, turn: Turn) -> None:
    """Close the session of somebody whose process died.

    A signal by the tool or the file counts, for its agent was told so. Last words do not: who
    knows whether they were the last.
    """
    evidence = {"turn": turn.id, "process": turn.process}
    holder = Caller(turn.by, False, joined_sessions.VIA, None, evidence)
    _give_back(store, turn, holder, "gate", "", f"process {turn.process} is gone")


def leave(store: Store, joined: Joined, caller: Caller, hosts: Hosts | None = None) -> Left:
    """Give the session back; a signal that its agent gave there settles the ask (S2-20).

    `hosts` have the log with the agent's last words.
    """
    said = talk(joined.turn, hosts) if hosts else None
    words = said.said[-1].text if said and said.said and said.said[-1].speaker == AGENT else ""
    caller = caller._replace(via=joined_sessions.VIA)
    return _give_back(store, joined.turn, caller, caller.actor, words, "")


def talk(turn: Turn, hosts: Hosts) -> Talk | None:
    """What was said in a joined session; None where its program keeps no log that can be read."""
    try:
        return hosts(turn.cli).talk(turn.session, turn.started_at)
    except GateError:
        return None


def _give_back(
    store: Store, turn: Turn, caller: Caller, actor: str, words: str, reason: str
) -> Left:
    """Close a joined turn, and settle its ask in the same write where its agent has reported."""
    run = manage_runs.get(store, turn.run)
    turn = store.runs.turn(turn.id) or turn
    if turn.ended_at:
        # Somebody else took it back just now.
        return Left(create_ask.get(store, turn.ask_id))
    told = joined_sessions.told_in(turn, store.runs.turns(run.id))
    text = signal_files.text(run.folder, told.role, told.id)
    signal = signals.explicit(turn.offered, text) or signals.last_signal(words)
    ask = apply_deadlines(store, create_ask.get(store, turn.ask_id))
    if (
        signal is None
        or not ask.pending
        or not joined_sessions.is_agents(ask, store.runs.calls(run.id))
    ):
        # It does not count, now or later: whoever resumes the run must not find it.
        _close(store, turn, None, actor, reason)
        late = signal is not None and not ask.pending
        return Left(ask, signal, AlreadySettledError(settled_sentence(ask)) if late else None)
    if not joined_sessions.settles(signal):
        _close(store, turn, signal, actor, reason)
        return _passed_on(store, turn, ask, signal, caller)
    said = prompts.told(signal)
    value = {"other": said} if ask.question.kind == AskKind.CHOICE else said
    leaving = joined_sessions.leave(run, turn, signal, actor, store.now(), reason)
    try:
        left = Left(answer_ask.answer(store, ask.id, caller, Given(value), leaving)[1], signal)
        store.machine.leave_visit(turn.id)
        return left
    except StoreTroubleError:
        # Nothing is lost: the turn stays open, and is taken back once its holder is gone.
        raise
    except GateError as error:
        _close(store, turn, None, actor, reason)
        return Left(create_ask.get(store, ask.id), signal, error)


def _close(store: Store, turn: Turn, signal: Signal | None, actor: str, reason: str) -> None:
    while True:
        run = manage_runs.get(store, turn.run)
        leaving = joined_sessions.leave(run, turn, signal, actor, store.now(), reason)
        if store.runs.change(RunChange(run, turns=(leaving.turn,), events=(leaving.event,)), run):
            _let_go(store, turn)
            store.machine.leave_visit(turn.id)
            return


def _passed_on(store: Store, turn: Turn, ask: Ask, signal: Signal, caller: Caller) -> Left:
    try:
        return Left(_pass_on(store, turn, ask, signal, caller), signal)
    except GateError as error:
        return Left(create_ask.get(store, ask.id), signal, error)


def _pass_on(store: Store, turn: Turn, ask: Ask, signal: Signal, caller: Caller) -> Ask:
    """The agent still needs a person: what it asks now stands under its first question."""
    if signal.asked in ("", ask.question.prompt):
        return ask
    seen = Sighting(turn.cli, turn.session, f"it is the agent of run {turn.run}")
    agent = caller._replace(agent=seen, verified=False)
    return ask_messages.reply(store, ask.id, agent, signal.asked)
