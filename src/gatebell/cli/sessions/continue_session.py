"""Open the agent's own session in this terminal, and continue the run after you leave it.

The run goes on after the agent signals anything but NEEDS_HUMAN in the session. At a gate you
first talk with the last agent, leave the session, and then decide here; the agent's words are
only quoted. A session ask has its own session, and you decide here after it, too.

Example: gate continue 3
Example: gate continue a-7k2
"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

from gatebell.app import settings, wiring
from gatebell.app.settings import SESSION_CLIS
from gatebell.cli.identity import add_identity, caller
from gatebell.cli.screen import columns
from gatebell.cli.sessions import terminal_handover
from gatebell.domain.enums import AskKind
from gatebell.domain.people.logins import client_of
from gatebell.domain.sessions.proposals import PERSON
from gatebell.domain.text.display import frame, inert_line
from gatebell.errors import GateError, NotAnsweredError, UsageError
from gatebell.services.asks.create_ask import find
from gatebell.services.sessions.session_place import find_folder, must_be_of_this_host
from gatebell.terminal import editors
from gatebell.terminal.runs import JOINABLE

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence
    from typing import Protocol

    from gatebell.cli.sessions.terminal_handover import Program
    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.sessions.proposals import Proposal
    from gatebell.ports.store import Store
    from gatebell.services.sessions.visit_session import ProgramEnd

    class TerminalVisit(Protocol):
        """The differences between a visit to an ask and a visit to a run's agent."""

        id: str

        def prepare(self) -> tuple[Sequence[str], Mapping[str, str], str]:
            """Announce the session; return its command, its variables and its folder."""
            ...

        def attend(self, program: Program) -> None:
            """Watch the program, in a second thread."""
            ...

        def leave(self, ended: ProgramEnd | None, problem: Exception | None) -> None:
            """Release the session, even after an error."""
            ...

        def conclude(self) -> int:
            """Report the result, or ask for the decision; return the exit code."""
            ...


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", help="the number of the run, or the whole id of an ask")
    parser.add_argument(
        "--with",
        dest="cli",
        default="",
        choices=[cli.value for cli in SESSION_CLIS],
        metavar="CLI",
        help="the program of a session ask: claude, codex or command (session_cli of the settings)",
    )
    parser.add_argument(
        "--editor",
        action="store_true",
        help="open the run's folder in $VISUAL, $EDITOR, code or cursor first",
    )
    add_identity(parser)


def run(args: argparse.Namespace) -> int:
    if settings.server_alone(os.environ):
        # Imported here: most sessions are of this machine's store.
        from gatebell.cli.sessions import other_host

        raise other_host.describe_place(args)
    terminal_handover.must_be_a_terminal()
    store = wiring.open_store()
    who = caller(store, args)
    editor = editors.find() if args.editor else ""
    ask = find(store, args.id)
    visit: TerminalVisit
    if ask.question.kind == AskKind.SESSION:
        # Imported here and below: a command needs only one of the two.
        from gatebell.cli.sessions.ask_visit import TerminalAskVisit

        if editor:
            raise UsageError(
                f"--editor opens the folder of a run, and {ask.id} has no run; omit it"
            )
        must_be_of_this_host(store, ask)
        _agree_to_client(store, ask)
        visit = TerminalAskVisit(store, who, ask, args.cli)
    else:
        from gatebell.cli.sessions.run_visit import TerminalRunVisit

        if args.cli:
            raise UsageError(f"--with is for session asks; {ask.id} has its own agent; omit --with")
        visit = TerminalRunVisit(store, who, ask)
    _hand_over(store, visit, editor)
    return visit.conclude()


def _agree_to_client(store: Store, ask: Ask) -> None:
    """Ask first if a client over HTTP chose the folder and the instructions of a session here."""
    client = client_of(ask.origin.session)
    terms = ask.question.session
    if not client or terms is None or store.asks.visits(ask.id):
        return
    print(f"{inert_line(ask.origin.started_by, 80)} asked for this session over HTTP. A token that")
    print("may only ask is enough for that, and nothing proves that it came from this host.")
    print(f"Folder: {inert_line(find_folder(ask), 4096)}")
    if terms.system_prompt:
        print("Instructions to the agent here, which has your rights:")
        print("\n".join(frame(terms.system_prompt, columns())))
    try:
        agreed = input(f"Open {ask.id} here? [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        agreed = False
    if not agreed:
        raise NotAnsweredError(f"not opened. To answer without it: gate answer {ask.id}")


def _hand_over(store: Store, visit: TerminalVisit, editor: str) -> None:
    """Run the session from its opening to its end, and record the end even after an error."""
    ended: ProgramEnd | None = None
    problem: Exception | None = None
    try:
        words, environ, cwd = visit.prepare()
        sys.stdout.flush()
        if editor:
            _edit(editor, cwd)
        environ = wiring.build_agent_environ(environ)
        with store.machine.visit_proof(visit.id) as proof:
            ended = terminal_handover.run(words, environ, cwd, visit.attend, proof)
        # Processes that the session leaves would still write in it during the next visit.
        store.machine.end(ended.process, ("GATE_TURN", visit.id))
    except (GateError, OSError) as error:
        problem = error
    finally:
        visit.leave(ended, problem)


def announce(
    cli: str, whose: str, question: tuple[str, str], hints: Sequence[str], then: str
) -> None:
    """Print which session is opened, why, and the next step after it."""
    print(f"Opening {JOINABLE.get(cli, 'the')} session for: {whose}")
    name, words = question
    first, *more = frame(words, columns() - len(name) - 2, bar="")
    indent = " " * (len(name) + 2)
    print("\n".join([f"{name}: {first}", *(f"{indent}{line}" for line in more), *hints]))
    print(f"The session uses this terminal. Leave it as usual; then {then} here.")


def quote_proposal(proposal: Proposal | None) -> Sequence[str]:
    """Return the session's proposal as lines above the prompt for the person's decision."""
    if proposal is None:
        return ()
    whose = "your own words" if proposal.speaker == PERSON else "the agent's words"
    value = proposal.value if isinstance(proposal.value, str) else json.dumps(proposal.value)
    shown = inert_line(value, max(20, columns() - 60))
    head = f"The session proposes, in {whose}: {shown}"
    return (head, *frame(proposal.quote, columns()), "Only your input here counts.", "")


def _edit(editor: str, folder: str) -> None:
    ended = terminal_handover.run(editors.build_command(editor, folder), os.environ, folder)
    if ended.code:
        print(f"gate: the editor ended with exit code {ended.code}", file=sys.stderr)
