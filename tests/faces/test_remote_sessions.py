"""Session asks of a machine that has only a server, and where their sessions open."""

from __future__ import annotations

import subprocess
import sys

import pytest
from tests.support.people import a_person
from tests.support.run_records import add_run
from tests.support.server_world import server_world
from tests.support.waiting import eventually

from gatebell.domain.asks.asks import Origin
from gatebell.domain.asks.requests import Request
from gatebell.domain.sessions.visits import Terms
from gatebell.errors import RefusedError
from gatebell.services.asks import create_ask
from gatebell.services.sessions.session_place import must_be_of_this_host
from gatebell.testing import MemoryStore

__all__ = ["server_world"]

PROGRAM = """
from gatebell import Approval, Gate
human = Gate(agent="deployer").human
print(human.status)
result = human.ask_interactive(
    "Review the schema", returns=Approval, model="opus", system_prompt="Be brief", session_timeout=600,
    participants=["ada"], notify=["bob"], timeout=60, capture_transcript=True, max_attempts=2, cwd=".",
)
print(result.outcome, result.response, human.status)
for refused in (lambda: human.request_interactive("x", {"mcp_config": __file__}), lambda: human.claim("a-2")):
    try:
        refused()
    except Exception as error:
        print(type(error).__name__, error)
"""


def the_session(store):
    return next((ask for ask in store.asks.pending(99, None) if ask.question.session), None)


@pytest.mark.proves("REMOTE-53")
def test_program_asks_for_a_session(server_world, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    environ = server_world.plain.environ | {"GATE_HOST": "laptop"}
    ran = subprocess.Popen(
        [sys.executable, program], env=environ, cwd=server_world.plain.folder,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    ask = eventually(lambda: the_session(server_world.store))
    assert ask.question.kind == "session"
    assert ask.question.session == Terms(
        "approval", "Be brief", "opus", ".", "", 600, capture_transcript=True, max_attempts=2
    )
    assert "ada" in str(ask.question.requirement) and ask.deadlines.escalations[0].who == "bob"
    opened = server_world.store.audit.of_subject(ask.id)[0].event
    assert opened.content["host"] == "laptop"
    assert server_world.ada.gate("answer", ask.id, "yes", "--as", "ada").code == 0
    out, err = ran.communicate(timeout=60)
    assert out.startswith("idle\ncompleted approved resolved\n"), err
    assert "UsageError mcp_config and resume_session name a file" in out
    assert "UsageError this needs a store on this machine" in out


@pytest.mark.proves("REMOTE-53")
def test_continue_says_where_a_session_opens(server_world):
    agent = server_world.shell("agent", GATE_HOST="laptop")
    ask_id = server_world.ask("Drop it?", "--session", "--kind", "approval", shell=agent)
    refused = server_world.ada.gate("continue", ask_id, "--as", "ada")
    assert refused.code == 7
    assert f"on laptop: run gate continue {ask_id} there" in refused.err
    assert f"gate answer {ask_id}" in refused.err and "has only http://" in refused.err
    with pytest.raises(RefusedError, match=f"on laptop: run gate continue {ask_id} there"):
        must_be_of_this_host(server_world.store, server_world.get(ask_id))


@pytest.mark.proves("REMOTE-53")
def test_continue_names_the_host_of_a_run(server_world):
    run = add_run(server_world.store, state="waiting_human", host="build-7")
    ask = server_world.web.ask("Which way?", owner=run.name)
    refused = server_world.ada.gate("continue", ask.id, "--as", "ada")
    assert refused.code == 7 and f"on build-7: run gate continue {ask.id} there" in refused.err


@pytest.mark.proves("REMOTE-53")
def test_session_in_a_shared_folder_opens_here(tmp_path):
    store, caller = MemoryStore(), a_person()
    request = Request("Look?", "session", session=Terms())
    here = create_ask.ask(store, request, Origin(cwd=str(tmp_path)), caller).ask
    must_be_of_this_host(store, here)
    other = caller._replace(evidence={"host": "ci-7"})
    shared = create_ask.ask(store, request, Origin(cwd=str(tmp_path), owner="x"), other).ask
    must_be_of_this_host(store, shared)
    away = create_ask.ask(store, request, Origin(cwd="/no/such/folder"), other).ask
    with pytest.raises(RefusedError, match="works in /no/such/folder on ci-7"):
        must_be_of_this_host(store, away)
