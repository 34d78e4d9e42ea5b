"""Commands that speak to a server load neither a store, nor its services, nor slow modules."""

from __future__ import annotations

import subprocess
import sys

import pytest
from bench.hot import SLOW_MODULES
from tests.support.hook_session import Session
from tests.support.server_world import server_world
from tests.support.waiting import eventually

__all__ = ["server_world"]

_ALLOWED = {
    "gatebell.services",
    "gatebell.services.permissions",
    "gatebell.services.permissions.judge_line",
    "gatebell.services.permissions.same_call",
}
_NOT_LOADED = (
    *SLOW_MODULES,
    "apsw",
    "urllib",
    "urllib.parse",
    "http",
    "ssl",
    "importlib.resources",
    "gatebell.adapters.sqlite",
)
_CODE = (
    "import sys; from gatebell.cli.main import main; code = main(sys.argv[1:]); "
    "print('LOADED', *sys.modules, file=sys.stderr); sys.exit(code)"
)


@pytest.mark.proves("REMOTE-11")
def test_hot_remote_commands_load_no_store(server_world):
    asked, answered = server_world.ask("Which?"), server_world.ask("Known?")
    assert server_world.ada.gate("answer", answered, "x").code == 0
    stop = Session(server_world).event("Stop")
    agent, ada = server_world.agent.environ, server_world.ada.environ
    for words, environ, text in (
        (["ask", "Q?", "--no-wait"], agent, ""),
        (["answer", asked, "x", "--as", "ada"], ada, ""),
        (["inbox"], ada, ""),
        (["wait", answered], agent, ""),
        (["hook", "claude"], agent, stop),
    ):
        ran = subprocess.run(
            [sys.executable, "-c", _CODE, *words], env=environ, input=text, capture_output=True,
            text=True, check=False, timeout=60,
        )  # fmt: skip
        assert ran.returncode == 0, ran.stderr
        loaded = set(ran.stderr.rpartition("LOADED ")[2].split())
        services = {name for name in loaded if name.startswith("gatebell.services")}
        assert not services - _ALLOWED, (words, services - _ALLOWED)
        assert not loaded & set(_NOT_LOADED), (words, loaded & set(_NOT_LOADED))


@pytest.mark.proves("REMOTE-11")
def test_hook_about_a_call_loads_no_store(server_world):
    session = Session(server_world)
    asked = session.start(session.event("PermissionRequest", tool_input={"command": "git push"}))
    ask = eventually(
        lambda: [one for one in server_world.store.asks.pending(9) if one.question.call]
    )[0]
    assert server_world.ada.gate("answer", ask.id, "yes", "--for", "9").code == 0
    asked.communicate(timeout=60)
    ran = subprocess.run(
        [sys.executable, "-c", _CODE, "hook", "claude"], env=server_world.plain.environ,
        input=session.event("PermissionRequest", tool_input={"command": "git push"}),
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert '"allow"' in ran.stdout
    loaded = set(ran.stderr.rpartition("LOADED ")[2].split())
    assert not {name for name in loaded if name.startswith("gatebell.services")} - _ALLOWED
    assert not loaded & set(_NOT_LOADED)
