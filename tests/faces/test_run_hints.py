"""The hints of the run commands: the next command, and the cause of a failure."""

from __future__ import annotations

import json
import os
import select
import signal

import pytest
from tests.support.run_project import HEAD, project, seen, started, wait_for_end
from tests.support.waiting import eventually

__all__ = ["project", "started"]

ROLE = '---\ncommand: ["{}"]\n---\nYou fail.\n'
MORE_FLOWS = {
    "missing": "return run('nobody').status",
    "failing": "return run('failing').status",
    "chosen": "return choose('Which way?', ['left hand', 'right', 'Other…']).value",
    "numbers": "return choose('How many?', ['3', '4']).value",
    "long": "for number in range(14):\n        log(str(number))",
    "changed": (
        "run('quick', open({stage!r} + '/word').read())\n    run('quick', 'again')\n"
        "    return bool(pause('Go?'))"
    ),
}


@pytest.fixture
def more(world, project):
    """The project with flows that fail, or ask."""
    head = HEAD.replace("import flow", "import choose, flow")
    for name, body in MORE_FLOWS.items():
        code = f"{head}\n\n@flow\ndef {name}(prompt):\n    {body}\n"
        code = code.replace("{stage!r}", repr(str(project.stage)))
        (project.folder / ".gate" / "flows" / f"{name}.py").write_text(code)
    (project.folder / ".gate" / "agents" / "failing.md").write_text(ROLE.format("/bin/false"))
    project.commit()
    return project


def complaint(process):
    """Return the next line of its stderr."""
    assert select.select([process.stderr], [], [], 30)[0], "it says nothing"
    return process.stderr.readline()


def stuck_at_the_gate(world, project, started):
    """Run 1, rejected by a person."""
    process = started("run", "gated", "--json")
    world.ada.gate("answer", project.ask(1).id, "left")
    gate = eventually(lambda: (found := project.ask(1)).question.gates and found)
    world.ada.gate("answer", gate.id, "no", "--note", "not today")
    assert wait_for_end(process)[0] == 13


@pytest.mark.proves("RUN-340", "S2-75")
def test_watch_says_once_that_no_process_drives_the_run(world, more, started):
    world.ada.gate("run", "simple", "--detach")
    leaving = started("watch", "1")
    assert complaint(leaving) == (
        "No process drives runs now. Use 'gate resume 1' to drive it here, or 'gate up' or "
        "'gate worker' to drive all runs that are ready.\n"
    )
    leaving.send_signal(signal.SIGINT)
    assert wait_for_end(leaving)[0] == 130 and more.run(1).state == "ready"
    watching = started("watch", "1", "--json")
    assert "No process drives" in complaint(watching)
    assert world.ada.gate("resume", "1").code == 0
    code, out, err = wait_for_end(watching)
    assert (code, err) == (0, "") and json.loads(out.splitlines()[-1])["state"] == "completed"
    driving = started("run", "slow")
    eventually(more.pids)
    watching = started("watch", "2")
    seen(watching, "▸ 2 slow")
    os.kill(driving.pid, signal.SIGKILL)
    assert "No process drives runs now. Use 'gate resume 2'" in complaint(watching)
    assert more.run(2).state == "running" and len(more.pids()) == 1


@pytest.mark.proves("RUN-341")
def test_abandoned_flow_continues_from_its_last_question(world, project, started):
    stuck_at_the_gate(world, project, started)
    said = (
        "Use 'gate resume 1 --from 2' to go on from call 2 in a new run; 'gate resume 1' would end "
        "in the same way."
    )
    assert said in world.ada.gate("status", "1").out.splitlines()
    started("resume", "1", "--from", "2")
    assert project.ask(2).question.prompt == "Deploy?"
    world.ada.gate("stop", "2", "--reason", "later")
    assert "Use 'gate resume 2' to continue where it stopped." in world.ada.gate("status", "2").out
    world.ada.gate("run", "lost")
    assert "Use 'gate resume 3' to continue where" in world.ada.gate("status", "3").out, (
        "it has no call"
    )


@pytest.mark.proves("RUN-341", "LAW-10")
def test_reason_with_a_next_step_gets_no_other(world, more):
    (more.stage / "word").write_text("one")
    world.ada.gate("run", "changed", "--detach")
    worker = world.ada.start("worker")
    try:
        gate = more.ask(1)
        more.is_in(1, "waiting_human")
        (more.stage / "word").write_text("two")
        world.ada.gate("answer", gate.id, "yes")
        more.is_in(1, "stuck")
    finally:
        worker.kill()
        worker.communicate()
    out = world.ada.gate("status", "1").out
    assert "gate resume 1 --accept 1" in out.replace("\n        ", "") and "Use '" not in out
    told = world.ada.gate("resume", "1", "--accept", "2")
    assert (
        told.code == 2
        and "run 1 stopped at call 1, not at call 2; to keep the record of call 1: gate resume 1 --accept 1"
        in told.err
    )
    assert more.run(1).state == "stuck"
    assert world.ada.gate("resume", "1", "--accept", "1").code == 0


@pytest.mark.proves("RUN-342", "LAW-10")
def test_own_error_is_a_sentence_without_traceback(world, more):
    code, out, _ = world.ada.gate("run", "missing")
    assert code == 12 and "Reason: there is no role" in out
    assert "Traceback" not in out and "Error" not in out.partition("Reason:")[2]
    code, out, _ = world.ada.gate("run", "failing")
    assert code == 13 and "✗ 1 failing: ERROR, It ended with exit code 1" in out
    assert "failing reported ERROR: It ended with exit code 1" in out
    assert "✗ 1  run failing  ERROR" in world.ada.gate("status", "2").out
    code, out, _ = world.ada.gate("run", "broken")
    assert "│ Traceback" in out or "│   File" in out, "of the flow's own code it is shown"


@pytest.mark.proves("RUN-343", "S2-59")
def test_calls_of_a_run_are_listed(world, more):
    world.ada.gate("run", "simple")
    shown = world.ada.gate("show", "1")
    lines = shown.out.splitlines()
    assert shown.code == 0 and lines[0] == "Run 1: completed"
    assert lines[2] == "Flow: simple" and lines[-1] == "One call: gate show 1 --call 2"
    calls = lines[lines.index("Calls") + 1 : -2]
    assert [line.split()[:3] for line in calls] == [
        ["✓", "0", "setup"], ["✓", "1", "run"], ["✓", "2", "log"]
    ]  # fmt: skip
    assert calls[1].split()[3:5] == ["quick", "DONE"] and calls[1].endswith("s")
    assert world.ada.gate("status", "1").out.splitlines()[-3:] == calls
    told = json.loads(world.ada.gate("show", "1", "--calls", "--json").out)
    assert told["id"] == 1 and [call["path"] for call in told["calls"]] == ["0", "1", "2"]
    world.ada.gate("run", "long")
    lines = world.ada.gate("status", "2").out.splitlines()
    assert lines[-1] == "All 15 calls: gate show 2 --calls" and lines[-12] == "Calls"
    assert len(world.ada.gate("show", "2", "--calls").out.splitlines()) > 15
    told = world.ada.gate("resume", "2", "--from", "99")
    assert told.code == 2 and "gate show" in told.err


@pytest.mark.proves("RUN-343")
def test_calls_of_a_waiting_run_are_shown_on_request(world, more, started):
    started("run", "chosen")
    ask = more.ask(1)
    more.is_in(1, "waiting_human")
    assert world.ada.gate("show", "1").out.startswith(f"{ask.id}  choice")
    assert "⏸ 1  ask Which way?  waiting" in world.ada.gate("show", "1", "--calls").out


@pytest.mark.proves("RUN-344")
def test_option_is_chosen_by_its_number_too(world, more, started):
    process = started("run", "chosen")
    ask = more.ask(1)
    shown = seen(process, "  Answer")
    assert "  1. left hand\n  2. right\n  3. Other…\n" in shown
    assert f"  Answer: gate answer {ask.id} 'left hand'   all" in shown
    assert world.ada.gate("answer", "1", "7").code == 7, "there is no such number"
    assert world.ada.gate("answer", "1", "2").code == 0
    assert wait_for_end(process)[1].endswith("Result: right\n")
    process = started("run", "numbers")
    more.ask(2)
    assert world.ada.gate("answer", "2", "1").code == 7, "where options are numbers, they are meant"
    assert world.ada.gate("answer", "2", "3").code == 0
    assert wait_for_end(process)[1].endswith("Result: 3\n")


@pytest.mark.proves("RUN-345", "LAW-6")
def test_asker_that_cannot_reply_is_not_asked_back(world, project, started):
    started("run", "gated")
    first = project.ask(1)
    assert world.ada.gate("ask-back", first.id, "Why?").code == 0
    world.ada.gate("answer", first.id, "left")
    gate = eventually(lambda: (found := project.ask(1)).question.gates and found)
    told = world.ada.gate("ask-back", "1", "Why?")
    assert told.code == 2 and "which cannot reply" in told.err and "gate continue 1" in told.err
    assert world.store.asks.messages(gate.id) == []
    told = world.ada.gate("signal", "1", "--status", "FINE", "--as", "ada")
    words = "CONTINUE, APPROVED, APPROVE, YES to go on, or STOP, REJECTED, REJECT, NO"
    assert told.code == 2 and words in told.err
    assert "gate ask-back" not in world.ada.gate("show", "1").out


@pytest.mark.proves("RUN-346", "LAW-10")
def test_missing_call_or_folder_is_reported(world, more):
    world.ada.gate("run", "simple")
    told = world.ada.gate("logs", "1", "--call", "4.9")
    assert (
        told.code == 5 and "run 1 has no call 4.9; gate show 1 --calls lists the calls" in told.err
    )
    nothing = "Its agents have written nothing yet.\n"
    assert world.ada.gate("logs", "1", "--call", "0") == (0, "", nothing)
    assert "Removed run 1" in world.ada.gate("clean").out
    told = world.ada.gate("diff", "1")
    assert told.code == 7 and "the folder of run 1 was removed" in told.err
    runs = len(world.store.runs.newest(100))
    told = world.ada.gate("resume", "1", "--from", "2")
    assert told.code == 7 and "the folder of run 1 was removed" in told.err
    assert len(world.store.runs.newest(100)) == runs


@pytest.mark.proves("RUN-347", "LAW-7")
def test_kept_folder_is_shown_with_its_commands(world, project):
    world.ada.gate("run", "worker")
    run = project.run(1)
    kept = world.ada.gate("delete", "1")
    ways = (
        f"To keep them: git -C {run.root} add -A && git -C {run.root} commit, then "
        f"git -C {project.folder} merge gate/run-1. To delete it anyway: gate delete 1 --force"
    )
    assert kept.code == 7 and ways in kept.err and ways in world.ada.gate("clean").out
    refused = world.claude.gate("delete", "1", "--force")
    assert refused.code == 7 and "only a person" in refused.err and project.run(1)
    dropped = world.ada.gate("delete", "1", "--force", "--as", "ada")
    assert dropped.code == 0 and dropped.out == (
        f"Deleting the branch gate/run-1 and the folder {run.root}\n"
        "written.txt           +1 -0\n1 changed, +1 -0 lines\nDeleted run 1\n"
    )
    assert not os.path.exists(run.root) and project.run(1) is None
    assert "gate/run-1" not in project.git("branch", "--list")
