"""The commands for runs, with flows and agents in separate processes."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
from datetime import datetime, timedelta, timezone

import pytest
from bench.hot import SLOW_MODULES
from tests.support.people import a_person
from tests.support.run_project import lives, project, seen, started, wait_for_end
from tests.support.shells import said_in
from tests.support.waiting import eventually

from gatebell.app import runtime
from gatebell.cli.runs import run_lines
from gatebell.cli.runs.run_view import Follower
from gatebell.domain.asks.asks import Origin
from gatebell.domain.permissions.calls import make_call
from gatebell.domain.runs.runs import RunChange, Turn
from gatebell.services import members
from gatebell.services.asks import create_ask
from gatebell.services.asks.create_ask import Request

__all__ = ["project", "started"]


@pytest.mark.proves("RUN-300", "S2-38")
def test_flow_runs_here_and_shows_its_events(world, project):
    code, out, err = world.ada.gate("run", "simple", "Add", "login", "-r", ".")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "Run 1: simple" and lines[1].endswith("(branch gate/run-1)")
    # An agent may be done before the first check.
    assert [line for line in lines[2:] if line != "▸ 1 quick"] == [
        "│ quick  quick has begun ␛[31m",
        "✓ 1 quick: DONE, quick is done",
        "│ log  one",
        "│ log  line",
        "Run 1: completed",
        'Result: {"prompt": "Add login"}',
    ]
    path = os.path.join(".gate", "flows", "simple.py")
    ran = world.ada.gate("run", f"{path}:simple", "-", "--json", text="from\nstdin\n")
    shown = json.loads(ran.out)
    assert (ran.code, shown["state"], shown["result"]) == (
        0,
        "completed",
        {"prompt": "from\nstdin"},
    )
    assert (shown["id"], shown["waiting_for"], shown["started_by"]) == (2, [], "person:ada")


@pytest.mark.proves(
    "RUN-301", "S2-36", "S2-45", "S2-46", "S2-47", "S2-52", "S2-78", "S2-B10", "ACT-5"
)
def test_waiting_run_says_so_and_continues_by_itself(world, project, started):
    process = started("run", "gated", "Add login")
    ask = project.ask(1)
    run = project.is_in(1, "waiting_human")
    head, row = world.ada.gate("list").out.splitlines()
    assert head == "ID  FLOW              STATUS         AGENT   AGE  WAITING FOR"
    age = row.split()[6]
    assert row == f" 1  gated: Add login  waiting_human  asker  {age:>4}  Which ␛[1mway?"
    session = world.store.runs.turns(1)[0].session
    lines = world.ada.gate("status", "1").out.splitlines()
    assert lines[:4] == [
        "Run 1: waiting_human",
        "Agent: asker",
        f"Session: {session}",
        "Reason: Which ␛[1mway?",
    ]
    assert re.fullmatch(r"Waiting since: (just now|\d+ seconds? ago)", lines[4])
    driver = f"Driven by: process {process.pid} here"
    assert lines[5:7] == [driver, "Flow: gated: Add login"]
    assert re.fullmatch(r"Started: (just now|\d+ seconds? ago)", lines[7])
    assert lines[8:10] == ["", f"Use 'gate answer {ask.id} TEXT' to answer it."]
    assert run.waiting_since == ask.opened_at
    shown = seen(process, f"⏸ {ask.id}")
    world.ada.gate("answer", ask.id, "left")
    eventually(lambda: project.ask(1).id != ask.id)
    gate = project.ask(1)
    project.is_in(1, "waiting_human")
    assert world.ada.gate("list").out.splitlines()[1].split()[5::2] == ["-", "Deploy?"]
    lines = world.ada.gate("status", "1").out.splitlines()
    assert lines[1:3] == ["Agent: -", "Reason: Deploy?"]
    assert f"Use 'gate answer {gate.id} yes|no' to answer it." in lines
    shown += seen(process, f"⏸ {gate.id}")
    words = ("signal", "1", "--status", "CONTINUE", "--message", "go", "--as", "ada")
    assert world.ada.gate(*words)[:2] == (0, f"Recorded: {gate.id} is approved\n")
    code, out, err = wait_for_end(process)
    assert (code, err) == (0, "")
    out = shown + out
    for line in (
        f"⏸ {ask.id}  Which ␛[1mway?",
        f"  Answer: gate answer {ask.id} TEXT   all asks: gate inbox",
        f"✓ {ask.id} answered by person:ada",
        f"  Answer: gate answer {gate.id} yes|no   all asks: gate inbox",
        f"✓ {gate.id} approved by person:ada: go",
        "Run 1: completed",
        "Result: deployed",
    ):
        assert line in out.splitlines()
    assert world.ada.gate("signal", "1", "--status", "DONE", "--as", "ada").code == 5


@pytest.mark.proves("S2-52", "S2-B11", "S2-B12", "RUN-302")
def test_waiting_began_when_the_question_was_asked(world, project):
    world.ada.gate("run", "gated", "--detach")
    made = project.run(1)
    later = made.created_at + timedelta(minutes=12)
    waiting = made._replace(
        state="waiting_human",
        agent="asker",
        reason="Why?",
        waiting_since=later - timedelta(minutes=10),
    )
    lines = run_lines.status_lines(world.store, waiting, later, is_worked_at=True)
    assert lines[0] == "Run 1: waiting_human" and "Waiting since: 10 minutes ago" in lines
    for seconds, words in (
        (0.5, "just now"),
        (1, "1 second ago"),
        (7200, "2 hours ago"),
        (86400, "1 day ago"),
    ):
        assert run_lines.format_ago(seconds) == words


@pytest.mark.proves("RUN-303", "S2-39", "S2-40", "S2-53", "LAW-8")
def test_stuck_and_failed_runs_have_exit_codes_and_resume(world, project):
    code, out, _ = world.ada.gate("run", "lost")
    assert code == 13 and "Run 1: stuck\nReason: no way ␛[31m\n" in out
    code, out, _ = world.ada.gate("run", "broken")
    assert code == 12 and "✗ 2 step reads: FileNotFoundError:" in out
    status = world.ada.gate("status", "2").out
    assert status.startswith("Run 2: failed\nReason: StepFailedError: FileNotFoundError")
    assert "│ " in status and "step(lambda: open(path).read()" in status
    assert "\nUse 'gate resume 2' to continue where it stopped.\n" in status
    (project.stage / "mended").write_text("done")
    code, out, _ = world.ada.gate("resume", "2")
    assert code == 0 and out.endswith("Run 2: completed\nResult: done\n")
    assert len(world.store.runs.turns(2)) == 1, "what was recorded is not done again"
    assert world.ada.gate("resume", "2").code == 7
    code, out, _ = world.ada.gate("resume", "2", "--from", "2")
    assert code == 0 and out.startswith("Run 3 goes on from call 2 of run 2\n")
    assert project.run(3).parent == 2


@pytest.mark.proves("RUN-304", "S2-37", "S2-50", "S2-51")
def test_stopping_a_run_ends_its_agent_and_asks(world, project, started):
    driven = started("run", "slow")
    pid = eventually(project.pids)[0]
    ran = world.ada.gate("stop", "1", "--reason", "no \x1b[1mmoney")
    assert ran[:2] == (0, "Run 1 marked as stuck: no ␛[1mmoney\n")
    assert not lives(pid) and wait_for_end(driven)[0] == 13
    waiting = started("run", "gated")
    ask = project.ask(2)
    assert world.ada.gate("kill", "2").out == "Run 2 marked as stuck: stopped\n"
    assert world.get(ask.id).status == "cancelled" and wait_for_end(waiting)[0] == 13
    ran = world.ada.gate("stop", "2")
    assert ran.code == 7 and "has already ended (stuck)" in ran.err


@pytest.mark.proves("S2-37", "RUN-304")
def test_run_without_an_answer_in_time_is_stuck(world, project):
    (project.folder / ".gate" / "flows" / "hasty.py").write_text(
        "from gatebell.api.flows import flow, pause\n\n\n"
        "@flow(human_timeout=0.3)\ndef hasty(prompt):\n    pause('Deploy?')\n"
    )
    code, out, _ = world.ada.gate("run", "hasty")
    assert code == 13 and "timed out" in out and "Run 1: stuck\nReason: " in out


@pytest.mark.proves("RUN-305", "S2-62", "S2-65", "S2-66", "S2-B4")
def test_run_whose_driver_died_still_waits_and_resumes(world, project, started):
    process = started("run", "gated")
    ask = project.ask(1)
    project.is_in(1, "waiting_human")
    process.kill()
    process.communicate()
    assert "waiting_human" in world.ada.gate("list", "--active").out
    resumed = started("resume", "1")
    world.ada.gate("answer", ask.id, "left")
    gate = eventually(lambda: (found := project.ask(1)).id != ask.id and found)
    world.ada.gate("answer", gate.id, "yes")
    assert wait_for_end(resumed)[0] == 0
    assert [turn.path for turn in world.store.runs.turns(1)] == ["1", "1", "3"]
    assert "gated" not in world.ada.gate("list", "--active").out


@pytest.mark.proves("RUN-305")
def test_run_whose_driver_died_at_work_is_taken_over(world, project, started):
    process = started("run", "slow")
    first = eventually(project.pids)[0]
    process.kill()
    process.communicate()
    assert world.ada.gate("status", "1").out.splitlines()[:2] == [
        "Run 1: running",
        "The process that drove it has ended.",
    ]
    project.go()
    code, out, _ = world.ada.gate("resume", "1")
    assert code == 0 and out.endswith("Run 1: completed\nResult: DONE\n") and not lives(first)


@pytest.mark.proves("RUN-319")
def test_interrupting_a_run_ends_the_agents_of_every_branch(world, project, started):
    # Without setpriv, the kernel does not end the agent.
    tools = world.folder / "bin"
    tools.mkdir()
    (tools / "git").symlink_to(shutil.which("git"))
    process = started("run", "both", PATH=str(tools))
    pids = [eventually(lambda role=role: project.pids(role))[0] for role in ("slow", "slower")]
    process.send_signal(signal.SIGINT)
    code, _, err = wait_for_end(process)
    assert code == 130 and "Run 1: stuck: interrupted. Continue with: gate resume 1" in err
    assert not any(map(lives, pids))
    project.go()
    assert world.ada.gate("resume", "1").out.endswith('Result: ["DONE", "DONE"]\n')


@pytest.mark.proves("RUN-306", "S2-B4")
def test_worker_drives_runs_and_releases_them_at_its_end(world, project, started):
    out = world.ada.gate("run", "slow", "--detach").out
    assert "Run 1 is ready.\nNo process drives runs now. Use 'gate resume 1'" in out
    assert "No process drives runs now" in world.ada.gate("status", "1").out
    worker = started("worker", "-j", "1")
    pid = eventually(project.pids)[0]
    assert members.has_worker(world.store)
    out = world.ada.gate("run", "simple", "--detach").out
    assert "Run 2 goes on in the background: gate watch 2" in out
    assert world.ada.gate("status", "1").out.splitlines()[1] == "Agent: slow"
    worker.send_signal(signal.SIGTERM)
    code, _, err = wait_for_end(worker)
    assert code == 0 and project.run(1).state == "ready" and not lives(pid)
    assert "run 1 (slow) is driven\n" in err and "run 1 (slow) is ready\n" in err
    assert not members.has_worker(world.store)
    project.go()
    second = started("worker")
    project.is_in(1, "completed")
    project.is_in(2, "completed")
    second.send_signal(signal.SIGINT)
    assert wait_for_end(second)[0] == 0


@pytest.mark.proves("RUN-307")
def test_gate_up_drives_runs_unless_disabled(world, project, started):
    up = started("up", "--port=0", "--no-worker")
    lines = [up.stdout.readline() for _ in range(4)]
    assert "Runs           not driven here\n" in lines
    world.ada.gate("run", "simple", "--detach")
    assert "No process drives runs now" in world.ada.gate("status", "1").out
    up.send_signal(signal.SIGTERM)
    assert wait_for_end(up)[0] == 0 and project.run(1).state == "ready"
    up = started("up", "--port=0")
    project.is_in(1, "completed")
    world.ada.gate("run", "slow", "--detach")
    pid = eventually(project.pids)[0]
    assert world.ada.gate("down").code == 0
    assert project.run(2).state == "ready" and not lives(pid)


@pytest.mark.proves("RUN-308", "S2-75")
def test_watch_follows_a_run_that_others_drive(world, project, started):
    world.ada.gate("run", "gated", "--detach")
    process = started("watch", "1", "--json")
    started("worker")
    ask = project.ask(1)
    world.ada.gate("signal", "1", "--status", "DONE", "--message", "left", "--as", "ada")
    gate = eventually(lambda: (found := project.ask(1)).id != ask.id and found)
    world.ada.gate("answer", gate.id, "no", "--note", "not today")
    code, out, _ = wait_for_end(process)
    events = [json.loads(line) for line in out.splitlines()]
    assert code == 13 and events[-1] == {
        "event": "state", "state": "stuck", "reason": "not today", "agent": "",
    }  # fmt: skip
    told = {event["event"] for event in events}
    assert told - {"asked"} == {"call", "said", "settled", "state"}
    settled = [event["ask"] for event in events if event["event"] == "settled"]
    assert settled == [ask.id, gate.id], "told also when it was open for an instant only"
    again = world.ada.gate("watch", "1")
    assert again.code == 13 and "✓ 1 asker: DONE" in again.out and "not today" in again.out


@pytest.mark.proves("RUN-308")
def test_watcher_leaves_the_work_to_a_worker(world, project, started):
    started("worker")
    eventually(lambda: members.has_worker(world.store))
    world.ada.gate("run", "slow", "--detach")
    eventually(project.pids)
    leaving = started("watch", "1")
    seen(leaving, "▸ 2 slow")
    leaving.send_signal(signal.SIGINT)
    code, _, err = wait_for_end(leaving)
    assert code == 130 and "Run 1 goes on without you: gate watch 1" in err
    watching = started("watch", "1")
    seen(watching, "▸ 2 slow")
    project.go()
    code, out, _ = wait_for_end(watching)
    assert code == 0 and out.endswith("Run 1: completed\nResult: DONE\n")


@pytest.mark.proves("RUN-309", "CLI-33", "LAW-8")
def test_logs_hold_agent_output_and_flow_messages(world, project, started):
    world.ada.gate("run", "simple")
    out = world.ada.gate("logs", "1").out
    at = r"20\d\d-\d\d-\d\d \d\d:\d\d:\d\d"
    assert re.fullmatch(
        rf"{at} 1 quick  quick has begun ␛\[31m\n{at} 2 log  one\n{at} 2 log  line\n", out
    )
    assert len(world.ada.gate("logs", "1", "--call", "2").out.splitlines()) == 2
    first = json.loads(world.ada.gate("logs", "1", "--json").out.splitlines()[0])
    assert first["who"] == "quick" and first["text"].endswith("\x1b[31m")
    east = datetime.fromisoformat(first["at"]).astimezone(timezone(timedelta(hours=14)))
    there = world.ada.gate("logs", "1", TZ="EAST-14").out
    assert there.startswith(f"{east:%Y-%m-%d %H:%M:%S} 1 quick")
    with open(runtime.run_log_path(world.store, world.store.runs.get(1)), "a") as file:
        file.write(f"10:00:00 3 quick  {'x' * 2_500_000}\n10:00:01 3 quick  last\n10:00:02 3 qu")
    out = world.ada.gate("logs", "1", "--call", "3").out
    assert len(out) > 2_500_000 and out.endswith("10:00:01 3 quick  last\n")
    process = started("run", "slow")
    eventually(project.pids)
    following = started("logs", "2", "--follow")
    assert "quick has begun" in following.stdout.readline()
    project.go()
    assert wait_for_end(process)[0] == 0 and wait_for_end(following)[0] == 0


@pytest.mark.proves("RUN-363", "LAW-10")
def test_diff_of_a_call_has_only_its_changes(world, project):
    assert world.ada.gate("run", "trio").code == 0
    first, second, third = (world.ada.gate("diff", "1", "--call", n) for n in "123")
    assert "+work" in second.out and second.out == world.ada.gate("diff", "1").out
    assert first.out == third.out == "" and "Nothing has changed" in third.err
    setup, missing = (world.ada.gate("diff", "1", "--call", path) for path in ("0", "9"))
    assert setup.code == 7 and "all changes: gate diff 1" in setup.err
    assert missing.code == 5 and "gate show 1 --calls" in missing.err


@pytest.mark.proves("RUN-310")
def test_only_ended_runs_are_deleted_and_their_work_stays(world, project, started):
    assert world.ada.gate("run", "simple").code == 0
    assert world.ada.gate("run", "worker").code == 0
    root = project.run(1).root
    assert world.ada.gate("delete", "1").out == "Deleted run 1\n"
    assert world.ada.gate("status", "1").code == 5 and not os.path.exists(root)
    assert world.ada.gate("logs", "1").code == 5
    assert world.ada.gate("audit", "verify").code == 0
    assert "run.deleted" in world.ada.gate("audit", "log").out
    kept = world.ada.gate("delete", "2")
    assert kept.code == 7 and "work would be lost" in kept.err and project.run(2)
    world.ada.gate("run", "simple", "--detach")
    assert "gate stop 3 ends it" in world.ada.gate("delete", "3").err


@pytest.mark.proves("RUN-311")
def test_cleaning_removes_folders_where_no_work_is_lost(world, project):
    assert "Nothing to clean" in world.ada.gate("clean").out
    for flow in ("simple", "worker", "lost"):
        world.ada.gate("run", flow)
    roots = [project.run(number).root for number in (1, 2, 3)]
    dry = world.ada.gate("clean", "--dry-run").out.splitlines()
    assert dry[0] == f"Would remove run 1: {roots[0]}" and os.path.exists(roots[0])
    out = world.ada.gate("clean").out.splitlines()
    assert out[0] == f"Removed run 1: {roots[0]}"
    assert out[1].startswith("Kept run 2:") and "not committed" in out[1]
    assert out[2].startswith("Kept run 3: it is stuck and can go on")
    assert [os.path.exists(root) for root in roots] == [False, True, True]
    assert len(world.ada.gate("clean").out.splitlines()) == 2


@pytest.mark.proves("RUN-312")
def test_folder_of_a_run_is_shown(world, project):
    (project.folder / "new.txt").write_text("x")
    ran = world.ada.gate("run", "simple", "--no-exec")
    assert ran.code == 0 and "The run is not started. Start it: gate resume 1\n" in ran.out
    assert (
        ran.err
        == "gate: Changes to 1 file are not committed and were left out; include them with --with-changes.\n"
    )
    assert not os.path.exists(os.path.join(project.run(1).folder, "new.txt"))
    assert project.run(1).state == "stuck" and world.ada.gate("resume", "1").code == 0
    assert world.ada.gate("run", "simple", "--with-changes").err == ""
    assert os.path.exists(os.path.join(project.run(2).folder, "new.txt"))
    ran = world.ada.gate("run", "simple", "--in-place", "--no-exec", "--json")
    assert ran.err.count("\n") == 1 and "cannot be undone" in ran.err
    assert json.loads(ran.out)["folder"] == str(project.folder)


@pytest.mark.proves("RUN-313", "LAW-10")
def test_run_that_cannot_be_made_leaves_nothing_behind(world, project):
    bare = world.folder / "bare"
    (bare / ".gate" / "flows").mkdir(parents=True)
    (bare / ".gate" / "flows" / "simple.py").write_text(
        (project.folder / ".gate" / "flows" / "simple.py").read_text()
    )
    ran = world.ada.gate("run", "simple", "-r", str(bare))
    assert ran.code == 2 and "--in-place" in ran.err and project.run(1) is None
    assert world.ada.gate("list").out.startswith("There are no runs yet.")
    assert world.ada.gate("audit", "verify").code == 0
    world.ada.gate("run", "simple", "--no-exec")
    made = project.run(1) or project.run(2)
    assert world.store.runs.change(RunChange(made._replace(folder="")), made)
    ran = world.ada.gate("resume", str(made.id))
    assert ran.code == 7 and "never got a folder to work in" in ran.err


@pytest.mark.proves("RUN-314", "LAW-10")
def test_wrong_arguments_are_explained(world, project):
    for words, code, sentence in (
        (["status", "7"], 5, "there is no run 7; gate list shows the runs"),
        (["status", "a-7k2"], 2, "expected the number of a run, got 'a-7k2'"),
        (["stop", "9" * 30], 2, "expected the number of a run"),
        (["run", "nothing"], 5, "there is no flow 'nothing'"),
        (["run", "gatde"], 5, "there is no flow 'gatde'; did you mean 'gated'?"),
        (["run", "nowhere.py"], 5, "there is no flow file"),
        (["run", "simple", "-r", "/nowhere"], 2, "/nowhere is not a folder"),
        (["resume", "7"], 5, "there is no run 7"),
        (["watch", "7"], 5, "there is no run 7"),
        (["logs", "7"], 5, "there is no run 7"),
        (["delete", "7"], 5, "there is no run 7"),
        (["signal", "7", "--status", "DONE", "--as", "ada"], 5, "there is no run 7"),
    ):
        ran = world.ada.gate(*words)
        assert (ran.code, ran.out) == (code, "") and sentence in ran.err, words
        assert "Traceback" not in ran.err
    world.ada.gate("run", "gated", "--detach")
    ran = world.claude.gate("signal", "1", "--status", "CONTINUE")
    assert ran.code == 7 and "only a person" in ran.err


@pytest.mark.proves("RUN-315", "S2-48")
def test_list_is_bounded_and_can_show_only_active_runs(world, project):
    assert world.ada.gate("list", "--active").out.startswith("No run is active.")
    world.ada.gate("run", "simple")
    for _ in range(2):
        world.ada.gate("run", "simple", "--detach")
    assert world.ada.gate("list", "--ids").out.split() == ["3", "2", "1"]
    assert world.ada.gate("list", "--ids", "--active").out.split() == ["3", "2"]
    out = world.ada.gate("list", "--limit", "1").out
    assert out.endswith("… and more: gate list --limit 4\n")
    shown = json.loads(world.ada.gate("list", "--json").out)
    assert [run["state"] for run in shown] == ["ready", "ready", "completed"]
    assert "claim" not in shown[0] and shown[0]["created_at"].startswith("20")


@pytest.mark.proves("RUN-316", "CLI-14")
def test_listing_and_status_load_none_of_the_slow_modules(world, project, started):
    started("run", "gated")
    project.ask(1)
    project.is_in(1, "waiting_human")
    for words in (["list"], ["status", "1"], ["signal", "1", "--status", "DONE", "--as", "ada"]):
        code = (
            "import sys; from gatebell.cli.main import main; code = main(sys.argv[1:]); "
            f"print(' '.join(m for m in {SLOW_MODULES!r} if m in sys.modules), file=sys.stderr); sys.exit(code)"
        )
        ran = subprocess.run(
            [sys.executable, "-c", code, *words],
            env=world.ada.environ, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (ran.returncode, ran.stderr.split()) == (0, []), words


@pytest.mark.proves("RUN-317", "CLI-11")
def test_completion_offers_the_numbers_of_runs(world, project):
    world.ada.gate("run", "simple", "--detach")
    lone = world.ask("Why?")
    tries = """
try gate status ""; try gate stop 1 ""; try gate stop 1 --re; try gate continue "" """
    first, second, third, of_either = world.complete(tries)
    assert first.split()[0] == "1" and "--json" in first
    assert not second.split()[0].isdecimal() and third == "--reason"
    assert of_either.split()[:2] == [lone, "1"], "sessions are those of runs and of asks"
    assert "gate list --ids" in world.plain.gate("completion", "fish").out


@pytest.mark.proves("RUN-318")
def test_sleeping_run_says_until_when_and_wakes_by_itself(world, project):
    world.ada.gate("run", "sleepy", "--detach")
    asleep = project.run(1)._replace(ready_at=world.store.now() + timedelta(hours=1))
    lines = run_lines.status_lines(world.store, asleep, world.store.now(), is_worked_at=True)
    assert (
        lines[0] == "Run 1: ready" and lines[1].startswith("Sleeps until: 20") and len(lines) == 2
    )
    assert world.ada.gate("resume", "1").out.endswith("Run 1: completed\nResult: DONE\n")


@pytest.mark.proves("RUN-322", "S2-45")
def test_permission_requests_of_working_agents_are_waited_for(world, project, started):
    process = started("run", "slow")
    eventually(project.pids)
    call = make_call("Bash", {"command": "rm -rf build"}, "/w", "main")
    request = Request("Allow Bash?", "approval", call=call)
    ask = create_ask.ask(world.store, request, Origin(owner="run:1/2"), a_person()).ask
    row = world.ada.gate("list").out.splitlines()[1]
    assert row.split(None, 5)[2:4] == ["running", "slow"] and row.endswith("s  Allow Bash?")
    lines = world.ada.gate("status", "1").out.splitlines()
    assert lines[:2] == ["Run 1: running", "Agent: slow"]
    assert lines[2] == f"Session: {world.store.runs.turns(1)[-1].session}"
    assert lines[3].endswith(" (call 2)")
    assert lines[4:6] == [f"Driven by: process {process.pid} here", "Waiting for: Allow Bash?"]
    assert lines[6] == "Flow: slow" and lines[7].startswith("Started: ")
    assert lines[8:10] == ["", f"Use 'gate answer {ask.id} yes|no' to answer it."]
    assert f"⏸ {ask.id}  Allow Bash?" in seen(process, f"⏸ {ask.id}")
    world.ada.gate("answer", ask.id, "no")
    project.go()
    assert f"✗ {ask.id} rejected by person:ada" in wait_for_end(process)[1]


@pytest.mark.proves("S2-52", "RUN-301")
def test_joining_an_agent_is_offered_first(world, project):
    world.ada.gate("run", "gated", "--detach")
    made, session = project.run(1), "abc-123-def"
    origin = Origin(owner="run:1/1", session=f"claude/{session}")
    ask = create_ask.ask(world.store, Request("Which way?"), origin, a_person()).ask
    turn = Turn(
        "t-1", 1, "1", 1, "coder", "claude", session, "sent", ask.opened_at, ended_at=ask.opened_at
    )
    waiting = made._replace(
        state="waiting_human", agent="coder", reason="Which way?", waiting_since=ask.opened_at
    )
    assert world.store.runs.change(RunChange(waiting, turns=(turn,)), made)
    lines = world.ada.gate("status", "1").out.splitlines()
    assert lines.pop(4).startswith("Waiting since: ") and lines.pop(5).startswith("Started: ")
    assert lines == [
        "Run 1: waiting_human",
        "Agent: coder",
        "Session: abc-123-def",
        "Reason: Which way?",
        "Flow: gated",
        "",
        "Use 'gate continue 1' to open the Claude session.",
        f"Use 'gate answer {ask.id} TEXT' to answer it.",
    ]
    asked = Follower(world.store, 1, from_now=True).look()[0]
    assert asked.line == (
        f"⏸ {ask.id}  Which way?\n  Answer: gate answer {ask.id} TEXT   "
        "with the agent: gate continue 1   all asks: gate inbox"
    )


@pytest.mark.proves("RUN-320", "CLI-13")
@pytest.mark.parametrize("plain", [True, False])
def test_output_without_colours_has_no_changing_line(world, project, plain):
    ours, theirs = pty.openpty()
    environ = world.ada.environ | {"TERM": "xterm", "NO_COLOR": "1" if plain else ""}
    process = subprocess.Popen(
        [sys.executable, "-m", "gatebell", "run", "simple"],
        env=environ, cwd=world.ada.folder, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs,
    )  # fmt: skip
    os.close(theirs)
    said = said_in(ours)
    assert process.wait(30) == 0 and b"Run 1: completed" in said
    assert (b"\x1b[2K" in said, b"\x1b[31m" in said) == (not plain, False)


@pytest.mark.proves("RUN-323")
def test_run_continues_when_its_output_is_not_read(world, project, started):
    process = started("run", "slow")
    seen(process, "Run 1: slow")
    process.stdout.close()
    eventually(project.pids)
    project.go()
    project.is_in(1, "completed")
    assert process.wait(30) == 1 and "Traceback" not in process.stderr.read()
