"""Open the agent's own session in this terminal, and go on with the run after leaving it.

The run goes on when the agent has signalled anything but NEEDS_HUMAN in the session. At a gate
you look around with the last agent first, and decide here after leaving it: what the agent says
is only quoted. A session ask is worked out in a session of its own, and decided here, too.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from gatebell.app import runtime, wiring
from gatebell.app.settings import SESSION_CLIS
from gatebell.cli.asks import prompts
from gatebell.cli.identity import add_identity, caller
from gatebell.cli.screen import columns, short
from gatebell.cli.sessions import terminal_handover
from gatebell.domain.asks.asks import settled_sentence
from gatebell.domain.asks.outcomes import answer_text
from gatebell.domain.enums import AskKind
from gatebell.domain.sessions.joined_sessions import settles
from gatebell.domain.text.display import frame, inert_line
from gatebell.errors import AlreadySettledError, NotAnsweredError, UsageError
from gatebell.services.asks import create_ask
from gatebell.services.asks.create_ask import find
from gatebell.services.runs import manage_runs
from gatebell.services.sessions import joining
from gatebell.terminal import editors
from gatebell.terminal.left_runs import is_driven

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from gatebell.cli.sessions.terminal_handover import Ended
    from gatebell.domain.people.principals import Caller
    from gatebell.ports.store import Store
    from gatebell.services.sessions.joining import Joined, Left

_PROGRAMS = {"claude": "Claude", "codex": "Codex"}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", help="the number of the run, or the whole id of an ask")
    parser.add_argument(
        "--with",
        dest="cli",
        default="",
        choices=SESSION_CLIS,
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
    terminal_handover.must_be_a_terminal()
    store = wiring.open_store()
    who = caller(store, args)
    editor = editors.find() if args.editor else ""
    ask = find(store, args.id)
    if ask.question.kind == AskKind.SESSION:
        # Imported here: most sessions are those of runs.
        from gatebell.cli.sessions import continue_session

        if editor:
            raise UsageError("--editor opens the folder of a run; a session ask has none")
        return continue_session.run(store, who, ask, args.cli)
    if args.cli:
        raise UsageError(f"--with is for session asks; {ask.id} belongs to an agent of its own")
    joined = joining.join(store, runtime.crew(store), ask.id, who)
    told_to_end = False
    try:
        _announce(joined, own_folder=bool(manage_runs.get(store, joined.turn.run).branch))
        if editor:
            _edit(editor, joined.cwd)
        environ = wiring.agent_environ(joined.environ)
        with store.machine.visit_proof(joined.turn.id) as proof:
            ended = terminal_handover.run(joined.words, environ, joined.cwd, proof=proof)
        told_to_end = bool(ended.told)
        # What the session leaves running would work on in it, beside the next who opens it.
        store.machine.end(ended.process, ("GATE_TURN", joined.turn.id))
        _tell_trouble(ended, joined)
    finally:
        left = joining.leave(store, joined, who, wiring.host)
    if not joined.settles:
        return _decide(store, who, joined, left, can_ask=not told_to_end)
    return _tell(store, joined, left)


def _announce(joined: Joined, *, own_folder: bool) -> None:
    turn = joined.turn
    program = _PROGRAMS.get(turn.cli, "agent's")
    print(f"Opening {program} session for: {inert_line(turn.role, 60)}")
    first, *more = frame(joined.ask.question.prompt, columns() - 8, bar="")
    print("\n".join([f"Reason: {first}", *(f"        {line}" for line in more)]))
    if turn.cli == "claude" and own_folder:
        print(
            "It may first ask whether you trust this folder, a copy of your project made for this "
            "run: its default is No."
        )
    after = "you are back" if joined.settles else "you decide"
    print(f"It takes this terminal over; leave it as you always do, and {after} here.")
    sys.stdout.flush()


def _edit(editor: str, folder: str) -> None:
    ended = terminal_handover.run(editors.command(editor, folder), os.environ, folder)
    if ended.code:
        print(f"gate: the editor ended with exit code {ended.code}", file=sys.stderr)


def _tell_trouble(ended: Ended, joined: Joined) -> None:
    if ended.code:
        how = f"with exit code {ended.code}" if ended.code > 0 else f"by signal {-ended.code}"
        print(f"gate: the session of {short(joined.turn.role)} ended {how}", file=sys.stderr)


def _decide(store: Store, who: Caller, joined: Joined, left: Left, *, can_ask: bool) -> int:
    """Ask for the decision that only a person makes; what the agent said is quoted above."""
    ask = left.ask
    if not ask.pending:
        raise AlreadySettledError(settled_sentence(ask))
    done = can_ask and prompts.prompt_for(store, who, ask, above=_suggested(joined, left))
    if not done and create_ask.get(store, ask.id).pending:
        print(f"Run {joined.turn.run} still waits for your decision: gate answer {ask.id}")
    return 0 if done else NotAnsweredError.exit_code


def _suggested(joined: Joined, left: Left) -> Sequence[str]:
    """What the agent signalled, or else what the talk suggests."""
    # Imported here: most sessions are those of agents that ask themselves.
    from gatebell.cli.sessions.continue_session import quoted
    from gatebell.domain.sessions.proposals import AGENT, Proposal, propose

    if left.signal:
        said = left.signal.said or left.signal.status
        return quoted(Proposal(left.signal.status, AGENT, said))
    talk, question = joining.talk(joined.turn, wiring.host), left.ask.question
    if talk is None:
        return ()
    return quoted(
        propose(
            talk.said, question.answered_as, question.options, question.multiple, question.schema
        )
    )


def _tell(store: Store, joined: Joined, left: Left) -> int:
    ask, number = left.ask, joined.turn.run
    if left.trouble and left.signal:
        print(f"The agent signalled {short(left.signal.status)}, which came too late to count.")
        raise left.trouble
    if left.signal is None and not ask.pending:
        raise AlreadySettledError(settled_sentence(ask))
    if left.signal is None:
        print(f"The agent gave no new signal: run {number} keeps waiting. To go on:")
    elif not settles(left.signal):
        print(f"The agent still needs a person: run {number} keeps waiting. To go on:")
    else:
        print(f"Recorded for {ask.id}: {short(answer_text(ask, ask.value))}")
        goes_on = is_driven(store, manage_runs.get(store, number))
        more = "goes on" if goes_on else f"can go on: gate resume {number}"
        print(f"Run {number} {more}")
        return 0
    ways = {
        f"gate continue {number}": "open the session again",
        f"gate answer {ask.id} TEXT": "send the agent an answer",
        f"gate signal {number} --status DONE": "report in the agent's place",
    }
    for command, meaning in ways.items():
        print(f"  {command:{max(map(len, ways))}}  {meaning}")
    return NotAnsweredError.exit_code
