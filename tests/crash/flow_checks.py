"""Short checks of the promises about runs that a seeded bug breaks; run by checks.py."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from nursery import Child, Nursery
from plays import STANDS, STOP, WAITS, WORKS, Play, Point, Stage, get_run, until
from points import KILL, sweep
from slow_tools import is_used_once

from gatebell.app import wiring

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
    # Both have done the step when the first one wakes up: no order of theirs hides a write.
    _struck(path, *[Point(1, STOP, "before change 2 recorded", STANDS)] * 2)


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
    swept = sweep(folder, "answer_run", KILL, lambda point: point.place % 3 == 0, stops=True)
    assert swept.wrong == [], swept.wrong[0]


@check
def run_of_a_silent_host_is_left_alone(path: str) -> None:
    """Its worker is stopped, and its agent works on; another host has a worker with free slots."""
    folder = Path(path).parent
    with Nursery("engine_jobs.py") as nursery, closing(wiring.open_store(path)) as store:
        os.environ["GATE_HOST"] = "north"
        away = Stage(folder / "away", path, "errand")
        far = away.start(store)
        with away.hold_agents():
            silent = _start_worker(nursery, path, "north")
            until(away.starts)
            silent.send(signal.SIGSTOP)
            os.environ["GATE_HOST"] = "south"
            near = Stage(folder / "here", path, "errand").start(store)
            _start_worker(nursery, path, "south")
            until(lambda: get_run(store, near).state == "waiting_human")
        silent.send(signal.SIGCONT)
        until(lambda: get_run(store, far).state == "waiting_human")
        assert (away.hosts(), away.violations()) == ({"north"}, []), away.hosts()
        assert get_run(store, far).claim == 1, "the other host has claimed it"


def _start_worker(nursery: Nursery, path: str, host: str) -> Child:
    environ = {"GATE_HOST": host, "GATE_STORE": path, "CHAOS_LOG": f"{path}-{host}.log"}
    folder = os.path.dirname(path)
    worker = nursery.start("engine_worker", environ=environ, lease=60.0, project=folder, tied=True)
    worker.go()
    return worker
