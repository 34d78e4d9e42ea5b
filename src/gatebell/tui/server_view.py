"""Runs and asks that a server keeps. The folders and sessions of its runs are on other machines."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from gatebell.domain.asks.gone_askers import MARK
from gatebell.domain.asks.owners import run_of
from gatebell.domain.enums import RunState
from gatebell.domain.text.display import inert_line
from gatebell.errors import UsageError
from gatebell.terminal import runs as terminal
from gatebell.tui import run_rows
from gatebell.tui.live_screen import paint
from gatebell.tui.run_rows import Listed
from gatebell.tui.view import RunDetails

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.people.principals import Caller
    from gatebell.domain.runs.runs import Run
    from gatebell.domain.runs.seen_runs import SeenRun
    from gatebell.ports.backend import Backend
    from gatebell.tui.run_rows import Session

_LOOK_EVERY_SECONDS = 2.0
_MAX_RUNS = 100
_MAX_ASKS = 100
_MAX_WAITING = 1_000
_MAX_CALLS = 500


class ServerView:
    """The view (`tui/view.py`) on a server: it looks again every two seconds."""

    is_slow = True

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._stopped = threading.Event()

    def list_runs(self) -> list[Listed]:
        active = self._backend.runs(_MAX_RUNS, active=True)
        ended = [seen for seen in self._backend.runs(_MAX_RUNS) if seen.run.has_ended]
        prompts = self._find_prompts() if any(seen.asks for seen in active) else {}
        return [_build_listed(seen, prompts) for seen in [*active, *ended][:_MAX_RUNS]]

    def _find_prompts(self) -> dict[str, str]:
        asks = self._backend.pending(_MAX_WAITING)
        return {ask.id: self._mark_prompt(ask) for ask in asks}

    def _mark_prompt(self, ask: Ask) -> str:
        return f"{MARK if self._backend.is_waiter_gone(ask) else ''}{ask.question.prompt}"

    def list_asks(self) -> list[Ask]:
        waits = self._backend.pending(_MAX_WAITING)
        return [ask for ask in waits if run_of(ask.origin.owner) is None][:_MAX_ASKS]

    def show_run(self, number: int, width: int) -> RunDetails:
        seen = self._backend.run(number)
        run, now = seen.run, self._backend.now()
        prompts = [self._mark_prompt(self._backend.get(one)) for one in seen.asks]
        word, colour = run_rows.STATES[run.state], terminal.COLOURS[run.state]
        lines = [f"Status: {paint(word.title(), colour)}"]
        lines.append(f"Agent: {inert_line(terminal.agent_of(run), 60)}")
        for name, text in (
            ("Waiting for", "; ".join(prompts)),
            ("Reason", "" if prompts else run.reason),
            ("Result", terminal.format_result(run) if run.state == RunState.COMPLETED else ""),
            ("Folder", run.folder),
        ):
            lines += terminal.label_lines(name, text, width) if text else []
        lines.append(f"Its folder and sessions are on {_describe_host(run)}.")
        calls = [call for call in seen.calls if call.path != "0" or not call.over][-_MAX_CALLS:]
        return RunDetails(
            f"Run {run.id}: {inert_line(_describe_work(run), 60)}",
            lines,
            [run_rows.call_line(call, None, now, width) for call in calls],
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
        host = _describe_host(self._backend.run(number).run)
        raise UsageError(f"the folder of run {number} is on {host}: open it there")

    def stop_run(self, number: int, who: Caller, reason: str) -> Run:
        return self._backend.stop_run(number, who, reason)

    def changes(self) -> Iterator[object]:
        while not self._stopped.wait(_LOOK_EVERY_SECONDS):
            yield None

    def stop(self) -> None:
        self._stopped.set()


def _build_listed(seen: SeenRun, prompts: Mapping[str, str]) -> Listed:
    run = seen.run
    waits = "; ".join(prompts.get(one, one) for one in seen.asks)
    word, colour = run_rows.STATES[run.state], terminal.COLOURS[run.state]
    return Listed(run, _describe_work(run), word, colour, waits or run.reason or "-")


def _describe_work(run: Run) -> str:
    return f"{run.task}: {run.flow}" if run.task else run.flow


def _describe_host(run: Run) -> str:
    return f"host {inert_line(run.host, 60)}" if run.host else "the machine of the store"


def _list_keys(seen: SeenRun) -> list[tuple[str, str]]:
    keys = [] if seen.run.has_ended else [("s", "Stop")]
    return [*keys, *([("a", "Answer")] if seen.asks else []), ("Esc", "Back")]
