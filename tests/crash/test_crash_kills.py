"""Workers that are killed at random moments, and a ledger of the results they received."""

from __future__ import annotations

import os
import random

import pytest
from crew import Crew
from nursery import Nursery
from telling import tell

ROLES = {
    "asker-1": "asker", "asker-2": "asker",
    "answerer-1": "answerer", "answerer-2": "answerer", "answerer-3": "answerer",
    "taker-1": "taker", "taker-2": "taker",
}  # fmt: skip
MAX_LIFE_SECONDS = 0.05


@pytest.mark.proves("CRASH-4")
def test_confirmed_changes_outlive_every_kill(whole, tmp_path, capsys):
    seed = int(os.environ.get("CRASH_SEED") or random.randrange(2**32))
    dice = random.Random(seed)
    path = str(tmp_path / "store" / "gate.db")
    kills = 1000 if whole else 60
    with Nursery() as nursery:
        crew = Crew(nursery, path, dice, ROLES)
        for _ in range(kills):
            crew.listen(dice.uniform(0, MAX_LIFE_SECONDS))
            crew.replace_somebody()
        crew.kill_all()
    tell(
        capsys,
        f"CRASH_SEED={seed}: {kills} kills, {crew.interrupted} of them in the middle of a verb; "
        f"confirmed: {crew.ledger.counts()}",
    )
    assert list(crew.ledger.compare(path)) == []
