"""Open the session of a run's agent in this terminal, and report its result."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from gatebell.app import runtime, wiring
from gatebell.cli.asks import prompts
from gatebell.cli.screen import short
from gatebell.cli.sessions.continue_session import announce, quote_proposal
from gatebell.domain.asks.asks import settled_sentence
from gatebell.domain.asks.outcomes import answer_text
from gatebell.domain.enums import AgentCli
from gatebell.domain.sessions.joined_sessions import settles
from gatebell.domain.text.display import inert_line
from gatebell.errors import AlreadySettledError, NotAnsweredError
from gatebell.services.asks import create_ask
from gatebell.services.runs import manage_runs
from gatebell.services.sessions import run_session
from gatebell.terminal.left_runs import is_driven

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gatebell.cli.sessions.terminal_handover import Program
    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.people.principals import Caller
    from gatebell.ports.store import Store
    from gatebell.services.sessions.run_session import Left
    from gatebell.services.sessions.visit_session import ProgramEnd


class TerminalRunVisit:
    """A person opens the session of a run's agent."""

    def __init__(self, store: Store, who: Caller, ask: Ask) -> None:
        self._store, self._who = store, who
        self._visit = run_session.open_visit(store, runtime.build_dependencies(store), ask.id, who)
        self.id = self._visit.turn.id
        self._left: Left
        self._problem: Exception | None = None
        self._is_signalled = False

    def prepare(self) -> tuple[Sequence[str], Mapping[str, str], str]:
        visit, turn = self._visit, self._visit.turn
        trust = (
            "It may first ask whether you trust this folder, a copy of your project made for this "
            "run; the default is No."
        )
        is_copy = turn.cli == AgentCli.CLAUDE and manage_runs.get(self._store, turn.run).branch
        then = "you are back" if visit.settles else "you decide"
        question = "Reason", visit.ask.question.prompt
        announce(turn.cli, inert_line(turn.role, 60), question, [trust] if is_copy else [], then)
        return visit.words, visit.environ, visit.cwd

    def attend(self, program: Program) -> None:
        """Do nothing: the visit has no time limit, and an answer from elsewhere does not end it."""

    def leave(self, ended: ProgramEnd | None, problem: Exception | None) -> None:
        self._problem, self._is_signalled = problem, bool(ended and ended.signalled)
        if ended and ended.code:
            code = ended.code
            how = f"with exit code {code}" if code > 0 else f"by signal {-code}"
            role = short(self._visit.turn.role)
            print(f"gate: the session of {role} ended {how}", file=sys.stderr)
        self._left = run_session.leave(self._store, self._visit, self._who, wiring.hosts())

    def conclude(self) -> int:
        if self._problem:
            raise self._problem
        return self._say_result() if self._visit.settles else self._decide()

    def _decide(self) -> int:
        """Ask for the decision that only a person makes, below a quote of the agent's words."""
        ask, store = self._left.ask, self._store
        if not ask.pending:
            raise AlreadySettledError(settled_sentence(ask))
        done = False
        if not self._is_signalled:
            proposal = run_session.find_proposal(self._visit, self._left, wiring.hosts())
            backend, above = wiring.local_backend(store), quote_proposal(proposal)
            done = prompts.prompt_for(backend, self._who, ask, above=above)
        if not done and create_ask.get(store, ask.id).pending:
            print(f"Run {self._visit.turn.run} still waits for your decision: gate answer {ask.id}")
        return 0 if done else NotAnsweredError.exit_code

    def _say_result(self) -> int:
        left, ask, number = self._left, self._left.ask, self._visit.turn.run
        if left.problem and left.signal:
            print(
                f"The agent signalled {short(left.signal.status)} too late, so it does not count."
            )
            raise left.problem
        if left.signal is None and not ask.pending:
            raise AlreadySettledError(settled_sentence(ask))
        if left.signal is None:
            print(f"The agent gave no new signal, so run {number} keeps waiting. Next:")
        elif not settles(left.signal):
            print(f"The agent still needs a person, so run {number} keeps waiting. Next:")
        else:
            print(f"Recorded for {ask.id}: {short(answer_text(ask, ask.value))}")
            goes_on = is_driven(self._store, manage_runs.get(self._store, number))
            more = "goes on" if goes_on else f"can go on: gate resume {number}"
            print(f"Run {number} {more}")
            return 0
        ways = {
            f"gate continue {number}": "open the session again",
            f"gate answer {ask.id} TEXT": "send the agent an answer",
            f"gate signal {number} --status DONE": "signal for the agent",
        }
        for command, meaning in ways.items():
            print(f"  {command:{max(map(len, ways))}}  {meaning}")
        return NotAnsweredError.exit_code
