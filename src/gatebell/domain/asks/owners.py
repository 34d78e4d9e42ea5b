"""Owners: what becomes ready when an ask is settled, as asks name it."""

from __future__ import annotations


def owner_of(run_id: int, path: str) -> str:
    """How an ask names the call that waits for it."""
    return f"run:{run_id}/{path}"


def run_of(owner: str) -> int | None:
    """The run that an ask's owner names, if it is one."""
    number = owner.removeprefix("run:").partition("/")[0]
    return int(number) if owner.startswith("run:") and number.isdecimal() else None


def owner_of_task(task_id: str) -> str:
    """How an ask names the task that somebody works on by hand and waits with."""
    return f"task:{task_id}"


def task_of(owner: str) -> str:
    """The task that an ask's owner names; nothing where it names none."""
    return owner.removeprefix("task:") if owner.startswith("task:") else ""


def owner_in_words(owner: str) -> str:
    """Whom an ask blocks, for people: `run 1`, or the name that its asker gave."""
    number = run_of(owner)
    return task_of(owner) or owner if number is None else f"run {number}"
