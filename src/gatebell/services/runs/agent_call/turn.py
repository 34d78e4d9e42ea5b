"""Run the turns of an agent in a call, from the prompt to the signal."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Protocol

from gatebell.domain.asks.asks import Origin, make_id
from gatebell.domain.asks.owners import owner_of
from gatebell.domain.enums import CallState
from gatebell.domain.people.principals import Sighting
from gatebell.domain.runs import runs, signals
from gatebell.domain.runs.runs import FlowCall, Turn
from gatebell.errors import MissingAgentError, StoreError
from gatebell.ports.agents import Ended, Events, Order, Ruling
from gatebell.services import freezes
from gatebell.services.runs.agent_call import permissions
from gatebell.services.runs.run_journal import Closing, Overtaken, folder_of, to_json_value
from gatebell.services.sessions import presence, run_session

if TYPE_CHECKING:
    from gatebell.domain.people.principals import Caller
    from gatebell.domain.runs.roles import Role
    from gatebell.ports.agents import AgentFunction, Driver
    from gatebell.services.runs.run_journal import Branch

_MAX_WORDS = 100_000
LOOK_AGAIN = timedelta(seconds=3)
"""How soon a call checks whether a person has left its session."""


class AgentRequest(NamedTuple):
    """The arguments of a flow's call of an agent."""

    role: str
    prompt: str = ""
    session: str = "role"
    """`role`: the session of this role in this run; `new`; or the id of a session."""
    human: bool = True
    """Whether NEEDS_HUMAN asks a person; otherwise the flow gets the signal."""
    schema: dict[str, Any] | None = None
    tries: int = 3
    """How often the agent may try to give a value that fits the schema."""
    work: AgentFunction | None = None
    """A Python function in place of an agent's program."""

    @property
    def is_ours(self) -> bool:
        """Return whether this run begins the session, and the flow does not name one."""
        return self.session in ("role", "new")


class PromptText(Protocol):
    """Composes a prompt; the id of its turn is known only when it is sent."""

    def __call__(self, turn_id: str, /) -> str: ...


class SessionGoneError(Exception):
    """The agent's program no longer has the session; nothing was sent."""

    def __init__(self, turn: Turn | None) -> None:
        super().__init__("the agent's session is gone")
        self.turn = turn
        """The turn that was opened in it and has not ended."""


class Agent:
    """The agent of one call, in any driver."""

    def __init__(
        self, branch: Branch, call: FlowCall, role: Role, driver: Driver, wanted: AgentRequest
    ) -> None:
        self.branch, self.drive, self.role, self.driver = branch, branch.drive, role, driver
        self.path, self.wanted = call.path, wanted
        self._new_call = call

    @property
    def call(self) -> FlowCall:
        return self.drive.calls.get(self.path, self._new_call)

    def turns(self) -> list[Turn]:
        mine = [turn for turn in self.drive.all_turns() if turn.path == self.path]
        return sorted(mine, key=lambda turn: turn.number)

    def last_session(self) -> str:
        return next((turn.session for turn in reversed(self.turns()) if turn.session), "")

    def signal_file(self, turn_id: str) -> str:
        return signals.signal_file(self.role.name, turn_id)

    def signal_text(self, turn_id: str) -> str | None:
        files = self.drive.store.machine.signal_files
        return files.read(self.drive.run.folder, self.role.name, turn_id)

    def send(
        self,
        text: PromptText,
        *,
        session: str | None = None,
        fork_of: str = "",
        ask_id: str = "",
        instead_of: Turn | None = None,
    ) -> Turn:
        """Open a turn, run it to its end, and close it. SessionGoneError: nothing was sent."""
        turn_id = make_id(12, os.urandom(16), "t-")
        turn = Turn(
            id=turn_id,
            run=self.drive.run.id,
            path=self.path,
            number=self.drive.next_turn_number(self.path),
            role=self.role.name,
            cli=self.role.cli,
            session=self.last_session() if session is None else session,
            sent=text(turn_id),
            started_at=self.drive.store.now(),
            fork_of=fork_of,
            ask_id=ask_id,
        )
        return self._run(turn, instead_of)

    def _run(self, turn: Turn, instead_of: Turn | None) -> Turn:
        if self._is_gone(turn, instead_of):
            raise SessionGoneError(instead_of)
        self._open(turn, instead_of)
        with self.drive.lock:
            self.drive.agents[turn.id] = turn
        # A function in the place of an agent is like a step: its own calls are not the flow's.
        self.branch.step = self.call if self.wanted.work else None
        try:
            ended = self.driver.run(self._order(turn), self._events(turn.id))
        except MissingAgentError:
            # It could not be started: the session is free for the next try, and nothing was sent.
            over = self.drive.turns[turn.id]._replace(process="", ended_at=self.drive.store.now())
            self.drive.put(self.call, over)
            raise
        except StoreError:
            # The turn stays open as after a crash: the next drive looks for its signal.
            raise
        except Exception:
            over = self.drive.turns[turn.id]._replace(ended_at=self.drive.store.now())
            self.drive.put(self.call, over)
            raise
        finally:
            self.branch.step = None
            with self.drive.lock:
                del self.drive.agents[turn.id]
        if self.drive.closing.is_set():
            self.branch.raise_always(Closing())
        if ended.gone and self.wanted.is_ours:
            raise SessionGoneError(self.drive.turns[turn.id])
        return self._close(turn.id, ended)

    def _is_gone(self, turn: Turn, instead_of: Turn | None) -> bool:
        """Return whether this turn continues a session of ours that its program has lost."""
        if not self.wanted.is_ours or self.driver.knows(turn.session):
            return False
        if self._is_fresh(turn, instead_of):
            return bool(turn.fork_of) and not self.driver.knows(turn.fork_of)
        return True

    def _is_fresh(self, turn: Turn, instead_of: Turn | None = None) -> bool:
        """Return whether its session is new, apart from turns that this one replaces."""
        unsent = {turn.id, instead_of.id if instead_of and not instead_of.process else ""}
        sent_before = bool(turn.session) and any(
            one.session == turn.session and one.process and one.id not in unsent
            for one in self.drive.all_turns()
        )
        return not sent_before and self.wanted.is_ours

    def _open(self, turn: Turn, instead_of: Turn | None) -> None:
        folder_of(self.branch, self.path)
        turns = [one for one in (instead_of, turn) if one]
        self._must_not_be_frozen()
        self._must_be_free(turns)
        call = self.call
        # One write records that the answer is sent and that it is used.
        answers = call.state == CallState.WAITING and turn.ask_id == call.ask_id
        call = runs.close_ask(call) if answers else call._replace(state=CallState.OPEN)
        try:
            self.drive.begin_turn(call, turns, self.role)
        except Overtaken:
            # Perhaps the run was not taken: a person has its agent's session, or froze everything.
            self._must_not_be_frozen()
            self._must_be_free(turns)
            self.drive.begin_turn(call, turns, self.role)

    def _must_not_be_frozen(self) -> None:
        """Park while everything is frozen: no turn begins."""
        if freezes.find(self.drive.store):
            self._hold()

    def _must_be_free(self, turns: list[Turn]) -> None:
        """Park while a person has the session open: a session has one holder."""
        store, (*_, last) = self.drive.store, turns
        if presence.find_visitor(store, last.cli, last.session) is None:
            holder = store.runs.holder(last.cli, last.session)
            if holder is None or holder.id in [turn.id for turn in turns]:
                return
            if holder.by and not presence.holds(store, holder):
                run_session.take_back(store, holder)
                self.drive.look_again()
                return
        self._hold()

    def _hold(self) -> NoReturn:
        call = self.drive.put(self.call._replace(state=CallState.HELD))
        self.branch.park(call, self.drive.store.now() + LOOK_AGAIN)

    def _order(self, turn: Turn) -> Order:
        files, folder = self.drive.store.machine.signal_files, self.drive.run.folder
        path = files.prepare(folder, self.role.name, turn.id)
        return Order(
            turn_id=turn.id,
            role=self.role,
            session=turn.session,
            fresh=self._is_fresh(turn),
            fork_of=turn.fork_of,
            text=turn.sent,
            cwd=folder,
            environ=signals.signal_environ(turn.run, turn.id, path),
            schema=self.wanted.schema,
            project=self.drive.run.project,
        )

    def _events(self, turn_id: str) -> Events:
        drive, path, role = self.drive, self.path, self.role.name

        def starting(process: str) -> None:
            if drive.closing.is_set():
                self.branch.raise_always(Closing())
            drive.put(self.call, drive.turns[turn_id]._replace(process=process))

        def keep_session(session: str) -> None:
            drive.put(self.call, drive.turns[turn_id]._replace(session=session))

        def write_log(text: str) -> None:
            drive.needs.log.write(drive.run, path, role, text)

        def permit(tool: str, given: dict[str, Any], call_id: str) -> Ruling:
            return permissions.permit(self, drive.turns[turn_id], tool, given, call_id)

        return Events(starting, keep_session, permit, write_log)

    def _close(self, turn_id: str, ended: Ended) -> Turn:
        drive = self.drive
        kept = drive.store.runs.turn(turn_id)
        signal = signals.judge(
            kept.offered if kept else None,
            self.signal_text(turn_id),
            ended.ok,
            ended.words,
            ended.problem,
        )
        if ended.structured is not None and signal.value is None:
            signal = signal._replace(value=ended.structured)
        turn = drive.turns[turn_id]._replace(
            ended_at=drive.store.now(),
            signal=to_json_value(signals.to_json(signal)),
            words=ended.words[-_MAX_WORDS:],
        )
        drive.put(self.call, turn)
        permissions.withdraw(self, turn)
        return turn

    def send_again(self, unheard: Turn) -> Turn:
        """Send a turn again with a new id: its old driver may still end processes by the old id."""
        now, turn_id = self.drive.store.now(), make_id(12, os.urandom(16), "t-")
        turn = unheard._replace(
            id=turn_id,
            number=self.drive.next_turn_number(self.path),
            sent=unheard.sent.replace(unheard.id, turn_id),
            process="",
            started_at=now,
        )
        return self._run(turn, unheard._replace(process="", ended_at=now))

    def caller(self, turn: Turn) -> Caller:
        seen = Sighting(turn.cli, turn.session, f"it is the agent of run {turn.run}")
        return self.drive.needs.caller._replace(agent=seen, verified=False)

    def origin(self, turn: Turn) -> Origin:
        run = self.drive.run
        return Origin(
            project=run.project,
            cwd=run.folder,
            agent=self.role.name,
            session=f"{turn.cli}/{turn.session}",
            started_by=run.started_by,
            owner=owner_of(run.id, self.path),
            task=run.task,
            project_key=run.project_key,
        )
