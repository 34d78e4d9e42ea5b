"""A backlog driven by `gate worker`: agents ask, people answer, nothing is mixed up or lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.backlog_project import ANSWERED, BacklogProject, asks_first, report
from tests.support.waiting import eventually

TITLE = "Implement user authentication"
QUESTION = "Should I use JWT tokens or session cookies?"
CONTEXT = "The API is stateless so far; the web client keeps no state either."
ANSWER = "Use JWT tokens. We're building a mobile-first API."
SUMMARY = "Implemented JWT authentication"
AUTHENTICATES = asks_first(
    QUESTION,
    "mkdir -p auth && echo 'def login(): ...' >auth/login.py && echo part >>shared.txt",
    "echo jwt >auth/tokens.py",
    SUMMARY,
    question_context=CONTEXT,
)


class Office:
    """A project of ada, with a real worker."""

    def __init__(self, world):
        self.world, self.store = world, world.store
        self.project = BacklogProject(world.ada.folder, world.folder / "stage")
        self.before = self.project.state()
        self.workers = []

    def gate(self, *words, **more):
        ran = self.world.ada.gate(*words, **more)
        assert ran.code == 0, ran
        return ran.out

    def create(self, title, script, *words):
        self.project.script(title, script)
        return json.loads(self.gate("task", "create", title, *words, "--json"))["id"]

    def start(self):
        """Start a worker with one slot; its output goes to a file, so that no pipe fills up."""
        log = self.world.folder / f"worker-{len(self.workers)}"
        shell = self.world.ada
        with log.open("w", encoding="utf-8") as lines:
            process = subprocess.Popen(
                [sys.executable, "-m", "gatebell", "worker", "--slots", "1"],
                env=shell.environ, cwd=shell.folder, stdin=subprocess.DEVNULL, stderr=lines,
            )  # fmt: skip
        self.workers.append(process)
        return log

    def is_in(self, task_id, state):
        def look():
            task = self.store.tasks.get(task_id)
            assert state == "failed" or task.state != "failed", task
            return task.state == state and task

        return eventually(look)

    def says(self, log, line):
        return eventually(lambda: line in (lines := log.read_text(encoding="utf-8")) and lines)

    def folder(self, task_id):
        return Path(self.store.runs.get(self.store.tasks.get(task_id).run).folder)

    def close(self):
        for process in self.workers:
            process.kill()
            process.wait()


@pytest.fixture
def office(world):
    made = Office(world)
    yield made
    made.close()


@pytest.mark.proves(
    "TASK-230", "S3-1", "S3-4", "S3-5", "S3-6", "S3-7", "S3-25", "S3-26", "S3-27", "S3-46",
    "S3-48", "S3-49", "S3-50", "S3-51", "S3-52", "S3-53", "S3-76", "S3-77", "S3-78", "S3-79",
    "S3-80", "S3-B2", "LAW-7",
)  # fmt: skip
def test_agent_asks_and_goes_on_where_it_stopped(office):
    project = office.project
    task_id = office.create(TITLE, AUTHENTICATES, "--size", "large")
    other = office.create("Other", f"echo other >>shared.txt\n{report('completed', 'Other')}")
    log = office.start()
    office.says(log, f"🤖 Worker processing task {task_id}: {TITLE}\n")
    office.says(log, f"❓ Task {task_id} needs human input\n   Question: {QUESTION}\n")

    # The worker takes the next task, and neither task gets anything of the other.
    office.is_in(other, "closed")
    assert project.commits(f"task/{other}") == [("Other", ["shared.txt"])]
    assert project.text(f"task/{other}", "shared.txt") == "begin\nother"
    folder = office.folder(task_id)
    status = project.git("status", "--porcelain", folder=folder)
    assert status.splitlines() == [" M shared.txt", "?? auth/"]
    assert (folder / "shared.txt").read_text() == "begin\npart\n"
    assert project.commits(f"task/{task_id}") == [] and project.state() == office.before

    listed = office.gate("task", "list", "--awaiting")
    assert listed.startswith("Awaiting Human Input:\n\n❓ ")
    assert f"{task_id}  P2  large   {TITLE}  [awaiting_input]\n" in listed
    assert f"❓ {QUESTION}\n" in listed and "Context: The API is stateless" in listed
    same = office.gate("list", "--awaiting")
    assert other not in listed and same.partition("Asked: ")[0] == listed.partition("Asked: ")[0]

    answered = office.gate("respond", task_id, ANSWER)
    assert f"\nQuestion: {QUESTION}\n" in answered and CONTEXT in answered
    assert answered.splitlines()[-2:] == [
        f"✓ Response recorded for task {task_id}",
        "  Task returned to 'open' state and will be picked up by worker",
    ]
    done = office.is_in(task_id, "closed")
    assert (done.summary, done.details) == (SUMMARY, "As you said")
    office.says(log, f"✓ Task {task_id} closed: {SUMMARY}\n")
    branch = f"task/{task_id}"
    files = ["auth/login.py", "auth/tokens.py", "shared.txt"]
    assert project.commits(branch) == [(TITLE, files)]
    assert project.text(branch, "shared.txt") == "begin\npart"
    assert project.git("status", "--porcelain", folder=folder) == ""
    assert project.state() == office.before

    (first, told), (second, resumed) = project.turns(TITLE)
    assert first == second and f"\n# Task: {TITLE}\n" in told
    assert resumed.count("## Human Response to Your Question") == 1
    for words in (QUESTION, CONTEXT, ANSWER):
        assert resumed.count(f"> {words}\n") == 1
    assert "person:ada" in resumed and "Please continue the task using this guidance." in resumed
    shown = office.gate("task", "show", task_id)
    assert all(words in shown for words in (QUESTION, ANSWER, "ada", SUMMARY, branch)), shown


AGAIN = f"""case $text in
{ANSWERED})
echo "$text" >>story.txt
{report("completed", "Done with it")};;
*"worked on before"*)
echo again >>story.txt
{report("completed", "Done again")};;
*)
echo first >story.txt
{report("needs_input", "Unclear", question="Which one?")};;
esac
"""


@pytest.mark.proves("TASK-231", "S3-B4", "S3-B1", "S3-80")
def test_reopened_task_does_not_get_an_old_answer(office):
    task_id = office.create("Twice", AGAIN)
    office.start()
    office.is_in(task_id, "awaiting_input")
    office.gate("respond", task_id, "The green one")
    office.is_in(task_id, "closed")
    office.gate("task", "reopen", task_id)
    done = eventually(lambda: (t := office.store.tasks.get(task_id)).summary == "Done again" and t)
    assert done.state == "closed"
    (first, _), (second, _), (third, told) = office.project.turns("Twice")
    assert first == second != third
    assert "Human Response to Your Question" not in told and "Human's answer" not in told
    assert "This task was worked on before" in told and "> The green one" in told
    ask = office.store.asks.of_run(office.store.runs.of_task(task_id)[0].id)[0]
    assert ask.delivered_at and ask.value == "The green one"
    assert office.store.asks.pending(9) == []
    branch = done.branch
    assert "again" in office.project.text(branch, "story.txt").splitlines()
    assert "first" in office.project.text(branch, "story.txt").splitlines()


@pytest.mark.proves("TASK-232", "S3-B3", "S3-B20", "S3-P9", "LAW-3")
def test_overseer_cannot_answer_or_close_a_waiting_task(office):
    overseer = office.world.claude
    task_id = office.create("Careful", asks_first("Delete it?", "true", "echo kept >kept.txt"))
    office.start()
    office.is_in(task_id, "awaiting_input")
    (ask,) = office.store.asks.pending(9)
    for words in (
        ("respond", task_id, "Delete everything"),
        ("task", "close", task_id, "--reason", "a zombie task"),
        ("task", "defer", task_id),
        ("task", "update", task_id, "--title", "Harmless"),
        ("task", "claim", task_id),
        ("task", "reopen", task_id),
        ("worker", "recover"),
    ):
        ran = overseer.gate(*words)
        task = office.store.tasks.get(task_id)
        assert (task.state, task.title) == ("awaiting_input", "Careful"), (words, ran)
        assert ran.code != 0 or words[0] == "worker", (words, ran)
    assert office.world.get(ask.id).pending
    (proposed,) = office.store.asks.answers(ask.id)
    assert (proposed.value, proposed.outcome) == ("Delete everything", "refused")
    assert "agent" in f"{proposed.principal} {proposed.reason}"
    office.gate("respond", task_id, "Keep it")
    office.is_in(task_id, "closed")
    told = office.project.turns("Careful")[-1][1]
    assert "> Keep it" in told and "Delete everything" not in told
    shown = office.gate("task", "show", task_id)
    assert "Keep it" in shown


@pytest.mark.proves("TASK-233", "S3-B3")
def test_answered_task_continues_before_a_more_urgent_new_one(office):
    old = office.create("Old", asks_first("Which?", "true", "true"), "-p", "P4")
    # While this one works, the only slot is taken.
    go = office.world.folder / "go"
    slow = f"while [ ! -e {go} ]; do sleep 0.02; done\n{report('completed', 'Slow')}"
    office.create("Slow", slow, "-p", "P4")
    log = office.start()
    office.is_in(old, "awaiting_input")
    eventually(lambda: "Slow" in (office.project.stage / "turns").read_text())
    urgent = office.create("Urgent", report("completed", "Urgent"), "-p", "P0")
    office.gate("respond", old, "this")
    go.touch()
    office.is_in(urgent, "closed")
    order = [line.split()[0] for line in (office.project.stage / "turns").read_text().splitlines()]
    assert order == ["Old", "Slow", "Old", "Urgent"], log.read_text()


@pytest.mark.proves("TASK-234", "S3-6", "S3-B3")
def test_dead_workers_task_is_taken_over_in_its_session(office):
    go = office.world.folder / "go"
    works = f"echo work >>work.txt\nwhile [ ! -e {go} ]; do sleep 0.02; done\n"
    task_id = office.create("Long", f"{works}{report('completed', 'At last')}")
    office.start()
    eventually((office.project.stage / "turns").exists)
    folder = office.folder(task_id)
    eventually((folder / "work.txt").exists)
    os.kill(office.workers[0].pid, signal.SIGKILL)
    office.workers[0].wait()
    assert task_id in office.gate("worker", "stale")
    go.touch()
    log = office.start()
    office.is_in(task_id, "closed")
    (first, _), (second, _) = office.project.turns("Long")
    assert first == second, log.read_text()
    assert office.project.commits(f"task/{task_id}") == [("Long", ["work.txt"])]
    assert office.folder(task_id) == folder
