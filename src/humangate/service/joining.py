"""Joining the session of a run's agent, one person at a time, and leaving it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from humangate import processes
from humangate.domain import sending, sessions, signals, sittings
from humangate.domain.answers import Given
from humangate.domain.asks import make_id, settled_sentence
from humangate.domain.principals import Sighting, must_be_a_person
from humangate.domain.runs import Turn
from humangate.doors.driver import Order
from humangate.errors import AlreadySettledError, GateError, RefusedError
from humangate.service import answering, asking, claiming, conversing, running, signalling
from humangate.service.sweeping import fall_due

if TYPE_CHECKING:
    from humangate.domain.asks import Ask
    from humangate.domain.principals import Caller
    from humangate.domain.runs import Run
    from humangate.domain.sessions import Seat
    from humangate.domain.signals import Signal
    from humangate.doors.store import Store
    from humangate.service.journalling import Crew


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
        ask = fall_due(store, asking.get(store, ask_id))
        if not ask.pending:
            raise AlreadySettledError(settled_sentence(ask))
        run = running.get(store, sessions.run_of(ask))
        turns = store.runs.turns(run.id)
        seat = sessions.seat(ask, store.runs.calls(run.id), turns)
        if other := claiming.sits_in(store, seat.last.cli, seat.last.session):
            raise RefusedError(sittings.held(other, other.ask_id, (), store.now()))
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
            process=str(processes.me()),
            by=caller.actor,
            ask_id=ask.id,
        )
        joined = _prepared(crew, run, turn, ask, seat)
        if store.runs.change(sessions.join(run, turn, caller), run):
            return joined


def _prepared(crew: Crew, run: Run, turn: Turn, ask: Ask, seat: Seat) -> Joined:
    role = crew.role(run, turn.role)
    if role.cli != turn.cli:
        # The role was given to another program since; the session is still this one's.
        role = role._replace(cli=turn.cli, model="", arguments=())
    environ = signalling.environ(run.id, turn.id, run.folder, role.name)
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
    """Close the session of somebody whose process died; what they were told stays in its log."""
    lives = not holder.by or processes.lives(processes.parse(holder.process))
    orphans = [] if lives else claiming.left_behind(holder)
    if lives or orphans:
        raise RefusedError(sessions.held(holder, orphans, ask_id, store.now()))
    run = running.get(store, holder.run)
    reason = f"process {holder.process} is gone"
    store.runs.change(sessions.leave(run, holder, None, "gate", store.now(), reason), run)


def leave(store: Store, joined: Joined, caller: Caller) -> Left:
    """Give the session back; a signal that its agent gave there settles the ask (S2-20).

    The turn is closed first: an answer without it would go to the agent as words.
    """
    caller = caller._replace(via=sessions.VIA)
    signal = _close(store, joined, caller)
    ask = fall_due(store, asking.get(store, joined.ask.id))
    if signal is None or not joined.settles:
        return Left(ask, signal)
    try:
        if not sessions.settles(signal):
            return Left(_pass_on(store, joined, ask, signal, caller), signal)
        said = sending.told(signal)
        value = {"other": said} if ask.question.kind == "choice" else said
        return Left(answering.answer(store, ask.id, caller, Given(value))[1], signal)
    except GateError as error:
        return Left(asking.get(store, ask.id), signal, error)


def _close(store: Store, joined: Joined, caller: Caller) -> Signal | None:
    while True:
        run = running.get(store, joined.turn.run)
        turn = store.runs.turn(joined.turn.id) or joined.turn
        text = signalling.text(joined.cwd, turn.role, turn.id)
        signal = signals.explicit(turn.offered, text)
        change = sessions.leave(run, turn, signal, caller.actor, store.now())
        if store.runs.change(change, run):
            return signal


def _pass_on(store: Store, joined: Joined, ask: Ask, signal: Signal, caller: Caller) -> Ask:
    """The agent still needs a person: what it asks now stands under its first question."""
    if signal.asked in ("", ask.question.prompt):
        return ask
    turn = joined.turn
    seen = Sighting(turn.cli, turn.session, f"it is the agent of run {turn.run}")
    agent = caller._replace(agent=seen, verified=False)
    return conversing.reply(store, ask.id, agent, signal.asked)
