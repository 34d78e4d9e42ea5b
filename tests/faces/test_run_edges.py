"""Edge cases of the run commands: output and results of flows, numbers, paths, drivers."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest
from bench.hot import SLOW_MODULES
from tests.support.run_project import HEAD, RunProject, seen
from tests.support.run_records import add_run, answer, ask_of, call
from tests.support.shells import said_in
from tests.support.waiting import eventually

from gatebell.app.wiring import local_backend
from gatebell.cli.runs.run_view import Follower
from gatebell.cli.screen import ask_lines, inbox_lines
from gatebell.domain.asks.asks import Ask, Origin
from gatebell.domain.asks.questions import make_question
from gatebell.services import members
from gatebell.services.runs import claims

FLOWS = {
    "half": "return step(lambda: 'a' + chr(0xd800) + '\\u00e9', name='s')",
    "loud": (
        "print('one \\x1b[31m', prompt, sep='\\n')\n"
        "    step(lambda: subprocess.run(['echo', 'of a program']).returncode, name='s')\n"
        "    sys.stdout.writelines(['two', '\\n', 'three'])\n    return 1"
    ),
    "deaf": "return step(stay, name='s')",
    "asks": "return bool(pause('Deploy?'))",
}
STAY = """
import subprocess, sys, threading
def stay():
    threading.Thread(target=threading.Event().wait, daemon=False).start()
    open(STAGE + "/deaf", "w").close()
    while True:
        try:
            threading.Event().wait()
        except BaseException:
            pass
print("loaded")
"""
ENDS_WITHIN_SECONDS = 10.0


@pytest.fixture
def project(world):
    made = RunProject(world)
    for name, body in FLOWS.items():
        code = (
            f"{HEAD}STAGE = {str(made.stage)!r}\n{STAY}\n\n@flow\ndef {name}(prompt):\n    {body}\n"
        )
        (made.folder / ".gate" / "flows" / f"{name}.py").write_text(code)
    made.commit()
    return made


@pytest.fixture
def started(world):
    processes = []

    def start(*words):
        processes.append(world.ada.start(*words))
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
        process.communicate()


@pytest.mark.proves("RUN-330")
def test_json_holds_any_result_of_a_flow(world, project):
    ran = world.ada.gate("run", "half", "--json")
    assert json.loads(ran.out)["result"] == "a\ud800é"
    for words in (["status", "1"], ["show", "1", "--call", "1"], ["list"], ["plan", "1"]):
        ran = world.ada.gate(*words, "--json")
        assert "\\ud800" in ran.out and json.loads(ran.out), words
        assert (ran.code, ran.err) == (0, "")
    events = world.ada.gate("watch", "1", "--json")
    told = [json.loads(line) for line in events.out.splitlines()]
    assert "a\ud800é" in [event.get("value") for event in told] and events.err == ""
    add_run(world.store, result="é", state="completed")
    assert '"é"' in world.ada.gate("status", "2", "--json").out


@pytest.mark.proves("RUN-331")
def test_flow_output_is_not_in_its_json(world, project):
    ran = world.ada.gate("run", "loud", "x", "--json")
    assert json.loads(ran.out)["state"] == "completed"
    assert ran.err.split("\n") == ["loaded", "one \x1b[31m", "x", "of a program", "two", "three"]
    ran = world.ada.gate("run", "loud", "--detach", "--json")
    assert json.loads(ran.out)["state"] == "ready" and ran.err == "loaded\n"
    closed = subprocess.run(
        ["sh", "-c", 'exec "$0" -m gatebell run loud --json 2>&-', sys.executable],
        env=world.ada.environ, cwd=world.ada.folder, capture_output=True, check=False,
    )  # fmt: skip
    assert json.loads(closed.stdout)["state"] == "completed"


@pytest.mark.proves("RUN-331", "RUN-320", "LAW-8")
@pytest.mark.parametrize("in_terminal", [True, False])
def test_flow_output_is_printed_above_the_changing_line(world, project, in_terminal):
    words = [sys.executable, "-m", "gatebell", "run", "loud", "x"]
    if not in_terminal:
        out = world.ada.gate("run", "loud", "x").out
        lines = [line for line in out.splitlines() if line.startswith(("│", "of"))]
        assert lines == ["│ one ␛[31m", "│ x", "of a program", "│ two", "│ three"]
        return
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        words, env=world.ada.environ | {"TERM": "xterm"}, cwd=world.ada.folder,
        stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs,
    )  # fmt: skip
    os.close(theirs)
    said = said_in(ours)
    assert process.wait(30) == 0
    shown = [line.rpartition("\x1b[2K")[2] for line in said.decode().splitlines()]
    plain = [re.sub(r"\x1b\[\d*m", "", line) for line in shown]
    for line in ("│ one ␛[31m", "│ x", "│ two", "│ three"):
        assert line in plain, plain


@pytest.mark.proves("RUN-332", "LAW-10")
def test_numbers_that_make_no_sense_get_a_sentence(world, project):
    world.ada.gate("run", "simple", "--detach")
    long, longer = "9" * 30, "9" * 5000
    head = "0" * 64
    for words in (
        *(
            ["list", "--limit", number]
            for number in (long, longer, "1000001", "0", "-1", "x", "", "²")
        ),
        ["inbox", "--limit", long],
        ["history", "--limit", long],
        ["audit", "log", "--limit", long],
        ["audit", "verify", "--head", f"{longer}:{head}"],
        ["worker", "-j", long],
        ["worker", "-j", "0"],
        ["up", "--port", longer],
        ["status", long],
        ["resume", "1", "--from", longer],
        ["ask", "--no-wait", "Q?", "--priority", longer],
        ["ask", "--no-wait", "Q?", "--timeout", longer],
        ["ask", "--no-wait", "Q?", "--confidence", longer],
    ):
        ran = world.ada.gate(*words)
        assert (ran.code, ran.out) == (2, ""), words
        assert "Traceback" not in ran.err and len(ran.err) < 12_000, words
    for words in (["show", long], ["show", "1", "--call", long], ["answer", longer, "x"]):
        ran = world.ada.gate(*words)
        assert ran.code == 5 and "Traceback" not in ran.err, words
    assert world.ada.gate("list", "--limit", "1000000").code == 0


@pytest.mark.proves("RUN-333", "LAW-10")
def test_path_that_is_not_text_works_or_is_explained(world, project):
    there = os.fsencode(world.folder) + b"/caf\xe9"
    shutil.copytree(os.fsencode(project.folder), there)

    def gate(*words, **environ):
        return subprocess.run(
            [sys.executable, "-m", "gatebell", *words], cwd=there, capture_output=True, text=True,
            env=world.ada.environ | environ, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip

    for words in (["simple"], ["simple", "--in-place"]):
        ran = gate("run", *words)
        assert ran.returncode == 2 and "is not valid UTF-8" in ran.stderr, ran.stderr
    assert world.store.runs.newest(9) == []
    ask_id = gate("ask", "--no-wait", "Why?").stdout.strip()
    assert gate("inbox", "--ids", "--project", ".").stdout.strip() == ask_id
    elsewhere = gate("list", GATE_STORE=os.fsdecode(there + b"/gate.db"))
    assert elsewhere.returncode == 2 and "set GATE_STORE to another path" in elsewhere.stderr


@pytest.mark.proves("RUN-334", "RUN-306", "RUN-307")
@pytest.mark.parametrize("words", [["worker"], ["up", "--port=0"]], ids=["worker", "up"])
def test_worker_ends_despite_endless_code(world, project, started, words):
    world.ada.gate("run", "deaf", "--detach")
    process = started(*words)
    eventually((project.stage / "deaf").exists)
    if words[0] == "up":
        # It handles signals from now on; its worker began before.
        seen(process, "Inbox")
    began = time.monotonic()
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 0 and time.monotonic() - began < ENDS_WITHIN_SECONDS
    assert "run 1 was interrupted" in process.stderr.read()
    assert project.run(1).state == "running"
    assert "The process that drove it has ended." in world.ada.gate("status", "1").out


@pytest.mark.proves("RUN-335")
def test_answering_warns_when_no_process_drives_the_run(world, project, started):
    hint = "No process drives runs now. Use 'gate resume {}' to drive it here"
    waiting = started("run", "asks")
    ask = project.ask(1)
    kept = project.run(1)
    assert claims.is_kept(world.store, kept)
    assert world.ada.gate("answer", ask.id, "yes").out == f"Recorded: {ask.id} is approved\n"
    assert waiting.wait(30) == 0 and not claims.is_kept(world.store, kept)
    for number, words in ((2, ["answer"]), (3, ["answer", "--json"]), (4, ["signal"])):
        left = started("run", "asks")
        ask = project.ask(number)
        left.kill()
        left.wait()
        if words[0] == "signal":
            told = world.ada.gate("signal", str(number), "--status", "CONTINUE", "--as", "ada").out
        else:
            told = world.ada.gate("answer", ask.id, "yes", *words[1:]).out
        assert (hint.format(number) in told) == (words[-1] != "--json"), told
    worker = started("worker")
    eventually(lambda: members.has_worker(world.store))
    world.ada.gate("run", "asks", "--detach")
    assert "Nobody" not in world.ada.gate("answer", project.ask(5).id, "no").out
    worker.terminate()


@pytest.mark.proves("RUN-335", "CLI-14")
def test_answering_for_a_run_loads_no_slow_modules(world, project, started):
    started("run", "asks")
    ask = project.ask(1)
    code = (
        "import sys; from gatebell.cli.main import main; code = main(sys.argv[1:]); "
        f"print(' '.join(m for m in {SLOW_MODULES!r} if m in sys.modules), file=sys.stderr); sys.exit(code)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, "answer", ask.id, "yes", "--as", "ada"],
        env=world.ada.environ, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (ran.returncode, ran.stderr.split()) == (0, [])


@pytest.mark.proves("RUN-336", "CLI-8")
def test_ask_of_a_run_is_listed_as_blocking_it(world):
    question = make_question("text", "Which way?")
    for owner, words in (("run:12/3.1.1", "run 12"), ("task-7", "task-7"), ("run:x", "run:x")):
        ask = Ask("a-222", question, Origin("/p", owner=owner), world.store.now(), "d")
        (line,) = inbox_lines(local_backend(world.store), [ask])
        assert line.endswith(f"  {words}"), line


@pytest.mark.proves("ACT-5", "LAW-8")
def test_inbox_and_show_tell_two_runs_apart(world):
    asks = []
    for prompt in ("Add login\nwith a form", "Add\x1b logout"):
        run = add_run(world.store, [call(world.store, "1")], flow="feature", prompt=prompt)
        asks.append(ask_of(world.store, run.id, "1", "Go on?", "approval"))
    backend = local_backend(world.store)
    for ask, title in zip(asks, ("Add login", "Add␛ logout"), strict=True):
        line = next(one for one in inbox_lines(backend, asks) if ask.id in one)
        assert f"Go on? ({title})" in line.replace("feature: ", "")
        assert f", feature: {title}" in "\n".join(ask_lines(backend, ask))


@pytest.mark.proves("RUN-308")
def test_ask_answered_between_two_looks_is_reported(world):
    run = add_run(world.store, [call(world.store, "1", asked=2)])
    first, second = (ask_of(world.store, run.id, "1", prompt) for prompt in ("Which?", "Why?"))
    for ask in (first, second):
        answer(world.store, ask, "left")
    follower = Follower(world.store, run.id, from_now=True)
    told = [news.document["ask"] for news in follower.look() if news.what == "settled"]
    assert told == [first.id, second.id]
    assert [news for news in follower.look() if news.what == "settled"] == []
