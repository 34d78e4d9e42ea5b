"""The session of a run's agent: a person opens it, and a signal there may answer its question."""

from __future__ import annotations

import os
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.asks import make_id, settled_sentence
from gatebell.domain.enums import AskKind
from gatebell.domain.people.principals import Caller, Sighting
from gatebell.domain.runs import prompts, signals
from gatebell.domain.runs.runs import RunChange, Turn
from gatebell.domain.sessions import changes, joined_sessions
from gatebell.domain.sessions.proposals import AGENT, Proposal
from gatebell.domain.sessions.visits import VIA
from gatebell.errors import AlreadySettledError, GateError, StoreError
from gatebell.ports.agents import Order
from gatebell.ports.results import Done
from gatebell.services.asks import answer_ask, ask_messages, create_ask
from gatebell.services.asks.apply_deadlines import apply_deadlines
from gatebell.services.runs import manage_runs, travel_run
from gatebell.services.sessions import visit_session, visits
from gatebell.services.sessions.visit_session import MAY_STAY_SECONDS

if TYPE_CHECKING:
    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.runs.runs import Run
    from gatebell.domain.runs.signals import Signal
    from gatebell.ports.agents import Hosts, Talk
    from gatebell.ports.store import Store
    from gatebell.services.runs.dependencies import RunDependencies


class RunVisit(NamedTuple):
    """A person's visit in the session of a run's agent, and the command that opens it."""

    turn: Turn
    ask: Ask
    settles: bool
    """Whether a new signal of the agent settles the ask."""
    words: list[str]
    environ: dict[str, str]
    """Added to the environment of this process for the program."""
    cwd: str


class Left(NamedTuple):
    """The result of a visit."""

    ask: Ask
    """The ask after the visit."""
    signal: Signal | None = None
    """The signal that the agent gave in the session."""
    problem: GateError | None = None
    """The reason why the signal did not settle the ask."""


class RunSession:
    """The session of the agent that asks; at a gate, of the agent that worked last."""

    def __init__(self, needs: RunDependencies) -> None:
        self._needs = needs
        self._run: Run
        self._told: Turn
        """The turn whose signal file the agent knows."""
        self._settles = False

    def find(self, store: Store, ask: Ask, caller: Caller) -> Turn:
        if not ask.pending:
            raise AlreadySettledError(settled_sentence(ask))
        run = manage_runs.get(store, joined_sessions.run_of(ask))
        manage_runs.must_be_here(store, run, f"gate continue {run.id}")
        self._run = run = travel_run.use_project_here(self._needs, run, store.runs.calls(run.id))
        turns = store.runs.turns(run.id)
        last, self._settles = joined_sessions.find_session(ask, store.runs.calls(run.id), turns)
        visit = Turn(
            id=make_id(12, os.urandom(16), "t-"),
            run=run.id,
            path=last.path,
            number=sum(one.path == last.path for one in turns) + 1,
            role=last.role,
            cli=last.cli,
            session=last.session,
            sent="",
            started_at=store.now(),
            process=str(store.machine.me()),
            by=caller.actor,
            ask_id=ask.id,
        )
        self._told = joined_sessions.find_prompted_turn(visit, turns)
        return visit

    def enter(self, store: Store, ask: Ask, visit: Turn, caller: Caller) -> RunVisit | None:
        run, files = self._run, store.machine.signal_files
        path = files.prepare(run.folder, visit.role, self._told.id)
        environ = signals.signal_environ(run.id, visit.id, path)
        words = self._find_words(visit, environ)
        # One at a time: the file of a visit that another process just began must stay.
        with store.machine.join_alone():
            if store.runs.holder(visit.cli, visit.session):
                return None
            # Before the write: if this process is killed in between, no old signal may remain.
            files.remove(run.folder, self._told.role, self._told.id)
            if not store.runs.change(joined_sessions.join(run, visit, caller), run):
                return None
        _hold(store, visit)
        return RunVisit(visit, ask, self._settles, words, environ, run.folder)

    def _find_words(self, visit: Turn, environ: dict[str, str]) -> list[str]:
        """Return the command that opens the session."""
        run, role = self._run, self._needs.roles.find(self._run, visit.role)
        if role.cli != visit.cli:
            # The role may have another program since then, but the session belongs to the old one.
            role = role._replace(cli=visit.cli, model="", arguments=())
        order = Order(
            turn_id=visit.id,
            role=role,
            session=visit.session,
            fresh=False,
            fork_of="",
            text="",
            cwd=run.folder,
            environ=environ,
            project=run.project,
        )
        return self._needs.agents.driver(role, None).join(order)


def open_visit(store: Store, needs: RunDependencies, ask_id: str, caller: Caller) -> RunVisit:
    """Take the session of a run's ask; RefusedError names the holder."""
    return visit_session.open_visit(store, ask_id, caller, RunSession(needs))


def _hold(store: Store, turn: Turn) -> None:
    """Keep the ask from expiring during the visit: a signal there must count."""
    while change := changes.hold_open(create_ask.get(store, turn.ask_id), turn, MAY_STAY_SECONDS):
        if isinstance(store.asks.change(change, change.ask.version - 1), Done):
            return


def _let_go(store: Store, turn: Turn) -> None:
    """Restore the earlier deadline after the visit."""
    said = [entry.event for entry in store.audit.of_subject(turn.ask_id)]
    held = [
        event.content["before"]
        for event in said
        if event.content.get("turn") == turn.id and "before" in event.content
    ]
    before = datetime.fromisoformat(held[0]) if held else None
    while change := changes.release(create_ask.get(store, turn.ask_id), turn, before, store.now()):
        if isinstance(store.asks.change(change, change.ask.version - 1), Done):
            return


def take_back(store: Store, turn: Turn) -> None:
    """Close the session of a visitor whose process died.

    A signal by tool or file counts, because the agent was promised that. Last words do not: they
    may be incomplete.
    """
    evidence = {"turn": turn.id, "process": turn.process}
    holder = Caller(turn.by, False, VIA, None, evidence)
    _give_back(store, turn, holder, "gate", "", f"process {turn.process} is gone")


def leave(store: Store, visit: RunVisit, caller: Caller, hosts: Hosts | None = None) -> Left:
    """Give the session back; a signal that its agent gave there settles the ask (S2-20).

    `hosts` have the log with the agent's last words.
    """
    said = _read_talk(visit.turn, hosts) if hosts else None
    words = said.said[-1].text if said and said.said and said.said[-1].speaker == AGENT else ""
    caller = caller._replace(via=VIA)
    return _give_back(store, visit.turn, caller, caller.actor, words, "")


def _read_talk(turn: Turn, hosts: Hosts) -> Talk | None:
    """Return the conversation of a joined session; None if its program keeps no readable log."""
    try:
        return hosts.open(turn.cli).talk(turn.session, turn.started_at)
    except GateError:
        return None


def find_proposal(visit: RunVisit, left: Left, hosts: Hosts) -> Proposal | None:
    """Return the agent's signal at a gate, or else the answer that the conversation suggests."""
    if left.signal:
        return Proposal(left.signal.status, AGENT, left.signal.own_words or left.signal.status)
    return visits.propose_answer(left.ask.question, _read_talk(visit.turn, hosts))


def _give_back(
    store: Store, turn: Turn, caller: Caller, actor: str, words: str, reason: str
) -> Left:
    """Close a joined turn, and settle its ask in the same write if its agent has reported."""
    run = manage_runs.get(store, turn.run)
    turn = store.runs.turn(turn.id) or turn
    if turn.ended_at:
        # Another process took it back just before.
        return Left(create_ask.get(store, turn.ask_id))
    told = joined_sessions.find_prompted_turn(turn, store.runs.turns(run.id))
    text = store.machine.signal_files.read(run.folder, told.role, told.id)
    signal = signals.explicit(turn.offered, text) or signals.last_signal(words)
    ask = apply_deadlines(store, create_ask.get(store, turn.ask_id))
    if (
        signal is None
        or not ask.pending
        or not joined_sessions.is_agents(ask, store.runs.calls(run.id))
    ):
        # The signal does not count, now or later: a resumed run must not find it.
        _close(store, turn, None, actor, reason)
        late = signal is not None and not ask.pending
        return Left(ask, signal, AlreadySettledError(settled_sentence(ask)) if late else None)
    if not joined_sessions.settles(signal):
        _close(store, turn, signal, actor, reason)
        return _passed_on(store, turn, ask, signal, caller)
    said = prompts.describe_signal(signal)
    value = {"other": said} if ask.question.kind == AskKind.CHOICE else said
    leaving = joined_sessions.leave(run, turn, signal, actor, store.now(), reason)
    try:
        left = Left(answer_ask.answer(store, ask.id, caller, Given(value), leaving)[1], signal)
        store.machine.leave_visit(turn.id)
        return left
    except StoreError:
        # Nothing is lost: the turn stays open, and is taken back when its holder is gone.
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
    """Add the agent's new question as a message below its first one: it still needs a person."""
    if signal.question_text in ("", ask.question.prompt):
        return ask
    seen = Sighting(turn.cli, turn.session, f"it is the agent of run {turn.run}")
    agent = caller._replace(agent=seen, verified=False)
    return ask_messages.reply(store, ask.id, agent, signal.question_text)
