"""A flow's call of an agent: its turns, what is sent in them, and what comes back."""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from humangate import processes
from humangate.domain import runs, sending, signals
from humangate.domain.asks import Origin, make_id
from humangate.domain.forms import check_schema, faults
from humangate.domain.outcomes import answer_text
from humangate.domain.principals import Sighting
from humangate.domain.roles import Role
from humangate.domain.runs import FlowCall, Turn
from humangate.domain.signals import NEEDS_HUMAN
from humangate.doors.driver import Ended, Events, Order, Ruling
from humangate.errors import (
    AlreadySettledError,
    MissingAgentError,
    StepFailedError,
    StoreTroubleError,
)
from humangate.service import asking, claiming, conversing, permitting, signalling, waiting
from humangate.service.asking import Request
from humangate.service.calling import answer_to, ask_anew, open_ask
from humangate.service.journalling import (
    Closing,
    Overtaken,
    jsoned,
    place_of,
    result_of,
    said_before,
)
from humangate.service.permitting import Held

if TYPE_CHECKING:
    from collections.abc import Callable

    from humangate.domain.asks import Ask
    from humangate.domain.principals import Caller
    from humangate.domain.signals import Signal
    from humangate.service.journalling import Branch

JOINED, SIGNALLED = "session", "signal"
"""How an ask is settled when a person worked it out in the session, or signals for the agent."""
_MOST_WORDS = 100_000
_LOOK_AGAIN = timedelta(seconds=3)
_GONE = "It is gone: go on"
_STOP = "Stop the run"
_QUESTIONS = "AskUserQuestion"


class Wanted(NamedTuple):
    """What the flow's code asks of an agent."""

    role: str
    prompt: str = ""
    session: str = "role"
    """`role`: the one this role has in this run; `new`; or the id of one."""
    human: bool = True
    """Whether NEEDS_HUMAN asks a person; otherwise the flow gets it."""
    schema: dict[str, Any] | None = None
    tries: int = 3
    """How often the agent may try to give a value that fits the schema."""
    work: Callable[..., Any] | None = None
    """A Python function in the place of an agent's program."""


def instruct(branch: Branch, wanted: Wanted) -> Signal:
    """Have an agent work, with as many people in between as it takes."""
    if wanted.schema is not None:
        check_schema(wanted.schema)
    arguments = [wanted.prompt, wanted.session, wanted.human, wanted.schema]
    call = branch.begin("run", wanted.role, jsoned(arguments))
    if call.over:
        return signals.from_json(result_of(call))
    try:
        return _Agent(branch, call, wanted).work()
    except (StepFailedError, StoreTroubleError):
        raise
    except Exception as error:
        kind = type(error).__name__
        branch.drive.fail(branch.drive.calls.get(call.path, call), kind, str(error))
        raise StepFailedError(kind, str(error), call.path) from error


def _heeded(call: FlowCall) -> FlowCall:
    """Its ask is done with; the next one is another."""
    return call._replace(state="open", ask_id="", asked=call.asked + 1)


def _is_asked_back(turn: Turn) -> bool:
    return "?" in turn.ask_id


def _last_session(turns: list[Turn]) -> str:
    return next((turn.session for turn in reversed(turns) if turn.session), "")


class _Agent:
    """One call of one agent, from wherever it was left."""

    def __init__(self, branch: Branch, call: FlowCall, wanted: Wanted) -> None:
        self._branch, self._drive, self._wanted = branch, branch.drive, wanted
        self._path = call.path
        self._fresh_call = call
        self._role = (
            Role(wanted.role, "", cli="python")
            if wanted.work
            else self._drive.crew.role(self._drive.run, wanted.role)
        )
        self._driver = self._drive.crew.driver(self._role, wanted.work)

    @property
    def _call(self) -> FlowCall:
        return self._drive.calls.get(self._path, self._fresh_call)

    def _turns(self) -> list[Turn]:
        mine = [turn for turn in self._drive.all_turns() if turn.path == self._path]
        return sorted(mine, key=lambda turn: turn.number)

    def work(self) -> Signal:
        before = self._turns()
        turn = before[-1] if before else None
        if turn and not turn.ended_at:
            turn = self._recover(turn)
            if turn and _is_asked_back(turn):
                self._drive.put(self._call._replace(state="waiting"))
        if self._call.state == "held":
            self._drive.put(self._call._replace(state="waiting" if self._call.ask_id else "open"))
        while True:
            if self._call.state == "waiting":
                asked = self._heed()
                if asked is None:
                    return self._unanswered()
                turn = asked
            elif turn is None or turn.signal is None:
                turn = self._begin(turn)
            signal = signals.from_json(turn.signal)
            self._hand_over(turn)
            if signal.status == NEEDS_HUMAN and self._wanted.human and self._drive.terms.human:
                self._ask(signal, turn)
            elif wrong := self._faults(signal):
                if self._tried() >= self._wanted.tries:
                    reason = f"its value did not fit {self._tried()} times: {'; '.join(wrong)}"
                    return self._done(signals.Signal("ERROR", reason=reason))
                turn = self._correct(wrong)
            else:
                return self._done(signal)

    def _unanswered(self) -> Signal:
        """Nobody came in time, and the flow wants to know."""
        needed = next(turn.signal for turn in reversed(self._turns()) if turn.signal)
        return self._done(signals.from_json(needed)._replace(reason="nobody answered in time"))

    def _correct(self, wrong: list[str]) -> Turn:
        return self._send(lambda new: sending.try_again(new, wrong, self._signal_file(new)))

    def _done(self, signal: Signal) -> Signal:
        self._drive.record(self._call, jsoned(signals.to_json(signal)))
        return signal

    # What is sent

    def _begin(self, stopped: Turn | None) -> Turn:
        """The first turn of this call, or of the same session after it was stopped."""
        if stopped and stopped.process:
            return self._send(
                lambda new: sending.interrupted(new, stopped.id, self._signal_file(new))
            )
        run, call = self._drive.run, self._call
        place = place_of(run)
        snapshot = call.snapshot or self._drive.crew.workspace.snapshot(place, run.id, call.path)
        self._drive.put(call._replace(snapshot=snapshot))
        session, fork_of, spoke_at = self._session()
        since = said_before(self._drive, call.path, spoke_at)
        whole = sending.context_file(said_before(self._drive, call.path, ""))
        signalling.write_context(run.folder, whole)

        def text(new: str) -> str:
            return sending.first(
                new,
                role=self._role.name,
                instructions="" if spoke_at else self._role.instructions,
                run_prompt="" if spoke_at else run.prompt,
                since=since,
                prompt=self._wanted.prompt,
                signal_file=self._signal_file(new),
                context_path=signalling.CONTEXT,
                schema=self._wanted.schema,
            )

        return self._send(text, session=session, fork_of=fork_of)

    def _session(self) -> tuple[str, str, str]:
        """The session to speak in, the one it is forked from, and where this role last spoke in it."""
        wanted = self._wanted.session
        if wanted not in ("role", "new"):
            return wanted, "", "0"
        if wanted == "role":
            mine = [
                turn
                for turn in self._drive.all_turns()
                if turn.role == self._role.name and turn.cli == self._role.cli and turn.session and turn.process
                # A branch has sessions of its own: two of them at once would share one.
                and turn.path.rpartition(".")[0] == self._path.rpartition(".")[0]
            ]  # fmt: skip
            if mine:
                last = max(mine, key=lambda turn: (runs.order(turn.path), turn.number))
                if runs.is_carried(last):
                    return self._driver.new_session(), last.session, last.path
                return last.session, "", last.path
        return self._driver.new_session(), "", ""

    def _signal_file(self, turn_id: str) -> str:
        return signalling.file_of(self._role.name, turn_id)

    # One turn

    def _send(
        self,
        text: Callable[[str], str],
        *,
        session: str | None = None,
        fork_of: str = "",
        ask_id: str = "",
        instead_of: Turn | None = None,
    ) -> Turn:
        """Open a turn, run it to its end, and close it."""
        before = self._turns()
        turn_id = make_id(12, os.urandom(16), "t-")
        turn = Turn(
            id=turn_id,
            run=self._drive.run.id,
            path=self._path,
            number=self._drive.next_turn_number(self._path),
            role=self._role.name,
            cli=self._role.cli,
            session=_last_session(before) if session is None else session,
            sent=text(turn_id),
            started_at=self._drive.store.now(),
            fork_of=fork_of,
            ask_id=ask_id,
        )
        return self._run(turn, instead_of)

    def _run(self, turn: Turn, instead_of: Turn | None) -> Turn:
        self._open(turn, instead_of)
        with self._drive.lock:
            self._drive.agents[turn.id] = turn
        try:
            ended = self._driver.run(self._order(turn), self._events(turn.id))
        except MissingAgentError:
            # It could not be started: the session is free for whoever tries again, and nothing
            # was said in it.
            over = self._drive.turns[turn.id]._replace(process="", ended_at=self._drive.store.now())
            self._drive.put(self._call, over)
            raise
        except Exception:
            over = self._drive.turns[turn.id]._replace(ended_at=self._drive.store.now())
            self._drive.put(self._call, over)
            raise
        finally:
            with self._drive.lock:
                del self._drive.agents[turn.id]
        if self._drive.closing.is_set():
            self._branch.raise_always(Closing())
        return self._close(turn.id, ended)

    def _open(self, turn: Turn, instead_of: Turn | None) -> None:
        turns = [one for one in (instead_of, turn) if one]
        self._must_be_free(turns)
        call = self._call
        # That an answer is on its way, and that it was heeded, is one write.
        heeded = call.state == "waiting" and turn.ask_id == call.ask_id
        call = _heeded(call) if heeded else call._replace(state="open")
        try:
            self._drive.put(call, *turns, agent=self._role.name)
        except Overtaken:
            # Perhaps not the run, but its agent's session: a person was faster.
            self._must_be_free(turns)
            self._drive.put(call, *turns, agent=self._role.name)

    def _must_be_free(self, turns: list[Turn]) -> None:
        """A session has one holder; while a person has it open, this call waits."""
        holder = self._drive.store.runs.holder(turns[-1].cli, turns[-1].session)
        if holder is None or holder.id in [turn.id for turn in turns]:
            return
        if holder.by and not claiming.holds(holder):
            self._drive.put(self._call, holder._replace(ended_at=self._drive.store.now()))
            return
        call = self._drive.put(self._call._replace(state="held"))
        self._branch.park(call, self._drive.store.now() + _LOOK_AGAIN)

    def _order(self, turn: Turn) -> Order:
        sent_before = bool(turn.session) and any(
            one.session == turn.session and one.process and one.id != turn.id
            for one in self._drive.all_turns()
        )
        return Order(
            turn_id=turn.id,
            role=self._role,
            session=turn.session,
            fresh=not sent_before and self._wanted.session in ("role", "new"),
            fork_of=turn.fork_of,
            text=turn.sent,
            cwd=self._drive.run.folder,
            environ=signalling.environ(turn.run, turn.id, self._drive.run.folder, self._role.name),
            schema=self._wanted.schema,
        )

    def _events(self, turn_id: str) -> Events:
        drive, path, role = self._drive, self._path, self._role.name

        def starting(process: str) -> None:
            if drive.closing.is_set():
                self._branch.raise_always(Closing())
            drive.put(self._call, drive.turns[turn_id]._replace(process=process))

        def met(session: str) -> None:
            drive.put(self._call, drive.turns[turn_id]._replace(session=session))

        def said(text: str) -> None:
            drive.crew.said(drive.run, path, role, text)

        def permit(tool: str, given: dict[str, Any], call_id: str) -> Ruling:
            return self._permit(drive.turns[turn_id], tool, given, call_id)

        return Events(starting, met, permit, said)

    def _close(self, turn_id: str, ended: Ended) -> Turn:
        drive = self._drive
        kept = drive.store.runs.turn(turn_id)
        signal = signals.judge(
            kept.offered if kept else None,
            self._signal_text(turn_id),
            ended.ok,
            ended.words,
            ended.trouble,
        )
        if ended.structured is not None and signal.value is None:
            signal = signal._replace(value=ended.structured)
        turn = drive.turns[turn_id]._replace(
            ended_at=drive.store.now(),
            signal=jsoned(signals.to_json(signal)),
            words=ended.words[-_MOST_WORDS:],
        )
        drive.put(self._call, turn)
        self._withdraw_permissions(turn)
        return turn

    def _hand_over(self, turn: Turn) -> None:
        """The answer that a turn carried has been heard, once its agent has come to an end."""
        if turn.ask_id and not turn.by and not _is_asked_back(turn):
            ask = asking.get(self._drive.store, turn.ask_id)
            waiting.take(self._drive.store, ask, f"agent:{turn.cli}/{turn.session}")

    def _signal_text(self, turn_id: str) -> str | None:
        return signalling.text(self._drive.run.folder, self._role.name, turn_id)

    # After a crash

    def _recover(self, turn: Turn) -> Turn | None:
        """A turn without an end: prove its process gone, then go on in its session (law 5)."""
        drive = self._drive
        if turn.by:
            return self._recover_joined(turn)
        if turn.process and not processes.end(
            processes.parse(turn.process), ("GATE_TURN", turn.id)
        ):
            self._ask_whether_gone(turn)
        drive.look_again()
        turn = drive.turns[turn.id]
        explicit = signals.explicit(turn.offered, self._signal_text(turn.id))
        if explicit:
            closed = turn._replace(
                ended_at=drive.store.now(), signal=jsoned(signals.to_json(explicit))
            )
            drive.put(self._call, closed)
            return closed
        heard = bool(turn.process) and self._driver.heard(turn.session, turn.id, drive.run.folder)
        if not heard:
            return self._send_again(turn)
        return self._send(
            lambda new: sending.interrupted(new, turn.id, self._signal_file(new)),
            ask_id=turn.ask_id,
            instead_of=turn._replace(ended_at=drive.store.now()),
        )

    def _send_again(self, unheard: Turn) -> Turn:
        """Under another name: whoever opened that turn may wake up and end all that bears its name."""
        now, turn_id = self._drive.store.now(), make_id(12, os.urandom(16), "t-")
        turn = unheard._replace(
            id=turn_id,
            number=self._drive.next_turn_number(self._path),
            sent=unheard.sent.replace(unheard.id, turn_id),
            process="",
            started_at=now,
        )
        return self._run(turn, unheard._replace(process="", ended_at=now))

    def _recover_joined(self, turn: Turn) -> Turn | None:
        if not claiming.holds(turn):
            self._drive.put(self._call, turn._replace(ended_at=self._drive.store.now()))
        elif not self._is_unanswered():
            call = self._drive.put(self._call._replace(state="held"))
            self._branch.park(call, self._drive.store.now() + _LOOK_AGAIN)
        return next((t for t in reversed(self._turns()) if t.signal), None)

    def _is_unanswered(self) -> bool:
        """Whether this call waits for a person as it did before one joined its session."""
        ask = self._drive.store.asks.get(self._call.ask_id)
        return ask is not None and ask.pending

    def _ask_whether_gone(self, turn: Turn) -> None:
        call = self._call
        request = Request(
            f"Is the agent of run {call.run}, call {call.path} ({turn.role}) gone? Its process "
            f"{turn.process} could not be ended from here, and two must not work in one session.",
            "choice",
            options=(_GONE, _STOP),
            priority=1,
        )
        ask = answer_to(self._branch, call, request)
        call = ask_anew(self._branch, self._call)
        if ask.value != _GONE:
            self._branch.halt(f"the agent of turn {turn.id} may still be at work", call)

    # People in between

    def _ask(self, signal: Signal, turn: Turn) -> None:
        """The agent needs a person; the flow does not notice."""
        prompt = signal.asked or f"{self._role.name} needs a person and did not say why"
        kind = "choice" if len(signal.options) > 1 else "text"
        options = (*signal.options, "Other…") if kind == "choice" else ()
        session = f"{turn.cli}/{turn.session}"
        request = Request(
            prompt,
            kind,
            options=options,
            context=signal.summary or None,
            going_on=self._drive.crew.going_on(self._origin(turn)),
        )
        open_ask(self._branch, self._call, request, session)

    def _heed(self) -> Turn | None:
        """What people said to the open ask, taken into the session; parks until they do.

        None: nobody did in time, and the flow wants to be told.
        """
        drive, call = self._drive, self._call
        drive.look_again()
        ask = asking.get(drive.store, call.ask_id)
        asked_back = ask.pending and ask.asked_back > ask.heard
        if asked_back and (turn := self._pass_on(ask)):
            return turn
        ask = answer_to(self._branch, call, Request(""))
        if ask.status != "answered":
            return None
        words = answer_text(ask, ask.value)
        if ask.settled_via == SIGNALLED:
            return self._signalled(ask, words)
        if ask.settled_via == JOINED:
            drive.put(_heeded(call))
            waiting.take(drive.store, ask, runs.owner_of(drive.run.id, self._path))
            mine = [turn for turn in self._turns() if turn.ask_id == ask.id and turn.signal]
            return mine[-1]
        said = "\n".join(filter(None, [words, ask.note]))
        prompt, who, when = ask.question.prompt, ask.settled_by, ask.settled_at or drive.store.now()
        return self._send(
            lambda new: sending.answered(new, prompt, said, who, when, self._signal_file(new)),
            ask_id=ask.id,
        )

    def _signalled(self, ask: Ask, words: str) -> Turn:
        """A person signalled in the agent's place: a turn of theirs, over as soon as it is known."""
        drive, before = self._drive, self._turns()
        given = signals.Signal(ask.note, summary="" if words == ask.note else words)
        turn = Turn(
            make_id(12, os.urandom(16), "t-"), drive.run.id, self._path,
            drive.next_turn_number(self._path), self._role.name, self._role.cli,
            _last_session(before), "", drive.store.now(), by=ask.settled_by, ask_id=ask.id,
            ended_at=drive.store.now(), signal=jsoned(signals.to_json(given)),
        )  # fmt: skip
        drive.put(_heeded(self._call), turn)
        waiting.take(drive.store, ask, runs.owner_of(turn.run, turn.path))
        return turn

    def _pass_on(self, ask: Ask) -> Turn | None:
        """A person asks back: their words go to the agent, its words to them; nothing is settled."""
        drive, call = self._drive, self._call
        mark = f"{ask.id}?{ask.asked_back}"
        turn = next((one for one in self._turns() if one.ask_id == mark and one.signal), None)
        if turn is None:
            words = waiting.new_messages(drive.store, ask)
            turn = self._send(
                lambda new: sending.asked_back(new, words, "a person", self._signal_file(new)),
                ask_id=mark,
            )
        signal = signals.from_json(turn.signal)
        if signal.status not in ("ERROR", NEEDS_HUMAN):
            permitting.retire(drive.store, ask, self._caller(turn), "the agent went on by itself")
            drive.put(_heeded(call))
            return turn
        # Whoever asked may have answered meanwhile.
        with suppress(AlreadySettledError):
            words = signal.message or turn.words or "(no words)"
            conversing.reply(drive.store, ask.id, self._caller(turn), words)
        waiting.hear(drive.store, ask)
        drive.put(self._call._replace(state="waiting"))
        return None

    def _caller(self, turn: Turn) -> Caller:
        seen = Sighting(turn.cli, turn.session, f"it is the agent of run {turn.run}")
        return self._drive.crew.caller._replace(agent=seen, verified=False)

    # Permission

    def _permit(self, turn: Turn, tool: str, given: dict[str, Any], call_id: str) -> Ruling:
        drive = self._drive
        origin = self._origin(turn)._replace(tool_use_id=call_id)
        held = Held(
            call=drive.crew.tool_call(tool, given, drive.run.folder),
            origin=origin,
            limit_seconds=drive.terms.human_seconds,
            going_on=lambda: drive.crew.going_on(origin),
            elsewhere=lambda: self._over(turn.id),
        )
        verb = permitting.answer_questions if tool == _QUESTIONS else permitting.decide
        permission = verb(drive.store, held, self._caller(turn))
        if permission.edited_by and not self._driver.takes_edits:
            edited = drive.crew.tool_call(tool, permission.input, drive.run.folder)
            permission = permitting.instead(drive.store, permission.edited_by, held, edited)
        for ask in permission.to_take:
            waiting.take(drive.store, ask, held.user)
        message = permission.message or ("" if permission.allow else "Nobody allowed this")
        return Ruling(bool(permission.allow), message, permission.input)

    def _over(self, turn_id: str) -> str:
        """Why nobody needs to decide any more. What this process leaves open, another takes up."""
        if self._drive.closing.is_set():
            raise Closing
        return "" if turn_id in self._drive.agents else "the agent's turn is over"

    def _origin(self, turn: Turn) -> Origin:
        run = self._drive.run
        return Origin(
            project=run.project,
            cwd=run.folder,
            agent=self._role.name,
            session=f"{turn.cli}/{turn.session}",
            sponsor=run.sponsor,
            owner=runs.owner_of(run.id, self._path),
        )

    def _withdraw_permissions(self, turn: Turn) -> None:
        """What the agent wanted to do in its turn and did not wait for."""
        mine = runs.owner_of(turn.run, turn.path)
        for ask in self._drive.store.asks.pending_of_run(turn.run):
            # What is asked later is another's: this drive may have been overtaken meanwhile.
            late = turn.ended_at and ask.opened_at > turn.ended_at
            if ask.origin.owner == mine and ask.id != self._call.ask_id and not late:
                caller = self._drive.crew.caller
                permitting.retire(self._drive.store, ask, caller, "the agent's turn is over")

    # Structured results

    def _faults(self, signal: Signal) -> list[str]:
        if self._wanted.schema is None or signal.status in ("ERROR", "BLOCKED", NEEDS_HUMAN):
            return []
        return [
            f"{where or 'the value'}: {why}"
            for where, why in faults(self._wanted.schema, signal.value)
        ]

    def _tried(self) -> int:
        done = [signals.from_json(turn.signal) for turn in self._turns() if turn.signal]
        return sum(bool(self._faults(signal)) for signal in done)
