"""`gate hook`: the events of a host on stdin, and the replies on stdout."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time

import pytest
from tests.support.hook_session import Session, decision, the_ask, wait_for_end

from gatebell.adapters.agents import session_logs
from gatebell.app import wiring
from gatebell.domain.asks.asks import Origin
from gatebell.domain.permissions.calls import make_call
from gatebell.domain.runs.journals import Carried
from gatebell.domain.runs.runs import Run, RunChange, Turn
from gatebell.domain.runs.session_log import Step


@pytest.fixture
def session(world):
    return Session(world)


@pytest.mark.proves("AGT-1", "AGT-3", "AGT-17", "AGT-27")
def test_permission_request_is_decided_in_the_inbox(world, session):
    session.writes("user", {"type": "text", "text": "ship it, api_key=hunter2222"})
    session.writes("assistant", {"type": "text", "text": "Tests are green."})
    session.calls("git push")
    asked = session.start(session.event("PermissionRequest"), "--limit", "60")
    ask = the_ask(world)
    assert ask.origin.session == "claude/s1" and ask.origin.tool_use_id == "t1"
    shown = world.plain.gate("show", ask.id).out
    for part in (
        "Run this command? git push", "command: git push", "ship it, api_key=‹hidden›",
        "Tests are green.", "the asker's host enforces it",
    ):  # fmt: skip
        assert part in shown, part
    assert "hunter2222" not in shown
    assert world.claude.gate("answer", ask.id, "yes").code == 7
    assert world.ada.gate("answer", ask.id, "no", "--note", "use stash").code == 0
    assert decision(wait_for_end(asked)) == {
        "behavior": "deny", "message": "A person said no to this: use stash"
    }  # fmt: skip
    assert world.get(ask.id).delivered_to == "agent:claude/s1#", "the host gave no id"


@pytest.mark.proves("RUN-367")
def test_flow_turn_asks_its_driver_and_people_the_inbox(world, session):
    now = world.store.now()
    new = Run(0, "feature", "f.py", "", "", "/p", "person:ada", now)
    run = world.store.runs.add(new, [], Carried())
    agents = Turn("t-1", run.id, "1", 1, "coder", "claude", "s1", "", now)
    persons = agents._replace(id="t-2", session="s2", by="person:ada")
    assert world.store.runs.change(RunChange(run, turns=(agents, persons)), run)
    session.world.plain.environ["GATE_TURN"] = "t-1"
    assert session.hook(session.event("PermissionRequest")) == (0, "", "")
    session.world.plain.environ["GATE_TURN"] = "t-unknown"
    assert session.hook(session.event("PermissionRequest")) == (0, "", "")
    session.world.plain.environ["GATE_TURN"] = "t-2"
    asked = session.start(session.event("PermissionRequest"), "--limit", "60")
    ask = the_ask(world)
    assert ask.origin.owner == "", "it is no ask of the run"
    world.ada.gate("answer", ask.id, "no")
    assert decision(wait_for_end(asked))["behavior"] == "deny"


@pytest.mark.proves("HOOK-30")
def test_pattern_grant_asks_about_files_outside(world, session):
    def write(path):
        given = {"file_path": str(path), "content": "x"}
        event = session.event("PermissionRequest", "Write", given, tool_use_id=path.name)
        return session.start(event, "--limit", "60")

    asked = write(world.plain.folder / "a.md")
    scope = ("--for", "session", "--pattern", "Write(*.md)")
    assert world.ada.gate("answer", the_ask(world).id, "yes", *scope).code == 0
    assert decision(wait_for_end(asked)) == {"behavior": "allow"}
    assert decision(wait_for_end(write(world.plain.folder / "b.md"))) == {"behavior": "allow"}
    beyond = write(world.folder / "evil.md")
    world.ada.gate("answer", the_ask(world).id, "no")
    assert decision(wait_for_end(beyond))["behavior"] == "deny"


@pytest.mark.proves("AGT-2")
def test_edited_command_is_shown_as_edited(world, session):
    asked = session.start(session.event("PermissionRequest"))
    ask = the_ask(world)
    assert world.ada.gate("answer", ask.id, "no", "--with", "ls").code == 2
    for wrong in ('{"command": 3', '{"cmd": "x"}', "{ ls; }"):
        assert world.ada.gate("answer", ask.id, "yes", "--with", wrong).code == 2
    # A wrong word is refused, kept, and shown like every other.
    assert world.ada.gate("answer", ask.id, "sure").code == 7
    assert "│ sure" in world.plain.gate("show", ask.id).out
    assert world.ada.gate("answer", ask.id, "yes", "--with", "git push --dry-run").code == 0
    assert decision(wait_for_end(asked)) == {
        "behavior": "allow", "updatedInput": {"command": "git push --dry-run"}
    }  # fmt: skip
    shown = world.plain.gate("show", ask.id).out
    assert "Edited: this runs instead\n│ command: git push --dry-run" in shown


@pytest.mark.proves("AGT-2")
@pytest.mark.parametrize("cli", ["claude", "codex"])
def test_agent_makes_the_edited_call_where_hosts_take_none(world, session, cli):
    """Claude Code takes no edit that is gated itself, Codex none at all."""
    session.cli = cli
    if cli == "claude":
        world.plain.gate("gates", "add", "Bash(git push *)")
    asked = session.start(session.event("PermissionRequest"))
    world.ada.gate("answer", the_ask(world).id, "yes", "--with", "git push --dry-run")
    said = decision(wait_for_end(asked))
    assert said["behavior"] == "deny" and '{"command":"git push --dry-run"}' in said["message"]
    made = session.event("PermissionRequest", tool_input={"command": "git push --dry-run"})
    assert decision(session.hook(made).out) == {"behavior": "allow"}
    again = session.start(made)
    assert the_ask(world).question.call.command == "git push --dry-run", "it was for once"
    again.terminate()
    assert wait_for_end(again) == ""


@pytest.mark.proves("AGT-14")
def test_host_that_ends_the_hook_has_decided_itself(world, session):
    asked = session.start(session.event("PermissionRequest"))
    ask = the_ask(world)
    asked.terminate()
    assert wait_for_end(asked) == ""
    assert world.get(ask.id).note == "answered in the terminal"


@pytest.mark.proves("FLT-16")
@pytest.mark.parametrize("way", ["ended hook", "killed hook", "result in the log"])
def test_record_of_an_unattended_call_names_no_person(world, session, way):
    world.plain.environ["CLAUDE_CODE_SESSION_ATTENDED"] = "0"
    session.calls("git push")
    asked = session.start(session.event("PermissionRequest"))
    ask = the_ask(world)
    if way == "ended hook":
        asked.terminate()
    elif way == "killed hook":
        asked.kill()
        asked.communicate()
        session.ends()
        session.hook(session.event("SessionEnd"))
    else:
        session.ends()
    asked.communicate()
    assert world.get(ask.id).note == "claude -p went on without a decision"


@pytest.mark.proves("FLT-21")
def test_ask_whose_hook_was_killed_is_marked(world, session):
    asked = session.start(session.event("PermissionRequest"))
    ask = the_ask(world)
    assert "asker is gone" not in world.plain.gate("inbox").out
    asked.kill()
    asked.communicate()
    assert "[asker is gone]" in world.plain.gate("inbox").out
    said = world.ada.gate("answer", ask.id, "yes").out
    assert "counts only if the agent makes the same call again" in said


@pytest.mark.proves("AGT-14")
def test_log_that_is_late_is_waited_for(session, monkeypatch):
    call = make_call("Bash", {"command": "git push"})
    logs = iter([[], [], [Step("call", "", "Bash", {"command": "git push"}, "t1")]])
    monkeypatch.setattr(session_logs, "read", lambda *_: next(logs, []))
    origin = Origin("/p", "/p", "claude", "claude/s1", "", "person:ada")
    before = signal.getsignal(signal.SIGTERM)
    try:
        for found in ("t1", ""):
            host = wiring.hook_host(call, origin, str(session.log), of_helper=False)
            assert host.find_call_id() == found
    finally:
        signal.signal(signal.SIGTERM, before)


@pytest.mark.proves("AGT-88")
def test_late_result_of_the_same_call_ends_no_wait(session, monkeypatch):
    """The log still shows the first call as open when the hook of the second one starts."""
    made = {"command": "git push"}
    first, second = (Step("call", "", "Bash", made, call_id) for call_id in ("t1", "t2"))
    denied = Step("result", "", call_id="t1", at="2026-01-01T00:00:00.000Z")
    ran = Step("result", "", call_id="t2", at="2999-01-01T00:00:00.000Z")
    log = [first]
    monkeypatch.setattr(session_logs, "read", lambda *_: log)
    origin = Origin("/p", "/p", "claude", "claude/s1", "", "person:ada")
    handler = signal.getsignal(signal.SIGTERM)
    try:
        host = wiring.hook_host(make_call("Bash", made), origin, str(session.log), of_helper=False)
        assert host.find_call_id() == "t1"
        for step, reason in ((denied, ""), (second, ""), (ran, "answered in the terminal")):
            log.append(step)
            session.log.write_text("x" * len(log), encoding="utf-8")
            assert host.find_reason_to_stop() == reason
    finally:
        signal.signal(signal.SIGTERM, handler)


@pytest.mark.proves("AGT-6", "AGT-8")
def test_yes_for_the_session_is_not_asked_again(world, session):
    asked = session.start(session.event("PermissionRequest"))
    ask = the_ask(world)
    assert world.ada.gate("answer", ask.id, "yes", "--pattern", "Bash(git *)").code == 2
    ran = world.ada.gate("answer", ask.id, "yes", "--for", "session")
    assert "gate grants" in ran.out
    assert decision(wait_for_end(asked)) == {"behavior": "allow"}
    assert decision(session.hook(session.event("PermissionRequest")).out) == {"behavior": "allow"}
    listed = world.plain.gate("grants").out
    assert "exactly Bash(git push)" in listed and "session claude/s1" in listed
    (grant,) = json.loads(world.plain.gate("grants", "--json").out)
    assert world.plain.gate("grants", "revoke").code == 2
    assert world.plain.gate("grants", "revoke", grant["id"]).code == 0
    assert "There are no grants" in world.plain.gate("grants").out
    again = session.start(session.event("PermissionRequest"))
    assert the_ask(world).id != ask.id
    again.kill()
    again.communicate()


@pytest.mark.proves("AGT-9", "AGT-11")
def test_gates_and_denials_are_listed_and_denials_are_final(world, session):
    assert "There are no gates" in world.plain.gate("gates").out
    assert world.claude.gate("gates", "deny", "Bash(git push *)").code == 0
    assert world.plain.gate("gates", "add", "Write(/etc/*)", "--project", ".").code == 0
    for wrong in (("expected a pattern",), ("bash(x)",), ("Write", "--project", "/nowhere")):
        assert world.plain.gate("gates", "add", *wrong).code == 2
    assert world.plain.gate("gates", "add").code == 2
    told = decision(session.hook(session.event("PermissionRequest")).out)
    assert told == {
        "behavior": "deny",
        "message": "A person denied this by a rule: Bash(git push *)",
    }
    listed = {one["kind"]: one for one in json.loads(world.plain.gate("gates", "--json").out)}
    assert listed["deny"]["project"] == "" and listed["ask"]["project"].endswith("project")
    assert "deny  Bash(git push *)" in world.plain.gate("gates", "list").out
    assert world.plain.gate("gates", "remove", listed["deny"]["id"]).code == 0
    assert world.plain.gate("gates", "remove", listed["deny"]["id"]).code == 5


@pytest.mark.proves("AGT-14")
def test_call_answered_in_the_terminal_leaves_the_inbox(world, session):
    session.calls("git push")
    asked = session.start(session.event("PermissionRequest"))
    ask = the_ask(world)
    session.ends()
    assert wait_for_end(asked) == ""
    after = world.get(ask.id)
    assert (after.status, after.note) == ("cancelled", "answered in the terminal")


@pytest.mark.proves("AGT-14")
@pytest.mark.parametrize("event", ["Stop", "UserPromptSubmit", "SessionEnd"])
def test_killed_hook_leaves_nothing_after_the_turn(world, session, event):
    session.calls("git push")
    asked = session.start(session.event("PermissionRequest"))
    ask = the_ask(world)
    asked.kill()
    asked.communicate()
    assert session.hook(session.event(event)).out == ""
    assert world.get(ask.id).pending, "the call has no result yet"
    session.ends()
    assert session.hook(session.event(event)).out == ""
    assert world.get(ask.id).status == "cancelled"


@pytest.mark.proves("HOOK-56")
def test_sub_agent_is_named_and_outlives_turns(world, session):
    helper = {"agent_id": "a0b91b961e6dca6f7", "agent_type": "general-purpose"}
    waits = session.start(session.event("PermissionRequest", **helper), "--limit", "60")
    ask = the_ask(world)
    assert ask.origin.agent == "claude sub-agent general-purpose dca6f7"
    assert ask.origin.session == "claude/s1"
    works = {"background_tasks": [{"id": helper["agent_id"], "type": "subagent"}]}
    for event in (
        session.event("Stop", **works),
        session.event("UserPromptSubmit"),
        session.event("Stop", agent_id="other", agent_type="x"),
    ):
        assert session.hook(event).out == ""
        assert world.get(ask.id).pending, event
    assert session.hook(session.event("Stop", background_tasks=[])).out == ""
    assert world.get(ask.id).status == "cancelled"
    wait_for_end(waits)


@pytest.mark.proves("HOOK-56")
def test_sub_agent_ends_no_question_of_its_parent(world, session):
    waits = session.start(session.event("PermissionRequest"), "--limit", "60")
    ask = the_ask(world)
    for event in ("UserPromptSubmit", "Stop"):
        session.hook(session.event(event, agent_id="a1", agent_type="default"))
    assert world.get(ask.id).pending
    session.hook(session.event("Stop"))
    assert world.get(ask.id).status == "cancelled"
    wait_for_end(waits)


@pytest.mark.proves("AGT-14")
def test_call_of_a_dead_agent_is_not_decided(world, session):
    event = world.folder / "event.json"
    event.write_text(session.event("PermissionRequest"), encoding="utf-8")
    host = subprocess.Popen(
        ["/bin/sh", "-c", '"$@" < "$0" & wait', str(event), *_command("hook", "claude")],
        env=world.plain.environ, cwd=world.plain.folder, stdout=subprocess.PIPE, encoding="utf-8",
    )  # fmt: skip
    ask = the_ask(world)
    host.kill()
    assert host.communicate(timeout=60)[0] == ""
    assert world.get(ask.id).note == "claude is gone"


def _command(*words):
    import sys

    return [sys.executable, "-m", "gatebell", *words]


@pytest.mark.proves("AGT-16")
def test_hosts_own_question_is_answered_from_the_inbox(world, session):
    asked = {"questions": [{"question": "Which?", "options": [{"label": "A"}, {"label": "B"}]}]}
    waits = session.start(session.event("PermissionRequest", "AskUserQuestion", asked))
    ask = the_ask(world)
    assert world.plain.gate("answer", ask.id, "--other", "neither").code == 0
    assert decision(wait_for_end(waits)) == {
        "behavior": "allow", "updatedInput": {**asked, "answers": {"Which?": "neither"}}
    }  # fmt: skip
    assert world.get(ask.id).delivered_at


@pytest.mark.proves("AGT-28", "AGT-27")
def test_write_outside_the_project_is_asked_about(world, session):
    (world.plain.folder / ".git").mkdir()
    (world.plain.folder / "link").symlink_to(world.folder)

    def before(path, *words):
        return session.hook(session.event("PreToolUse", "Write", {"file_path": path}), *words).out

    inside, outside = str(world.plain.folder / "a"), str(world.folder / "b")
    for path in (outside, "../b", "link/b", "~/b", "link/../b", "/", "/etc/passwd"):
        said = json.loads(before(path))["hookSpecificOutput"]
        assert said["permissionDecision"] == "ask", path
        where = os.path.realpath(world.plain.folder / path.replace("~", str(world.folder / "home")))
        assert where in said["permissionDecisionReason"]
    for cwd in ("/", str(world.folder / "home")):
        event = session.event("PreToolUse", "Write", {"file_path": f"{cwd}/x"}, cwd=cwd)
        assert "ask" in session.hook(event).out
    named = session.event("PreToolUse", "Write", {"file_path": outside}, cwd=str(world.folder))
    ran = world.plain.gate("hook", "claude", text=named, CLAUDE_PROJECT_DIR=str(world.plain.folder))
    assert "ask" in ran.out
    assert before(inside) == before("sub/a") == ""
    assert before(inside, "--guarded") == "{}\t\n"
    assert before(outside, "--guarded") == before(outside).removesuffix("\n") + "\t\n"
    assert session.hook(session.event("PreToolUse"), "--guarded").out == "{}\t\n"


@pytest.mark.proves("AGT-15")
def test_gated_call_is_put_off_until_it_is_decided(world, session):
    world.plain.gate("gates", "add", "Bash(git push *)")
    world.plain.environ["CLAUDE_CODE_SESSION_ATTENDED"] = "0"

    def before(command, call_id):
        event = session.event("PreToolUse", tool_input={"command": command}, tool_use_id=call_id)
        ran = session.hook(event, "--defer", "--guarded")
        said = json.loads(ran.out).get("hookSpecificOutput", {})
        return said.get("permissionDecision"), said.get("permissionDecisionReason", "")

    assert before("git pull", "t0") == (None, "")
    assert before("git push", "t1")[0] == "defer"
    ask = the_ask(world)
    assert before("git push --tags", "t2") == (
        "deny", f"held: {ask.id} is being decided; call this again afterwards"
    )  # fmt: skip
    assert world.ada.gate("answer", ask.id, "yes", "--with", "git push -n").code == 0
    event = session.event("PreToolUse", tool_use_id="t1")
    said = json.loads(session.hook(event, "--defer").out)["hookSpecificOutput"]
    assert (said["permissionDecision"], said["updatedInput"]) == (
        "allow",
        {"command": "git push -n"},
    )
    assert before("git push --tags", "t3")[0] == "defer"


@pytest.mark.proves("AGT-27")
@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"hook_event_name": 7}'])
def test_input_that_is_not_an_event_decides_nothing(world, session, text):
    ran = session.hook(text)
    assert (ran.code, ran.out) == (2, "") and "hook" in ran.err
    guarded = session.hook(text, "--guarded")
    assert (guarded.code, guarded.out) == (2, "") and "blocked" in guarded.err


@pytest.mark.proves("AGT-27")
def test_store_that_cannot_be_used_decides_nothing(world, session):
    broken = world.folder / "broken.db"
    broken.write_text("not a database, but long enough to look at" * 40, encoding="utf-8")
    text = session.event("PermissionRequest")
    ran = world.plain.gate("hook", "claude", text=text, GATE_STORE=str(broken))
    assert (ran.code, ran.out) == (8, "")
    ran = world.plain.gate("hook", "claude", "--guarded", text=text, GATE_STORE=str(broken))
    assert (ran.code, ran.out) == (2, "")


@pytest.mark.proves("AGT-18")
def test_unreadable_log_never_stops_an_ask(world, session):
    session.log.write_bytes(b'\xff\xfe{"type":"user"}\n{"type":"user","message":3}\n[1]\n{"a":')
    asked = session.start(session.event("PermissionRequest"))
    ask = the_ask(world)
    world.ada.gate("answer", ask.id, "yes")
    assert decision(wait_for_end(asked)) == {"behavior": "allow"}
    missing = session.event("PermissionRequest", transcript_path="/nowhere/x.jsonl", cwd="/nowhere")
    asked = session.start(missing)
    world.ada.gate("answer", the_ask(world).id, "yes")
    assert decision(wait_for_end(asked)) == {"behavior": "allow"}


@pytest.mark.proves("AGT-29")
def test_hook_loads_nothing_heavy(world, session):
    code = (
        "import sys; from gatebell.cli.main import main; main(['hook', 'claude']);"
        "print(*sys.modules, file=sys.stderr)"
    )
    ran = subprocess.run(
        [_command()[0], "-c", code], env=world.plain.environ, cwd=world.plain.folder,
        input=session.event("Stop"), capture_output=True, encoding="utf-8", check=True,
    )  # fmt: skip
    heavy = {"asyncio", "logging", "subprocess", "importlib.metadata", "http.client", "tomllib",
             "jsonschema_rs"}  # fmt: skip
    assert heavy & set(ran.stderr.split()) == set()


@pytest.mark.proves("AGT-4")
def test_helpers_call_never_gets_the_main_calls_answer(world, session):
    session.calls("git push")
    first = session.start(session.event("PermissionRequest"))
    the_ask(world)
    second = session.start(session.event("PermissionRequest", agent_id="helper"))
    # Both wait for the first ask; the one that loses it asks again.
    world.ada.gate("answer", the_ask(world).id, "yes")
    until = time.monotonic() + 20
    while not (again := world.store.asks.pending(9)):
        assert time.monotonic() < until
    world.ada.gate("answer", again[0].id, "no")
    said = sorted(decision(wait_for_end(process))["behavior"] for process in (first, second))
    assert said == ["allow", "deny"]


@pytest.mark.proves("AGT-27", "AGT-18")
@pytest.mark.parametrize("where", ["HEAD", "log"])
def test_pipe_in_place_of_a_file_blocks_nothing(world, session, where):
    if where == "HEAD":
        (world.plain.folder / ".git").mkdir()
        os.mkfifo(world.plain.folder / ".git" / "HEAD")
    else:
        session.log.unlink()
        os.mkfifo(session.log)
    asked = session.start(session.event("PermissionRequest"))
    world.ada.gate("answer", the_ask(world).id, "yes")
    assert decision(wait_for_end(asked)) == {"behavior": "allow"}


@pytest.mark.proves("AGT-27")
def test_slow_work_ends_the_hook(world, session):
    """The hook ends before the host's limit: after it, the tool would run."""
    slow = world.folder / "slow"
    slow.mkdir()
    (slow / "git").write_text("#!/bin/sh\nexec sleep 3\n", encoding="utf-8")
    (slow / "git").chmod(0o755)
    subprocess.run(["git", "init", "-q"], cwd=world.plain.folder, check=True)
    path = f"{slow}:{world.plain.environ['PATH']}"
    text = session.event("PermissionRequest")
    ran = world.plain.gate("hook", "claude", "--limit", "1", text=text, PATH=path)
    assert ran.code == -14 and ran.out == ""


PROGRAMS = {
    "filter": {"filter.e=vil.clean": "TOUCH; cat", "filter.e=vil.required": "true"},
    "process": {"filter.e=vil.process": "TOUCH"},
    "textconv": {"diff.e=vil.textconv": "TOUCH; cat"},
    "external diff": {"diff.e=vil.command": "TOUCH; cat"},
    "monitor": {"core.fsmonitor": "PROGRAM"},
    "signature": {"log.showSignature": "true", "gpg.program": "PROGRAM"},
    "fetch": {
        "extensions.partialClone": "origin", "core.repositoryformatversion": "1",
        "remote.origin.url": "FOLDER", "remote.origin.promisor": "true",
        "remote.origin.uploadpack": "TOUCH;#", "protocol.file.allow": "always",
    },
}  # fmt: skip


def a_repository(folder, settings):
    """A repository with a signed commit, a changed file, and a missing part that may be fetched."""

    def git(*words, **more):
        who = ("-c", "user.name=a", "-c", "user.email=a@b")
        return subprocess.run(
            ["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True, **more
        ).stdout.strip()

    git("init", "-q")
    (folder / ".gitattributes").write_text("a filter=e=vil diff=e=vil\n", encoding="utf-8")
    (folder / "a").write_text("one\n", encoding="utf-8")
    git("add", ".")
    git("commit", "-qm", "first")
    mark = "-----{} PGP SIGNATURE-----"
    signature = f"\ngpgsig {mark.format('BEGIN')}\n \n x\n {mark.format('END')}\n\n"
    signed = git("cat-file", "commit", "HEAD").replace("\n\n", signature, 1) + "\n"
    git("reset", "-q", "--soft", git("hash-object", "-t", "commit", "-w", "--stdin", input=signed))
    (folder / "a").write_text("two two\n", encoding="utf-8")
    blob = git("rev-parse", "HEAD:a")
    for name, value in settings.items():
        git("config", name, value)
    if "extensions.partialClone" in settings:
        (folder / ".git" / "objects" / blob[:2] / blob[2:]).unlink()


@pytest.mark.proves("AGT-17")
@pytest.mark.parametrize("kind", PROGRAMS)
def test_no_program_of_the_repository_is_run(world, session, kind):
    """They are named in files that an agent can write."""
    trace, program = world.folder / "ran", world.folder / "program"
    program.write_text(f"#!/bin/sh\ntouch {trace}\n", encoding="utf-8")
    program.chmod(0o755)
    words = {"TOUCH": f"touch {trace}", "PROGRAM": str(program), "FOLDER": str(world.folder)}
    settings = dict(PROGRAMS[kind])
    for name, value in settings.items():
        for word, meaning in words.items():
            settings[name] = settings[name].replace(word, meaning) if value else value
    a_repository(world.plain.folder, settings)
    trace.unlink(missing_ok=True)
    began = {"type": "user", "timestamp": "2001-01-01T00:00:00Z", "message": {"content": "go"}}
    session.log.write_text(json.dumps(began) + "\n", encoding="utf-8")
    asked = session.start(session.event("PermissionRequest"))
    ask = the_ask(world)
    assert "first" in ask.activity and " M a" in ask.activity, ask.activity
    assert not trace.exists()
    world.ada.gate("answer", ask.id, "no")
    wait_for_end(asked)


@pytest.mark.proves("AGT-4", "AGT-12")
def test_reading_an_answer_does_not_use_it(world, session):
    session.calls("git push")
    asked = session.start(session.event("PermissionRequest"))
    ask = the_ask(world)
    asked.kill()
    asked.communicate()
    world.ada.gate("answer", ask.id, "yes")
    assert world.claude.gate("wait", ask.id).out.startswith("approved")
    assert world.get(ask.id).delivered_at is None
    assert decision(session.hook(session.event("PermissionRequest")).out) == {"behavior": "allow"}


@pytest.mark.proves("AGT-18")
@pytest.mark.parametrize(
    "record",
    [
        {"type": "assistant", "message": {"content": [{"type": "text", "text": 5}]}},
        {"type": "last-prompt", "lastPrompt": 7},
        {"type": "assistant", "message": {"content": [{"type": "tool_use", "id": ["a"], "name": "Bash", "input": [1]}]}},
        {"type": "assistant", "message": {"content": [{"type": "tool_use", "id": 7, "name": "Bash", "input": {}}]}},
    ],
)  # fmt: skip
def test_foreign_log_is_ignored(world, session, record):
    session.log.write_text(json.dumps(record) + "\n", encoding="utf-8")
    asked = session.start(session.event("PermissionRequest"))
    world.ada.gate("answer", the_ask(world).id, "yes")
    assert decision(wait_for_end(asked)) == {"behavior": "allow"}


@pytest.mark.proves("AGT-1")
def test_call_that_cannot_be_shown_is_not_allowed(world, session):
    for given in (["rm -rf /"], {"command": "rm f\udc80"}):
        ran = session.hook(session.event("PermissionRequest", tool_input=given))
        assert ran.code == 0 and decision(ran.out)["behavior"] == "deny"
    assert world.store.asks.pending(9) == []
