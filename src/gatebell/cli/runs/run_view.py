"""Follow a run: find its new events, and show them while it goes on."""

from __future__ import annotations

import sys
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from gatebell.app import wiring
from gatebell.cli.runs import run_lines
from gatebell.cli.runs.work_line import NOTHING, describe_work
from gatebell.cli.screen import add_colour, columns, print_json
from gatebell.cli.status_line import StatusLine
from gatebell.domain.asks.owners import owner_of
from gatebell.domain.enums import AskStatus, CallName, CallState, Decision, RunState
from gatebell.domain.runs.journals import describe_error
from gatebell.domain.text.display import frame, inert_line
from gatebell.terminal.run_log import LogReader
from gatebell.terminal.runs import pending_asks, suggest_answer
from gatebell.terminal.task_runs import task_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

    from gatebell.cli.runs.work_line import Work
    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.runs.runs import FlowCall, Run
    from gatebell.ports.store import Store
    from gatebell.terminal.run_log import Said

    Show = Callable[["News", TextIO], None]

_POLL_SECONDS = 0.2
_WIDEST = 4_000
# Other lines show these calls: the questions to people, or the log.
_SILENT = (
    *(CallName.SETUP, CallName.PAUSE, CallName.ASK, CallName.LOG),
    *(CallName.NOW, CallName.RANDOM, CallName.READ),
)


class News(NamedTuple):
    """One event of a run."""

    what: str
    """`said`, `call`, `asked`, `settled` or `state`."""
    document: dict[str, Any]
    """For programs."""
    line: str
    """For people; empty if another line shows it."""


class Follower:
    """Finds the events of a run since the last look."""

    def __init__(self, store: Store, run_id: int, *, from_now: bool) -> None:
        self._store, self._run_id = store, run_id
        self._log_reader = LogReader(store, run_lines.find(store, run_id), from_end=from_now)
        self._calls: dict[str, tuple[CallState, int]] = {}
        self._asks: set[str] = set()
        """The asks that are open."""
        self._asked_before: set[str] = set()
        self._state: RunState | None = None

    def look(self) -> list[News]:
        run = self._store.runs.get(self._run_id)
        if run is None:
            return []
        asks = pending_asks(self._store, run)
        calls = self._store.runs.calls(run.id)
        # In the order in which they happen: an answer, the work after it, the next question.
        return [
            *self._describe_settled(asks),
            *self._describe_work(self._list_changed(calls), self._log_reader.read()),
            *self._describe_new_asks(run, asks),
            *self._describe_state(run),
        ]

    def _list_changed(self, calls: list[FlowCall]) -> list[FlowCall]:
        """Return the calls that are new or have changed, in the order of the changes."""
        new = [call for call in calls if self._calls.get(call.path) != (call.state, call.attempt)]
        self._calls.update({call.path: (call.state, call.attempt) for call in new})
        return sorted(new, key=lambda call: call.ended_at or call.started_at)

    def _describe_work(self, calls: list[FlowCall], said: list[Said]) -> list[News]:
        """Describe calls and log lines; an agent's lines come before the end of its call."""
        news: list[News] = []
        for call in calls:
            news += self._describe_unseen(call)
            if call.over:
                news += [_build_said_news(one) for one in said if one.path == call.path]
                said = [one for one in said if one.path != call.path]
            news.append(_build_call_news(call))
        return news + [_build_said_news(one) for one in said]

    def _describe_new_asks(self, run: Run, asks: list[Ask]) -> list[News]:
        # Asks that were settled since they were read are described already.
        new = [ask for ask in asks if ask.id not in self._asked_before]
        self._asks.update(ask.id for ask in new)
        self._asked_before.update(self._asks)
        return [_build_ask_news(run, ask) for ask in new]

    def _describe_settled(self, asks: list[Ask]) -> list[News]:
        gone = self._asks - {ask.id for ask in asks}
        self._asks -= gone
        settled = [ask for name in sorted(gone) if (ask := self._store.asks.get(name))]
        return [_build_settled_news(ask) for ask in settled]

    def _describe_unseen(self, call: FlowCall) -> list[News]:
        """Describe the settled asks of a call that were never seen open."""
        if not call.ask_id and not call.asked:
            return []
        owner = owner_of(call.run, call.path)
        asked = [ask for ask in self._store.asks.of_run(call.run) if ask.origin.owner == owner]
        # A forked run has the asks of the run before it.
        named = self._store.asks.get(call.ask_id) if call.ask_id and not asked else None
        news = []
        for ask in [*asked, named] if named else asked:
            if not ask.pending and ask.id not in self._asked_before:
                self._asked_before.add(ask.id)
                news.append(_build_settled_news(ask))
        return news

    def _describe_state(self, run: Run) -> list[News]:
        if run.state == self._state:
            return []
        self._state = run.state
        document = {"state": run.state, "reason": run.reason, "agent": run.agent}
        if task := task_of(self._store, run):
            document["task_state"] = task.state
        return [News("state", document, "")]


def _cut(text: str, used: int) -> str:
    """Return untrusted text as the rest of a line, cut to the width of a terminal."""
    return inert_line(text, (columns() if sys.stdout.isatty() else _WIDEST) - used)


def _build_said_news(said: Said) -> News:
    line = f"{inert_line(said.who, 30)}  {said.text}"
    return News("said", said._asdict(), add_colour("│ ", "dim") + _cut(line, 2))


def _build_call_news(call: FlowCall) -> News:
    document = {
        name: getattr(call, name)
        for name in ("path", "name", "label", "state", "attempt", "value", "error")
    }
    return News("call", document, _call_line(call))


def _call_line(call: FlowCall) -> str:
    what = call.label if call.name == CallName.RUN else f"{call.name} {call.label}"
    if call.state == CallState.FAILED:
        words = f"{call.path} {what}: {describe_error(call.error)}"
        return run_lines.mark(call) + _cut(words, 2)
    if call.name in _SILENT or call.state in (CallState.WAITING, CallState.HELD):
        return ""
    if call.state == CallState.OPEN:
        return run_lines.mark(call) + _cut(f"{call.path} {what}", 2)
    words = f"{call.path} {what}"
    if call.name == CallName.RUN and isinstance(call.value, dict):
        said = call.value.get("summary") or call.value.get("message") or call.value.get("reason")
        words += f": {call.value.get('status')}" + (f", {said}" if said else "")
    return run_lines.mark(call) + _cut(words, 2)


def _build_ask_news(run: Run, ask: Ask) -> News:
    question = ask.question
    head = add_colour("⏸ ", "yellow") + add_colour(_cut(f"{ask.id}  {question.prompt}", 2), "bold")
    ways = [f"Answer: {suggest_answer(ask)}", "all asks: gate inbox"]
    if run_lines.can_join(ask):
        ways.insert(1, f"with the agent: gate continue {run.id}")
    options = [
        f"  {number}. {_cut(name, 6)}" for number, name in enumerate(question.option_labels, 1)
    ]
    document = {"ask": ask.id, "kind": question.kind, "prompt": question.prompt}
    return News("asked", document, "\n".join([head, *options, *_join_ways(ways)]))


def _join_ways(ways: list[str]) -> list[str]:
    """Return the ways on one line if they fit, else on one line each."""
    line = "  " + "   ".join(ways)
    return [line] if len(line) <= columns() else [f"  {way}" for way in ways]


def _build_settled_news(ask: Ask) -> News:
    word = ask.decision or ask.status.replace("_", " ")
    by = f" by {inert_line(ask.settled_by, 40)}" if ask.settled_by else ""
    good = ask.status == AskStatus.ANSWERED and ask.decision != Decision.REJECTED
    mark = add_colour("✓ ", "green") if good else add_colour("✗ ", "red")
    note = f": {ask.note}" if ask.note else ""
    document = {
        "ask": ask.id,
        "prompt": ask.question.prompt,
        "status": ask.status,
        "decision": ask.decision,
        "by": ask.settled_by,
    }
    return News("settled", document, mark + _cut(f"{ask.id} {word}{by}{note}", 2))


class LiveView:
    """Shows a run from its own thread, with its own store."""

    def __init__(self, run_id: int, show: Show, out: TextIO, *, from_now: bool) -> None:
        self._store = wiring.open_store()
        self._follower = Follower(self._store, run_id, from_now=from_now)
        self._show, self._out = show, out
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="view", daemon=True)
        self._run_id = run_id
        self._line = StatusLine(out) if show is show_line else None
        self._work = NOTHING
        self._writing = threading.Lock()

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self._look()
        with self._writing:
            self._put(NOTHING)
        self._store.close()

    def print_above(self, text: str) -> None:
        """Show the flow's own output above the status line."""
        width = columns() if self._out.isatty() else _WIDEST
        # A flow may print an agent's text, so it is made inert. A closed pipe must not stop the flow.
        with self._writing, suppress(BrokenPipeError):
            below = self._work
            self._put(NOTHING)
            for line in frame(text, width - 2, bar=""):
                print(add_colour("│ ", "dim") + line, file=self._out)
            self._out.flush()
            self._put(below)

    def tell(self, line: str) -> None:
        """Print a message on stderr, above the status line."""
        with self._writing:
            below = self._work
            self._put(NOTHING)
            print(line, file=sys.stderr, flush=True)
            self._put(below)

    def _follow(self) -> None:
        # A closed pipe must not stop the run.
        with suppress(BrokenPipeError):
            while not self._ended.is_set():
                began = time.monotonic()
                self._look()
                # Reading a long journal must not slow the run down.
                self._ended.wait(max(_POLL_SECONDS, 5 * (time.monotonic() - began)))

    def _look(self) -> None:
        news = self._follower.look()
        with self._writing:
            if news:
                self._put(NOTHING)
            for one in news:
                self._show(one, self._out)
            self._out.flush()
        if self._line and self._line.can_redraw:
            work = describe_work(self._store, self._run_id)
            with self._writing:
                self._put(work)

    def _put(self, work: Work) -> None:
        """Replace the status line."""
        if self._line:
            self._line.put(work.text, is_busy=work.is_busy)
            self._work = work


def show_line(news: News, out: TextIO) -> None:
    if news.line:
        print(news.line, file=out)


def show_json(news: News, out: TextIO) -> None:
    """Print one event per line."""
    print_json({"event": news.what, **news.document}, out)


def show_nothing(news: News, out: TextIO) -> None:
    """Print no event, for callers that want only the end."""
