"""Print the events of tasks from the audit trail: gate task tail."""

from __future__ import annotations

import sys
from datetime import datetime
from typing import TYPE_CHECKING

from gatebell.app import wiring
from gatebell.cli.screen import add_colour, columns, print_json
from gatebell.cli.tasks.tasks_screen import find_project
from gatebell.domain.asks.documents import entry_document
from gatebell.domain.audit.events import EventKind
from gatebell.domain.enums import TaskState
from gatebell.domain.text.display import cell, inert_line
from gatebell.services.tasks import backlog
from gatebell.terminal.tasks import COLOURS, ICONS

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from gatebell.domain.audit.events import Entry
    from gatebell.ports.store import Store

_POLL_SECONDS = 1.0
_FIRST_LOOK = 1_000
_TASK = "task."
# Time, icon and word, with the blanks between them.
_AROUND_COLUMNS = 44
_LEAST_COLUMNS = 20


def tail_(args: argparse.Namespace) -> int:
    store = wiring.open_store()
    wanted = _Wanted(store, args)
    follow = sys.stdout.isatty() if args.follow is None else args.follow
    bell = store.bell()
    try:
        seen = store.audit.head().seq
        _print(store, _find_newest(store, wanted, args.limit), as_json=args.json)
        while follow:
            fresh = list(store.audit.entries(seen))
            _print(store, filter(wanted, fresh), as_json=args.json)
            seen = fresh[-1].seq if fresh else seen
            bell.wait(_POLL_SECONDS)
    except KeyboardInterrupt:
        print()
    finally:
        bell.close()
    return 0


class _Wanted:
    """Accepts events of the one task, or of the tasks of the project."""

    def __init__(self, store: Store, args: argparse.Namespace) -> None:
        self.task_id = backlog.look_up(store, args.id).id if args.id else ""
        self._project = find_project(store, args.project)
        self._store = store
        self._known: dict[str, bool] = {}

    def __call__(self, entry: Entry) -> bool:
        kind, subject = entry.event.kind, entry.event.subject
        if self.task_id or not kind.startswith(_TASK):
            return subject == self.task_id and kind.startswith(_TASK)
        if subject not in self._known:
            task = self._store.tasks.get(subject)
            self._known[subject] = task is not None and task.project == self._project
        return self._known[subject]


def _find_newest(store: Store, wanted: _Wanted, limit: int) -> list[Entry]:
    """Return the last wanted events, oldest first; read more events until there are enough."""
    if wanted.task_id:
        return list(filter(wanted, store.audit.of_subject(wanted.task_id)))[-limit:]
    look = _FIRST_LOOK
    while True:
        entries = store.audit.newest(look)
        found = list(filter(wanted, entries))
        if len(found) >= limit or len(entries) < look:
            return found[-limit:]
        look *= 10


def _print(store: Store, entries: Iterable[Entry], *, as_json: bool) -> None:
    for entry in entries:
        if as_json:
            print_json(entry_document(entry))
        else:
            print(_format_line(store, entry))
        sys.stdout.flush()


def _format_line(store: Store, entry: Entry) -> str:
    event = entry.event
    word = event.kind.removeprefix(_TASK)
    state = next((one for one in TaskState if one == word), None)
    icon = add_colour(cell(ICONS[state], 2), COLOURS[state]) if state else add_colour("· ", "dim")
    head = f"{entry.at[:19].replace('T', ' ')}  {icon} {event.subject}  {word:14}  "
    who = inert_line(event.actor, 40)
    room = columns() - _AROUND_COLUMNS - len(event.subject) - len(who)
    said = inert_line(_describe_event(store, entry), max(_LEAST_COLUMNS, room))
    return f"{head}{who}  {said}".rstrip()


def _describe_event(store: Store, entry: Entry) -> str:
    """Return details of an event: the question, the reason, or the changed fields."""
    content = entry.event.content
    if entry.event.kind == EventKind.TASK_AWAITING_INPUT:
        at = datetime.fromisoformat(entry.at)
        asked = [ask for ask in store.asks.of_task(entry.event.subject) if ask.opened_at <= at]
        return asked[-1].question.prompt if asked else ""
    detail = content.get("reason") or content.get("title") or content.get("changed") or ""
    return ", ".join(map(str, detail)) if isinstance(detail, list) else str(detail)
