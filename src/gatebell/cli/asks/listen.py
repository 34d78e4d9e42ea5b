"""Answer agents that ask by files: collect their questions, ask you, and write the answers back.

It also brings up what is asked in this project by other doors. Whatever you leave stays in the inbox.
One listens in a project; gate up listens in all of them, but asks nobody.
"""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from gatebell.app import daemon, environment, settings, wiring
from gatebell.cli.identity import add_identity, caller, must_be_known_beyond
from gatebell.cli.interrupts import Interrupts
from gatebell.cli.screen import add_colour, can_prompt, print_json
from gatebell.domain.people.principals import must_be_a_person
from gatebell.domain.text.display import inert_line
from gatebell.errors import UsageError
from gatebell.file_protocol.answers import HappeningKind
from gatebell.file_protocol.listener import Beside, Listener, list_initialised

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from gatebell.cli.asks.ask_loop import Bringer
    from gatebell.file_protocol.answers import Happening

_FIRST_CHARACTERS = 50
_MAX_COLUMNS = 500
_TERMINAL = "terminal"
# How an answer came that was typed at the prompt here.
AT_PROMPT = "listen"


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--all-projects", action="store_true", help="listen wherever gate init was run")
    how = parser.add_mutually_exclusive_group()
    how.add_argument(
        "--dialog", metavar="TOOL", default="", help="ask by these windows: gate dialog lists them"
    )
    how.add_argument("--terminal", action="store_true", help="ask in this terminal, not by windows")
    how.add_argument("--no-prompt", action="store_true", help="ask nobody: answer in gate inbox")
    add_identity(parser)
    add("--json", action="store_true", help="one JSON object for all that happens (docs/json.md)")


def run(args: argparse.Namespace) -> int:
    # Imported here: asking for help must not load prompts.
    from gatebell.cli.asks.ask_loop import Bringer

    store = wiring.open_store()
    who = caller(store, args)
    way = _way(args)
    if way:
        must_be_a_person(who, "answers here")
    # Also without a prompt: it would bring a project's questions into a store of the agent's own.
    must_be_known_beyond(store, who, "answers here")
    screen = Screen(as_json=args.json)
    interrupts = Interrupts()
    path = settings.store_path(os.environ)
    listener = Listener(
        wiring.open_store(),
        _projects(args.all_projects),
        who,
        screen.tell,
        lambda: up.pid if (up := daemon.find(path)) else 0,
    )
    if args.all_projects:
        listener.look_for_projects()
    else:
        listener.begin(_project())
    at_terminal = way == _TERMINAL or bool(way and can_prompt())
    tool = "" if way == _TERMINAL else way
    bringer = Bringer(
        store, who, lambda: listener.projects, screen, interrupts, tool, at_terminal=at_terminal
    )
    return _listen(listener, bringer, screen, interrupts, way)


def _listen(
    listener: Listener, bringer: Bringer, screen: Screen, interrupts: Interrupts, way: str
) -> int:
    beside = Beside(listener)
    try:
        screen.begin(listener, way)
        # All that is there already, so that the most urgent of it is asked first.
        listener.look()
        beside.begin()
        bringer.work()
    except KeyboardInterrupt:
        screen.say("\nShutting down...")
    finally:
        interrupts.end()
        beside.end()
        screen.end()
    return 0


def _project() -> str:
    """The nearest folder above that is set up, or the project that is not."""
    here = os.getcwd()
    return environment.set_up_above(here) or environment.project(here)


def _projects(everywhere: bool) -> Callable[[], list[str]]:
    if not everywhere:
        here = _project()
        return lambda: [here]
    return lambda: list_initialised(os.environ)


def _way(args: argparse.Namespace) -> str:
    """How people are asked: a tool's name, `terminal`, or nothing."""
    if args.no_prompt:
        return ""
    if args.dialog:
        if args.dialog not in settings.DIALOGS[1:-1]:
            raise UsageError(f"--dialog is one of {', '.join(settings.DIALOGS[1:-1])}")
        return str(args.dialog)
    in_terminal = can_prompt() and not args.json
    if args.terminal:
        if not in_terminal:
            raise UsageError("--terminal needs a terminal, and no --json")
        return _TERMINAL
    return wiring.dialog_tool() or (_TERMINAL if in_terminal else "")


class Screen:
    """What people see of it; while they are at a prompt, only what concerns that."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json
        self._lock = threading.RLock()
        self._held: list[str] | None = None
        self._at = ""

    def begin(self, listener: Listener, way: str) -> None:
        projects = sorted(listener.projects)
        if self._as_json:
            print_json({"event": "started", "projects": projects, "asks_by": way or "nobody"})
            sys.stdout.flush()
            return
        self.say(f"{add_colour('✓', 'green')} Multi-Agent HIL Listener started")
        for project in projects:
            self.say(f"  Project: {inert_line(project)}")
        self.say("  Supporting multiple agent sessions")
        for project in projects:
            helped = " (collected by gate up)" if project in listener.helped_projects else ""
            watched = os.path.join(project, environment.HELPERS, environment.QUESTIONS)
            self.say(f"  Watching: {inert_line(watched)}{helped}")
        if not projects:
            self.say("  Watching: every project in which gate init is run")
        told = {"": "nobody: gate inbox answers", _TERMINAL: "you, in this terminal"}
        self.say(f"  Asking: {told.get(way, f'you, by windows of {way}')}")
        self.say("Press Ctrl+C to stop")

    def end(self) -> None:
        if self._as_json:
            with suppress(OSError):
                print_json({"event": "stopped"})
        else:
            self.say(f"{add_colour('✓', 'green')} Multi-Agent HIL Listener stopped")

    def say(self, *lines: str) -> None:
        if self._as_json:
            return
        with self._lock:
            if self._held is not None:
                self._held += lines
                return
            self._print(lines)

    def _print(self, lines: tuple[str, ...] | list[str]) -> None:
        # Whoever looked on may be gone; the agents are not.
        with suppress(OSError):
            for line in lines:
                print(line)
            sys.stdout.flush()

    def hold(self, ask_id: str, *lines: str) -> None:
        """Somebody is at a prompt for this ask: after these lines nothing else is said meanwhile."""
        with self._lock:
            self.say(*lines)
            self._held, self._at = [], ask_id

    def go_on(self) -> None:
        with self._lock:
            held, self._held, self._at = self._held or [], None, ""
            self._print(held)

    def tell(self, project: str, happening: Happening) -> None:
        ask = happening.ask
        if self._as_json:
            with self._lock, suppress(OSError):
                print_json(
                    {
                        "event": happening.what,
                        "project": project,
                        "agent": happening.who,
                        "text": happening.words,
                        "ask": ask.id if ask else "",
                    }
                )
                sys.stdout.flush()
            return
        with self._lock:
            at_prompt = self._held is not None
            if at_prompt and ask and ask.id == self._at and ask.settled_via != AT_PROMPT:
                if not ask.pending:
                    self._print([f"\n{_line(happening)} (Enter goes on)"])
            elif not (at_prompt and happening.what == HappeningKind.STATUS):
                self.say(_line(happening))


def _line(happening: Happening) -> str:
    """One line of what happened; what agents wrote cannot do anything in it."""
    what, who = happening.what, inert_line(happening.who, 100)
    words = inert_line(happening.words, _MAX_COLUMNS)
    if what == HappeningKind.QUEUED:
        return (
            f"[Agent {who}] Question queued: {inert_line(happening.words[:_FIRST_CHARACTERS])}..."
        )
    if what == HappeningKind.ANSWERED:
        return f"[{who}] Answer: {words}"
    if what == HappeningKind.STATUS:
        return f"[Status] {words}"
    if what == HappeningKind.REFUSED:
        return f"ERROR: Could not read question file: {who}: {words}"
    if what in (HappeningKind.FOREIGN, HappeningKind.PROBLEM):
        return f"{add_colour('!!', 'red')} {words}"
    if what in (HappeningKind.REPAIRED, HappeningKind.HELD):
        return f"{add_colour('!!', 'yellow')} {words}"
    return f"[{who}] {'Timed out' if what == HappeningKind.TIMED_OUT else 'Cancelled'}: {words}"
