"""An agent in a slow tool whose worker is killed, while the process table is watched."""

from __future__ import annotations

import threading
from collections import defaultdict
from contextlib import closing
from pathlib import Path
from typing import Self

from nursery import Nursery
from plays import Stage, get_run, until

from gatebell.app import wiring


class Sampler:
    """Reads the process table without a pause: which turns work in each session."""

    def __init__(self) -> None:
        self.together: set[frozenset[str]] = set()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look_on)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look_on(self) -> None:
        while not self._over.is_set():
            turns = defaultdict(set)
            for process in Path("/proc").glob("[0-9]*"):
                turn, session = _marks(process)
                if session and not _waits_to_begin(process):
                    turns[session].add(turn)
            self.together |= {frozenset(at_work) for at_work in turns.values()}


def _marks(process: Path) -> tuple[str, str]:
    try:
        variables = (process / "environ").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return "", ""
    named = dict(variable.partition("=")[::2] for variable in variables)
    return named.get("GATE_TURN", ""), named.get("GATE_SESSION", "")


def _waits_to_begin(process: Path) -> bool:
    """Return whether the shell has not yet started the agent's program."""
    try:
        return b"IFS= read" in (process / "cmdline").read_bytes()
    except OSError:
        return True


def is_used_once(stage: Stage, *, tied: bool) -> None:
    """Kill the worker while its agent is in the tool, and let another take over the run."""
    with (
        Nursery("flow_jobs.py") as nursery,
        closing(wiring.open_store(stage.path)) as store,
        Sampler() as sampler,
    ):
        run_id = stage.start(store)
        worker = nursery.start("work", path=stage.path, tied=tied)
        worker.go()
        until(stage.starts)
        until(lambda: sampler.together)
        worker.kill()
        nursery.start("work", path=stage.path, tied=tied).go()
        until(lambda: get_run(store, run_id).has_ended)
        turns = store.runs.turns(run_id)
        assert get_run(store, run_id).result == "the tool is done"
    assert [effect.name for effect in stage.effects()] == ["tool"]
    assert len(stage.starts()) == len(turns) == 2
    assert {turn.session for turn in turns} == {turns[0].session}
    assert sampler.together >= {frozenset([turn.id]) for turn in turns}
    assert frozenset(turn.id for turn in turns) not in sampler.together
