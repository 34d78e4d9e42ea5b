"""The original programs of the file protocol against ours, and against each other."""

from __future__ import annotations

import json
import os
import shutil
import subprocess

import pytest
from tests.support.file_agent import set_up
from tests.support.listener import Listening, answer
from tests.support.original_programs import WAYS, OriginalListener, OriginalScript
from tests.support.script_project import SCRIPT, Project, wait_for_end
from tests.support.waiting import eventually
from watchdog.events import FileSystemEventHandler
from watchdog.observers import Observer

KINDS = {
    "text": (("Which database?",), "Postgres, of course"),
    "yesno": (("Update all tests?", "yesno"), "no"),
    "select": (("Which framework?", "select", "Express,Fastify,Koa"), "Fastify"),
}


@pytest.fixture
def script(world, tmp_path):
    set_up(str(world.plain.folder))
    made = OriginalScript(world.plain.folder, tmp_path)
    yield made
    made.end()


@pytest.fixture
def listening(world, script):
    """Our listener, with a person who answers by `gate answer`."""
    made = Listening(world.plain, "--no-prompt")
    made.until("Press Ctrl+C to stop")
    yield made
    made.process.kill()
    made.process.communicate()


def files(project, folder):
    return os.listdir(os.path.join(project, ".helpers", folder))


def wait_for_settled(world, status):
    return eventually(lambda: [a for a in world.store.asks.list_settled(9) if a.status == status])


# The original script with our listener


@pytest.mark.proves("FILE-190", "S4-9", "S4-39", "S4-66", "S4-67", "S4-68")
@pytest.mark.parametrize("kind", KINDS)
def test_original_script_prints_exactly_the_answer(world, script, listening, kind):
    words, value = KINDS[kind]
    asking = script.start(*words)
    listening.until(f"Question queued: {words[0]}")
    ask_id = answer(world, value, words[0])
    assert wait_for_end(asking)[:2] == (0, f"{value}\n".encode())
    assert files(script.project, "questions") == files(script.project, "answers") == []
    agent = f"agent:files/agent_{asking.pid}"
    eventually(lambda: world.get(ask_id).delivered_to == agent, what="the answer's taking")
    assert world.get(ask_id).question.kind == ("text" if kind == "text" else "choice")
    assert "!!" not in listening.read_lines() and "ERROR" not in listening.read_lines()


@pytest.mark.proves("FILE-190", "S4-63")
@pytest.mark.parametrize("way", WAYS[1:])
def test_original_script_reads_answers_without_jq(world, tmp_path, listening, way):
    script = OriginalScript(world.plain.folder, tmp_path, way)
    asking = script.start("Which port: 80?")
    listening.until("Which port: 80?")
    answer(world, "no: use 8080", "Which port: 80?")
    assert wait_for_end(asking)[:2] == (0, b"no: use 8080\n")


@pytest.mark.proves("FILE-190", "S4-69", "S4-85")
def test_two_original_scripts_get_their_own_answers(world, script, listening):
    asking = [script.start("Use TypeScript?", "yesno"), script.start("Use Bootstrap?", "yesno")]
    for prompt in ("Use Bootstrap?", "Use TypeScript?"):
        listening.until(prompt)
    answer(world, "no", "Use Bootstrap?")
    answer(world, "yes", "Use TypeScript?")
    assert [wait_for_end(one)[:2] for one in asking] == [(0, b"yes\n"), (0, b"no\n")]


@pytest.mark.proves("FILE-190", "S4-B17")
def test_original_question_waits_for_our_next_listener(world, script, listening):
    asking = script.start("Anybody here?")
    listening.until("Anybody here?")
    assert listening.end() == 0
    answer(world, "yes, again", "Anybody here?")
    # The script only looks whether somebody listens when it begins.
    following = Listening(world.plain, "--no-prompt")
    assert wait_for_end(asking)[:2] == (0, b"yes, again\n")
    assert following.end() == 0
    following.process.communicate()


@pytest.mark.proves("FILE-190", "S4-B7")
def test_original_question_of_a_mac_is_asked(world, script, listening):
    script.tool("date", 'printf -v now "%(%s)T" -1; echo "${now}N"')
    asking = script.start("On a Mac?", "yesno")
    listening.until("On a Mac?")
    answer(world, "yes", "On a Mac?")
    assert wait_for_end(asking)[:2] == (0, b"yes\n")


@pytest.mark.proves("FILE-191", "S4-60", "S4-62", "S4-B18")
def test_original_script_that_gives_up_withdraws(world, script, listening):
    script.hurry()
    asking = script.start("Still there?")
    listening.until("Still there?")
    code, out, err = wait_for_end(asking)
    assert (code, out) == (1, b"")
    assert "ERROR: Timeout waiting for response (300s)" in err
    (ask,) = wait_for_settled(world, "cancelled")
    assert ask.note == "withdrawn by its agent"
    assert world.ada.gate("answer", ask.id, "too late").code != 0
    assert files(script.project, "answers") == []


@pytest.mark.proves("FILE-191", "S4-B13", "LAW-3")
def test_original_script_prints_nothing_of_a_cancelled_question(world, script, listening):
    script.hurry()
    asking = script.start("Delete it?", "yesno")
    listening.until("Delete it?")
    ask = world.store.asks.pending(1)[0]
    assert world.ada.gate("cancel", ask.id, "--reason", "not today").code == 0
    listening.until("Cancelled: not today")
    code, out, err = wait_for_end(asking)
    assert (code, out) == (1, b"")
    assert "ERROR: Timeout" in err
    assert files(script.project, "questions") == files(script.project, "answers") == []


@pytest.mark.proves("FILE-191", "S4-B2", "S4-B3")
@pytest.mark.parametrize("words", [('Use "quotes"?',), ("Which?", "approval")])
def test_original_script_prints_nothing_of_a_refused_question(world, script, listening, words):
    script.tool("sleep", "until [ -e heard ]; do :; done; exec /bin/sleep 0.01")
    asking = script.start(*words)
    listening.until("ERROR: Could not read question file: q_agent_")
    with open(os.path.join(script.project, "heard"), "wb"):
        pass
    assert wait_for_end(asking)[:2] == (1, b"")
    assert world.store.asks.pending(9) == world.store.asks.list_settled(9) == []
    assert files(script.project, "questions") == files(script.project, "answers") == []


# Our script with the original listener


@pytest.fixture
def original(tmp_path):
    """Starts the original listener in a project that has our script, read by this tool."""
    started = []

    def start(way="jq"):
        project = Project(tmp_path / "project", (way,))
        listener = OriginalListener(str(project.folder))
        started.extend((listener, project))
        return project, listener

    yield start
    for one in started:
        one.end()


@pytest.mark.proves("FILE-192", "FILE-193", "S4-32", "S4-39", "S4-82")
@pytest.mark.parametrize("way", ["jq", "python3", "awk"])
def test_our_script_is_answered_by_the_original_listener(original, way):
    project, listener = original(way)
    for words, value in KINDS.values():
        asking = project.start(*words)
        listener.until(f"Question queued: {words[0]}")
        listener.type(value)
        code, out, err = wait_for_end(asking)
        assert (code, out) == (0, f"{value}\n".encode()), err
        assert "No listener seems to run" not in err
        assert project.names() == project.names("answers") == []


@pytest.mark.proves("FILE-192", "S4-69")
def test_two_of_our_scripts_get_the_original_listeners_answers(original):
    project, listener = original()
    first = project.start("Use TypeScript?", "yesno")
    listener.until("] Question:\n  Use TypeScript?")
    second = project.start("Use Bootstrap?", "yesno")
    listener.until("Question queued: Use Bootstrap?")
    listener.type("yes")
    listener.until("] Question:\n  Use Bootstrap?")
    listener.type("no")
    assert [wait_for_end(one)[:2] for one in (first, second)] == [(0, b"yes\n"), (0, b"no\n")]


@pytest.mark.proves("FILE-192", "FILE-10")
def test_a_wait_is_taken_up_with_the_original_listener(original):
    project, listener = original()
    environ = {"CLAUDECODE": "1", "GATE_AGENT_WAIT_SECONDS": "0"}
    code, out, _ = project.run("Which?", environ=environ)
    assert code == 11
    listener.until("] Question:\n  Which?")
    listener.type("this")
    assert project.run("--wait", out.split()[-1].decode())[:2] == (0, b"this\n")
    assert project.names() == project.names("answers") == []


@pytest.mark.proves("FILE-193", "S4-B13")
@pytest.mark.parametrize("way", ["jq", "python3", "awk"])
def test_a_window_closed_at_the_original_listener_cancels(original, way):
    project, listener = original(way)
    listener.leave_the_keyboard()
    code, out, err = project.run("Delete it?", "yesno")
    assert (code, out) == (4, b"")
    assert "cancelled" in err
    assert project.names() == project.names("answers") == []


# The originals with each other, and ours with each other


@pytest.mark.proves("FILE-190")
def test_original_script_is_answered_by_the_original_listener(world, script):
    listener = OriginalListener(str(script.project))
    for words, value in KINDS.values():
        asking = script.start(*words)
        listener.until(f"Question queued: {words[0]}")
        listener.type(value)
        assert wait_for_end(asking)[:2] == (0, f"{value}\n".encode())
    listener.end()


class Creations(FileSystemEventHandler):
    """What a program sees that watches folders for new files, and reads them at once."""

    def __init__(self, all_seen, *folders):
        self.seen = {}
        self._all_seen = all_seen
        self._observer = Observer()
        for folder in folders:
            self._observer.schedule(self, str(folder))
        self._observer.start()

    def on_created(self, event):
        path = os.fsdecode(event.src_path)
        name = os.path.basename(path)
        if name.startswith(("q_", "a_")):
            with open(path, "rb") as file:
                self.seen[name] = file.read()
            if len(self.seen) == 2:
                self._all_seen.touch()

    def end(self):
        self._observer.stop()
        self._observer.join()


@pytest.mark.proves("FILE-194", "S4-82")
def test_our_files_are_seen_whole_as_creations(world, listening):
    helpers = world.plain.folder / ".helpers"
    tools, all_seen = world.folder / "tools", world.folder / "all-seen"
    tools.mkdir()
    # The script removes both files at its end: not before the watcher has read them.
    wait = f'case "$*" in */answers/*) while [ ! -e {all_seen} ]; do sleep 0.01; done ;; esac'
    (tools / "rm").write_text(f'#!/bin/sh\n{wait}\nexec {shutil.which("rm")} "$@"\n')
    (tools / "rm").chmod(0o755)
    watching = Creations(all_seen, helpers / "questions", helpers / "answers")
    prompt = "Which? " + "x" * 50_000
    path = f"{tools}:{world.plain.environ['PATH']}"
    asking = subprocess.Popen(
        ["bash", SCRIPT, prompt],
        env=world.plain.environ | {"GATE_ASK_FILES": "1", "PATH": path},
        cwd=world.plain.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    listening.until("Which? xx")
    answer(world, "y" * 50_000, prompt)
    assert wait_for_end(asking)[:2] == (0, b"y" * 50_000 + b"\n")
    watching.end()
    seen = watching.seen
    question, told = (json.loads(seen[name]) for name in sorted(seen, reverse=True))
    assert (question["content"], told["content"]) == (prompt, "y" * 50_000)
    assert files(world.plain.folder, "questions") == files(world.plain.folder, "answers") == []


@pytest.mark.proves("FILE-194")
def test_files_are_renamed_without_hard_links(tmp_path):
    project = Project(tmp_path / "project")
    project.tool("ln", "exit 1")
    asking = project.start("Which?")
    question = project.question()
    project.answer(question, "this")
    assert wait_for_end(asking)[:2] == (0, b"this\n")
    assert project.names() == []
