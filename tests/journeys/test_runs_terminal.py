"""A run in a real terminal: its output while it works and waits, and Ctrl+C."""

from __future__ import annotations

import pytest
from tests.support.run_project import RunProject, lives
from tests.support.waiting import eventually


@pytest.fixture
def project(world):
    made = RunProject(world)
    yield made
    made.go()


@pytest.mark.proves("RUN-320", "S2-36")
def test_run_waits_in_the_terminal_until_answered_elsewhere(world, project, terminal):
    terminal.run("run", "gated", "Add login")
    ask = project.ask(1)
    terminal.until(f"⏸ {ask.id}  Which ␛[1mway?")
    terminal.until("… waits for a person, ")
    terminal.until(f"Answer: gate answer {ask.id} TEXT")
    world.ada.gate("answer", ask.id, "left")
    terminal.until("⏸ ", 20)
    gate = eventually(lambda: (found := project.ask(1)).id != ask.id and found)
    terminal.until(f"Answer: gate answer {gate.id} yes|no")
    world.ada.gate("answer", gate.id, "yes")
    seen = terminal.until("exit code 0")
    assert "Run 1: completed\nResult: deployed" in seen
    assert "waits for a person" not in seen, "the line that changes is gone in the end"
    assert "│ asker  asker has begun ␛[31m" in seen


@pytest.mark.proves("RUN-321")
def test_leaving_a_run_that_waits_leaves_it_waiting(world, project, terminal):
    terminal.run("run", "gated")
    ask = project.ask(1)
    terminal.until("… waits for a person, ")
    terminal.type("", "C-c")
    seen = terminal.until("exit code 130")
    assert "Run 1 stays waiting. Once it is answered it goes on with: gate resume 1" in seen
    assert project.run(1).state == "waiting_human" and world.get(ask.id).pending
    terminal.kill()
    terminal.run("resume", "1")
    terminal.until(f"⏸ {ask.id}")
    world.ada.gate("answer", ask.id, "left")
    gate = eventually(lambda: (found := project.ask(1)).id != ask.id and found)
    world.ada.gate("answer", gate.id, "no", "--note", "not today")
    terminal.until("exit code 13")


@pytest.mark.proves("RUN-319")
def test_leaving_a_run_at_work_ends_its_agent(world, project, terminal):
    terminal.run("run", "slow")
    pid = eventually(project.pids)[0]
    terminal.until("▸ 2 slow")
    terminal.until(" slow works, ")
    terminal.type("", "C-c")
    seen = terminal.until("exit code 130")
    assert "Run 1: stuck: interrupted. Continue with: gate resume 1" in seen
    assert not lives(pid)
    project.go()
    terminal.kill()
    terminal.run("resume", "1")
    terminal.until("Run 1: completed")
    terminal.until("exit code 0")


@pytest.mark.proves("CLI-31")
def test_followed_agents_show_time_and_last_line(world, project, terminal):
    process = world.ada.start("run", "slow")
    eventually(project.pids)
    terminal.run("logs", "1", "-f")
    # The colour of the agent's words is inert.
    terminal.until("s: slow has begun ␛[31m")
    terminal.kill()
    terminal.run("watch", "1")
    seen = terminal.until("s: slow has begun ␛[31m")
    assert any(mark in seen for mark in "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
    project.go()
    assert "slow works, " not in terminal.until("exit code 0")
    process.communicate(timeout=60)
    assert process.returncode == 0
