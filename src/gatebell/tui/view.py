"""What the screens read and do: on a store of this machine, or on a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from gatebell.domain.asks.history_filters import EVERYTHING
from gatebell.domain.asks.owners import owner_of
from gatebell.errors import NotFoundError, RefusedError
from gatebell.terminal import call_text, tasks as task_text
from gatebell.tui import ask_rows
from gatebell.tui.ask_text import list_ask_lines
from gatebell.tui.paint import paint
from gatebell.tui.task_rows import build_tasks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.people.principals import Caller
    from gatebell.domain.runs.runs import Run
    from gatebell.ports.backends.backend import Backend
    from gatebell.tui.row_list import Row
    from gatebell.tui.run_rows import Session

MAX_WAITING = 10_000
MAX_SETTLED = 1_000
_MAX_TASKS = 2_000


class RunDetails(NamedTuple):
    """One run as its screen shows it."""

    title: str
    lines: Sequence[str]
    calls: Sequence[tuple[str, str]]
    """The path of each call, and its line."""
    keys: Sequence[tuple[str, str]]
    """The keys that have an effect on this run now."""


class View(Protocol):
    """The runs, their asks and their sessions. A face's errors are those of `errors.py`."""

    is_slow: bool
    """Whether looking may take a while; the screens then look on a thread."""

    def list_waiting(self) -> list[Row]:
        """Return the pending asks below their projects, the most urgent first."""
        ...

    def list_runs(self) -> list[Row]:
        """Return active runs, then ended runs, newest first."""
        ...

    def list_tasks(self) -> list[Row]:
        """Return the tasks that are not closed below their projects."""
        ...

    def list_settled(self) -> list[Row]:
        """Return the settled asks, newest first."""
        ...

    def show_ask(self, ask_id: str, width: int) -> list[str]:
        """Return the lines of an ask."""
        ...

    def show_task(self, task_id: str, width: int) -> list[str]:
        """Return the lines of a task with its questions and answers."""
        ...

    def show_run(self, number: int, width: int) -> RunDetails:
        """Return the lines of one run."""
        ...

    def show_call(self, number: int, path: str, width: int) -> list[str]:
        """Return the lines of one call: its prompts, output, asks and result."""
        ...

    def read_log(self, number: int, path: str, width: int) -> list[str]:
        """Return the last lines of a run's log, or those of one call."""
        ...

    def read_diff(self, number: int, path: str, width: int) -> list[str]:
        """Return the changes since the run began, or those of one call."""
        ...

    def asks_of_run(self, number: int) -> list[Ask]:
        """Return the pending asks of a run."""
        ...

    def asks_of_task(self, task_id: str) -> list[Ask]:
        """Return the pending asks of a task."""
        ...

    def run_of_task(self, task_id: str) -> int | None:
        """Return the run that works on a task, or the last one that did."""
        ...

    def get_session(self, ask: Ask) -> Session:
        """Return the session of an ask, or raise an error with the reason why there is none."""
        ...

    def get_folder(self, number: int) -> str:
        """Return the folder of a run, or raise an error if this machine does not have it."""
        ...

    def get_folder_of_ask(self, ask: Ask) -> str:
        """Return the folder of an asker without a run, or raise an error."""
        ...

    def stop_run(self, number: int, who: Caller, reason: str) -> Run:
        """End a run, its agents and its asks."""
        ...

    def resume_run(self, number: int, who: Caller) -> str:
        """Let an ended run go on; return a sentence about that."""
        ...

    def changes(self) -> Iterator[object]:
        """Yield when something may have changed, until `stop`."""
        ...

    def stop(self) -> None:
        """Make `changes` end at its next look; may be called from another thread."""
        ...


class BackendView:
    """The parts of a view that are the same on a store and on a server."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def name_asker(self, ask: Ask) -> str:
        """Return the run that waits for an ask, or the name of the asker."""
        return ask.origin.agent

    def list_waiting(self) -> list[Row]:
        backend = self._backend
        asks = backend.pending(MAX_WAITING)
        return ask_rows.build_waiting(backend, asks, backend.now(), self.name_asker)

    def list_settled(self) -> list[Row]:
        asks = self._backend.settled(MAX_SETTLED, EVERYTHING)
        return ask_rows.build_settled(asks, self._backend.now(), self.name_asker)

    def list_tasks(self) -> list[Row]:
        backend, left, pages = self._backend, _MAX_TASKS, []
        for project in backend.task_projects():
            tasks = backend.tasks(project, "unfinished", left)
            left -= len(tasks)
            pages += [(project, tasks)] if tasks else []
            if left <= 0:
                break
        return build_tasks(pages, backend.now())

    def show_ask(self, ask_id: str, width: int) -> list[str]:
        return list_ask_lines(self._backend, self._backend.get(ask_id), width)

    def show_task(self, task_id: str, width: int) -> list[str]:
        backend = self._backend
        whole, asks = backend.look_up_task(task_id), backend.asks_of_task(task_id)
        return task_text.show_lines(whole, asks, backend.now(), width, paint)

    def show_call(self, number: int, path: str, width: int) -> list[str]:
        seen = self._backend.run(number)
        call = next((one for one in seen.calls if one.path == path), None)
        if call is None:
            raise NotFoundError(f"run {number} has no call {path} any more: go back with Esc")
        turns = [turn for turn in seen.turns if turn.path == path]
        owner = owner_of(number, path)
        asks = [ask for ask in self._backend.asks_of_run(number) if ask.origin.owner == owner]
        shown = call_text.ShownCall(self._backend, call, turns, asks)
        return call_text.list_call_lines(shown, width, paint)

    def asks_of_task(self, task_id: str) -> list[Ask]:
        return [ask for ask in self._backend.asks_of_task(task_id) if ask.pending]

    def run_of_task(self, task_id: str) -> int | None:
        runs = self._backend.look_up_task(task_id).runs
        return runs[-1].id if runs else None

    def resume_run(self, number: int, who: Caller) -> str:
        if not self._backend.run(number).run.has_ended:
            raise RefusedError(f"run {number} has not ended: there is nothing to resume")
        after = self._backend.resume_run(number, who, "")
        if self._backend.has_worker():
            return f"Run {number} goes on."
        return (
            f"Run {number} is {after.state}, and no process drives runs now: start gate up or "
            "gate worker."
        )
