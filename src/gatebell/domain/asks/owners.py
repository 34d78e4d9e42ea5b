"""Owners: the names of the runs and tasks that go on when an ask is settled."""

from __future__ import annotations

# Databases keep every number with so many digits.
_MAX_DIGITS = 18


def owner_of(run_id: int, path: str) -> str:
    """Return the owner for a call of a run that waits for an ask."""
    return f"run:{run_id}/{path}"


def name_of_run(run_id: int) -> str:
    """Return the name of a run in owners of asks and subjects of events."""
    return f"run:{run_id}"


def run_of(owner: str) -> int | None:
    """Return the run that an owner names; None if it is not a run. Askers may write any owner."""
    number = owner.removeprefix("run:").partition("/")[0]
    return parse_run_number(number) if owner.startswith("run:") else None


def parse_run_number(text: str) -> int | None:
    """Return the number of a run; None for a text that cannot be one."""
    is_number = text.isascii() and text.isdecimal() and len(text) <= _MAX_DIGITS
    return int(text) if is_number else None


def owner_of_task(task_id: str) -> str:
    """Return the owner for a task that is worked on by hand."""
    return f"task:{task_id}"


def task_of(owner: str) -> str:
    """Return the task that an owner names; empty if it is not a task."""
    return owner.removeprefix("task:") if owner.startswith("task:") else ""


def describe_owner(owner: str) -> str:
    """Return an owner as people read it: `run 1`, the task, or the asker's own name."""
    number = run_of(owner)
    return task_of(owner) or owner if number is None else f"run {number}"
