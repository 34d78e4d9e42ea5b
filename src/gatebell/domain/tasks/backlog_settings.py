"""How the tasks of a project are worked on, as its .gate/backlog.toml says."""

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
    """What becomes of the work on a task."""

    BRANCH = "branch"
    MERGE = "merge"
    REVIEW = "review"
    DIRECT = "direct"


_MAX = 1000


class BacklogTerms(NamedTuple):
    """What holds for every task of a project, unless the task itself says otherwise."""

    strategy: Strategy = Strategy.BRANCH
    base: str = ""
    """The branch that work starts from; empty: the one checked out when a task is taken up."""
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
    """The default; where there is none, what it could be."""
    read: Callable[[Any], Any]
    """The value as terms have it; ValueError says what is allowed."""
    field: str = ""
    """What it is called in the terms, where that is not its own name."""


def parse_backlog_terms(written: Mapping[str, Any], source: str) -> BacklogTerms:
    """The terms that a file sets; UsageError names the file, the key and what is allowed."""
    found: dict[str, Any] = {}
    for name, value in written.items():
        if not (key := KEYS.get(name)):
            raise UsageError(f"{source} sets {name!r}; there are only {', '.join(KEYS)}")
        try:
            found[key.field or name] = key.read(value)
        except ValueError as error:
            raise UsageError(f"{source}: {name} is {error}") from None
    return BacklogTerms(**found)


def first_file() -> str:
    """A file with every key, each with its meaning and none of them set."""
    parts = ["# How the tasks of this project are worked on. Take away a # to set a key."]
    parts += [
        f"# {key.meaning[0].upper()}{key.meaning[1:]}.\n#{name} = {json.dumps(key.example)}"
        for name, key in KEYS.items()
    ]
    return "\n\n".join(parts) + "\n"


def _one_of(members: type[Strategy | TaskTimeout], value: Any) -> str:
    try:
        return members(value)
    except ValueError:
        raise ValueError(f"one of {', '.join(members)}") from None


def _branch(value: Any) -> str:
    # Whatever else git allows or not, it must not be taken for an option.
    if not isinstance(value, str) or not value.isprintable() or value[:1] in ("", "-", " "):
        raise ValueError('the name of a branch, like "main"')
    return value


def _role(value: Any) -> str:
    if not isinstance(value, str) or not is_role_name(value):
        raise ValueError('the name of a role, like "code"')
    return value


def _command(value: Any) -> str:
    if not isinstance(value, str) or "\0" in value:
        raise ValueError('a command, like "make test"')
    return value.strip()


def _count(value: Any) -> int:
    if type(value) is not int or not 0 < value <= _MAX:
        raise ValueError(f"a whole number from 1 to {_MAX}")
    return value


def _seconds(value: Any) -> float:
    try:
        # Of a truth value or a list no duration is made: their texts are none.
        return parse_duration(str(value))
    except UsageError:
        raise ValueError('a time like "90s", "30m", "2h", "3d", or a number of seconds') from None


KEYS = {
    "strategy": _Key(
        "what becomes of a task's work: branch (it stays on a branch of its own), merge (into the "
        "base branch), review (the same, after a person has looked at it), direct (one plain commit "
        "on the base branch). A base branch that somebody has checked out, you for example, is not "
        "written: the work stays on its own branch then, and the task says so",
        "branch",
        lambda value: _one_of(Strategy, value),
    ),
    "base": _Key(
        "the branch that work starts from; without it, the one checked out when a task is taken up",
        "main",
        _branch,
    ),
    "role": _Key("the role that works on tasks which name none", "code", _role),
    "test": _Key("the command that must succeed before a task is closed", "make test", _command),
    "test_tries": _Key("how often that command may fail before the task does", 3, _count),
    "most_asks": _Key("how often one task may ask before it fails", 5, _count),
    "answer_within": _Key(
        "how long a task waits for an answer; without it, for ever",
        "3d",
        _seconds,
        "answer_within_seconds",
    ),
    "remind_every": _Key(
        "how often people are reminded of what it asks; without it, never",
        "2h",
        _seconds,
        "remind_every_seconds",
    ),
    "on_timeout": _Key(
        "what becomes of a task that nobody answered in time: defer or fail",
        "defer",
        lambda value: _one_of(TaskTimeout, value),
    ),
}
"""Every key of the file."""
