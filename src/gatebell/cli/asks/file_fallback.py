"""Asking by the project's files, where the store is out of reach: in an agent's sandbox."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from gatebell.app import project_files
from gatebell.app.environment import set_up_above
from gatebell.domain.asks.asks import parse_priority
from gatebell.domain.enums import AskKind, Priority
from gatebell.errors import RefusedError, StoreTroubleError

if TYPE_CHECKING:
    from typing import NoReturn

    from gatebell.services.asks.create_ask import Request

# Left out, they would change who may answer, what is answered, or what people see.
_NOT_BY_FILES = (
    *("secret", "multiple", "schema", "session", "requirement", "context", "default"),
    *("remind_every_seconds", "escalations"),
)


def ask(request: Request, problem: StoreTroubleError) -> NoReturn:
    """Ask as scripts/ask-human.sh does; only what a file's answer may be, never an approval."""
    _must_be_set_up(problem)
    more = [name for name in _NOT_BY_FILES if getattr(request, name)]
    if request.kind not in (AskKind.TEXT, AskKind.CHOICE) or more:
        what = f", without {' and '.join(more).replace('_', ' ')}" if more else ""
        raise RefusedError(
            f"by files only texts and choices are asked{what}, no approvals: {problem}"
        )
    words = ["--priority", _priority(request)]
    if request.expires_seconds:
        words += ["--timeout", str(max(1, round(request.expires_seconds)))]
    for option in request.options:
        words += ["--option", option]
    _become([*words, "--", request.prompt], problem)


def _priority(request: Request) -> str:
    """The words of a file's question know nothing beneath normal."""
    return min(parse_priority(request.priority), Priority.NORMAL).word


def wait(ask_id: str, problem: StoreTroubleError) -> NoReturn:
    """Go on waiting for a question that was asked by files."""
    if ask_id.startswith("a-"):
        # That one was asked in the store, and may well be waiting there.
        raise problem
    _must_be_set_up(problem)
    _become(["--wait", ask_id], problem)


def _must_be_set_up(problem: StoreTroubleError) -> None:
    if not set_up_above(os.getcwd()):
        raise problem


def _become(words: list[str], problem: StoreTroubleError) -> NoReturn:
    print(f"gate: {problem} Asking by the project's files.", file=sys.stderr)
    sys.stdout.flush()
    sys.stderr.flush()
    environ = {**os.environ, "GATE_ASK_FILES": "1"}
    os.execvpe("bash", ["bash", project_files.ask_script(), *words], environ)  # noqa: S606, S607
