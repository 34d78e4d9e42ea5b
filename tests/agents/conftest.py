"""Real agent CLIs with a scripted model, installed once, each with its own home and network."""

from __future__ import annotations

import fcntl
import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.support.agent_house import House
from tests.support.agent_programs import PACKAGES, Network, find_programs
from tests.support.agent_terminal import AgentTerminal
from tests.support.programs import find_program

SLOW = Path(__file__).parent / "slow.txt"
_ran: list[str] = []


@pytest.fixture(scope="session")
def programs():
    """Return the pinned CLIs, from a cache folder of the tests."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    versions = "-".join(PACKAGES.values())
    folder = os.path.join(cache, "gatebell-tests", f"agents-{versions}")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (found := find_programs(folder)):
            npm = find_program("npm", "no real agent CLI was tried")
            wanted = [f"{name}@{version}" for name, version in PACKAGES.items()]
            quiet = ["--no-audit", "--no-fund", "--prefix", folder]
            ran = subprocess.run(
                [npm, "install", *quiet, *wanted], capture_output=True, text=True, check=False
            )
            found = find_programs(folder)
            if ran.returncode or not found:
                pytest.skip(f"npm could not install the agent CLIs: {ran.stderr[-300:]}")
    return found


@pytest.fixture(scope="session")
def network():
    return Network()


@pytest.fixture
def house(tmp_path, programs, network):
    made = House(tmp_path, programs, network)
    with made.model:
        yield made
        made.close()


@pytest.fixture
def terminal(house, tmp_path):
    find_program("tmux", "no agent's own screen was tried")
    made = AgentTerminal(house, f"agent-{os.getpid()}-{tmp_path.name}")
    yield made
    print(made.screen())  # shown when the test failed
    made.kill()


def pytest_runtest_logreport(report):
    if report.nodeid.startswith("tests/agents/") and (report.when == "call" or report.failed):
        name = report.nodeid.removeprefix("tests/agents/")
        _ran.append(f"{report.outcome} {report.duration:7.1f} s  {name}")


def pytest_sessionfinish(session):
    if session.config.option.whole and _ran:
        versions = ", ".join(f"{name} {version}" for name, version in PACKAGES.items())
        lines = [f"make slow, {datetime.now(UTC).date()}, {versions}", *_ran]
        SLOW.write_text("\n".join([*lines, ""]), encoding="utf-8")


def pytest_generate_tests(metafunc):
    if "rounds" in metafunc.fixturenames:
        metafunc.parametrize("rounds", [20 if metafunc.config.option.whole else 1])
