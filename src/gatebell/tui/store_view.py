"""Runs and asks of a store of this machine."""

from __future__ import annotations

import os
from collections import deque
from typing import TYPE_CHECKING

from gatebell.app import runtime
from gatebell.domain.asks.owners import run_of
from gatebell.domain.runs.journals import is_beneath
from gatebell.domain.text.display import frame, inert_line
from gatebell.errors import RefusedError, UsageError
from gatebell.services import members
from gatebell.services.runs import manage_runs
from gatebell.services.runs.run_changes import read_changes
from gatebell.services.watcher import Watcher
from gatebell.terminal.local_times import format_stamp
from gatebell.terminal.run_log import LogReader
from gatebell.terminal.runs import folder_is_gone, pending_asks
from gatebell.terminal.task_runs import about
from gatebell.tui import run_rows
from gatebell.tui.ask_text import list_diff_lines
from gatebell.tui.paint import paint
from gatebell.tui.view import BackendView, RunDetails

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.people.principals import Caller
    from gatebell.domain.runs.runs import Run
    from gatebell.ports.backends.backend import Backend
    from gatebell.ports.store import Store
    from gatebell.terminal.run_log import Said
    from gatebell.tui.row_list import Row
    from gatebell.tui.run_rows import Session

_MAX_LOG = 5_000
_LEAST_WITH_DATE = 90
"""With fewer columns, the log has times without their day."""
_CLOCK = slice(-8, None)


class StoreView(BackendView):
    """The view (`tui/view.py`) on one store."""

    is_slow = False

    def __init__(self, backend: Backend, store: Store) -> None:
        super().__init__(backend)
        self._store = store
        self._watcher = Watcher(store)

    def name_asker(self, ask: Ask) -> str:
        number = run_of(ask.origin.owner)
        run = self._store.runs.get(number) if number else None
        return about(self._store, run) if run else ask.origin.agent

    def list_runs(self) -> list[Row]:
        return run_rows.list_runs(self._store)

    def show_run(self, number: int, width: int) -> RunDetails:
        store, run = self._store, manage_runs.get(self._store, number)
        driven = members.has_worker(store, run)
        return RunDetails(
            f"Run {run.id}: {inert_line(about(store, run), 60)}",
            run_rows.run_lines(store, run, store.now(), width, driven=driven),
            run_rows.list_calls(store, run, width),
            self._list_keys(run),
        )

    def _list_keys(self, run: Run) -> list[tuple[str, str]]:
        asks = pending_asks(self._store, run)
        session = run_rows.find_session(self._store, asks)
        keys = [("c", f"Continue (open {session.program or 'session'})")] if session else []
        keys.append(("r", "Resume") if run.has_ended else ("s", "Stop"))
        keys.append(("o", "Open editor"))
        if asks:
            keys.append(("a", "Answer"))
        return [*keys, ("d", "Diff"), ("l", "Log"), ("Esc", "Back")]

    def read_log(self, number: int, path: str, width: int) -> list[str]:
        reader = LogReader(self._store, manage_runs.get(self._store, number))
        said: deque[Said] = deque(maxlen=_MAX_LOG)
        while some := reader.read():
            said.extend(one for one in some if not path or is_beneath(one.path, path))
        lines: list[str] = []
        for one in said:
            at = format_stamp(one.at)[_CLOCK if width < _LEAST_WITH_DATE else slice(None)]
            head = f"{inert_line(at, 19)} {inert_line(one.path, 12)} {inert_line(one.who, 20)}"
            first, *more = frame(one.text, width - len(head) - 2, bar="")
            lines.append(f"{paint(head, 'dim')}  {first}")
            lines += [f"{'':{len(head)}}  {part}" for part in more]
        return lines

    def read_diff(self, number: int, path: str, width: int) -> list[str]:
        run = manage_runs.get(self._store, number)
        if not run.folder:
            raise RefusedError(f"run {number} has no folder yet, so nothing has changed")
        manage_runs.must_be_here(self._store, run, f"gate diff {number}")
        self.get_folder(number)
        diff = read_changes(self._store, runtime.workspace(self._store), run, path)
        return list_diff_lines(diff, width) if diff else []

    def asks_of_run(self, number: int) -> list[Ask]:
        return pending_asks(self._store, manage_runs.get(self._store, number))

    def get_session(self, ask: Ask) -> Session:
        return run_rows.get_session(self._store, ask)

    def get_folder(self, number: int) -> str:
        run = manage_runs.get(self._store, number)
        if not os.path.isdir(run.folder):
            raise folder_is_gone(run)
        return run.folder

    def get_folder_of_ask(self, ask: Ask) -> str:
        folder = ask.origin.cwd or ask.origin.project
        if not os.path.isdir(folder):
            raise UsageError(
                f"the folder of {ask.id} is not on this machine: {folder or 'it has none'}"
            )
        return folder

    def stop_run(self, number: int, who: Caller, reason: str) -> Run:
        return manage_runs.stop(self._store, number, who, reason)

    def changes(self) -> Iterator[object]:
        return self._watcher.changes()

    def stop(self) -> None:
        self._watcher.stop()
