"""Tasks of a backlog with the real claude: it asks, waits, and continues its session."""

from __future__ import annotations

import json
import subprocess

import pytest
from tests.support.agent_project import Project, report
from tests.support.waiting import eventually

from gatebell.install.scripted_model import script, text, tool

QUESTION = "Should I use JWT tokens or session cookies?"
ANSWER = "Use JWT tokens. We're building a mobile-first API."


class Backlog(Project):
    """The project of the flow tests, driven by `gate worker` with the built-in roles."""

    def create(self, title, steps):
        made = self.house.ada.gate("task", "create", title, "-d", script(steps), "--json")
        assert made.code == 0, made.err
        return json.loads(made.out)["id"]

    def start(self):
        self.process = subprocess.Popen(
            [self.house.bin / "gate", "worker", "--slots", "2"],
            env=self.house.environ, cwd=self.house.project, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip

    def is_in(self, task_id, state):
        def look():
            task = self.store.tasks.get(task_id)
            assert task.state in (state, "open", "in_progress", "awaiting_input"), task
            return task.state == state and task

        return eventually(look, 90)

    def turns(self, task_id):
        return self.store.runs.turns(self.store.tasks.get(task_id).run)

    def sent(self, turn):
        """Return the request of a turn, with the session before it."""
        asked = [json.dumps(r["messages"]) for r in self.house.model.requests]
        return next(words for words in asked if turn.id in words)

    def git(self, *words):
        ran = subprocess.run(
            ["git", *words], cwd=self.house.project, check=True, capture_output=True, text=True
        )
        return ran.stdout.rstrip("\n")


@pytest.fixture
def backlog(house):
    made = Backlog(house)
    yield made
    made.process.terminate()
    made.process.communicate(timeout=60)


@pytest.mark.proves("TASK-235", "S3-28", "S3-46", "S3-53", "S3-76", "S3-78")
def test_claude_asks_either_way_and_continues_its_session(backlog):
    before = backlog.git("rev-parse", "HEAD")
    said = backlog.create(
        "Implement user authentication",
        [
            tool("Bash", command="echo part >auth.py", description="begin"),
            report("needs_input", "Login is begun", question=QUESTION, question_context="A phone"),
            tool("Bash", command="echo jwt >>auth.py", description="go on"),
            report("completed", "JWT it is", details="auth.py has both", confidence=0.9),
        ],
    )
    signalled = backlog.create(
        "Keep a log",
        [
            tool("Bash", command="echo part >log.py", description="begin"),
            tool("signal", status="needs_input", summary="Begun", question="For how long?"),
            text("I wait for the answer."),
            tool("Bash", command="echo week >>log.py", description="go on"),
            tool(
                "signal",
                status="completed",
                summary="For a week",
                details="log.py has both",
                confidence=0.9,
            ),
            text("That was it."),
        ],
    )
    backlog.start()
    for task_id, answer in ((said, ANSWER), (signalled, "A week")):
        backlog.is_in(task_id, "awaiting_input")
        assert backlog.git("rev-parse", f"task/{task_id}") == before
        ran = backlog.house.ada.gate("respond", task_id, answer, "--as", "ada")
        assert ran.code == 0, ran.err
    for task_id, answer, name, summary in (
        (said, ANSWER, "auth.py", "JWT it is"),
        (signalled, "A week", "log.py", "For a week"),
    ):
        done = backlog.is_in(task_id, "closed")
        assert (done.summary, done.details) == (summary, f"{name} has both")
        first, second = backlog.turns(task_id)
        assert first.cli == "claude" and first.session == second.session != ""
        resumed = backlog.sent(second)
        assert resumed.count("## Human Response to Your Question") == 1
        assert resumed.count(f"> {answer}") == 1
        changed = backlog.git("diff", "--name-only", before, done.branch)
        assert (changed, done.branch) == (name, f"task/{task_id}")
        assert backlog.git("show", f"{done.branch}:{name}").startswith("part\n")
        assert backlog.git("rev-list", "--count", f"{before}..{done.branch}") == "1"
    assert backlog.git("rev-parse", "HEAD") == before
    assert backlog.git("status", "--porcelain") == ""
