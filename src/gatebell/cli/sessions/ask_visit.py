"""Open the session of an ask in this terminal, and take the person's decision after it."""

from __future__ import annotations

import os
from math import ceil
from typing import TYPE_CHECKING

from gatebell.app import settings, wiring
from gatebell.cli.asks import prompts
from gatebell.cli.screen import columns, describe_recorded
from gatebell.cli.sessions.continue_session import announce, quote_proposal
from gatebell.cli.sessions.session_timer import STOPPED, TIME, VisitTimer
from gatebell.domain.asks.asks import last_settler, settled_sentence
from gatebell.domain.enums import AgentCli, AskStatus
from gatebell.domain.sessions import session_prompt
from gatebell.domain.sessions.visits import FAILED, GRACE_SECONDS, VIA, conversation
from gatebell.domain.text.display import inert_line
from gatebell.errors import (
    AlreadySettledError,
    AskCancelledError,
    AskExpiredError,
    GateError,
    NotAnsweredError,
)
from gatebell.ports.agents import Opening
from gatebell.services.asks.create_ask import get
from gatebell.services.sessions import ask_session, visits

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gatebell.cli.sessions.terminal_handover import Program
    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.people.principals import Caller
    from gatebell.domain.sessions.visits import Visit
    from gatebell.ports.agents import Host
    from gatebell.ports.store import Store
    from gatebell.services.sessions.ask_session import AskVisit
    from gatebell.services.sessions.visit_session import ProgramEnd


class TerminalAskVisit:
    """A person opens the session of an ask."""

    def __init__(self, store: Store, who: Caller, ask: Ask, wanted: str) -> None:
        self._store, self._who = store, who._replace(via=VIA)
        cli = _choose_cli(store, ask, wanted)
        host = wiring.host(cli)
        self._ask_visit = ask_session.open_visit(store, ask.id, self._who, cli, host.new_session())
        self._visit = self._ask_visit.visit
        if self._visit.cli != cli:
            # Another process has just started it with another program.
            host = wiring.host(self._visit.cli)
        if wanted not in ("", self._visit.cli):
            print(f"{ask.id} was started in {self._visit.cli} and continues there.")
        self._host, self.id = host, self._visit.id
        self._ask = self._ask_visit.ask
        self._began = store.monotonic()
        self._is_signalled = False

    def prepare(self) -> tuple[Sequence[str], Mapping[str, str], str]:
        opening = _build_opening(self._store, self._host, self._ask_visit)
        words = self._host.open_session(opening)
        again = ", continued" if not opening.prompt else ""
        question, hints = (
            ("Question", self._ask.question.prompt),
            _list_hints(self._ask_visit, opening),
        )
        announce(self._visit.cli, f"{self._ask.id}{again}", question, hints, "you decide")
        return words, opening.environ, opening.cwd

    def attend(self, program: Program) -> None:
        left = self._ask_visit.seconds_left
        VisitTimer(self._store, self._visit, self._who, left, GRACE_SECONDS).attend(program)

    def leave(self, ended: ProgramEnd | None, problem: Exception | None) -> None:
        self._is_signalled = bool(ended and ended.signalled)
        self._ask, self._visit = ask_session.leave(
            self._store,
            self._ask_visit,
            self._who,
            self._host,
            ended,
            str(problem) if problem else "",
            self._store.monotonic() - self._began,
        )

    def conclude(self) -> int:
        ask, visit = self._ask, self._visit
        if not ask.pending:
            return _say_settled(ask, visit)
        if visit.end == FAILED:
            raise GateError(f"{visit.problem}\n{_list_ways_on(ask)}")
        if self._is_signalled:
            print(f"Not answered; {ask.id} is still waiting.")
            return NotAnsweredError.exit_code
        return self._decide()

    def _decide(self) -> int:
        store, ask = self._store, get(self._store, self._ask.id)
        proposal = ask_session.find_proposal(store, ask, self._host)
        proposed, quoted = proposal and proposal.value, quote_proposal(proposal)
        backend = wiring.local_backend(store)
        done = prompts.prompt_for(backend, self._who, ask, above=quoted, proposed=proposed)
        if not done and get(store, ask.id).pending:
            print(f"To open it again: gate continue {ask.id}   To answer: gate answer {ask.id}")
        return 0 if done else NotAnsweredError.exit_code


def _choose_cli(store: Store, ask: Ask, wanted: str) -> str:
    """Return the program of the conversation, or the wanted program for a new one."""
    assert ask.question.session, "it is a session ask"
    cli = wanted or settings.session_cli(os.environ)
    begun = conversation(ask.question.session, store.asks.visits(ask.id), cli)
    return begun[0] if begun else cli


def _list_ways_on(ask: Ask) -> str:
    return (
        f"{ask.id} is still waiting. Try again: gate continue {ask.id}; --with CLI uses another "
        f"program\nOr answer without a session: gate answer {ask.id}"
    )


def _build_opening(store: Store, host: Host, ask_visit: AskVisit) -> Opening:
    ask, visit, terms = ask_visit.ask, ask_visit.visit, ask_visit.terms
    cwd = ask_visit.cwd or os.getcwd()
    if not os.path.isdir(cwd):
        raise GateError(f"cannot open the session in {cwd}: it is not a folder; create it")
    first = store.asks.visits(ask.id)[0].started_at
    mark = session_prompt.mark(ask.id)
    session = visit.session or host.found_session(mark, first)
    files_folder = _write_session_files(store, ask_visit)
    prompt_file = os.path.join(files_folder, session_prompt.PROMPT_FILE)
    was_told = bool(session) and host.was_told(session, mark)
    return Opening(
        mark=visit.id,
        session=session,
        fresh=not terms.resume_session,
        prompt="" if was_told else visits.first_words(store, ask.id),
        prompt_file=prompt_file,
        system_file=os.path.join(files_folder, "system.md") if terms.system_prompt else "",
        files_folder=files_folder,
        model=terms.model,
        cwd=cwd,
        mcp_config=ask_visit.mcp_config,
        environ={"GATE_TURN": visit.id, "GATE_ASK": ask.id},
        project=ask.origin.project or cwd,
    )


def _write_session_files(store: Store, ask_visit: AskVisit) -> str:
    ask = ask_visit.ask
    folder = wiring.session_folder(store.local_path, ask.id)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    for place in (os.path.dirname(folder), folder):
        # We write there, and the agent may read there without asking.
        if os.path.islink(place):
            raise GateError(f"{place} is a symbolic link, which gate did not make; remove it")
        os.chmod(place, 0o700)
    session_files = session_prompt.session_files(ask.question, folder)
    texts = {
        session_prompt.PROMPT_FILE: session_files.prompt,
        "system.md": ask_visit.terms.system_prompt,
    }
    texts |= (
        {session_files.context_file: session_files.context} if session_files.context_file else {}
    )
    for name, text in texts.items():
        # Written again each time: the agent of an earlier visit may have changed it.
        path = os.path.join(folder, name)
        draft = f"{path}.{ask_visit.visit.id}"
        with open(draft, "x", encoding="utf-8", errors="replace") as file:
            file.write(text)
        os.replace(draft, path)
    return folder


def _list_hints(ask_visit: AskVisit, opening: Opening) -> list[str]:
    hints = []
    if not _is_here(opening.cwd):
        hints.append(f"Folder: {inert_line(opening.cwd, columns() - 14)}")
    if opening.mcp_config:
        hints.append(f"More tools: {inert_line(opening.mcp_config, columns() - 14)}")
    if ask_visit.visit.cli == AgentCli.CLAUDE and not _is_here(opening.cwd):
        hints.append("It may first ask whether you trust this folder; the default is No.")
    if ask_visit.seconds_left is not None:
        left = _describe_duration(ask_visit.seconds_left)
        hints.append(f"You have {left}; a bell rings at the end.")
    return hints


def _is_here(folder: str) -> bool:
    return os.path.realpath(folder) == os.path.realpath(os.getcwd())


def _describe_duration(seconds: float) -> str:
    return f"{seconds / 60:.0f} minutes" if seconds >= 120 else f"{ceil(seconds)} seconds"


def _say_settled(ask: Ask, visit: Visit) -> int:
    """Report how an ask was settled during the visit; return the exit code."""
    is_own = ask.settled_via == VIA and last_settler(ask) == visit.by
    if is_own and ask.status == AskStatus.ANSWERED:
        print(describe_recorded(ask))
        return 0
    sentence = settled_sentence(ask)
    if ask.settled_via == FAILED:
        sentence = f"{ask.id} has failed: {ask.note}"
    if visit.end == TIME and ask.status == AskStatus.TIMED_OUT:
        sentence = f"the time of the session is over: {sentence}"
    if visit.end == STOPPED:
        sentence = f"the session was ended because {sentence}"
    errors = {"timed_out": AskExpiredError, "cancelled": AskCancelledError}
    raise errors.get(ask.status, AlreadySettledError)(sentence)
