"""Runs and asks that a server keeps. The folders and sessions of its runs are on other machines."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from gatebell.domain.asks.owners import run_of
from gatebell.domain.text.display import inert_line
from gatebell.errors import UsageError
from gatebell.terminal import runs as terminal
from gatebell.terminal.server_runs import describe_host, find_reason, reason_lines
from gatebell.tui import run_rows
from gatebell.tui.paint import paint
from gatebell.tui.run_rows import Listed
from gatebell.tui.view import BackendView, RunDetails

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.people.principals import Caller
    from gatebell.domain.runs.runs import Run
    from gatebell.domain.runs.seen_runs import SeenRun
    from gatebell.ports.backends.backend import Backend
    from gatebell.tui.row_list import Row
    from gatebell.tui.run_rows import Session

_POLL_SECONDS = 2.0
_MAX_RUNS = 100


class ServerView(BackendView):
    """The view (`tui/view.py`) on a server: it looks again every two seconds."""

    is_slow = True

    def __init__(self, backend: Backend) -> None:
        super().__init__(backend)
        self._stopped = threading.Event()
        self._names: dict[int, str] = {}

    def name_asker(self, ask: Ask) -> str:
        return self._names.get(run_of(ask.origin.owner) or 0) or ask.origin.agent

    def list_waiting(self) -> list[Row]:
        active = self._backend.runs(_MAX_RUNS, active=True)
        self._names = {seen.run.id: seen.name for seen in active}
        return super().list_waiting()

    def list_runs(self) -> list[Row]:
        active = self._backend.runs(_MAX_RUNS, active=True)
        ended = [seen for seen in self._backend.runs(_MAX_RUNS) if seen.run.has_ended]
        shown = {seen.run.id: seen for seen in [*active, *ended][:_MAX_RUNS]}
        runs = [seen.run for seen in shown.values()]
        return run_rows.build_rows(
            runs, lambda run: _build_listed(shown[run.id]), self._backend.now()
        )

    def show_run(self, number: int, width: int) -> RunDetails:
        seen = self._backend.run(number)
        run, now = seen.run, self._backend.now()
        word, colour = run_rows.STATES[run.state], terminal.COLOURS[run.state]
        lines = [f"Status: {paint(word.title(), colour)}"]
        lines.append(f"Agent: {inert_line(terminal.agent_of(run), 60)}")
        lines += reason_lines(seen, width)
        lines += terminal.label_lines("Folder", run.folder, width) if run.folder else []
        lines.append(f"Its folder and sessions are on {describe_host(run)}.")
        calls = run_rows.pick_calls(seen.calls)
        return RunDetails(
            f"Run {run.id}: {inert_line(seen.name, 60)}",
            lines,
            [(call.path, run_rows.call_line(run, call, None, now, width)) for call in calls],
            _list_keys(seen),
        )

    def asks_of_run(self, number: int) -> list[Ask]:
        return [self._backend.get(one) for one in self._backend.run(number).asks]

    def get_session(self, ask: Ask) -> Session:
        raise UsageError(
            f"a session is opened on the machine that has it: run gate continue {ask.id} there. "
            "Here you can answer the ask"
        )

    def get_folder(self, number: int) -> str:
        host = describe_host(self._backend.run(number).run)
        raise UsageError(f"the folder of run {number} is on {host}: open it there")

    def get_folder_of_ask(self, ask: Ask) -> str:
        raise UsageError(f"the folder of {ask.id} is on the machine of its asker: open it there")

    def read_log(self, number: int, path: str, width: int) -> list[str]:
        host = describe_host(self._backend.run(number).run)
        raise UsageError(f"the log of run {number} is on {host}: run gate logs {number} there")

    def read_diff(self, number: int, path: str, width: int) -> list[str]:
        host = describe_host(self._backend.run(number).run)
        raise UsageError(f"the folder of run {number} is on {host}: run gate diff {number} there")

    def stop_run(self, number: int, who: Caller, reason: str) -> Run:
        return self._backend.stop_run(number, who, reason)

    def changes(self) -> Iterator[object]:
        while not self._stopped.wait(_POLL_SECONDS):
            yield None

    def stop(self) -> None:
        self._stopped.set()


def _build_listed(seen: SeenRun) -> Listed:
    run = seen.run
    word, colour = run_rows.STATES[run.state], terminal.COLOURS[run.state]
    return Listed(run, seen.name, word, colour, find_reason(seen) or "-")


def _list_keys(seen: SeenRun) -> list[tuple[str, str]]:
    keys = [("r", "Resume") if seen.run.has_ended else ("s", "Stop")]
    return [*keys, *([("a", "Answer")] if seen.asks else []), ("Esc", "Back")]
