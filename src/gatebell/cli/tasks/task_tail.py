"""Print the events of tasks from the audit trail: gate task tail."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING

from gatebell.app.environment import project_key
from gatebell.cli.identity import open_asks
from gatebell.cli.screen import add_colour, columns, print_json
from gatebell.cli.tasks.tasks_screen import find_project
from gatebell.domain.asks.documents import entry_document
from gatebell.domain.enums import TaskState
from gatebell.domain.text.display import cell, inert_line
from gatebell.terminal.local_times import format_stamp
from gatebell.terminal.tasks import COLOURS, ICONS

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from gatebell.domain.tasks.seen_tasks import TaskEvent
    from gatebell.ports.backends.backend import Backend

_POLL_SECONDS = 1.0
_POLL_SERVER_SECONDS = 2.0
_MAX_EVENTS = 1_000
_TASK = "task."
# Time, icon and word, with the blanks between them.
_AROUND_COLUMNS = 44
_LEAST_COLUMNS = 20


def tail_(args: argparse.Namespace) -> int:
    backend = open_asks()
    project = find_project(backend, args.project)
    place = args.id, project, project_key(project)
    follow = sys.stdout.isatty() if args.follow is None else args.follow
    pause = _Pause(backend)
    try:
        found = backend.task_events(*place, None, args.limit)
        _print(found.events, as_json=args.json)
        while follow:
            found = backend.task_events(*place, found.head, _MAX_EVENTS)
            _print(found.events, as_json=args.json)
            pause.wait()
    except KeyboardInterrupt:
        print()
    finally:
        pause.end()
    return 0


class _Pause:
    """Waits for the next change of the store; a server is asked again after a while."""

    def __init__(self, backend: Backend) -> None:
        self._bell = backend.store.bell() if backend.store else None

    def wait(self) -> None:
        if self._bell:
            self._bell.wait(_POLL_SECONDS)
        else:
            threading.Event().wait(_POLL_SERVER_SECONDS)

    def end(self) -> None:
        if self._bell:
            self._bell.close()


def _print(events: Iterable[TaskEvent], *, as_json: bool) -> None:
    for event in events:
        if as_json:
            print_json(entry_document(event.entry))
        else:
            print(_format_line(event))
        sys.stdout.flush()


def _format_line(found: TaskEvent) -> str:
    entry, event = found.entry, found.entry.event
    word = event.kind.removeprefix(_TASK)
    state = next((one for one in TaskState if one == word), None)
    icon = add_colour(cell(ICONS[state], 2), COLOURS[state]) if state else add_colour("· ", "dim")
    head = f"{format_stamp(entry.at)}  {icon} {event.subject}  {word:14}  "
    who = inert_line(event.actor, 40)
    room = columns() - _AROUND_COLUMNS - len(event.subject) - len(who)
    said = inert_line(found.words, max(_LEAST_COLUMNS, room))
    return f"{head}{who}  {said}".rstrip()
