"""`gate respond` and `gate task` at a real terminal."""

from __future__ import annotations

import pytest
from tests.support.asking_tasks import let_ask
from tests.support.people import a_person

from gatebell.services.asks import answer_ask
from gatebell.services.tasks import backlog

ADA = ("--as", "ada")


@pytest.fixture
def project(world):
    (world.ada.folder / ".gate").mkdir()
    return str(world.ada.folder)


def waiting(world, project, title, question, **request):
    backlog.create(world.store, project, a_person(), {"title": title})
    return let_ask(world.store, project, question, **request)


@pytest.mark.proves("TASK-104", "S3-42", "S3-43")
def test_missing_answer_at_a_terminal_opens_the_editor(world, terminal, project):
    task, ask_id = waiting(world, project, "Add login", "JWT or cookies?")
    terminal.environ["EDITOR"] = "sh -c 'echo Use JWT >> $0'"
    terminal.run("respond", task.id, *ADA)
    seen = terminal.until("exit code 0")
    assert "Question: JWT or cookies?" in seen
    assert f"✓ Response recorded for task {task.id}" in seen
    assert world.get(ask_id).value == "Use JWT"


@pytest.mark.proves("TASK-109", "S3-84", "CLI-27", "LAW-6")
def test_all_goes_through_every_question_until_it_is_stopped(world, terminal, project):
    tasks = [
        waiting(world, project, "First", "One?"),
        waiting(world, project, "Second", "Two?", kind="choice", options=("a", "b")),
        waiting(world, project, "Third", "Three?", kind="approval"),
        waiting(world, project, "Fourth", "Four?"),
    ]
    terminal.run("respond", "--all", *ADA)
    terminal.until("q: stop")
    terminal.type("answer one", "Enter")
    terminal.until("2 of 4")
    terminal.until("Your choice, a number or a name (Enter: not yet; q: stop)")
    terminal.type("", "Enter")
    terminal.until("yes or no (Enter: not yet; q: stop)")
    terminal.type("yes", "Enter")
    terminal.until("Note (optional)")
    terminal.type("", "Enter")
    terminal.until("4 of 4")
    terminal.until("│ Four?\n\nYour answer (Enter: not yet; q: stop):")
    terminal.type("q", "Enter")
    seen = terminal.until("exit code 0")
    assert "2 answered, 2 still waiting." in seen
    assert f"✓ Response recorded for task {tasks[0][0].id}" in seen
    asks = [world.get(ask_id) for _, ask_id in tasks]
    assert [ask.status for ask in asks] == ["answered", "pending", "answered", "pending"]
    assert (asks[0].value, asks[2].decision) == ("answer one", "approved")
    assert world.store.asks.draft(asks[3].id, "person:ada") == ""
    terminal.environ["EDITOR"] = "sh -c 'echo q >> $0'"
    terminal.kill()
    terminal.run("respond", "--all", "-e", *ADA)
    terminal.until("Your choice")
    terminal.type("b", "Enter")
    assert "1 answered, 1 still waiting." in terminal.until("exit code 0")
    answer_ask.save_draft(world.store, asks[3].id, a_person(), "half")
    terminal.environ["EDITOR"] = "true"
    terminal.kill()
    terminal.run("answer", "--all", "-e")
    assert "0 answered, 1 still waiting." in terminal.until("exit code 0")
    answer_ask.save_draft(world.store, asks[3].id, a_person(), "")
    terminal.environ["EDITOR"] = "sh -c 'echo the last >> $0'"
    terminal.kill()
    terminal.run("respond", "--all", "-e", *ADA)
    assert "1 answered, 0 still waiting." in terminal.until("exit code 0")
    assert world.get(asks[3].id).value == "the last"
    terminal.kill()
    terminal.run("respond", "--all", *ADA)
    assert f"Nothing is waiting in {project}." in terminal.until("exit code 0")


@pytest.mark.proves("TASK-105")
def test_choice_is_prompted_for_and_can_be_left(world, terminal, project):
    task, ask_id = waiting(world, project, "Pick", "Which?", kind="choice", options=("a", "b"))
    terminal.run("respond", task.id, *ADA)
    terminal.until("Your choice")
    terminal.type("", "Enter")
    terminal.until("exit code 11")
    assert world.get(ask_id).pending
    terminal.kill()
    terminal.run("respond", task.id, *ADA)
    terminal.until("Your choice")
    terminal.type("2", "Enter")
    assert "✓ Response recorded" in terminal.until("exit code 0")
    assert world.get(ask_id).value == "b"


@pytest.mark.proves("TASK-75", "TASK-87", "LAW-6")
def test_task_is_written_in_the_editor(world, terminal, project):
    terminal.environ["EDITOR"] = "true"
    terminal.run("task", "create", *ADA)
    assert "no task was created" in terminal.until("exit code 2")
    terminal.environ["EDITOR"] = "sh -c 'printf \"Add login\\n\\nWith JWT\\n\" > $0'"
    terminal.kill()
    terminal.run("task", "create", "-p", "high", *ADA)
    terminal.until("✓ Created tm-")
    (task,) = world.store.tasks.page(project, "all", 9)
    assert (task.title, task.description, task.priority) == ("Add login", "With JWT", 1)
    terminal.kill()
    terminal.run("task", "create", "-p", "9", *ADA)
    terminal.until("exit code 2")
    (kept,) = world.folder.glob("store/new-task-*.md")
    assert kept.read_text() == "Add login\n\nWith JWT\n"
    assert len(world.store.tasks.page(project, "all", 9)) == 1
