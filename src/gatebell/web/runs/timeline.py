"""The views of runs: the list, and the calls, turns and waits of a run as one timeline."""

from __future__ import annotations

import json
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup

from gatebell.domain.asks.asks import settled_word
from gatebell.domain.asks.outcomes import answer_text
from gatebell.domain.enums import CallName, CallState, RunState, SignalStatus
from gatebell.domain.runs.journals import describe_error, is_carried
from gatebell.domain.runs.signals import parse_signal
from gatebell.domain.sessions.joined_sessions import path_of
from gatebell.domain.text.display import SHOWN_CHARACTERS
from gatebell.domain.text.redaction import hide_secrets
from gatebell.services.asks.waiters import is_waiter_gone
from gatebell.terminal import task_runs
from gatebell.terminal.runs import describe_reason
from gatebell.web import markdown
from gatebell.web.asks.long_texts import split_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.runs.runs import FlowCall, Run, Turn
    from gatebell.domain.runs.signals import Signal
    from gatebell.domain.tasks.tasks import Task
    from gatebell.ports.store import Store
    from gatebell.terminal.task_runs import End

MAX_CALLS = 500
_MAX_TEXT_LENGTH = 4_000
_SHORTEST_TEXT = 200
_MAX_CHARACTERS = 300_000
# Shorter text fits on one line.
_SHORT = 160
# Hostile Markdown takes up to a third of a second for each turn.
_MAX_FORMATTED = 40_000
_OPEN_CHARACTERS = 1_500

STATES = {
    RunState.READY: "ready",
    RunState.RUNNING: "running",
    RunState.WAITING_HUMAN: "waiting for a person",
    RunState.COMPLETED: "completed",
    RunState.STUCK: "stuck",
    RunState.FAILED: "failed",
}
_CALL_STATES = {
    CallState.OPEN: "under way",
    CallState.WAITING: "waiting for a person",
    CallState.HELD: "held by a person",
    CallState.RECORDED: "recorded",
    CallState.FAILED: "failed",
}
# For these the turn or the ask shows everything that the record has.
_SAYS_NO_MORE = (CallName.RUN, CallName.PAUSE)


class Standing(NamedTuple):
    """The progress of a run; for a task's run, the result of the task."""

    state: str
    """The state of the run or the task, by which pages colour it."""
    word: str
    why: str


class Listed(NamedTuple):
    """One line of the list of runs."""

    run: Run
    asks: list[tuple[Ask, bool]]
    """The asks for which it waits, and whether the asker of each is gone."""
    task: Task | None
    """The task on which it works."""
    standing: Standing

    @property
    def agent(self) -> str:
        return (
            self.run.agent if self.run.state in (RunState.RUNNING, RunState.WAITING_HUMAN) else ""
        )


class Cut(NamedTuple):
    """The beginning of a text, and the number of further characters."""

    text: str
    left: int = 0


class Spoken(NamedTuple):
    """One turn as it is shown."""

    turn: Turn
    who: str
    signal: Signal | None
    said: Cut
    formatted: tuple[Markup, Markup] | None
    """What was said as Markdown, and its rest; None for a short text, or where the page is full."""
    value: Cut | None
    words: Cut
    sent: Cut


class Wait(NamedTuple):
    """One ask of a call as it is shown."""

    ask: Ask
    word: str
    said: str


class Entry(NamedTuple):
    """One call of the timeline, with its turns and asks, and the branches below it."""

    call: FlowCall
    word: str
    happened: list[Spoken | Wait]
    """In the order of their begin."""
    value: Cut | None
    error: Cut | None
    branches: dict[str, list[Entry]]


class Timeline(NamedTuple):
    """A window of a run's calls."""

    entries: list[Entry]
    first: int
    """The number of the first call, counted from 1."""
    last: int
    all: int
    before: str
    """The first path of the window before; empty: there is none."""
    after: str


def list_runs(store: Store, limit: int) -> tuple[list[Listed], list[Listed], bool]:
    """Return active runs, ended ones, the newest first; and whether there are more."""
    active = store.runs.newest(limit + 1, active=True)
    newest = store.runs.newest(limit + 1)
    ended = [run for run in newest if run.has_ended][: max(0, limit - len(active))]
    more = len(active) > limit or len(newest) > limit
    waiting = [_build_listed(store, run, list_waiting(store, run)) for run in active[:limit]]
    return waiting, [_build_listed(store, run, []) for run in ended], more


def list_waiting(store: Store, run: Run) -> list[tuple[Ask, bool]]:
    """What a run waits for, and whether the asker of that is gone."""
    asks = [] if run.has_ended else store.asks.pending_of_run(run.id)
    return [(ask, is_waiter_gone(store, ask)) for ask in asks]


def _build_listed(store: Store, run: Run, asks: list[tuple[Ask, bool]]) -> Listed:
    end = task_runs.end_of(store, run)
    return Listed(run, asks, task_runs.task_of(store, run), standing(run, end))


def standing(run: Run, end: End | None) -> Standing:
    """Describe the progress in the words of the pages."""
    if end is None:
        return Standing(run.state, STATES[run.state], describe_reason(run) if run.has_ended else "")
    by = f" by {end.by.removeprefix('person:')}" if end.by else ""
    return Standing(end.state, f"{end.word}{by}", end.why)


def timeline(store: Store, run: Run, at: str = "") -> Timeline:
    """Return the calls around a path, or the first ones. A whole long journal would take seconds."""
    calls = store.runs.calls(run.id)
    found = next((n for n, call in enumerate(calls) if call.path == at), 0)
    first = found - found % MAX_CALLS
    window = calls[first : first + MAX_CALLS]
    after = first + MAX_CALLS
    return Timeline(
        _entries(store, run, window),
        first + 1,
        first + len(window),
        len(calls),
        calls[first - MAX_CALLS].path if first else "",
        calls[after].path if after < len(calls) else "",
    )


def _entries(store: Store, run: Run, calls: Sequence[FlowCall]) -> list[Entry]:
    room, shown = _Room(), {call.path for call in calls}
    turns: dict[str, list[Turn]] = {}
    for turn in store.runs.turns(run.id):
        if turn.path in shown:
            turns.setdefault(turn.path, []).append(turn)
    asks = _asks(store, run, calls, turns)
    made: dict[str, Entry] = {}
    top = []
    for call in calls:
        mine = turns.get(call.path, [])
        made[call.path] = one = _entry(call, mine, asks.get(call.path, []), room)
        around, _, branch = call.path.rpartition(".")[0].rpartition(".")
        if around in made:
            made[around].branches.setdefault(branch, []).append(one)
        else:
            top.append(one)
    return top


def _asks(
    store: Store, run: Run, calls: Sequence[FlowCall], turns: dict[str, list[Turn]]
) -> dict[str, list[Ask]]:
    """Return the asks of each call by its path, with those of the run that it was forked from."""
    own = {ask.id: ask for ask in store.asks.of_run(run.id)}
    by_path: dict[str, dict[str, Ask]] = {}
    for ask in own.values():
        by_path.setdefault(path_of(ask), {})[ask.id] = ask
    for call in calls:
        for ask_id in (call.ask_id, *map(_find_answered, turns.get(call.path, []))):
            if ask_id and ask_id not in own and (carried := store.asks.get(ask_id)):
                by_path.setdefault(call.path, {})[ask_id] = carried
    return {path: list(asks.values()) for path, asks in by_path.items()}


def _find_answered(turn: Turn) -> str:
    """Return the ask whose answer a turn carried; if a person asked back, with the message."""
    return turn.ask_id.partition("?")[0]


class _Room:
    """The room for text that a page has left."""

    def __init__(self) -> None:
        self._left = _MAX_CHARACTERS
        self._formatted = 0

    def cut(self, text: str) -> Cut:
        most = min(_MAX_TEXT_LENGTH, max(_SHORTEST_TEXT, self._left))
        self._left -= min(most, len(text))
        # A little more than is shown, so that a secret at the end is recognised.
        shown = hide_secrets(text[: 2 * most])
        return Cut(shown[:most], max(0, len(text) - most))

    def format(self, said: Cut) -> tuple[Markup, Markup] | None:
        """Render a text of several lines as Markdown, and its rest."""
        if "\n" not in said.text or self._formatted + len(said.text) > _MAX_FORMATTED:
            return None
        self._formatted += len(said.text)
        begin, rest = split_text(said.text, _OPEN_CHARACTERS)
        return markdown.render(begin), markdown.render(rest) if rest else Markup()

    def cut_json(self, value: Any) -> Cut:
        if isinstance(value, str):
            return self.cut(value)
        # One piece has a character or more; a whole long value would take long to write.
        short = "".join(islice(json.JSONEncoder(ensure_ascii=False).iterencode(value), _SHORT))
        if len(short) < _SHORT:
            return self.cut(short)
        pieces = json.JSONEncoder(indent=2, ensure_ascii=False).iterencode(value)
        cut = self.cut("".join(islice(pieces, _MAX_TEXT_LENGTH)))
        return cut if next(pieces, None) is None else cut._replace(left=max(cut.left, 1))


def _entry(call: FlowCall, turns: Sequence[Turn], asks: Sequence[Ask], room: _Room) -> Entry:
    value = None
    if (
        call.state == CallState.RECORDED
        and call.value is not None
        and call.name not in _SAYS_NO_MORE
    ):
        value = room.cut_json(call.value)
    error = room.cut(describe_error(call.error)) if call.error else None
    # The ask may be settled before a process continues the call.
    ended = [ask for ask in asks if ask.id == call.ask_id and not ask.pending]
    is_over = call.state == CallState.WAITING and ended
    word = settled_word(ended[0]) if is_over else _CALL_STATES[call.state]
    return Entry(call, word, _list_events(turns, asks, room), value, error, {})


def _list_events(turns: Sequence[Turn], asks: Sequence[Ask], room: _Room) -> list[Spoken | Wait]:
    began: list[tuple[datetime, int, Spoken | Wait]] = []
    began += [(turn.started_at, turn.number, _spoken(turn, room)) for turn in turns]
    # An ask at the moment in which a turn begins comes before it only if the turn carries its answer.
    answers = {turn.ask_id: turn.number - 1 for turn in reversed(turns)}
    last = len(turns) + 1
    began += [(ask.opened_at, answers.get(ask.id, last), wait(ask)) for ask in asks]
    return [one for *_, one in sorted(began, key=lambda one: one[:2])]


def _spoken(turn: Turn, room: _Room) -> Spoken:
    signal = parse_signal(turn.signal)
    said, value = Cut(""), None
    if signal:
        words = (
            signal.question_text if signal.status == SignalStatus.NEEDS_HUMAN else signal.own_words
        )
        said, value = room.cut(words), signal.value
    return Spoken(
        turn,
        _who(turn),
        signal,
        said,
        room.format(said),
        None if value is None else room.cut_json(value),
        room.cut(turn.words),
        room.cut(turn.sent),
    )


def _who(turn: Turn) -> str:
    if not turn.by:
        return "taken over from the run before" if is_carried(turn) else ""
    by = turn.by.removeprefix("person:")
    return f"{by} in its session" if turn.cli else f"signalled by {by} in its place"


def wait(ask: Ask) -> Wait:
    """An ask and its outcome."""
    said = "" if ask.value is None else answer_text(ask, ask.value)
    return Wait(ask, "waiting" if ask.pending else settled_word(ask), said)


def working(store: Store, run: Run) -> list[Turn]:
    """Return the open turns: the agents that work in a run now."""
    return (
        [turn for turn in store.runs.turns(run.id) if not turn.ended_at]
        if not run.has_ended
        else []
    )


def last_words(text: str) -> Cut:
    """Return the end of a traceback, which has the error."""
    text = hide_secrets(text)
    return Cut(text[-SHOWN_CHARACTERS:], max(0, len(text) - SHOWN_CHARACTERS))


def result(run: Run) -> Cut | None:
    """Return the result; for a task, the agent's report."""
    found = run.result
    if run.task and isinstance(found, dict):
        found = str(found.get("summary") or "") or None
    return None if found is None else _Room().cut_json(found)


def prompt(run: Run) -> Cut:
    return _Room().cut(run.prompt)
