"""Two hosts that continue each other's runs by way of a remote, under the faults of engine_chaos."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from engine_backends import HOSTS
from engine_chaos import LEASE_SECONDS, RUNS_AT_ONCE, WORKERS, Hosts, was_started
from plays import STAGE, Piece, Stage, violations
from tests.support.git_project import git

from gatebell.app import wiring
from gatebell.services.audit import verify

JOURNEY = Piece("journey", ["arrive", "leave", "stay"], {"main": ["leave", "stay", "arrive"]})


class Ledgers(Stage):
    """What the steps of one run wrote outside of its folder."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)


class TravellingHosts(Hosts):
    """Each host has a clone, and sends the runs that wait to the remote."""

    def begin(self) -> None:
        source = self._folder / "source"
        (source / ".gate" / "flows").mkdir(parents=True)
        (source / ".gate" / "project").write_text("errands\n")
        shutil.copy(STAGE / "journey.py", source / ".gate" / "flows")
        git(source, "init", "-q", "-b", "main")
        git(source, "add", ".")
        git(source, "commit", "-qm", "begin")
        git(self._folder, "clone", "-q", "--bare", source, self._folder / "remote.git")
        for host in HOSTS:
            (self._folder / host).mkdir()
            git(self._folder / host, "clone", "-q", self._folder / "remote.git", "clone")
            self._add(
                f"starter of {host}", "engine_starter", environ=self._environ(host),
                folder=str(self._folder / host / "ledgers"), at_once=RUNS_AT_ONCE, in_pool=False,
                clone=self._find_clone(host),
            )  # fmt: skip
        self._add("person", "engine_person", path=self._backend.path)
        for name in WORKERS:
            self._start_worker(name)

    def _find_clone(self, host: str) -> str:
        return str(self._folder / host / "clone")

    def _environ(self, host: str) -> dict[str, str]:
        own = {"XDG_DATA_HOME": str(self._folder / host / "data"), "GATE_TRAVEL": "origin"}
        return super()._environ(host) | own

    def _start_worker(self, name: str) -> None:
        host = WORKERS[name]
        self._add(
            name, "engine_worker", environ=self._environ(host), lease=LEASE_SECONDS,
            project=self._find_clone(host), tied=True,
        )  # fmt: skip


def judge_journeys(path: str, hosts: Hosts) -> tuple[list[str], int]:
    """Return every broken rule, and how many runs were driven on both hosts."""
    with closing(wiring.open_store(path)) as store:
        runs = {run.id: run for run in store.runs.newest(1_000_000) if was_started(run)}
        found = [*hosts.problems, *verify(store)]
        found += [f"run {one} was confirmed and is lost" for one in set(hosts.started) - set(runs)]
        travelled = 0
        for run in runs.values():
            ledgers = Ledgers(run.prompt)
            events = Counter(entry.event.kind for entry in store.audit.of_subject(run.name))
            broken: Iterator[str] = violations(store, ledgers, run.id, JOURNEY)
            # Each host sets its folder up, as call 0.
            found += [f"run {run.id}: {one}" for one in broken if one[:15] != "0 was recorded "]
            if sum(events[f"run.{kind}"] for kind in ("completed", "stuck", "failed")) != 1:
                found.append(f"run {run.id} did not end once: {events}")
            travelled += len(ledgers.hosts()) == len(HOSTS)
    return found, travelled
