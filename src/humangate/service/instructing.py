"""A flow's call of an agent: its turns, what is sent in them, and what comes back."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from humangate import processes
from humangate.domain import runs, sending, signals
from humangate.domain.asks import make_id
from humangate.domain.forms import check_schema, faults
from humangate.domain.outcomes import answer_text
from humangate.domain.owners import owner_of
from humangate.domain.roles import Role
from humangate.domain.runs import FlowCall, Turn
from humangate.domain.signals import NEEDS_HUMAN
from humangate.errors import (
    AlreadySettledError,
    StepFailedError,
    StoreTroubleError,
)
from humangate.service import (
    asking,
    claiming,
    conversing,
    permitting,
    signalling,
    trusting,
    waiting,
)
from humangate.service.addressing import LOOK_AGAIN, Agent
from humangate.service.asking import Request
from humangate.service.calling import answer_to, decided_by_person, open_ask
from humangate.service.journalling import (
    folder_of,
    jsoned,
    place_of,
    result_of,
    said_before,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from humangate.domain.asks import Ask
    from humangate.domain.signals import Signal
    from humangate.service.journalling import Branch

JOINED, SIGNALLED = "session", "signal"
"""How an ask is settled when a person worked it out in the session, or signals for the agent."""
_GONE = "It is gone: go on"
_STOP = "Stop the run"


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
        return _Instruction(branch, call, wanted).work()
    except (StepFailedError, StoreTroubleError):
        raise
    except Exception as error:
        kind = type(error).__name__
        branch.drive.fail(branch.drive.calls.get(call.path, call), kind, str(error))
        raise StepFailedError(kind, str(error), call.path) from error


def _is_asked_back(turn: Turn) -> bool:
    return "?" in turn.ask_id


class _Instruction:
    """One call of one agent, from wherever it was left."""

    def __init__(self, branch: Branch, call: FlowCall, wanted: Wanted) -> None:
        self._branch, self._drive, self._wanted = branch, branch.drive, wanted
        crew, is_ours = branch.drive.crew, wanted.session in ("role", "new")
        role = (
            Role(wanted.role, "", cli="python")
            if wanted.work
            else crew.role(branch.drive.run, wanted.role)
        )
        if not wanted.work:
            trusting.must_be_seen(branch, trusting.role(role.name), role.digest, call.path)
        driver = crew.driver(role, wanted.work)
        self._agent = Agent(branch, call, role, driver, wanted.schema, is_ours=is_ours)

    def work(self) -> Signal:
        before = self._agent.turns()
        turn = before[-1] if before else None
        if turn and not turn.ended_at:
            turn = self._recover(turn)
            if turn and _is_asked_back(turn):
                self._drive.put(self._agent.call._replace(state="waiting"))
        if self._agent.call.state == "held":
            self._drive.put(
                self._agent.call._replace(state="waiting" if self._agent.call.ask_id else "open")
            )
        while True:
            if self._agent.call.state == "waiting":
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
        needed = next(turn.signal for turn in reversed(self._agent.turns()) if turn.signal)
        return self._done(signals.from_json(needed)._replace(reason="nobody answered in time"))

    def _correct(self, wrong: list[str]) -> Turn:
        return self._agent.send(
            lambda new: sending.try_again(new, wrong, self._agent.signal_file(new))
        )

    def _done(self, signal: Signal) -> Signal:
        self._drive.record(self._agent.call, jsoned(signals.to_json(signal)))
        return signal

    # What is sent

    def _begin(self, stopped: Turn | None) -> Turn:
        """The first turn of this call, or of the same session after it was stopped."""
        if stopped and stopped.process:
            return self._agent.send(
                lambda new: sending.interrupted(new, stopped.id, self._agent.signal_file(new))
            )
        run, call = self._drive.run, self._agent.call
        folder_of(self._branch, call.path)
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
                role=self._agent.role.name,
                instructions="" if spoke_at else self._agent.role.instructions,
                run_prompt="" if spoke_at else run.prompt,
                since=since,
                prompt=self._wanted.prompt,
                signal_file=self._agent.signal_file(new),
                context_path=signalling.CONTEXT,
                schema=self._wanted.schema,
            )

        return self._agent.send(text, session=session, fork_of=fork_of)

    def _session(self) -> tuple[str, str, str]:
        """The session to speak in, the one it is forked from, and where this role last spoke in it."""
        wanted = self._wanted.session
        if wanted not in ("role", "new"):
            return wanted, "", "0"
        if wanted == "role":
            mine = [
                turn
                for turn in self._drive.all_turns()
                if turn.role == self._agent.role.name and turn.cli == self._agent.role.cli and turn.session and turn.process
                # A branch has sessions of its own: two of them at once would share one.
                and turn.path.rpartition(".")[0] == self._agent.path.rpartition(".")[0]
            ]  # fmt: skip
            if mine:
                last = max(mine, key=lambda turn: (runs.order(turn.path), turn.number))
                if runs.is_carried(last):
                    return self._agent.driver.new_session(), last.session, last.path
                return last.session, "", last.path
        return self._agent.driver.new_session(), "", ""

    def _hand_over(self, turn: Turn) -> None:
        """The answer that a turn carried has been heard, once its agent has come to an end."""
        if turn.ask_id and not turn.by and not _is_asked_back(turn):
            ask = asking.get(self._drive.store, turn.ask_id)
            waiting.take(self._drive.store, ask, f"agent:{turn.cli}/{turn.session}")

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
        explicit = signals.explicit(turn.offered, self._agent.signal_text(turn.id))
        if explicit:
            closed = turn._replace(
                ended_at=drive.store.now(), signal=jsoned(signals.to_json(explicit))
            )
            drive.put(self._agent.call, closed)
            return closed
        heard = bool(turn.process) and self._agent.driver.heard(
            turn.session, turn.id, drive.run.folder
        )
        if not heard:
            return self._agent.send_again(turn)
        return self._agent.send(
            lambda new: sending.interrupted(new, turn.id, self._agent.signal_file(new)),
            ask_id=turn.ask_id,
            instead_of=turn._replace(ended_at=drive.store.now()),
        )

    def _recover_joined(self, turn: Turn) -> Turn | None:
        if not claiming.holds(turn):
            self._drive.put(self._agent.call, turn._replace(ended_at=self._drive.store.now()))
        elif not self._is_unanswered():
            call = self._drive.put(self._agent.call._replace(state="held"))
            self._branch.park(call, self._drive.store.now() + LOOK_AGAIN)
        return next((t for t in reversed(self._agent.turns()) if t.signal), None)

    def _is_unanswered(self) -> bool:
        """Whether this call waits for a person as it did before one joined its session."""
        ask = self._drive.store.asks.get(self._agent.call.ask_id)
        return ask is not None and ask.pending

    def _ask_whether_gone(self, turn: Turn) -> None:
        call = self._agent.call
        request = Request(
            f"Is the agent of run {call.run}, call {call.path} ({turn.role}) gone? Its process "
            f"{turn.process} could not be ended from here, and two must not work in one session.",
            "choice",
            options=(_GONE, _STOP),
            priority=1,
        )
        if decided_by_person(self._branch, call, request) != _GONE:
            self._branch.halt(f"the agent of turn {turn.id} may still be at work", call)

    # People in between

    def _ask(self, signal: Signal, turn: Turn) -> None:
        """The agent needs a person; the flow does not notice."""
        prompt = signal.asked or f"{self._agent.role.name} needs a person and did not say why"
        kind = "choice" if len(signal.options) > 1 else "text"
        options = (*signal.options, "Other…") if kind == "choice" else ()
        session = f"{turn.cli}/{turn.session}"
        request = Request(
            prompt,
            kind,
            options=options,
            context=signal.beside or None,
            going_on=self._drive.crew.going_on(self._agent.origin(turn)),
        )
        open_ask(self._branch, self._agent.call, request, session)

    def _heed(self) -> Turn | None:
        """What people said to the open ask, taken into the session; parks until they do.

        None: nobody did in time, and the flow wants to be told.
        """
        drive, call = self._drive, self._agent.call
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
            drive.put(runs.heeded(call))
            waiting.take(drive.store, ask, owner_of(drive.run.id, self._agent.path))
            mine = [turn for turn in self._agent.turns() if turn.ask_id == ask.id and turn.signal]
            return mine[-1]
        said = "\n".join(filter(None, [words, ask.note]))
        prompt, who, when = ask.question.prompt, ask.settled_by, ask.settled_at or drive.store.now()
        return self._agent.send(
            lambda new: sending.answered(
                new, prompt, said, who, when, self._agent.signal_file(new)
            ),
            ask_id=ask.id,
        )

    def _signalled(self, ask: Ask, words: str) -> Turn:
        """A person signalled in the agent's place: a turn of theirs, over as soon as it is known."""
        drive = self._drive
        given = signals.Signal(ask.note, summary="" if words == ask.note else words)
        turn = Turn(
            make_id(12, os.urandom(16), "t-"), drive.run.id, self._agent.path,
            drive.next_turn_number(self._agent.path), self._agent.role.name, self._agent.role.cli,
            self._agent.last_session(), "", drive.store.now(), by=ask.settled_by, ask_id=ask.id,
            ended_at=drive.store.now(), signal=jsoned(signals.to_json(given)),
        )  # fmt: skip
        drive.put(runs.heeded(self._agent.call), turn)
        waiting.take(drive.store, ask, owner_of(turn.run, turn.path))
        return turn

    def _pass_on(self, ask: Ask) -> Turn | None:
        """A person asks back: their words go to the agent, its words to them; nothing is settled."""
        drive, call = self._drive, self._agent.call
        mark = f"{ask.id}?{ask.asked_back}"
        turn = next((one for one in self._agent.turns() if one.ask_id == mark and one.signal), None)
        if turn is None:
            who, words = self._asked_back(ask)
            turn = self._agent.send(
                lambda new: sending.asked_back(new, words, who, self._agent.signal_file(new)),
                ask_id=mark,
            )
        signal = signals.from_json(turn.signal)
        if signal.status not in ("ERROR", NEEDS_HUMAN):
            permitting.retire(
                drive.store, ask, self._agent.caller(turn), "the agent went on by itself"
            )
            drive.put(runs.heeded(call))
            return turn
        # Whoever asked may have answered meanwhile.
        with suppress(AlreadySettledError):
            words = signal.message or turn.words or "(no words)"
            conversing.reply(drive.store, ask.id, self._agent.caller(turn), words)
        waiting.hear(drive.store, ask)
        drive.put(self._agent.call._replace(state="waiting"))
        return None

    def _asked_back(self, ask: Ask) -> tuple[str, str]:
        """Who asks back, and their words; of several, each under their own name."""
        said = [one for one in self._drive.store.asks.messages(ask.id) if not one.by_asker]
        new = said[ask.heard : ask.asked_back]
        authors = list(dict.fromkeys(message.author for message in new))
        if len(authors) == 1:
            return authors[0], "\n".join(message.text for message in new)
        return ", ".join(authors), "\n".join(f"{m.author}: {m.text}" for m in new)

    # Structured results

    def _faults(self, signal: Signal) -> list[str]:
        if self._wanted.schema is None or signal.status in ("ERROR", "BLOCKED", NEEDS_HUMAN):
            return []
        return [
            f"{where or 'the value'}: {why}"
            for where, why in faults(self._wanted.schema, signal.value)
        ]

    def _tried(self) -> int:
        done = [signals.from_json(turn.signal) for turn in self._agent.turns() if turn.signal]
        return sum(bool(self._faults(signal)) for signal in done)
