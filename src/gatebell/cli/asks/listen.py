"""Answer questions that agents wrote into files: collect them, ask you, write the answers back.

It also asks you the other pending asks of this project. Asks that you skip stay in the inbox.
Run one listener per project. gate up collects files in all projects, but shows no prompts.

Example: gate listen
Example: gate listen --all-projects
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
# The `via` of an answer that was typed at the prompt here.
AT_PROMPT = "listen"


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--all-projects", action="store_true", help="listen in all projects where gate init was run"
    )
    how = parser.add_mutually_exclusive_group()
    how.add_argument(
        "--dialog", metavar="TOOL", default="", help="ask in windows of this program (gate dialog)"
    )
    how.add_argument("--terminal", action="store_true", help="ask in this terminal, not in windows")
    how.add_argument(
        "--no-prompt", action="store_true", help="do not ask here; answer in gate inbox"
    )
    add_identity(parser)
    add("--json", action="store_true", help="print each event as a JSON object (docs/json.md)")


def run(args: argparse.Namespace) -> int:
    # Imported here: --help must not load prompts.
    from gatebell.cli.asks.ask_loop import Bringer

    store = wiring.open_store()
    who = caller(store, args)
    way = _choose_way(args)
    if way:
        must_be_a_person(who, "answers here")
    # Even without a prompt, it would bring a project's questions into an agent's own store.
    must_be_known_beyond(store, who, "answers here")
    screen = Screen(as_json=args.json)
    interrupts = Interrupts()
    path = settings.local_path(os.environ)
    listener = Listener(
        wiring.open_store(),
        _list_projects(args.all_projects),
        who,
        screen.tell,
        lambda: up.pid if (up := daemon.find(path)) else 0,
    )
    if args.all_projects:
        listener.look_for_projects()
    else:
        listener.begin(_find_project())
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
        # Read the files that exist already, so that the most urgent question comes first.
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


def _find_project() -> str:
    """Return the nearest folder above that is set up, else the project."""
    here = os.getcwd()
    return environment.find_set_up_project(here) or environment.project(here)


def _list_projects(everywhere: bool) -> Callable[[], list[str]]:
    if not everywhere:
        here = _find_project()
        return lambda: [here]
    return lambda: list_initialised(os.environ)


def _choose_way(args: argparse.Namespace) -> str:
    """Return how to ask people: a tool's name, `terminal`, or '' for not at all."""
    if args.no_prompt:
        return ""
    if args.dialog:
        if args.dialog not in settings.DIALOGS[1:-1]:
            expected = ", ".join(settings.DIALOGS[1:-1])
            raise UsageError(f"--dialog: expected one of {expected}, got {args.dialog!r}")
        return str(args.dialog)
    in_terminal = can_prompt() and not args.json
    if args.terminal:
        if not in_terminal:
            raise UsageError("--terminal needs a terminal, and does not go with --json")
        return _TERMINAL
    return wiring.dialog_tool() or (_TERMINAL if in_terminal else "")


class Screen:
    """Prints events; while a person is at a prompt, only those about that prompt."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json
        self._lock = threading.RLock()
        self._held: list[str] | None = None
        self._at = ""

    def begin(self, listener: Listener, way: str) -> None:
        projects = sorted(listener.projects)
        if self._as_json:
            print_json({"event": "started", "projects": projects, "asks_by": way or "none"})
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
        ways = {"": "not here; answer in gate inbox", _TERMINAL: "in this terminal"}
        self.say(f"  Asking: {ways.get(way, f'in windows of {way}')}")
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
        # The terminal may be gone, but agents still wait for answers.
        with suppress(OSError):
            for line in lines:
                print(line)
            sys.stdout.flush()

    def hold(self, ask_id: str, *lines: str) -> None:
        """Print these lines, then hold back other output while a person is at this ask's prompt."""
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
                    self._print([f"\n{_format_line(happening)} (press Enter)"])
            elif not (at_prompt and happening.what == HappeningKind.STATUS):
                self.say(_format_line(happening))


def _format_line(happening: Happening) -> str:
    """Return one line about an event, with agents' text made inert."""
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
