"""Real gemini, opencode and copilot, installed once by npm, against a local model."""

from __future__ import annotations

import fcntl
import os
import subprocess

import pytest
from tests.support.agent_programs import Network
from tests.support.host_stage import HOST_PACKAGES, HOSTS, HostStage, find_host
from tests.support.programs import find_program


@pytest.fixture(scope="session")
def folder():
    """Install the pinned packages into a cache folder of the tests, and return it."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    versions = "-".join(HOST_PACKAGES.values())
    made = os.path.join(cache, "gatebell-tests", f"hosts-{versions}")
    os.makedirs(made, exist_ok=True)
    with open(os.path.join(made, "lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not all(find_host(made, cli) for cli in HOSTS):
            npm = find_program("npm", "no other host was tried")
            wanted = [f"{name}@{version}" for name, version in HOST_PACKAGES.items()]
            quiet = ["--no-audit", "--no-fund", "--prefix", made]
            subprocess.run([npm, "install", *quiet, *wanted], capture_output=True, check=False)
    return made


@pytest.fixture(scope="session")
def network():
    return Network()


@pytest.fixture(params=list(HOSTS))
def stage(request, tmp_path, folder, network):
    cli = request.param
    if not (program := find_host(folder, cli)):
        pytest.skip(f"npm could not install {HOSTS[cli].package}: {cli} was not tried")
    if program.endswith(".js"):
        find_program("node", f"{cli} was not tried")
    made = HostStage(tmp_path, cli, program, network)
    with made.model:
        yield made
        made.close()
