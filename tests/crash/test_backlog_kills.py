"""A worker that is killed at any point of a task loses no work, and closes nothing twice."""

from __future__ import annotations

import json
import select
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from nursery import Child, Nursery
from operation import ADA
from plays import MOST, Point, all_asks, damage, find_unstruck
from points import differences
from telling import tell
from tests.support.backlog_project import BacklogProject, asks_first, report

from gatebell.app import wiring
from gatebell.domain.asks.answers import Given
from gatebell.domain.tasks.tasks import Task
from gatebell.ports.store import Store
from gatebell.services.asks import answer_ask
from gatebell.services.tasks import backlog

AT_ONCE = 3
BY_DEFAULT = 10
PATIENCE_SECONDS = 60.0
ASKS = asks_first(
    "Which way?",
    "echo part >login.py",
    # The agent that continues sees the existing files; the whole needs the part.
    "grep -q part login.py && { grep -q left login.py || echo left >>login.py; }",
)
BUILDS = f"cp login.py logout.py\n{report('completed', 'Built on it')}"
TERMS = 'base = "main"\nstrategy = "merge"\n'


class Play:
    """Two tasks, one of which asks and the other needs it, and workers one after the other."""

    def __init__(self, nursery: Nursery, folder: Path) -> None:
        self._nursery, self._path = nursery, str(folder / "store" / "gate.db")
        self.project = BacklogProject(folder / "project", folder / "stage", terms=TERMS)
        self.project.git("checkout", "-q", "-b", "elsewhere")
        self._answered: Counter[str] = Counter()
        self.kills = self.passed = 0

    def perform(self, *points: Point) -> dict[str, Any]:
        """Kill one worker after the other at these points; return the result."""
        with closing(wiring.open_store(self._path)) as store:
            login = self.project.task(store, "Login", ASKS)
            logout = self.project.task(
                store, "Logout", BUILDS, needs=[login.id], test_command="test -s logout.py"
            )
            self._work(store, [login.id, logout.id], list(points))
            return self._outcome(store, [login.id, logout.id])

    def _work(self, store: Store, ids: list[str], points: list[Point]) -> None:
        until = time.monotonic() + PATIENCE_SECONDS
        child = self._start(points.pop(0) if points else Point())
        while not all(backlog.get(store, one).state == "closed" for one in ids):
            assert time.monotonic() < until, [backlog.get(store, one) for one in ids]
            if child.is_gone():
                self.kills += 1
                child.close()
                child = self._start(points.pop(0) if points else Point())
            self._answer(store)
            select.select([], [], [], 0.01)
        with suppress(BrokenPipeError):
            child.go()
        # A worker may be struck at its last points, after the tasks are closed.
        word, number = json.loads(child.line() or '["struck", ""]')
        self.kills += word == "struck"
        self.passed = number if word == "passed" else 0
        child.kill()
        child.close()

    def _start(self, point: Point) -> Child:
        child = self._nursery.start(
            "work_off",
            path=self._path,
            project=str(self.project.folder),
            point=point[:3],
            slots=1,
        )
        child.go()
        return child

    def _answer(self, store: Store) -> None:
        for ask in store.asks.pending(9):
            answer_ask.answer(store, ask.id, ADA, Given("left"))
            self._answered[ask.question.prompt] += 1

    def _outcome(self, store: Store, ids: list[str]) -> dict[str, Any]:
        """Return the tasks without ids and times, which are random."""
        tasks, project = [backlog.get(store, one) for one in ids], self.project
        asks = [
            [ask.question.prompt, ask.value, "taken" if ask.delivered_at else "not taken"]
            for ask in all_asks(store)
        ]
        main = project.git("log", "--first-parent", "--format=%s", "elsewhere..main")
        return {
            "tasks": [[task.state, task.summary, task.details] for task in tasks],
            "events": [_events(store, task) for task in tasks],
            "login": project.commits(_find_merged(store, tasks[0]), "elsewhere"),
            "logout": project.commits(_find_merged(store, tasks[1]), _find_merged(store, tasks[0])),
            "branches": project.git("branch", "--list", "task/*"),
            "told": [[task.branch, task.status.endswith(" is removed")] for task in tasks],
            "main": [main.split("\n"), project.git("ls-tree", "-r", "--name-only", "main")],
            "files": [project.text("main", name) for name in ("login.py", "logout.py")],
            "asks": asks,
            "answered": dict(self._answered),
            "sessions": [len({s for s, _ in project.turns(t.title)}) for t in tasks],
            "heard": any("> left" in text for _, text in project.turns("Login")),
            "own": project.state()[:2],
            "folders": [_folder(store, project, task) for task in tasks],
            "wrong": damage(self._path),
        }


def _find_merged(store: Store, task: Task) -> str:
    """Return the work of a task: its merge into main, if its branch is removed."""
    (run,) = store.runs.of_task(task.id)
    assert isinstance(run.result, dict)
    return f"{run.result['commit']}^2"


def _events(store: Store, task: Task) -> dict[str, int]:
    kinds = Counter(entry.event.kind for entry in store.audit.of_subject(task.id))
    return {kind: kinds[kind] for kind in ("task.created", "task.closed", "task.failed")}


def _folder(store: Store, project: BacklogProject, task: Task) -> str:
    (run,) = store.runs.of_task(task.id)
    return project.git("status", "--porcelain", folder=run.folder)


class Theatre:
    """Performs the same work many times, and compares the results."""

    def __init__(self, nursery: Nursery, folder: Path) -> None:
        self._nursery, self._folder, self._numbers = nursery, folder, count()
        first = self._play()
        self.undisturbed = first.perform()
        self.points = first.passed

    def _play(self) -> Play:
        return Play(self._nursery, self._folder / str(next(self._numbers)))

    def perform(self, points: tuple[Point, ...]) -> tuple[int, str]:
        play = self._play()
        try:
            wrong = differences(play.perform(*points), self.undisturbed)
            wrong = wrong or find_unstruck(points, play.kills, play.passed)
        except AssertionError as error:
            wrong = repr(error)
        return play.kills, wrong and f"{points}: {wrong}"

    def perform_all(self, strikes: list[tuple[Point, ...]]) -> tuple[int, list[str]]:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            done = list(pool.map(self.perform, strikes))
        return sum(kills for kills, _ in done), [wrong for _, wrong in done if wrong]


@pytest.fixture(scope="module")
def theatre(tmp_path_factory) -> Iterator[Theatre]:
    with Nursery("backlog_jobs.py") as nursery:
        yield Theatre(nursery, tmp_path_factory.mktemp("backlogs"))


@pytest.mark.proves("TASK-220", "S3-6", "S3-26", "S3-27", "S3-77", "S3-B4")
def test_worker_without_kills_gives_the_reference_result(theatre):
    done = theatre.undisturbed
    assert done["tasks"] == [
        ["closed", "All of it is done", "As you said"],
        ["closed", "Built on it", ""],
    ]
    assert done["login"] == [("Login", ["login.py"])]
    assert done["logout"] == [("Logout", ["logout.py"])]
    assert done["branches"] == "" and done["told"] == [["", True], ["", True]]
    assert done["main"][0] == ["Logout", "Login"]
    assert done["files"] == ["part\nleft", "part\nleft"]
    assert done["asks"] == [["Which way?", "left", "taken"]]
    once = {"task.created": 1, "task.closed": 1, "task.failed": 0}
    assert done["events"] == [once, once]
    assert done["sessions"] == [1, 1] and done["heard"] and done["wrong"] == []
    assert done["folders"] == ["", ""]


@pytest.mark.proves("TASK-221", "S3-6", "S3-26", "S3-27", "S3-77", "S3-B12", "LAW-5", "LAW-7")
def test_kill_of_the_worker_never_changes_a_tasks_result(theatre, whole, capsys):
    step = 1 if whole else max(1, theatre.points // BY_DEFAULT)
    points = range(1, theatre.points + 1, step)
    kills, wrong = theatre.perform_all([(Point(number),) for number in points])
    tell(capsys, f"{theatre.points} points, {kills} of {len(points)} killed")
    assert wrong == []
    assert kills >= MOST * len(points)


@pytest.mark.proves("TASK-222")
def test_repeated_kills_change_nothing(theatre, whole, capsys):
    many = 40 if whole else 3
    width = theatre.points // (many + 2)
    strikes = [
        tuple(Point(place) for place in (number * width, theatre.points // 4, theatre.points // 9))
        for number in range(1, many + 1)
    ]
    kills, wrong = theatre.perform_all(strikes)
    tell(capsys, f"{len(strikes)} times killed again and again: {kills} kills")
    assert wrong == []
    assert kills > len(strikes)
