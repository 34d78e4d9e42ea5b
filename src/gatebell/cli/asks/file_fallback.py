"""Ask through the project's files when an agent's sandbox cannot reach the store."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from gatebell.app import project_files
from gatebell.app.environment import find_set_up_project
from gatebell.domain.asks.asks import parse_priority
from gatebell.domain.enums import AskKind, Priority
from gatebell.errors import RefusedError, StoreError

if TYPE_CHECKING:
    from typing import NoReturn

    from gatebell.services.asks.create_ask import Request

# A file cannot carry these. Without them, other people could answer, or see something else.
NOT_BY_FILES = (
    *("secret", "multiple", "schema", "session", "requirement", "context", "default"),
    *("remind_every_seconds", "escalations", "attachments"),
)


def ask(request: Request, problem: StoreError) -> NoReturn:
    """Ask as scripts/ask-human.sh does: only texts and choices, never an approval."""
    _must_be_set_up(problem)
    more = [name for name in NOT_BY_FILES if getattr(request, name)]
    if request.kind not in (AskKind.TEXT, AskKind.CHOICE) or more:
        without = f" without {' and '.join(more).replace('_', ' ')}" if more else ""
        raise RefusedError(
            f"files can ask only for a text or a choice{without}, not for an approval: {problem}"
        )
    words = ["--priority", _limit_priority(request)]
    if request.expires_seconds:
        words += ["--timeout", str(max(1, round(request.expires_seconds)))]
    for option in request.options:
        words += ["--option", option]
    _become([*words, "--", request.prompt], problem)


def _limit_priority(request: Request) -> str:
    """Return the priority; a question in a file has none below normal."""
    return min(parse_priority(request.priority), Priority.NORMAL).word


def wait(ask_id: str, problem: StoreError) -> NoReturn:
    """Wait again for a question that was asked through files."""
    if ask_id.startswith("a-"):
        # This ask is in the store.
        raise problem
    _must_be_set_up(problem)
    _become(["--wait", ask_id], problem)


def _must_be_set_up(problem: StoreError) -> None:
    if not find_set_up_project(os.getcwd()):
        raise problem


def _become(words: list[str], problem: StoreError) -> NoReturn:
    print(f"gate: {problem} Asking through the project's files.", file=sys.stderr)
    sys.stdout.flush()
    sys.stderr.flush()
    environ = {**os.environ, "GATE_ASK_FILES": "1"}
    os.execvpe("bash", ["bash", project_files.ask_script(), *words], environ)  # noqa: S606, S607
