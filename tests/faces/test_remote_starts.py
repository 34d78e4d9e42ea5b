"""`gate run --detach` with a server: a worker on another machine has the checkout."""

from __future__ import annotations

import json

import pytest
from tests.support.server_world import server_world

from gatebell.domain.enums import MemberKind
from gatebell.services.members import Membership

__all__ = ["server_world"]

FLOW = "from gatebell import flow\n\n\n@flow\ndef greet(prompt):\n    return prompt\n"


@pytest.fixture(scope="module")
def project(server_world):
    folder = server_world.folder / "project" / ".gate"
    (folder / "flows").mkdir(parents=True)
    (folder / "flows" / "hello.py").write_text(FLOW)
    (folder / "project").write_text("shop\n")
    return folder.parent


@pytest.mark.proves("REMOTE-52", "RUN-574")
def test_started_run_stays_ready_without_a_worker(server_world, project):
    ran = server_world.ada.gate("run", "--detach", "hello", "Greet", "Ada", "--as", "ada")
    assert ran.code == 0, ran.err
    assert "A worker with a checkout of name:shop drives it" in ran.out
    assert "No living worker has a checkout of name:shop" in ran.err
    run = server_world.store.runs.newest(1)[0]
    assert ran.out.startswith(f"Run {run.id}: hello\n")
    assert (run.state, run.prompt, run.project_key) == ("ready", "Greet Ada", "name:shop")
    assert (run.host, run.folder, run.project, run.source) == ("", "", "", "")
    assert run.started_by == "person:ada" and len(run.source_digest) == 64
    shown = server_world.ada.gate("status", str(run.id)).out
    assert "It has no folder yet: 'gate worker' in a checkout of name:shop makes it." in shown
    resumed = server_world.ada.gate("resume", str(run.id), "--as", "ada")
    assert resumed.code == 7 and "a worker with a checkout of name:shop" in resumed.err
    started = server_world.store.audit.of_subject(run.name)[0].event
    assert (started.kind, started.actor) == ("run.started", "person:ada")


@pytest.mark.proves("REMOTE-52", "RUN-574")
def test_living_worker_needs_no_note(server_world, project):
    member = Membership(server_world.store, MemberKind.WORKER, "name:shop")
    try:
        words = ("run", "--detach", "nosuch", "x", "--json", "--as", "ada")
        ran = server_world.ada.gate(*words)
    finally:
        member.end()
    assert ran.code == 0 and "living worker" not in ran.err
    assert "this checkout has no flow nosuch" in ran.err
    said = json.loads(ran.out)
    assert (said["flow"], said["state"], said["source_digest"]) == ("nosuch", "ready", "")


@pytest.mark.proves("REMOTE-52")
def test_project_without_a_shared_key_is_named(server_world, project):
    plain = server_world.folder / "plain"
    plain.mkdir(exist_ok=True)
    words = ("run", "--detach", "--repo", str(plain), "hello", "--as", "ada")
    ran = server_world.ada.gate(*words)
    assert ran.code == 0 and "write its name into .gate/project" in ran.err


@pytest.mark.proves("REMOTE-52", "RUN-573")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("hello", "x"), "add --detach"),
        (("--detach", "--in-place", "hello"), "--in-place is about a folder of this machine"),
        (("--detach", "--with-changes", "hello"), "--with-changes is about a folder"),
        (("--detach", "--no-exec", "hello"), "--no-exec is about a folder"),
        (("--detach", "./hello.py"), "not by a path"),
    ],
)
def test_run_that_needs_this_machine_is_refused(server_world, project, words, said):
    before = len(server_world.store.runs.newest(99))
    ran = server_world.ada.gate("run", *words, "--as", "ada")
    assert ran.code == 2 and said in ran.err
    assert len(server_world.store.runs.newest(99)) == before


@pytest.mark.proves("REMOTE-52", "REMOTE-2")
def test_asking_token_and_agent_start_no_run(server_world, project):
    before = len(server_world.store.runs.newest(99))
    for shell in (server_world.agent, server_world.plain):
        ran = shell.gate("run", "--detach", "hello", "x")
        assert ran.code == 7, ran
    claude = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "s1"}
    found = server_world.shell("ada", **claude).gate("run", "--detach", "hello", "x")
    assert found.code == 7 and "only a person" in found.err
    assert len(server_world.store.runs.newest(99)) == before
