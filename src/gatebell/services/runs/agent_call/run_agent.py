"""Call an agent from a flow: its turns, the prompts in them, and the result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.domain.asks.forms import check_schema, faults
from gatebell.domain.enums import (
    AgentCli,
    AskKind,
    AskStatus,
    CallName,
    CallState,
    Priority,
    SignalStatus,
)
from gatebell.domain.runs import prompts, signals
from gatebell.domain.runs.flow_terms import ErrorAction
from gatebell.domain.runs.identities import parse_identity
from gatebell.domain.runs.roles import Role
from gatebell.errors import StepFailedError, StoreError
from gatebell.services.asks import create_ask, wait_for_ask
from gatebell.services.asks.create_ask import Request
from gatebell.services.runs import source_check
from gatebell.services.runs.agent_call import send_prompt
from gatebell.services.runs.agent_call.human_questions import People
from gatebell.services.runs.agent_call.turn import LOOK_AGAIN, Agent
from gatebell.services.runs.error_lines import find_line
from gatebell.services.runs.flow_calls import decided_by_person
from gatebell.services.runs.run_journal import result_of, to_json_value
from gatebell.services.sessions import presence, run_session

if TYPE_CHECKING:
    from gatebell.domain.runs.runs import FlowCall, Turn
    from gatebell.domain.runs.signals import Signal
    from gatebell.services.runs.agent_call.turn import AgentRequest
    from gatebell.services.runs.run_journal import Branch

_GONE = "It is gone: go on"
_STOP = "Stop the run"


def call_agent(branch: Branch, wanted: AgentRequest) -> Signal:
    """Let an agent work, with as many questions to people as needed."""
    if wanted.schema is not None:
        check_schema(wanted.schema)
    arguments = [wanted.prompt, wanted.session, wanted.human, wanted.schema]
    call = branch.begin(CallName.RUN, wanted.role, to_json_value(arguments))
    if call.over:
        return signals.from_json(result_of(call))
    try:
        return _AgentCall(branch, call, wanted).run_to_end()
    except (StepFailedError, StoreError):
        raise
    except Exception as error:
        kind, where = type(error).__name__, find_line(error, branch.drive.run.project)
        failed = branch.drive.calls.get(call.path, call)
        branch.drive.fail(failed, kind, str(error), where=where)
        raise StepFailedError(kind, str(error), call.path, where) from error


def heed_error(branch: Branch, role: str, signal: Signal, action: ErrorAction | None) -> None:
    """Halt the run at an agent's ERROR, unless the call or its flow handles it."""
    if (action or branch.drive.terms.on_error) == ErrorAction.RETURN:
        return
    path, following = f"{branch.prefix}{branch.count}", f"{branch.prefix}{branch.count + 1}"
    # A run from before an ERROR halted has continued from here.
    if following in branch.drive.calls:
        return
    words = (signal.reason or signal.own_words or "no reason given").rstrip(".")
    again = f"gate resume {branch.drive.run.id} --from {path.partition('.')[0]}"
    branch.halt_at(f"{role} reported ERROR: {words}. Once that is fixed: {again}", path)


class _AgentCall:
    """One call of one agent; continues where it was left."""

    def __init__(self, branch: Branch, call: FlowCall, wanted: AgentRequest) -> None:
        self._branch, self._drive, self._wanted = branch, branch.drive, wanted
        needs = branch.drive.needs
        role = (
            Role(wanted.role, "", cli=AgentCli.PYTHON)
            if wanted.work
            else needs.roles.find(branch.drive.run, wanted.role)
        )
        if not wanted.work:
            source_check.must_be_seen(branch, source_check.role(role.name), role.digest, call.path)
        driver = needs.agents.driver(role, wanted.work)
        self._agent = Agent(branch, call, role, driver, wanted)
        self._people = People(self._agent)

    def run_to_end(self) -> Signal:
        before = self._agent.turns()
        turn = self._drop_late_signal(before[-1]) if before else None
        if turn and not turn.ended_at:
            turn = self._recover_turn(turn)
            if turn and send_prompt.is_asked_back(turn):
                self._drive.put(self._agent.call._replace(state=CallState.WAITING))
        if self._agent.call.state == CallState.HELD:
            self._drive.put(
                self._agent.call._replace(
                    state=CallState.WAITING if self._agent.call.ask_id else CallState.OPEN
                )
            )
        while True:
            if self._agent.call.state == CallState.WAITING:
                asked = self._people.take_answer()
                if asked is None:
                    return self._end_unanswered()
                turn = asked
            elif turn is None or turn.signal is None:
                turn = send_prompt.send_first(self._agent, turn)
            signal = signals.from_json(turn.signal)
            self._note_answer_taken(turn)
            if (
                signal.status == SignalStatus.NEEDS_HUMAN
                and self._wanted.human
                and self._drive.terms.human
            ):
                if why := self._people.find_refusal(signal, turn):
                    return self._record(signals.Signal(SignalStatus.ERROR, reason=why))
                self._people.ask(signal, turn)
            elif wrong := self._faults(signal):
                if self._count_misfits() >= self._wanted.tries:
                    reason = (
                        f"its value did not fit {self._count_misfits()} times: {'; '.join(wrong)}"
                    )
                    return self._record(signals.Signal(SignalStatus.ERROR, reason=reason))
                turn = self._send_correction(wrong)
            else:
                return self._record(signal)

    def _drop_late_signal(self, turn: Turn) -> Turn:
        """Remove the signal of a joined session that came too late to answer its question."""
        ask = self._drive.store.asks.get(turn.ask_id) if turn.by and turn.signal else None
        counts = ask is None or ask.status == AskStatus.ANSWERED or ask.pending
        return turn if counts else turn._replace(signal=None)

    def _end_unanswered(self) -> Signal:
        """Return the signal for a timeout: the flow handles timeouts itself."""
        needed = next(turn.signal for turn in reversed(self._agent.turns()) if turn.signal)
        return self._record(signals.from_json(needed)._replace(reason="no person answered in time"))

    def _send_correction(self, wrong: list[str]) -> Turn:
        return send_prompt.send_next(
            self._agent, lambda new: prompts.try_again(new, wrong, self._agent.signal_file(new))
        )

    def _record(self, signal: Signal) -> Signal:
        self._drive.record(self._agent.call, to_json_value(signals.to_json(signal)))
        return signal

    def _note_answer_taken(self, turn: Turn) -> None:
        """Record the answer of a turn as taken, when the agent's turn has ended."""
        if turn.ask_id and not turn.by and not send_prompt.is_asked_back(turn):
            ask = create_ask.get(self._drive.store, turn.ask_id)
            wait_for_ask.take(self._drive.store, ask, f"agent:{turn.cli}/{turn.session}")

    # After a crash

    def _recover_turn(self, turn: Turn) -> Turn | None:
        """Recover an unfinished turn: prove its process gone, then continue its session (law 5)."""
        drive = self._drive
        if turn.by:
            return self._recover_visit(turn)
        if turn.process and not drive.store.machine.end(
            parse_identity(turn.process), ("GATE_TURN", turn.id)
        ):
            self._ask_whether_gone(turn)
        drive.look_again()
        turn = drive.turns[turn.id]
        explicit = signals.explicit(turn.offered, self._agent.signal_text(turn.id))
        if explicit:
            closed = turn._replace(
                ended_at=drive.store.now(), signal=to_json_value(signals.to_json(explicit))
            )
            drive.put(self._agent.call, closed)
            return closed
        heard = bool(turn.process) and self._agent.driver.was_turn_sent(turn.session, turn.id)
        if not heard:
            return send_prompt.send_again(self._agent, turn)
        return send_prompt.continue_interrupted(self._agent, turn)

    def _recover_visit(self, turn: Turn) -> Turn | None:
        # The person may have left since this drive looked.
        self._drive.look_again()
        left = bool(self._drive.turns[turn.id].ended_at)
        if not left and not presence.holds(self._drive.store, turn):
            run_session.take_back(self._drive.store, turn)
            self._drive.look_again()
        elif not left and not self._is_unanswered():
            call = self._drive.put(self._agent.call._replace(state=CallState.HELD))
            self._branch.park(call, self._drive.store.now() + LOOK_AGAIN)
        return next((t for t in reversed(self._agent.turns()) if t.signal), None)

    def _is_unanswered(self) -> bool:
        """Return whether this call waits for a person as before one joined its session."""
        ask = self._drive.store.asks.get(self._agent.call.ask_id)
        return ask is not None and ask.pending

    def _ask_whether_gone(self, turn: Turn) -> None:
        call = self._agent.call
        request = Request(
            f"Is the agent of run {call.run}, call {call.path} ({turn.role}) gone? Its process "
            f"{turn.process} could not be ended from here, and two must not work in one session.",
            AskKind.CHOICE,
            options=(_GONE, _STOP),
            priority=Priority.HIGH,
        )
        if decided_by_person(self._branch, call, request) != _GONE:
            self._branch.halt(f"the agent of turn {turn.id} may still be at work", call)

    # Structured results

    def _faults(self, signal: Signal) -> list[str]:
        if self._wanted.schema is None or signal.status in (
            SignalStatus.ERROR,
            SignalStatus.BLOCKED,
            SignalStatus.NEEDS_HUMAN,
        ):
            return []
        return [
            f"{where or 'the value'}: {why}"
            for where, why in faults(self._wanted.schema, signal.value)
        ]

    def _count_misfits(self) -> int:
        done = [signals.from_json(turn.signal) for turn in self._agent.turns() if turn.signal]
        return sum(bool(self._faults(signal)) for signal in done)
