"""How many parent processes are read, and the result when one cannot be read."""

from __future__ import annotations

import builtins
import errno
import io
import os
import shutil
import subprocess
import sys

import pytest

from gatebell.app import environment
from gatebell.domain.people.principals import (
    GONE,
    OF_ANOTHER_USER,
    UNREADABLE,
    Process,
    find_agent,
)

NEST = """
if [ "$1" -gt 0 ]; then shift_to=$(($1-1)); sh "$0" $shift_to; true
else "$PYTHON" -m gatebell answer "$ASK" yes; echo "code $?"; fi
"""


@pytest.mark.proves("HOOK-34", "LAW-3")
def test_agent_far_above_is_seen(world, tmp_path):
    ask_id = world.ask("Deploy?", "--kind", "approval")
    claude = shutil.copy(shutil.which("sh"), tmp_path / "claude")
    nest = tmp_path / "nest.sh"
    nest.write_text(NEST, encoding="utf-8")
    ran = subprocess.run(
        [claude, "-c", f"sh {nest} 70; true"], capture_output=True, text=True, check=True,
        env=world.plain.environ | {"PYTHON": sys.executable, "ASK": ask_id},
        cwd=world.plain.folder,
    )  # fmt: skip
    assert "code 7" in ran.stdout, ran
    assert world.get(ask_id).pending


class Table:
    """Write a process table like /proc: the parent of each process, or its read error."""

    def __init__(self, monkeypatch, parents, **kills):
        self.parents = parents
        self.kills = {int(pid[1:]): error for pid, error in kills.items()}
        monkeypatch.setattr(os, "getppid", lambda: 30)
        monkeypatch.setattr(os, "kill", self.kill)
        real = builtins.open
        monkeypatch.setattr(
            builtins, "open",
            lambda path, *words, **more: (
                self.read(str(path)) if str(path).startswith("/proc/") else real(path, *words, **more)
            ),
        )  # fmt: skip

    def read(self, path):
        pid = int(path.split("/")[2])
        if pid not in self.parents:
            raise OSError(errno.ENOENT, "no such file")
        stat = f"{pid} (sh ) x) S {self.parents[pid]} 1 1"
        return io.StringIO(stat if path.endswith("stat") else "sh\0-c\0")

    def kill(self, pid, number):
        assert number == 0
        if error := self.kills.get(pid):
            raise error


def seen():
    return [(process.pid, process.name) for process in environment.ancestors()]


@pytest.mark.proves("HOOK-34")
@pytest.mark.parametrize("last", [{1: 0}, {1: 1}, {1: 30}])
def test_chain_ends_at_the_first_process(monkeypatch, last):
    Table(monkeypatch, {30: 20, 20: 1} | last)
    assert seen() == [(30, "sh ) x"), (20, "sh ) x"), (1, "sh ) x")]


@pytest.mark.proves("HOOK-34")
@pytest.mark.parametrize(
    ("error", "name", "is_agent"),
    [
        (PermissionError(), OF_ANOTHER_USER, False),
        (None, UNREADABLE, True),
        (ProcessLookupError(), GONE, True),
    ],
)
def test_cut_chain_is_evidence(monkeypatch, error, name, is_agent):
    Table(monkeypatch, {30: 20}, p20=error)
    above = environment.ancestors()
    assert above[1:] == [Process(20, name, name)]
    assert bool(find_agent({}, above)) is is_agent
    assert f"20 {name}" in environment.caller({}, "cli").evidence["ancestors"]


@pytest.mark.proves("HOOK-34")
def test_orphan_is_looked_at_again(monkeypatch):
    """Its parent ended between two reads, so its new parent counts."""
    table = Table(monkeypatch, {30: 20, 1: 0}, p20=ProcessLookupError())
    looks = []

    def first():
        looks.append(1)
        if len(looks) > 1:
            table.parents[30] = 1
        return 30

    monkeypatch.setattr(os, "getppid", first)
    assert [pid for pid, _ in seen()] == [30, 1]


@pytest.mark.proves("HOOK-34")
def test_missing_proc_hides_nothing(monkeypatch):
    Table(monkeypatch, {})
    monkeypatch.setattr(environment, "sees_processes", lambda: False)
    assert seen() == []
