"""Output of the command line: colours, JSON, the inbox, and asks as wide as the terminal."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

from gatebell.domain.asks.gone_askers import MARK
from gatebell.domain.asks.owners import describe_owner, run_of
from gatebell.domain.enums import Priority
from gatebell.domain.text.display import age, cell, frame, inert, inert_line
from gatebell.errors import GateError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import TextIO

    from gatebell.domain.asks.asks import Ask
    from gatebell.ports.backends.backend import Backend

# With fewer columns, a list has only the most important ones.
_WIDE = 80
_MAX_TITLES = 200
_URGENT = {Priority.URGENT: "red", Priority.HIGH: "yellow"}
_COLOURS = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


def add_colour(text: str, colour: str) -> str:
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not sys.stdout.isatty():
        return text
    return f"\x1b[{_COLOURS[colour]}m{text}\x1b[0m"


def can_prompt() -> bool:
    """Return whether a person at this terminal can be prompted."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def columns() -> int:
    try:
        found = os.get_terminal_size(1).columns
    except OSError:
        found = 0
    # Some terminals do not know their width.
    return max(40, found) if found else 100


def print_json(document: Any, out: TextIO | None = None) -> None:
    out = out or sys.stdout
    # On a terminal every non-ASCII character is escaped: it may be a control character.
    text = json.dumps(document, ensure_ascii=out.isatty())
    try:
        print(text, file=out)
    except UnicodeEncodeError:
        # Half of a surrogate pair, or a character that the output's encoding does not have.
        print(json.dumps(document), file=out)


def make_document(backend: Backend, ask: Ask) -> dict[str, Any]:
    """Return an ask as JSON, with whether its asker is gone, and its trust."""
    # Imported here: most commands print lines, and must be fast.
    from gatebell.domain.asks.documents import ask_document

    trust = backend.describe_trust(ask) if ask.question.gates else None
    return ask_document(ask) | {"asker_gone": backend.is_waiter_gone(ask), "trust": trust}


def say(text: str) -> None:
    """Print text for the asker: unchanged for programs, inert on a terminal."""
    print(inert(text) if sys.stdout.isatty() else text)


def wrap(text: str, indent: int = 0) -> str:
    """Return untrusted text with line breaks after words on a terminal; one line for programs."""
    if not sys.stdout.isatty():
        return inert(text)
    return f"\n{'':{indent}}".join(frame(text, columns() - indent, bar=""))


def short(text: str) -> str:
    """Return untrusted text as one inert line, short enough to end a line of ours."""
    return inert_line(text, max(20, columns() - 40))


def inbox_head() -> list[str]:
    """Return the line above the asks, for a person; programs get only the asks."""
    if not sys.stdout.isatty():
        return []
    width = columns()
    head = f"{'ID':8} {'AGE':>4}  "
    if width >= _WIDE:
        names, room = _measure_inbox(width)
        head += f"{'FROM':{names}} {'KIND':8}  {'QUESTION':{room}}  FOR"
    else:
        head += "QUESTION"
    return [add_colour(head, "bold")]


def _measure_inbox(width: int) -> tuple[int, int]:
    """Return the columns of the asker's name and of the question."""
    names = 14 if width < 120 else 24
    return names, width - 46 - names


def inbox_lines(backend: Backend, asks: Iterable[Ask]) -> list[str]:
    """Return one line for each ask: asker, question, age, and the run or task that it blocks."""
    listed = list(asks)
    titles = _find_titles(backend, listed)
    return [_inbox_line(backend, ask, columns(), titles) for ask in listed]


def _find_titles(backend: Backend, asks: Iterable[Ask]) -> dict[int | None, str]:
    """Return the titles of the runs that wait for these asks: two runs of one flow ask alike."""
    if all(run_of(ask.origin.owner) is None for ask in asks):
        return {}
    try:
        return {seen.run.id: seen.name for seen in backend.runs(_MAX_TITLES, active=True)}
    except GateError:
        # A token that may only ask sees no runs.
        return {}


def name_question(ask: Ask) -> str:
    """Return the question for a line of a list; a file is named as in its project."""
    call = ask.question.call
    if call is None or call.command:
        return ask.question.prompt
    # It loads the comparing of texts, which other asks do not need.
    from gatebell.domain.asks.headings import list_heading

    return list_heading(ask)


def _inbox_line(backend: Backend, ask: Ask, width: int, titles: Mapping[int | None, str]) -> str:
    waited = age((backend.now() - ask.opened_at).total_seconds())
    urgent = _URGENT.get(ask.priority, "cyan")
    mark = f"[{ask.priority.word}] " if ask.priority != Priority.NORMAL else ""
    head = f"{add_colour(f'{ask.id:8}', urgent)} {waited:>4}  "
    prompt = f"{mark}{MARK if backend.is_waiter_gone(ask) else ''}{name_question(ask)}"
    if title := titles.get(run_of(ask.origin.owner)):
        # Its flow is the asker.
        prompt += f" ({title.removeprefix(f'{ask.origin.agent}: ')})"
    if width < _WIDE:
        return f"{head}{inert_line(prompt, width - 15)}"
    owner = describe_owner(ask.origin.owner)
    blocks = inert_line(owner or os.path.basename(ask.origin.project), 18)
    names, room = _measure_inbox(width)
    who = f"{cell(ask.origin.agent, names)} {ask.question.kind_word:8}  "
    return f"{head}{who}{cell(prompt, room)}  {add_colour(blocks, 'dim')}".rstrip()


def ask_lines(backend: Backend, ask: Ask, whole: bool = False) -> list[str]:
    """Return the lines of an ask with everything that a person needs to decide."""
    # Imported here and below: asking and waiting show no ask.
    from gatebell.terminal import asks as terminal

    return terminal.ask_lines(backend, ask, columns(), add_colour, whole=whole)


def describe_recorded(ask: Ask) -> str:
    """Return the message for a person whose answer was recorded."""
    from gatebell.terminal import asks as terminal

    return terminal.describe_recorded(ask, columns())
