"""Short checks of the promises about runs that a seeded bug breaks; run by checks.py."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from nursery import Nursery
from plays import STOP, WAITS, WORKS, Play, Point, Stage
from points import KILL, sweep
from slow_tools import is_used_once

CHECKS: dict[str, Callable[[str], None]] = {}


def check(function: Callable[[str], None]) -> Callable[[str], None]:
    CHECKS[function.__name__] = function
    return function


def _struck(path: str, *points: Point) -> None:
    with Nursery("flow_jobs.py") as nursery:
        play = Play(nursery, Path(path).parent / "play")
        outcome = play.perform(*points)
    assert len(play.struck) == len(points), play.struck
    assert outcome["wrong"] == [], outcome["wrong"]


@check
def recorded_step_is_not_repeated(path: str) -> None:
    _struck(path)


@check
def dangerous_step_is_not_repeated_by_itself(path: str) -> None:
    _struck(path, Point(1, where="before change 6 recorded"))


@check
def overtaken_driver_records_nothing(path: str) -> None:
    _struck(path, Point(1, STOP, "before change 2 recorded"))


@check
def overtaken_driver_ends_no_agent_of_its_successor(path: str) -> None:
    _struck(path, Point(1, STOP, "before run", WORKS))


@check
def overtaken_driver_withdraws_nothing(path: str) -> None:
    _struck(path, Point(1, STOP, "after change 1 open, turn over", WAITS))


@check
def slow_tool_ends_before_another_begins(path: str) -> None:
    is_used_once(Stage(Path(path).parent / "stage", path, "slow", "slow_agent.sh"), tied=False)


@check
def kill_leaves_all_or_nothing_of_a_waking_answer(path: str) -> None:
    folder = os.path.dirname(path)
    swept = sweep(folder, "answer_run", KILL, lambda point: point.place % 3 == 0)
    assert swept.wrong == [], swept.wrong[0]
