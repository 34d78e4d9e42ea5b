"""Several workers on one backlog: each branch holds the work of its task and of its needs."""

from __future__ import annotations

import os
import random
import select
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from nursery import Child, Nursery
from operation import ADA
from plays import all_asks, damage
from telling import tell
from tests.support.backlog_project import BacklogProject, asks_first, report

from gatebell.app import wiring
from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.asks import Ask
from gatebell.domain.tasks.tasks import Task
from gatebell.ports.store import Store
from gatebell.services.asks import answer_ask
from gatebell.services.tasks import backlog

WORKERS = 3
TASKS = 10
ASKING = (0, 3, 4, 8)
SHARING = (1, 3, 9)
PATIENCE_SECONDS = 60.0
AGAIN = "Try again: the branches fit now"
MARKERS = "Leave it to the agent: the files hold both, with conflict markers"
STOP = "Stop: the task fails"


class Floor:
    """A project, its store, and workers that can be killed."""

    def __init__(self, nursery: Nursery, folder: Path, store: Store) -> None:
        self._nursery, self.store = nursery, store
        self.project = BacklogProject(folder / "project", folder / "stage")
        self.before = self.project.state()
        self._workers: list[Child] = []

    def task(self, title: str, script: str, **fields: object) -> Task:
        return self.project.task(self.store, title, script, **fields)

    def start(self, workers: int = 1, slots: int = 1) -> None:
        """Start all at the same moment."""
        wish = {"path": self.store.path, "project": str(self.project.folder), "slots": slots}
        begun = [
            self._nursery.start("work_off", point=(0, "SIGKILL", ""), **wish)
            for _ in range(workers)
        ]
        for child in begun:
            child.go()
        self._workers += begun

    def replace(self, number: int) -> None:
        """Kill a worker; another one starts."""
        worker = self._workers.pop(number)
        worker.kill()
        worker.close()
        self.start()

    def close(self) -> None:
        for worker in self._workers:
            worker.kill()
            worker.close()

    def until(self, is_so: Callable[[], object], meanwhile: Callable[[], object] = list) -> None:
        until = time.monotonic() + PATIENCE_SECONDS
        while not is_so():
            assert time.monotonic() < until, [self.get(one) for one in self._all()]
            meanwhile()
            select.select([], [], [], 0.01)

    def are_closed(self, *tasks: Task) -> bool:
        states = [self.get(task).state for task in tasks]
        assert "failed" not in states, [self.get(task) for task in tasks]
        return all(state == "closed" for state in states)

    def get(self, task: Task) -> Task:
        return backlog.get(self.store, task.id)

    def _all(self) -> list[Task]:
        return self.store.tasks.page(str(self.project.folder), "all", 99)

    def wait_for_ask(self, part: str) -> Ask:
        self.until(lambda: self.store.asks.pending(9))
        (ask,) = self.store.asks.pending(9)
        assert part in ask.question.prompt
        return ask

    def answer(self, ask: Ask, value: str) -> None:
        answer_ask.answer(self.store, ask.id, ADA, Given(value))


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    with Nursery("backlog_jobs.py") as made:
        yield made


@pytest.fixture
def floor(nursery, tmp_path) -> Iterator[Floor]:
    with closing(wiring.open_store(str(tmp_path / "store" / "gate.db"))) as store:
        made = Floor(nursery, tmp_path, store)
        yield made
        made.close()


def script(number: int) -> str:
    """Write an own file, perhaps the shared one; an agent may ask before it continues."""
    own, way = f"own-{number}.txt", f"way-{number}"
    begins = f"grep -qs begun {own} || echo begun >>{own}"
    if number in SHARING:
        begins += f"\ngrep -q T{number} shared.txt || echo T{number} >>shared.txt"
    done = report("completed", f"T{number} is done")
    if number not in ASKING:
        return f"{begins}\n{done}"
    # It writes the way only with the answer to its own question.
    heard = f'case $text in *"> {way}"*) grep -q {way} {own} || echo {way} >>{own} ;; esac'
    return asks_first(f"Which way, T{number}?", begins, heard, f"T{number} is done")


def _whats_wrong(floor: Floor, tasks: list[Task]) -> Iterator[str]:
    """Return the differences to a backlog whose tasks were worked on alone."""
    project = floor.project
    for number, task in enumerate(tasks):
        files = [f"own-{number}.txt"] + ["shared.txt"] * (number in SHARING)
        if (made := project.commits(f"task/{task.id}")) != [(task.title, files)]:
            yield f"{task.title} has {made}"
        own = "begun" + f"\nway-{number}" * (number in ASKING)
        if (text := project.text(f"task/{task.id}", files[0])) != own:
            yield f"{task.title} wrote {text!r}"
        shared = "begin" + f"\nT{number}" * (number in SHARING)
        if (text := project.text(f"task/{task.id}", "shared.txt")) != shared:
            yield f"{task.title} has {text!r} in the shared file"
        kinds = [entry.event.kind for entry in floor.store.audit.of_subject(task.id)]
        if kinds.count("task.closed") != 1:
            yield f"{task.title} went through {kinds}"
        if len(runs := floor.store.runs.of_task(task.id)) != 1:
            yield f"{task.title} was worked on by {len(runs)} runs"
        if len(sessions := {session for session, _ in project.turns(task.title)}) != 1:
            yield f"{task.title} had {len(sessions)} sessions"
    asked = sorted((ask.question.prompt, ask.value) for ask in all_asks(floor.store))
    if asked != [(f"Which way, T{number}?", f"way-{number}") for number in ASKING]:
        yield f"they asked {asked}"
    yield from (f"{ask.id} was not heard" for ask in all_asks(floor.store) if not ask.delivered_at)
    if project.state() != floor.before:
        yield f"the project is {project.state()}"
    yield from damage(floor.store.path)


def _work_off(floor: Floor, dice: random.Random, most: int) -> tuple[int, list[str]]:
    """Run ten tasks on three workers, kill this many of them, and return the faults."""
    tasks = [floor.task(f"T{number}", script(number)) for number in range(TASKS)]
    floor.start(WORKERS)
    kills = 0

    def meanwhile() -> None:
        nonlocal kills
        if kills < most:
            select.select([], [], [], dice.uniform(0, 0.3))
            floor.replace(dice.randrange(WORKERS))
            kills += 1
        for ask in floor.store.asks.pending(9):
            floor.answer(ask, f"way-{ask.question.prompt[-2]}")

    floor.until(lambda: floor.are_closed(*tasks), meanwhile)
    return kills, list(_whats_wrong(floor, tasks))


@pytest.mark.proves("TASK-223", "S3-B2", "S3-B12", "S3-77")
def test_ten_tasks_and_three_workers_mix_nothing(floor):
    assert _work_off(floor, random.Random(1), 0) == (0, [])


@pytest.mark.proves("TASK-223", "S3-B2", "S3-B12", "S3-77")
def test_nor_do_they_when_workers_are_killed(nursery, tmp_path, whole, capsys):
    seed = int(os.environ.get("CRASH_SEED") or random.randrange(2**32))
    dice, kills = random.Random(seed), 0
    for number in range(20 if whole else 1):
        folder = tmp_path / str(number)
        with closing(wiring.open_store(str(folder / "store" / "gate.db"))) as store:
            floor = Floor(nursery, folder, store)
            killed, wrong = _work_off(floor, dice, 12)
            floor.close()
            assert (number, seed, wrong) == (number, seed, [])
            kills += killed
    tell(capsys, f"CRASH_SEED={seed}: {kills} workers killed")
    assert kills > 2


@pytest.mark.proves("TASK-224", "S3-B21")
def test_task_begins_with_its_needs_and_commits_its_own(floor):
    def builds(name: str, *needed: Task) -> Task:
        work = f"ls *.txt >seen-{name}\necho {name} >{name}.txt\n"
        done = report("completed", f"{name} is there")
        return floor.task(name, work + done, needs=[one.id for one in needed])

    first = builds("A")
    second = builds("B", first)
    third = builds("C", second)
    floor.start(WORKERS)
    floor.until(lambda: floor.are_closed(first, second, third))
    project, main = floor.project, floor.project.git("rev-parse", "main")
    assert project.commits(f"task/{third.id}", f"task/{second.id}") == [("C", ["C.txt", "seen-C"])]
    assert project.commits(f"task/{second.id}", f"task/{first.id}") == [("B", ["B.txt", "seen-B"])]
    assert project.commits(f"task/{first.id}", main) == [("A", ["A.txt", "seen-A"])]
    assert project.text(f"task/{third.id}", "seen-C").split() == ["A.txt", "B.txt", "shared.txt"]
    assert project.state() == floor.before
    ((_, told),) = project.turns("C")
    assert f"{second.id}:\n> B\n> B is there" in told


MERGES = f"""{{ grep -c '<<<<<<<' shared.txt; cat shared.txt; }} >seen
echo both >shared.txt
{report("completed", "Both of them")}"""


@pytest.fixture
def torn(floor) -> tuple[Floor, list[Task], Ask]:
    """Make two tasks that changed the same line, and one that needs both."""
    left = floor.task("Left", f"echo left >shared.txt\n{report('completed', 'Left')}")
    right = floor.task("Right", f"echo right >shared.txt\n{report('completed', 'Right')}")
    both = floor.task("Both", MERGES, needs=[left.id, right.id])
    floor.start(slots=2)
    ask = floor.wait_for_ask(f"What {both.id} needs cannot be merged into one branch")
    assert ask.question.kind == "choice" and ask.question.options == (AGAIN, MARKERS, STOP)
    assert all(word in ask.activity for word in (left.id, right.id, "shared.txt"))
    floor.until(lambda: floor.get(both).state == "awaiting_input")
    return floor, [left, right, both], ask


@pytest.mark.proves("TASK-225")
def test_agent_gets_the_conflict_if_a_person_says_so(torn):
    floor, (left, right, both), ask = torn
    floor.answer(ask, MARKERS)
    floor.until(lambda: floor.are_closed(left, right, both))
    project, branch = floor.project, f"task/{both.id}"
    seen = project.text(branch, "seen").splitlines()
    assert seen[0] == "1" and {"left", "right", "======="} <= set(seen)
    own = project.git("diff", "--name-only", f"{branch}^", branch).split()
    assert own == ["seen", "shared.txt"] and project.text(branch, "shared.txt") == "both"
    ((_, told),) = project.turns("Both")
    assert "merged with conflicts" in told and "shared.txt" in told


@pytest.mark.proves("TASK-226")
def test_person_repairs_a_conflict(torn):
    floor, (left, right, both), ask = torn
    floor.answer(ask, AGAIN)
    floor.until(lambda: not floor.store.asks.get(ask.id).pending)
    again = floor.wait_for_ask("cannot be merged")
    assert again.id != ask.id
    run = floor.store.runs.get(floor.get(right).run)
    words = ("merge", "-q", "-X", "ours", "-m", "Mended", f"task/{left.id}")
    floor.project.git(*words, folder=run.folder)
    floor.answer(again, AGAIN)
    floor.until(lambda: floor.are_closed(both))
    seen = floor.project.text(f"task/{both.id}", "seen").splitlines()
    assert seen == ["0", "right"]


@pytest.mark.proves("TASK-227")
def test_task_whose_needs_conflict_can_be_given_up(torn):
    floor, (left, right, both), ask = torn
    floor.answer(ask, STOP)
    floor.until(lambda: floor.get(both).state == "failed")
    assert floor.get(both).status == "what it needs could not be merged"
    assert floor.are_closed(left, right)
    assert floor.project.git("branch", "--list", f"task/{both.id}") == ""
