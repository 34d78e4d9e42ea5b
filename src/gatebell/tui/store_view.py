"""Runs and asks of a store of this machine."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gatebell.domain.text.display import inert_line
from gatebell.services import members
from gatebell.services.runs import manage_runs
from gatebell.services.watcher import Watcher
from gatebell.terminal.runs import folder_is_gone, pending_asks
from gatebell.terminal.task_runs import about
from gatebell.tui import run_rows
from gatebell.tui.view import RunDetails

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.people.principals import Caller
    from gatebell.domain.runs.runs import Run
    from gatebell.ports.store import Store
    from gatebell.tui.run_rows import Listed, Session


class StoreView:
    """The view (`tui/view.py`) on one store."""

    is_slow = False

    def __init__(self, store: Store) -> None:
        self._store = store
        self._watcher = Watcher(store)

    def list_runs(self) -> list[Listed]:
        return run_rows.list_runs(self._store)

    def list_asks(self) -> list[Ask]:
        return run_rows.list_asks(self._store)

    def show_run(self, number: int, width: int) -> RunDetails:
        store, run = self._store, manage_runs.get(self._store, number)
        driven = members.has_worker(store, run)
        return RunDetails(
            f"Run {run.id}: {inert_line(about(store, run), 60)}",
            run_rows.run_lines(store, run, store.now(), width, driven=driven),
            run_rows.call_lines(store, store.runs.calls(run.id), width),
            self._list_keys(run),
        )

    def _list_keys(self, run: Run) -> list[tuple[str, str]]:
        asks = pending_asks(self._store, run)
        session = run_rows.find_session(self._store, asks)
        keys = [("c", f"Continue (open {session.program or 'session'})")] if session else []
        if not run.has_ended:
            keys.append(("s", "Stop"))
        keys.append(("o", "Open editor"))
        if asks:
            keys.append(("a", "Answer"))
        return [*keys, ("Esc", "Back")]

    def asks_of_run(self, number: int) -> list[Ask]:
        return pending_asks(self._store, manage_runs.get(self._store, number))

    def get_session(self, ask: Ask) -> Session:
        return run_rows.get_session(self._store, ask)

    def get_folder(self, number: int) -> str:
        run = manage_runs.get(self._store, number)
        if not os.path.isdir(run.folder):
            raise folder_is_gone(run)
        return run.folder

    def stop_run(self, number: int, who: Caller, reason: str) -> Run:
        return manage_runs.stop(self._store, number, who, reason)

    def changes(self) -> Iterator[object]:
        return self._watcher.changes()

    def stop(self) -> None:
        self._watcher.stop()
