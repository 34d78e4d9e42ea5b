"""Processes, launching and command agents: found, ended, and proven gone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from tests.support.agent_processes import SLEEP, TURN, Watched, order, pid_in, there
from tests.support.programs import find_program
from tests.support.waiting import eventually

from gatebell.adapters.agents import agent_process
from gatebell.adapters.agents.command import CommandDriver
from gatebell.adapters.system import processes
from gatebell.adapters.system.notifier_process import Starter
from gatebell.domain.runs.identities import parse_identity
from gatebell.errors import GateError, MissingAgentError, UsageError
from gatebell.ports.agents import Ended


@pytest.fixture
def start():
    """Start a shell line in a session of its own, and end it after the test."""
    started = []

    def begin(line, **environ):
        process = subprocess.Popen(
            ["/bin/sh", "-c", line], env=os.environ | environ, start_new_session=True
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.wait()


@pytest.mark.proves("RUN-100")
def test_process_is_known_by_boot_number_and_start(start):
    process = start(SLEEP)
    identity = processes.identify(process.pid)
    assert parse_identity(str(identity)) == identity and processes.lives(identity)
    assert processes.lives(processes.me()) and processes.me().pid == os.getpid()
    later = identity._replace(start=str(int(identity.start) + 1))
    assert not processes.lives(later), "its number went to another process"
    assert not processes.lives(identity._replace(boot="another-boot:1"))
    process.kill()
    eventually(lambda: not processes.lives(identity))
    assert processes.identify(process.pid) == identity, "nobody has asked yet how it ended"
    process.wait()
    assert processes.identify(process.pid) is None and not processes.lives(identity)


@pytest.mark.proves("RUN-101")
def test_agent_ends_with_its_group_and_marked_processes(start, tmp_path):
    detached = f"setsid sh -c 'echo $$ > {tmp_path}/detached; {SLEEP} & wait' &"
    # Without the mark, but in the group.
    plain = f"env -u GATE_TURN sh -c 'echo $$ > {tmp_path}/plain; {SLEEP} & wait' &"
    agent = start(f"{detached} {plain} {SLEEP} & wait", GATE_TURN=f"{TURN}-1")
    other = start(SLEEP, GATE_TURN=f"{TURN}-11")
    pids = [agent.pid, pid_in(tmp_path / "detached"), pid_in(tmp_path / "plain")]
    assert processes.end(processes.identify(agent.pid), ("GATE_TURN", f"{TURN}-1"))
    assert [there(pid) for pid in pids] == [False, False, False]
    assert there(other.pid)


@pytest.mark.proves("RUN-101")
def test_process_that_outlived_its_parent_is_found_by_mark(start, tmp_path):
    agent = start(
        f"setsid sh -c 'echo $$ > {tmp_path}/left; {SLEEP} & wait' &", GATE_TURN=f"{TURN}-2"
    )
    identity = processes.identify(agent.pid)
    agent.wait()
    left = pid_in(tmp_path / "left")
    assert processes.end(identity, ("GATE_TURN", f"{TURN}-2")) and not there(left)


@pytest.mark.proves("RUN-102")
def test_nothing_is_ended_that_is_not_proven_to_belong(start):
    stranger = start(SLEEP)
    identity = processes.identify(stranger.pid)
    before = identity._replace(start=str(int(identity.start) - 1))
    assert processes.end(before, ("GATE_TURN", f"{TURN}-3")), "its number is somebody else's by now"
    assert processes.end(identity._replace(boot="another-boot:1"), None)
    elsewhere = identity.boot.partition(":")[0] + ":1"
    hidden = identity._replace(boot=elsewhere)
    assert not processes.end(hidden, None), "another container's processes cannot be seen"
    assert processes.lives(hidden)
    assert there(stranger.pid)


@pytest.mark.proves("RUN-102")
def test_group_without_its_leader_is_not_ended(start, tmp_path):
    leader = start(f"sh -c 'echo $$ > {tmp_path}/member; {SLEEP} & wait' &")
    identity = processes.identify(leader.pid)
    member = pid_in(tmp_path / "member")
    leader.wait()
    try:
        assert not processes.end(identity, None)
        assert there(member)
    finally:
        os.killpg(leader.pid, signal.SIGKILL)


@pytest.mark.proves("RUN-103")
@pytest.mark.parametrize("belongs", ["by its mark", "by its group"])
def test_process_that_ends_an_agent_survives(start, tmp_path, belongs):
    code = (
        "import os, sys\n"
        "from gatebell.adapters.system import processes\n"
        "agent = processes.identify(int(sys.argv[1]))\n"
        "print(processes.end(agent, ('GATE_TURN', sys.argv[2])), os.getpid(), flush=True)\n"
    )
    (tmp_path / "end.py").write_text(code, encoding="utf-8")
    end = f"{sys.executable} {tmp_path}/end.py"
    if belongs == "by its mark":
        agent = start(SLEEP, GATE_TURN=f"{TURN}-4")
        start(f"exec {end} {agent.pid} {TURN}-4 > {tmp_path}/out", GATE_TURN=f"{TURN}-4")
    else:
        agent = start(
            f"{SLEEP} & echo $! > {tmp_path}/beside; {end} $$ {TURN}-4 > {tmp_path}/out; wait"
        )
    said = eventually(lambda: (tmp_path / "out").exists() and (tmp_path / "out").read_text())
    assert said.startswith("False ")
    eventually(lambda: not there(agent.pid))
    assert belongs == "by its mark" or not there(pid_in(tmp_path / "beside"))


@pytest.mark.proves("RUN-104")
def test_without_proc_only_the_group_is_ended(start, monkeypatch):
    monkeypatch.setattr(processes, "_has_proc", lambda: False)
    monkeypatch.setattr(processes, "_carries", lambda *_: False)
    monkeypatch.delattr(os, "pidfd_open", raising=False)
    agent, marked = start(SLEEP), start(SLEEP, GATE_TURN=f"{TURN}-5")
    identity = processes.identify(agent.pid)
    assert parse_identity(str(identity)) == identity and processes.lives(identity)
    assert not processes.end(identity, ("GATE_TURN", f"{TURN}-5")), "marks cannot be looked at"
    assert not processes.lives(identity) and marked.poll() is None
    assert processes.end(processes.identify(marked.pid), None)


@pytest.fixture
def watched():
    return Watched()


def refuse(*_):
    raise LookupError("no more")


@pytest.mark.proves("RUN-110")
def test_program_starts_only_after_its_process_is_recorded(tmp_path, watched):
    made = tmp_path / "made"
    seen = []

    def starting(process):
        identity = parse_identity(process)
        seen.append((processes.lives(identity), made.exists(), identity.pid))

    wanted = order(tmp_path, "/bin/sh", "-c", f"echo $$ > {made}")
    assert CommandDriver().run(wanted, watched.events(starting=starting)).ok
    assert seen == [(True, False, int(made.read_text(encoding="utf-8")))]


@pytest.mark.proves("RUN-110")
def test_program_whose_process_is_unrecorded_never_starts(tmp_path, watched):
    made, pids = tmp_path / "made", []

    def starting(process):
        pids.append(parse_identity(process).pid)
        refuse()

    with pytest.raises(LookupError):
        CommandDriver().run(order(tmp_path, "touch", "made"), watched.events(starting=starting))
    assert not made.exists() and not there(pids[0])


LAUNCHER = """
import sys, time
sys.path.insert(0, {root!r})
from tests.support.agent_processes import Watched, order
from pathlib import Path
from gatebell.adapters.agents import agent_process as launching
from gatebell.adapters.agents.command import CommandDriver
folder = Path(sys.argv[1])
def starting(process):
    (folder / "process").write_text(process)
    if sys.argv[2] == "before": time.sleep(300)
if sys.argv[2] == "before": launching.shutil.which = lambda *_, **more: None
wanted = order(folder, "/bin/sh", "-c", "echo $$ > made; sleep 300", turn=sys.argv[3])
CommandDriver().run(wanted, Watched().events(starting=starting))
"""


@pytest.mark.proves("RUN-111")
@pytest.mark.parametrize("moment", ["before", "after"])
def test_killing_the_launcher_ends_its_agent(tmp_path, moment):
    if moment == "after":
        find_program("setpriv", "an agent outlives its launcher here")
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    code = LAUNCHER.format(root=root)
    launcher = subprocess.Popen([sys.executable, "-c", code, tmp_path, moment, TURN])
    written = tmp_path / ("process" if moment == "before" else "made")
    eventually(lambda: written.exists() and written.read_text(encoding="utf-8"))
    launcher.kill()
    launcher.wait()
    identity = parse_identity((tmp_path / "process").read_text(encoding="utf-8"))
    eventually(lambda: not processes.lives(identity))
    assert (tmp_path / "made").exists() == (moment == "after")
    # The processes of its shell are found by the mark.
    assert processes.end(identity, ("GATE_TURN", TURN))


@pytest.mark.proves("RUN-112")
def test_agent_does_not_inherit_variables_of_others(tmp_path, watched, monkeypatch):
    foreign = ("CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID", "GATE_TOKEN")
    for name in (*foreign, "GATE_SESSION", "GATE_TURN", "GATE_SIGNAL_FILE", "AI_AGENT"):
        monkeypatch.setenv(name, "foreign")
    monkeypatch.setenv("OURS", "kept")
    said = CommandDriver().run(order(tmp_path, "env"), watched.events()).words.splitlines()
    seen = dict(line.split("=", 1) for line in said if "=" in line)
    assert "foreign" not in seen.values() and not set(foreign) & set(seen)
    assert seen["OURS"] == "kept" and seen["GATE_TURN"] == TURN
    assert seen["GATE_SESSION"] == seen["AI_AGENT"] == "s-1" and seen["GATE_FRESH"] == "1"
    assert seen["GATE_SIGNAL_FILE"] == str(tmp_path / "signal.json")


@pytest.mark.proves("HOST-9")
@pytest.mark.parametrize("store", ["GATE_STORE", "GATE_STORE_FILE", ""])
def test_agent_gets_no_way_into_the_store(tmp_path, watched, monkeypatch, store):
    secrets = ("GATE_TOKEN", "GATE_SERVER_TOKEN", "GATE_KEY_FILE", "GATE_STORE_FILE")
    for name in secrets if store != "GATE_STORE" else secrets[:3]:
        monkeypatch.setenv(name, "a-secret")
    monkeypatch.setenv("PGPASSWORD", "of-the-database")
    monkeypatch.setenv("PGHOST", "db.example.org")
    if store:
        monkeypatch.setenv("GATE_STORE", "postgresql://gate:a-secret@db.example.org/gate")
    else:
        monkeypatch.delenv("GATE_STORE_FILE")
        monkeypatch.setenv("GATE_STORE", f"sqlite://{tmp_path}/gate.db")
    monkeypatch.setenv("GATE_SERVER", "https://gate.example.org")
    said = CommandDriver().run(order(tmp_path, "env"), watched.events()).words
    assert "a-secret" not in said and "GATE_SERVER" not in said
    # With a store in a file, these belong to the user's project.
    assert ("of-the-database" in said) == ("PGHOST=" in said) == (not store)
    assert (f"GATE_STORE=sqlite://{tmp_path}/gate.db" in said) == (not store)


@pytest.mark.proves("RUN-113")
def test_any_error_during_the_work_ends_the_whole_agent(tmp_path, watched):
    line = f"setsid sh -c 'echo $$ > child; {SLEEP} & wait' & echo hello; {SLEEP}"
    wanted = order(tmp_path, "/bin/sh", "-c", line)

    def interrupt(_):
        pid_in(tmp_path / "child")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        CommandDriver().run(wanted, watched.events(said=interrupt))
    assert not processes.lives(parse_identity(watched.started[0]))
    assert not there(pid_in(tmp_path / "child"))


@pytest.mark.proves("RUN-113")
def test_agent_can_be_stopped_from_another_thread(tmp_path, watched):
    wanted = order(tmp_path, "/bin/sh", "-c", SLEEP)

    def run():
        with agent_process.launch_agent(
            ["/bin/sh", "-c", SLEEP], wanted, watched.events()
        ) as agent:
            threading.Thread(target=agent.stop, args=(LookupError("from beside"),)).start()
            assert list(agent.lines()) == []

    with pytest.raises(LookupError, match="from beside"):
        run()
    assert not processes.lives(parse_identity(watched.started[0]))


@pytest.mark.proves("RUN-114")
def test_limit_counts_the_working_time_only(tmp_path, watched):
    wanted = order(tmp_path, "unused", limit_seconds=1.5)
    slow = ["/bin/sh", "-c", "read line; echo $line"]
    with agent_process.launch_agent(slow, wanted, watched.events()) as agent:
        agent.pause()
        agent.pause()
        agent.go_on()
        threading.Event().wait(1.8)
        agent.go_on()
        agent.send(b"in time\n")
        assert list(agent.lines()) == [b"in time\n"]
    assert agent.problem() == ""
    with agent_process.launch_agent(slow, wanted, watched.events()) as agent:
        began = time.monotonic()
        assert list(agent.lines()) == [] and time.monotonic() - began < 20
    assert "longer than its limit of 1.5 seconds" in agent.problem()


@pytest.mark.proves("RUN-115")
def test_left_process_does_not_block_the_turn(tmp_path, watched):
    line = (
        f"setsid sh -c 'echo $$ > child; {SLEEP} & wait' & until [ -s child ]; do :; done; echo ok"
    )
    began = time.monotonic()
    ended = CommandDriver().run(order(tmp_path, "/bin/sh", "-c", line), watched.events())
    assert time.monotonic() - began < 20, "it holds the output open, and is ended"
    assert ended.ok and ended.words == "ok" and not there(pid_in(tmp_path / "child"))


@pytest.mark.proves("RUN-115")
def test_dismissed_agent_that_stays_is_ended(tmp_path, watched, monkeypatch):
    monkeypatch.setattr(agent_process, "_LEAVE_SECONDS", 2.2)
    line = f"echo result; {SLEEP}"
    wanted = order(tmp_path, "unused", limit_seconds=2)
    with agent_process.launch_agent(["/bin/sh", "-c", line], wanted, watched.events()) as agent:
        for said in agent.lines():
            assert said == b"result\n"
            agent.dismiss()
    assert agent.problem() == "", "it had done its work"


@pytest.mark.proves("RUN-116")
def test_sender_of_news_does_not_inherit_the_turn(tmp_path, monkeypatch):
    sender = tmp_path / "python"
    sender.write_text(
        f"#!/bin/sh\nenv > {tmp_path}/env.part\nmv {tmp_path}/env.part {tmp_path}/env\n"
    )
    sender.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(sender))
    monkeypatch.setenv("GATE_TURN", "t-news")
    monkeypatch.setenv("GATE_NOTIFY_CMD", "true")
    tell = Starter(str(tmp_path / "gate.db"))
    tell()
    eventually((tmp_path / "env").exists)
    assert "t-news" not in (tmp_path / "env").read_text(encoding="utf-8")
    eventually(lambda: [tell._reap(), not tell._children][1])


@pytest.mark.proves("RUN-120")
def test_command_reads_its_turn_and_prints_its_words(tmp_path, watched):
    wanted = order(tmp_path, "/bin/sh", "-c", "pwd; cat; echo later; echo aside >&2")
    ended = CommandDriver().run(wanted, watched.events())
    assert ended == Ended(True, f"{tmp_path}\nPlease.\nlater")
    assert watched.said_lines == [str(tmp_path), "Please.", "later"]


@pytest.mark.proves("RUN-120")
@pytest.mark.parametrize(
    ("line", "words", "problem"),
    [
        ("echo half; echo broken >&2; exit 3", "half", "exit code 3: broken"),
        ("echo half; kill -9 $$", "half", "by SIGKILL and printed no error"),
        ("exit 1", "", "exit code 1 and printed no error"),
    ],
)
def test_command_that_fails_says_why(tmp_path, watched, line, words, problem):
    ended = CommandDriver().run(order(tmp_path, "/bin/sh", "-c", line), watched.events())
    assert not ended.ok and ended.words == words and problem in ended.problem


@pytest.mark.proves("RUN-120")
def test_long_turn_for_a_command_that_never_reads_works(tmp_path, watched):
    wanted = order(tmp_path, "/bin/sh", "-c", "echo done")._replace(text="x" * 1_000_000)
    assert CommandDriver().run(wanted, watched.events()).ok


@pytest.mark.proves("RUN-121")
def test_command_session_has_our_id_and_no_log():
    driver = CommandDriver()
    assert driver.new_session() != driver.new_session()
    assert driver.knows("s-1")
    assert not driver.was_turn_sent("s-1", f"{TURN}-1")


@pytest.mark.proves("RUN-121")
def test_person_joins_a_command_by_words_of_its_role(tmp_path):
    driver = CommandDriver()
    words = driver.join(order(tmp_path, "agent", join=("/bin/sh", "--talk")))
    assert words[0] == "/usr/bin/env" and words[-2:] == ["/bin/sh", "--talk"]
    assert {"GATE_SESSION=s-1", f"GATE_SIGNAL_FILE={tmp_path}/signal.json"} < set(words)
    with pytest.raises(UsageError, match="coder has no session to join"):
        driver.join(order(tmp_path, "agent"))


@pytest.mark.proves("RUN-122")
@pytest.mark.parametrize("word", ["no-such-agent", "./no-such-agent", "/"])
def test_missing_program_is_named(tmp_path, watched, word):
    with pytest.raises(MissingAgentError, match="the command of the role coder"):
        CommandDriver().run(order(tmp_path, word), watched.events())
    assert watched.started == []


@pytest.mark.proves("RUN-122")
def test_program_is_found_in_project_and_on_agent_path(tmp_path, watched):
    (tmp_path / "agent").write_text("#!/bin/sh\necho here\n", encoding="utf-8")
    (tmp_path / "agent").chmod(0o755)
    assert CommandDriver().run(order(tmp_path, "./agent"), watched.events()).words == "here"
    wanted = order(tmp_path, "agent")
    wanted = wanted._replace(environ={"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert CommandDriver().run(wanted, watched.events()).words == "here"
    with pytest.raises(GateError, match="no folder"):
        CommandDriver().run(wanted._replace(cwd=str(tmp_path / "nowhere")), watched.events())
