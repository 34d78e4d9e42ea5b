"""`gate listen`: its output, the people it asks, its start and its end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from tests.support.file_agent import Agent, set_up
from tests.support.listener import PAUSE, Listening, answer
from tests.support.programs import find_program
from tests.support.shells import Shell


@pytest.fixture
def world(kept_world):
    return kept_world


@pytest.fixture
def listen(world):
    """Start a listener in the project, which is set up for it."""
    set_up(str(world.plain.folder))
    started = []

    def start(*words, shell=None, **environ):
        made = Listening(shell or world.plain, *words, **environ)
        started.append(made)
        return made

    yield start
    for one in started:
        one.process.kill()
        one.process.communicate()


@pytest.mark.proves(
    "S4-2", "S4-14", "S4-35", "S4-40", "S4-45", "S4-48", "S4-49", "S4-B26", "FILE-89"
)
def test_listener_prints_its_place_questions_and_answers(world, listen):
    project = str(world.plain.folder)
    one = listen("--no-prompt")
    one.until("Press Ctrl+C to stop")
    assert one.lines == [
        "✓ Multi-Agent HIL Listener started",
        f"  Project: {project}",
        "  Supporting multiple agent sessions",
        f"  Watching: {project}/.helpers/questions",
        "  Asking: not here; answer in gate inbox",
        "Press Ctrl+C to stop",
    ]
    with open(f"{project}/.helpers/.listener.pid", encoding="utf-8") as file:
        assert int(file.read()) == one.process.pid
    agent = Agent(project, "agent_7", "Claude-7")
    words = "Should I use PostgreSQL or MySQL, given that nobody knows?"
    question = agent.ask(words)
    one.until(f"[Agent Claude-7] Question queued: {words[:50]}...")
    answer(world, "PostgreSQL", words)
    one.until("[Claude-7] Answer: PostgreSQL")
    assert agent.wait(question) == ("answered", "PostgreSQL")


@pytest.mark.proves("S4-51", "S4-B15", "S4-B28", "FILE-90")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_listener_ends_cleanly_and_keeps_the_questions(world, listen, number):
    project = str(world.plain.folder)
    one = listen("--no-prompt")
    agent = Agent(project, "agent_7")
    question = agent.ask("Still there?")
    one.until("Question queued")
    assert one.end(number) == 0, one.process.stderr.read()
    assert one.lines[-2:] == ["Shutting down...", "✓ Multi-Agent HIL Listener stopped"]
    left = os.listdir(f"{project}/.helpers")
    assert ".listener.pid" not in left
    assert os.listdir(f"{project}/.helpers/agents") == ["active_sessions.json"]
    answer(world, "yes", "Still there?")
    listen("--no-prompt").until("Press Ctrl+C")
    assert agent.wait(question) == ("answered", "yes")


@pytest.mark.proves("S4-B16", "FILE-83")
def test_second_listener_is_refused_and_learns_who_listens(world, listen):
    one = listen("--no-prompt")
    one.until("Press Ctrl+C")
    ran = world.plain.gate("listen", "--no-prompt")
    assert ran.code == 7
    assert f"(process {one.process.pid})" in ran.err
    one.process.kill()
    one.process.wait()
    listen("--no-prompt").until("Press Ctrl+C")


@pytest.mark.proves("S4-46", "S4-47", "S4-70", "S4-71", "FILE-91")
def test_project_that_is_not_set_up_names_init(world):
    ran = world.plain.gate("listen", "--no-prompt")
    assert ran.code == 2
    assert ran.err == (
        "gate: Project not initialized for HIL.\nPlease run: gate init (in project directory)\n"
    )


@pytest.mark.proves("S4-72", "FILE-82")
def test_folders_open_to_others_are_closed_with_a_notice(world, listen):
    helpers = os.path.join(world.plain.folder, ".helpers")
    os.chmod(os.path.join(helpers, "questions"), 0o755)
    os.rmdir(os.path.join(helpers, "queue"))
    one = listen("--no-prompt")
    one.until("Press Ctrl+C")
    assert "questions had mode 0755" in one.until("questions had mode")
    assert "was missing" in one.until("queue was missing")
    assert os.stat(os.path.join(helpers, "questions")).st_mode & 0o777 == 0o700


@pytest.mark.proves("FILE-89")
def test_listener_is_found_from_a_subfolder(world, listen):
    below = os.path.join(world.plain.folder, "src", "deep")
    os.makedirs(below)
    world.plain.folder = below
    listen("--no-prompt").until("Press Ctrl+C")


@pytest.mark.proves("LAW-8", "FILE-92")
def test_text_of_agents_does_nothing_on_the_screen(world, listen):
    one = listen("--no-prompt")
    one.until("Press Ctrl+C")
    evil = "\x1b]0;owned\x07\x1b[2J\n✓ Multi-Agent HIL Listener stopped\u202e"
    agent = Agent(str(world.plain.folder), "agent_7", f"Claude{evil}")
    agent.ask(f"Really?{evil}")
    one.until("Question queued")
    with open(f"{world.plain.folder}/.helpers/questions/q_{evil[:3]}", "w", encoding="utf-8"):
        pass
    one.until("Could not read question file")
    said = one.read_lines()
    assert not set("\x1b\x07\u202e") & set(said)
    assert "✓ Multi-Agent HIL Listener stopped" not in one.lines


@pytest.mark.proves("FILE-93")
def test_as_json_every_happening_is_an_object(world, listen):
    one = listen("--no-prompt", "--json")
    one.until("started")
    agent = Agent(str(world.plain.folder), "agent_7", "Claude-7")
    question = agent.ask("Which?")
    one.until("queued")
    ask_id = answer(world, "this", "Which?")
    one.until("answered")
    agent.wait(question)
    assert one.end() == 0
    events = [json.loads(line) for line in one.lines]
    project = str(world.plain.folder)
    about = {"project": project, "agent": "Claude-7", "ask": ask_id}
    assert events == [
        {"event": "started", "projects": [project], "asks_by": "none"},
        {"event": "queued", "text": "Which?"} | about,
        {"event": "answered", "text": "this"} | about,
        {"event": "stopped"},
    ]


def init(world, folder):
    ran = Shell(folder, world.ada.environ, "ada").gate("init", "--yes", "--as", "ada")
    assert ran.code == 0, ran.err


@pytest.mark.proves("FILE-94")
def test_listener_serves_every_project_with_init_and_later_ones(world, listen, tmp_path):
    first, later = str(world.plain.folder), str(tmp_path / "later")
    init(world, first)
    one = listen("--no-prompt", "--all-projects")
    one.until("Press Ctrl+C")
    assert f"  Project: {first}" in one.lines
    assert f"  Watching: {first}/.helpers/questions" in one.lines
    agent = Agent(first, "agent_1")
    question = agent.ask("Here?")
    one.until("Question queued: Here?")
    os.mkdir(later)
    init(world, later)
    other = Agent(later, "agent_2")
    second = other.ask("There?")
    one.until("Question queued: There?")
    answer(world, "there", "There?")
    answer(world, "here", "Here?")
    assert agent.wait(question) == ("answered", "here")
    assert other.wait(second) == ("answered", "there")


@pytest.mark.proves("FILE-95")
def test_agent_may_listen_but_not_be_asked(world, listen):
    ran = world.claude.gate("listen", "--dialog", "zenity")
    assert ran.code == 7
    assert "only a person answers here" in ran.err
    listen("--no-prompt", shell=world.claude).until("Press Ctrl+C")


@pytest.mark.proves("FILE-95")
def test_unknown_way_of_asking_is_refused(world, listen):
    assert world.plain.gate("listen", "--dialog", "smoke signals").code == 2
    assert world.plain.gate("listen", "--terminal").code == 2


@pytest.mark.proves("FILE-96", "FILE-88")
def test_gate_up_listens_everywhere_and_doctor_names_listeners(world, listen):
    project = str(world.plain.folder)
    init(world, project)
    ran = world.plain.gate("doctor")
    assert f"no listener for questions in files of {project}" in ran.out
    up = world.plain.start("up", "--port=0", "--no-worker")
    try:
        line = ""
        while not line.startswith("Files"):
            line = up.stdout.readline()
        assert "questions in files of 1 project are collected" in line
        agent = Agent(project, "agent_7")
        question = agent.ask("Is somebody up?")
        one = listen("--no-prompt")
        assert "(collected by gate up)" in one.until("Watching")
        one.until("Question queued: Is somebody up?")
        doctor = world.plain.gate("doctor").out
        assert f"process {up.pid} listens for questions in files of {project}" in doctor
        answer(world, "yes", "Is somebody up?")
        assert agent.wait(question) == ("answered", "yes")
        up.terminate()
        up.communicate(timeout=60)
        second = agent.ask("And now?")
        one.until("Question queued: And now?")
        answer(world, "still", "And now?")
        assert agent.wait(second) == ("answered", "still")
    finally:
        up.kill()
        up.communicate()


ZENITY = """#!{python}
import os, sys, time
with open(os.environ["HOME"] + "/windows", "a") as file:
    file.write(" ".join(sys.argv[1:]).replace("\\n", " ") + "\\n")
time.sleep(1.3)
chosen, _, typed = open(os.environ["HOME"] + "/hand").read().partition("|")
word = typed if typed and "--forms" in sys.argv else chosen
if word == "wait":
    time.sleep(60)
print(word)
sys.exit(1 if word in ("Later", "Open in terminal") else 0)
"""


@pytest.fixture
def hand(world):
    """A window that a person answers with a word; `windows` lists the windows shown."""
    home = world.plain.environ["HOME"]
    os.mkdir(f"{home}/bin")
    with open(f"{home}/bin/zenity", "w", encoding="utf-8") as file:
        file.write(ZENITY.format(python=sys.executable))
    os.chmod(f"{home}/bin/zenity", 0o755)
    world.plain.environ["PATH"] = f"{home}/bin:{world.plain.environ['PATH']}"

    def give(word):
        with open(f"{home}/hand.new", "w", encoding="utf-8") as file:
            file.write(word)
        os.rename(f"{home}/hand.new", f"{home}/hand")

    def windows():
        with open(f"{home}/windows", encoding="utf-8") as file:
            return file.read().splitlines()

    give.windows = windows
    return give


@pytest.mark.proves("S4-4", "S4-37", "S4-69", "FILE-97")
def test_windows_ask_urgent_questions_first(world, listen, hand):
    project = str(world.plain.folder)
    hand("mine")
    first, second = Agent(project, "agent_1", "Claude-1"), Agent(project, "agent_2", "Claude-2")
    slow, fast = first.ask("Slow?"), second.ask("Fast?", priority="urgent")
    by_shell = world.get(world.ask("By the shell?")).origin.agent
    one = listen("--dialog", "zenity")
    assert second.wait(fast) == ("answered", "mine")
    assert first.wait(slow) == ("answered", "mine")
    one.until(f"[{by_shell}] Answer: mine")
    asked = [line for line in one.lines if line.endswith("Question:")]
    assert asked[0] == "[1/3] [Claude-2] Question:"
    assert "│ Fast?" in one.lines
    assert "=" * 60 in one.lines
    assert "Fast?" in hand.windows()[0]


@pytest.mark.proves("FILE-196")
def test_other_is_asked_for_in_a_second_window(world, listen, hand):
    hand("3. Other…|my own")
    words = [word for one in ("A", "B", "Other…") for word in ("--option", one)]
    ask_id = world.ask("Which one?", *words)
    listen("--dialog", "zenity").until("Answer: my own")
    assert world.get(ask_id).value == {"other": "my own"}
    first, second = hand.windows()
    assert "3. Other…" in first and "Write your answer." in second


@pytest.mark.proves("FILE-196")
def test_ask_that_no_window_can_show_is_named_once(world, listen, hand):
    hand("here")
    several = world.ask("Which of them?", "--option", "A", "--option", "B", "--multiple")
    one = listen("--dialog", "zenity")
    one.until(f"Which of them? (a window cannot show it; run: gate answer {several})")
    world.ask("And this?")
    one.until("Answer: here")
    assert sum("cannot show it" in line for line in one.lines) == 1
    assert len(hand.windows()) == 1


@pytest.mark.proves("S4-B13", "FILE-98", "LAW-3")
def test_later_leaves_the_question_pending_and_hides_it_briefly(world, listen, hand):
    agent = Agent(str(world.plain.folder), "agent_1")
    hand("Later")
    question = agent.ask("Now?")
    one = listen("--dialog", "zenity")
    one.until("is still waiting: gate answer")
    PAUSE.wait(1.5)
    assert len(hand.windows()) == 1
    assert world.store.asks.pending(1)
    hand("other")
    other = agent.ask("Something else?")
    assert agent.wait(other) == ("answered", "other")
    assert agent.answer(question) is None


@pytest.mark.proves("FILE-98")
def test_window_closes_when_the_question_is_answered_elsewhere(world, listen, hand):
    agent = Agent(str(world.plain.folder), "agent_1")
    hand("wait")
    question = agent.ask("Here or there?")
    listen("--dialog", "zenity")
    until = time.monotonic() + 10
    while not os.path.exists(f"{world.plain.environ['HOME']}/windows"):
        assert time.monotonic() < until
        PAUSE.wait(0.05)
    answer(world, "there", "Here or there?")
    assert agent.wait(question) == ("answered", "there")
    hand("next")
    second = agent.ask("And the next?")
    assert agent.wait(second) == ("answered", "next")


@pytest.mark.proves("FILE-98")
def test_ending_closes_the_window(world, listen, hand):
    agent = Agent(str(world.plain.folder), "agent_1")
    hand("wait")
    agent.ask("Still open?")
    one = listen("--dialog", "zenity")
    one.until("Question:")
    assert one.end() == 0
    pgrep = find_program("pgrep", "the end of the window was not looked for")
    found = subprocess.run(
        [pgrep, "-f", f"{world.plain.environ['HOME']}/bin/zenity"],
        capture_output=True,
        check=False,
    )
    assert found.stdout == b""
