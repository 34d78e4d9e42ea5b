"""A kill, or a stop longer than the lease, at every point of a run with a lasting effect."""

from __future__ import annotations

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

import pytest
from nursery import Nursery
from plays import ARTICLE, BEGINS, CHAOS, MOST, STOP, WAITS, Piece, Play, Point, find_unstruck
from points import differences
from telling import tell

AT_ONCE = 3
DEEP = 8


class Theatre:
    """Performs the same run many times, and compares the outcomes."""

    def __init__(self, nursery: Nursery, folder: Path, piece: Piece = CHAOS) -> None:
        self._nursery, self._folder, self._piece = nursery, folder, piece
        self._numbers = count()
        first = self._play()
        self._undisturbed = first.perform()
        self.points = first.passed
        assert self._undisturbed["wrong"] == []

    def _play(self) -> Play:
        return Play(self._nursery, self._folder / str(next(self._numbers)), self._piece)

    def perform(self, *struck: Point) -> tuple[int, str]:
        """Return the number of strikes, and the differences to the outcome without strikes."""
        play = self._play()
        try:
            wrong = differences(play.perform(*struck), self._undisturbed)
            wrong = wrong or find_unstruck(struck, len(play.struck), play.passed)
        except AssertionError as error:
            wrong = repr(error)
        return len(play.struck), wrong and f"{struck} {play.struck}: {wrong}"

    def perform_all(self, strikes: list[tuple[Point, ...]]) -> tuple[int, list[str]]:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            done = list(pool.map(lambda struck: self.perform(*struck), strikes))
        return sum(hit for hit, _ in done), [wrong for _, wrong in done if wrong]


@pytest.fixture(scope="module")
def theatre(tmp_path_factory) -> Iterator[Theatre]:
    with Nursery("flow_jobs.py") as nursery:
        yield Theatre(nursery, tmp_path_factory.mktemp("plays"))


@pytest.mark.proves("RUN-500", "LAW-5", "LAW-7")
def test_kill_at_any_point_never_changes_a_runs_result(theatre, whole, capsys):
    points = range(1, theatre.points + 1, 1 if whole else 11)
    hit, wrong = theatre.perform_all([(Point(number),) for number in points])
    tell(capsys, f"{theatre.points} points, {hit} of {len(points)} killed")
    assert wrong == []
    assert hit >= MOST * len(points)


@pytest.mark.proves("RUN-501")
def test_kill_during_recovery_changes_nothing(theatre, whole, capsys):
    dice = random.Random(5)
    pairs = [
        (Point(dice.randint(1, theatre.points)), Point(dice.randint(1, theatre.points // 2)))
        for _ in range(DEEP * 20 if whole else DEEP)
    ]
    hit, wrong = theatre.perform_all(pairs)
    tell(capsys, f"{len(pairs)} times killed again while recovering: {hit} kills")
    assert wrong == []
    assert hit > len(pairs)


@pytest.mark.proves("RUN-502")
def test_driver_paused_beyond_its_lease_spoils_nothing(theatre, whole, capsys):
    points = range(3, theatre.points + 1, 1 if whole else 15)
    strikes = [(Point(number, STOP, wakes=BEGINS if number % 2 else WAITS),) for number in points]
    hit, wrong = theatre.perform_all(strikes)
    tell(capsys, f"{theatre.points} points, {hit} of {len(points)} stopped and overtaken")
    assert wrong == []
    assert hit >= MOST * len(points)


@pytest.mark.proves("PHASE-30", "S1-12", "S1-B13", "S1-P3", "S1-P4", "LAW-5")
def test_kill_at_any_point_never_changes_a_phase_workflow(tmp_path_factory, whole, capsys):
    with Nursery("flow_jobs.py") as nursery:
        theatre = Theatre(nursery, tmp_path_factory.mktemp("article"), ARTICLE)
        points = range(1, theatre.points + 1, 1 if whole else 4)
        hit, wrong = theatre.perform_all([(Point(number),) for number in points])
        tell(capsys, f"{theatre.points} points, {hit} of {len(points)} killed")
        assert wrong == []
        assert hit == len(points)
        stops = [(Point(number, STOP),) for number in points[:: 1 if whole else 4]]
        _, wrong = theatre.perform_all(stops)
        assert wrong == []
