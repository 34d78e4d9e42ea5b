"""`gate listen` in a real terminal: one question at a time, and no answer by accident."""

from __future__ import annotations

import pytest
from tests.support.file_agent import Agent, set_up
from tests.support.original_programs import OriginalScript
from tests.support.script_project import wait_for_end
from tests.support.shells import World


@pytest.fixture
def world(tmp_path):
    made = World(tmp_path, kept=True)
    yield made
    made.store.close()


@pytest.fixture
def agents(world):
    project = str(world.ada.folder)
    set_up(project)
    return [Agent(project, f"agent_{number}", f"Claude-{number}") for number in (1, 2)]


@pytest.mark.proves("S4-1", "S4-36", "S4-37", "S4-69", "FILE-99")
def test_agents_are_answered_one_by_one_in_the_terminal(world, terminal, agents):
    first = agents[0].ask("Express or Koa?", type="select", options=["Express", "Koa"])
    second = agents[1].ask("Shall I go on?", type="yesno", priority="urgent")
    terminal.run("listen", "--terminal", "--as", "ada")
    terminal.until("[1/2] [Claude-2] Question:")
    seen = terminal.until("Your choice")
    assert "Shall I go on?" in seen
    assert "=" * 60 in seen
    terminal.type("yes", "Enter")
    assert agents[1].wait(second) == ("answered", "yes")
    terminal.until("[2/2] [Claude-1] Question:")
    terminal.until("Express or Koa?")
    terminal.until("2. Koa")
    terminal.type("2", "Enter")
    assert agents[0].wait(first) == ("answered", "Koa")
    terminal.until("[Claude-2] Answer: yes")
    seen = terminal.until("[Claude-1] Answer: Koa")
    assert "press Enter" not in seen
    terminal.type("", "C-c")
    terminal.until("Listener stopped")
    assert "exit code 0" in terminal.until("exit code")


@pytest.mark.proves("FILE-99", "LAW-3", "LAW-6")
def test_enter_skips_and_an_answer_elsewhere_is_announced(world, terminal, agents):
    left = agents[0].ask("Now or later?")
    terminal.run("listen", "--terminal", "--as", "ada")
    terminal.until("Your answer")
    terminal.type("", "Enter")
    terminal.until("is still waiting")
    other = agents[1].ask("And this?")
    terminal.until("And this?")
    terminal.until("Claude-2] Question:")
    terminal.type("half an ans")
    ask = next(a for a in world.store.asks.pending(9) if a.question.prompt == "And this?")
    assert world.bob.gate("answer", ask.id, "by bob").code == 0
    assert agents[1].wait(other) == ("answered", "by bob")
    terminal.until("[Claude-2] Answer: by bob (press Enter)")
    terminal.type("", "Enter")
    terminal.until("was already answered by person:bob")
    terminal.type("", "C-c")
    terminal.until("Listener stopped")
    assert agents[0].answer(left) is None
    kept = [one.value for one in world.store.asks.answers(ask.id)]
    assert kept == ["by bob", "half an ans"]


@pytest.mark.proves("FILE-99")
def test_enter_after_an_answer_elsewhere_continues_with_the_next(world, terminal, agents):
    first = agents[0].ask("The first?")
    terminal.run("listen", "--terminal", "--as", "ada")
    terminal.until("Your answer")
    second = agents[1].ask("The second?")
    ask = world.store.asks.pending(9)[0]
    assert world.bob.gate("answer", ask.id, "by bob").code == 0
    agents[0].wait(first)
    terminal.until("(press Enter)")
    terminal.type("", "Enter")
    terminal.until("No answer needed any more")
    terminal.until("[Claude-2] Question:")
    terminal.until("Your answer (Enter: not yet):")
    terminal.type("mine", "Enter")
    assert agents[1].wait(second) == ("answered", "mine")


@pytest.mark.proves("FILE-90", "LAW-6")
def test_ctrl_c_keeps_typed_text_and_ends_the_listener(world, terminal, agents):
    agents[0].ask("Why?")
    terminal.run("listen", "--terminal", "--as", "ada")
    terminal.until("Your answer")
    terminal.type("because of")
    terminal.until("because of")
    terminal.type("", "C-c")
    terminal.until("Your text is kept as a draft.")
    terminal.until("Listener stopped")
    terminal.kill()
    terminal.run("listen", "--terminal", "--as", "ada")
    terminal.until("because of")


@pytest.mark.proves("FILE-190", "S4-69")
def test_original_scripts_are_answered_at_the_prompt(world, terminal, tmp_path):
    set_up(str(world.ada.folder))
    terminal.run("listen", "--terminal", "--as", "ada")
    terminal.until("Press Ctrl+C to stop")
    script = OriginalScript(world.ada.folder, tmp_path)
    framework = script.start("Which framework?", "select", "Express,Fastify,Koa")
    terminal.until(f"-{framework.pid}] Question:")
    terminal.until("2. Fastify")
    terminal.type("2", "Enter")
    assert wait_for_end(framework)[:2] == (0, b"Fastify\n")
    port = script.start("Which port?")
    terminal.until("Which port?")
    terminal.until(f"-{port.pid}] Question:")
    terminal.until("Your answer")
    terminal.type("8080", "Enter")
    assert wait_for_end(port)[:2] == (0, b"8080\n")
    script.end()
