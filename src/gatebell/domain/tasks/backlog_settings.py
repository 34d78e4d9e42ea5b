"""The settings for a project's tasks, from its .gate/backlog.toml."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from gatebell.domain.asks.deadlines import parse_duration
from gatebell.domain.enums import StrEnum
from gatebell.domain.runs.roles import is_role_name
from gatebell.domain.tasks.tasks import TaskTimeout
from gatebell.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class Strategy(StrEnum):
    """Where the finished work on a task goes."""

    BRANCH = "branch"
    MERGE = "merge"
    REVIEW = "review"
    DIRECT = "direct"


_MAX = 1000


class BacklogTerms(NamedTuple):
    """The settings for every task of a project, unless the task has its own."""

    strategy: Strategy = Strategy.BRANCH
    base: str = ""
    """The branch that work starts from; empty: the branch that is checked out then."""
    role: str = "code"
    test: str = ""
    """The command that must succeed before a task is closed; empty: none."""
    test_tries: int = 3
    most_asks: int = 5
    answer_within_seconds: float | None = None
    remind_every_seconds: float | None = None
    on_timeout: TaskTimeout = TaskTimeout.DEFER


class _Key(NamedTuple):
    meaning: str
    example: Any
    """The default; without a default, an example."""
    read: Callable[[Any], Any]
    """Convert the value; a ValueError names the allowed values."""
    field: str = ""
    """The field of the terms, if it has another name."""


def parse_backlog_terms(written: Mapping[str, Any], source: str) -> BacklogTerms:
    """Read the settings of a file; a UsageError names the file, the key and allowed values."""
    found: dict[str, Any] = {}
    for name, value in written.items():
        if not (key := KEYS.get(name)):
            raise UsageError(f"{source} has an unknown key {name!r}: use {', '.join(KEYS)}")
        try:
            found[key.field or name] = key.read(value)
        except ValueError as error:
            raise UsageError(f"{source}: {name}: expected {error}") from None
    return BacklogTerms(**found)


def first_file() -> str:
    """Return a file with all keys as comments, each with its meaning."""
    parts = ["# Settings for the tasks of this project. Remove a # to set a key."]
    parts += [
        f"# {key.meaning[0].upper()}{key.meaning[1:]}.\n#{name} = {json.dumps(key.example)}"
        for name, key in KEYS.items()
    ]
    return "\n\n".join(parts) + "\n"


def _parse_one_of(members: type[Strategy | TaskTimeout], value: Any) -> str:
    try:
        return members(value)
    except ValueError:
        raise ValueError(f"one of {', '.join(members)}") from None


def _parse_branch(value: Any) -> str:
    # Git must not read it as an option.
    if not isinstance(value, str) or not value.isprintable() or value[:1] in ("", "-", " "):
        raise ValueError('the name of a branch, like "main"')
    return value


def _parse_role(value: Any) -> str:
    if not isinstance(value, str) or not is_role_name(value):
        raise ValueError('the name of a role, like "code"')
    return value


def _parse_command(value: Any) -> str:
    if not isinstance(value, str) or "\0" in value:
        raise ValueError('a command, like "make test"')
    return value.strip()


def _parse_count(value: Any) -> int:
    if type(value) is not int or not 0 < value <= _MAX:
        raise ValueError(f"a whole number from 1 to {_MAX}")
    return value


def _parse_seconds(value: Any) -> float:
    try:
        # The text of a boolean or a list is never a duration, so they are refused.
        return parse_duration(str(value))
    except UsageError:
        raise ValueError('a time like "90s", "30m", "2h", "3d", or a number of seconds') from None


KEYS = {
    "strategy": _Key(
        "where a task's finished work goes: branch (the work stays on the task's own branch), "
        "merge (it is merged into the base branch), review (the same, after a person has reviewed "
        "it), direct (it becomes one plain commit on the base branch). A base branch that is "
        "checked out, for example by you, is never changed. The work then stays on its own branch, "
        "and the task says so",
        "branch",
        lambda value: _parse_one_of(Strategy, value),
    ),
    "base": _Key(
        "the branch that work starts from; without it, the branch that is checked out when a task "
        "is taken up",
        "main",
        _parse_branch,
    ),
    "role": _Key("the role for tasks that name none", "code", _parse_role),
    "test": _Key(
        "the command that must succeed before a task is closed", "make test", _parse_command
    ),
    "test_tries": _Key("how often that command may fail before the task fails", 3, _parse_count),
    "most_asks": _Key("how often one task may ask before it fails", 5, _parse_count),
    "answer_within": _Key(
        'how long a task waits for an answer: "90s", "30m", "2h", "3d", or seconds; without it, '
        "forever",
        "3d",
        _parse_seconds,
        "answer_within_seconds",
    ),
    "remind_every": _Key(
        "how often people are reminded of its questions; without it, never",
        "2h",
        _parse_seconds,
        "remind_every_seconds",
    ),
    "on_timeout": _Key(
        "what happens to a task that got no answer in time: defer or fail",
        "defer",
        lambda value: _parse_one_of(TaskTimeout, value),
    ),
}
"""Every key of the file."""
