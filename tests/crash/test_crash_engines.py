"""Every engine under kills, stops, partitions and restarts that overlap, on two hosts."""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from contextlib import closing

import pytest
from engine_backends import LOCAL, PROCRASTINATE, SQLITE, TEMPORAL, Backend
from engine_chaos import Hosts, judge
from nursery import Nursery
from telling import tell
from travel_chaos import TravellingHosts, judge_journeys

from gatebell.app import wiring

FEW = {
    SQLITE: Counter(kill=2, stop=1, silence=1),
    LOCAL: Counter(kill=1, refuse=1, postgres=1),
    PROCRASTINATE: Counter(kill=4, stop=2, silence=1, partition=1, stall=1, postgres=1),
    TEMPORAL: Counter(kill=1, stall=1, temporal=1),
}
_NETWORK = Counter(partition=15, cut=20, stall=15, freeze=10, refuse=15, postgres=20)
MANY = {
    SQLITE: Counter(kill=100, stop=20, silence=10),
    LOCAL: _NETWORK + Counter(kill=50, stop=15, silence=10),
    PROCRASTINATE: _NETWORK + Counter(kill=200, stop=25, silence=15),
    TEMPORAL: _NETWORK + Counter(kill=50, stop=15, silence=10, temporal=20),
}
FEW_TRAVELLING = Counter(kill=2, partition=1)
MANY_TRAVELLING = Counter(
    kill=60, stop=10, silence=5, partition=10, cut=5, stall=5, freeze=5, refuse=5, postgres=5
)
LONGEST_SECONDS = 840.0
REPORT_SECONDS = 60.0
ENDED_WITHIN_SECONDS = 180.0


@pytest.fixture(params=[SQLITE, LOCAL, PROCRASTINATE, TEMPORAL])
def backend(request, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("GATE_KEY_FILE", str(tmp_path / "keys.json"))
    made = Backend(request.param, tmp_path)
    yield made
    made.close()


@pytest.mark.proves("ENG-17", "LAW-5")
def test_every_run_ends_once_on_its_host(whole, backend, tmp_path, capsys):
    faults = (MANY if whole else FEW)[backend.kind]
    with Nursery("engine_jobs.py") as nursery:
        hosts = Hosts(nursery, backend, tmp_path / "hosts", _throw_dice(backend.kind, capsys))
        _let_rage(hosts, backend, faults, capsys)
        assert list(judge(backend.path, hosts)) == []


@pytest.mark.proves("HOST-40", "ENG-17", "LAW-5")
@pytest.mark.parametrize("backend", [PROCRASTINATE], indirect=True)
def test_runs_that_travel_end_once(whole, backend, tmp_path, capsys):
    faults = MANY_TRAVELLING if whole else FEW_TRAVELLING
    with Nursery("engine_jobs.py") as nursery:
        dice = _throw_dice("travelling", capsys)
        hosts = TravellingHosts(nursery, backend, tmp_path / "hosts", dice)
        _let_rage(hosts, backend, faults, capsys)
        problems, travelled = judge_journeys(backend.path, hosts)
        tell(capsys, f"{travelled} of {len(hosts.started)} runs were driven on both hosts")
        assert problems == []


def _throw_dice(what, capsys):
    seed = int(os.environ.get("CRASH_SEED") or random.randrange(2**32))
    tell(capsys, f"{what}, CRASH_SEED={seed}")
    return random.Random(seed)


def _let_rage(hosts, backend, wanted, capsys):
    """Let all processes work under these faults, and wait until all runs have ended."""
    faults = wanted.copy()
    if not backend.cables and faults.pop("partition", 0):
        tell(capsys, "networks are not permitted here: no partition by the kernel was tried")
    tell(capsys, f"{dict(faults)} are wanted")
    hosts.begin()
    began = told = time.monotonic()
    for seconds in hosts.rage(faults, LONGEST_SECONDS):
        if time.monotonic() > told + REPORT_SECONDS:
            told = time.monotonic()
            done = f"{dict(hosts.counts)}, {dict(hosts.said)}"
            tell(capsys, f"after {seconds / 60:.0f} min: {done}")
    hosts.calm_down()
    calm_at = time.monotonic()
    with closing(wiring.open_store(backend.path)) as store:
        hosts.wait_for_ends(store, ENDED_WITHIN_SECONDS)
    tell(
        capsys,
        f"{dict(hosts.counts)} in {calm_at - began:.0f} s; {dict(hosts.said)}; "
        f"the last run ended {time.monotonic() - calm_at:.0f} s later",
    )
