"""The work behind an ask of a flow: its prompt, the last agent's words, the changes so far."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from gatebell.domain.asks.owners import run_of
from gatebell.domain.runs import journals, prompts
from gatebell.domain.runs.signals import parse_signal
from gatebell.domain.sessions.joined_sessions import path_of
from gatebell.domain.text.redaction import hide_secrets

if TYPE_CHECKING:
    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.runs.runs import Run, Turn
    from gatebell.ports.store import Store


_PATH = re.compile(r"\d{1,9}(\.\d{1,9})*", re.ASCII)


def find_run(store: Store, one: Ask) -> Run | None:
    """Return the run that waits for this ask."""
    number, path = run_of(one.origin.owner), path_of(one)
    # An asker may write anything here.
    if number is None or not _PATH.fullmatch(path):
        return None
    return store.runs.get(number)


def name_run(store: Store, run: Run) -> str:
    """Return a run as people know it, as `feature: Add login`; that of a task by its task."""
    task = store.tasks.get(run.task) if run.task else None
    return f"{task.id}: {task.title}" if task else run.title


def last_words(store: Store, run: Run, one: Ask) -> tuple[str, str]:
    """Return the agent that spoke last before this ask, and all its words."""
    path = path_of(one)
    spoken = [
        turn
        for turn in store.runs.turns(run.id)
        if turn.ended_at and _is_before(turn.path, path) and _words(turn)
    ]
    if not spoken:
        return "", ""
    last = max(spoken, key=_ended)
    return last.role, _words(last)


def _is_before(turn_path: str, path: str) -> bool:
    return turn_path == path or journals.is_before(turn_path, path)


def _ended(turn: Turn) -> Any:
    return turn.ended_at


def _words(turn: Turn) -> str:
    if turn.words.strip():
        return hide_secrets(turn.words.strip())
    signal = parse_signal(turn.signal)
    return hide_secrets(prompts.describe_signal(signal)) if signal else ""
