"""Tasks of a server, made, read, changed and answered by commands on other machines."""

from __future__ import annotations

import json
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.asking_tasks import let_ask
from tests.support.people import a_person
from tests.support.server_world import server_world
from tests.support.shells import Shell

from gatebell.domain.asks.documents import task_document
from gatebell.domain.enums import TaskState
from gatebell.services.tasks import backlog

__all__ = ["server_world"]

ADA = ("--as", "ada")
NO_SERVER = {"GATE_SERVER": "http://127.0.0.1:9"}


class Backlog:
    """The tasks of a project of its own, in which ada works on her machine."""

    def __init__(self, world, folder, origin="https://example.org/shop.git"):
        self.world, self.store, self.folder = world, world.store, folder
        folder.mkdir()
        (folder / ".git").mkdir()
        (folder / ".git" / "config").write_text(f'[remote "origin"]\n\turl = {origin}\n')
        self.ada = Shell(folder, world.ada.environ, "ada")
        beside = {name: text for name, text in self.ada.environ.items() if name != "GATE_SERVER"}
        self.local = Shell(folder, beside | {"GATE_STORE": world.store.path}, "ada")

    def __call__(self, *words, code=0, **more):
        ran = self.ada.gate(*words, **more)
        assert ran.code == code, (words, ran)
        return ran.out if code == 0 else ran.err

    def create(self, *words):
        return self("task", "create", *words, *ADA).split()[2].rstrip(":")

    def let_ask(self, question, **request):
        return let_ask(self.store, self.folder, question, **request)[1]


@pytest.fixture
def tasks(server_world, tmp_path):
    # Each test has a project of its own, because all share a server.
    return Backlog(server_world, tmp_path / "shop", f"https://example.org/{tmp_path.name}.git")


def without_ages(ran):
    return re.sub(r"\d+ seconds? ago|just now", "now", ran.out), ran.err


@pytest.mark.proves("REMOTE-17")
def test_person_changes_the_state_of_a_servers_task(server_world):
    store = server_world.store
    task = backlog.create(store, "/p", a_person(), {"title": "Round the totals"})
    for verb, state in (
        ("claim", TaskState.IN_PROGRESS),
        ("release", TaskState.OPEN),
        ("defer", TaskState.DEFERRED),
        ("reopen", TaskState.OPEN),
        ("close", TaskState.CLOSED),
    ):
        ran = server_world.ada.gate("task", verb, task.id, "--as", "ada", "--json")
        assert ran.code == 0, ran.err
        said = json.loads(ran.out)
        assert (said[0] if verb == "close" else said) == task_document(store.tasks.get(task.id))
        assert store.tasks.get(task.id).state == state
    assert store.audit.of_subject(task.id)[-1].event.actor == "person:ada"
    refused = server_world.ada.gate("task", "release", task.id, "--as", "ada")
    assert refused.code == 7 and "is not claimed by hand" in refused.err
    assert server_world.ada.gate("task", "close", "tm-zzzz", "--as", "ada").code == 5


@pytest.mark.proves("REMOTE-17", "REMOTE-61", "REMOTE-2")
def test_asking_token_neither_changes_nor_sees_tasks(server_world):
    task = backlog.create(server_world.store, "/p", a_person(), {"title": "Keep it open"})
    one = ("claim", "release", "defer", "reopen", "close", "show", "tree")
    many = (["create", "Mine"], ["list"], ["list", "--everywhere"], ["next"], ["tail"])
    given = (["update", task.id, "--title", "Mine"], ["dep", task.id, task.id])
    before = server_world.store.tasks.count()
    for words in (*([verb, task.id] for verb in one), *many, *given):
        for shell in (server_world.agent, server_world.plain):
            ran = shell.gate("task", *words)
            assert ran.code == 7 and task.title not in ran.out + ran.err, (words, ran)
    for words in (["respond", task.id, "x"], ["list"], ["list", "--awaiting"], ["status", "1"]):
        assert server_world.plain.gate(*words).code == 7, words
    assert server_world.store.tasks.get(task.id) == task
    assert server_world.store.tasks.count() == before


@pytest.mark.proves("REMOTE-61", "REMOTE-64")
def test_task_of_another_machine_has_its_key_and_folder(tasks):
    needed = tasks.create("First", "-d", "all of it", "-p", "P1", "--role", "code")
    part = tasks.create("Part", "--parent", needed, "--dep", needed)
    task = tasks.store.tasks.get(needed)
    key = f"example.org/{tasks.folder.parent.name}"
    assert (task.project, task.project_key) == (str(tasks.folder), key)
    assert (task.created_by, task.priority, task.role) == ("person:ada", 1, "code")
    assert tasks.store.tasks.get(part)[: len(task)][11:13] == (needed, (needed,))
    # It is also in the list of another clone, and its parts belong to its project.
    clone = Backlog(tasks.world, tasks.folder.parent / "clone", f"https://{key}.git")
    assert clone("task", "list", "--ids").split() == [needed, part]
    below = tasks.store.tasks.get(clone.create("Below", "--parent", needed))
    assert (below.project, below.project_key) == (task.project, key)
    assert "there is no role 'x'" in clone("task", "create", "No", "--role", "x", *ADA, code=5)
    wrong = ("task", "update", needed, "--role", "x", *ADA)
    assert "there is no role 'x'" in clone(*wrong, code=5)
    # A worker takes it up in its own clone.
    run = backlog.take_up(tasks.store, "/srv/shop", "d", key)
    assert (run.task, run.project) == (needed, "/srv/shop")


@pytest.mark.proves("REMOTE-61")
def test_views_of_tasks_are_those_of_a_store(tasks):
    first = tasks.create("First", "-d", "all of it")
    second = tasks.create("Second", "--parent", first, "--dep", first)
    tasks.let_ask("Which?", kind="choice", options=("a", "b"), context={"why": "so"})
    tasks.create("Third")
    views = (["list"], ["list", "--all"], ["list", "--awaiting"], ["list", "--ready"], ["tree"])
    whole = (["show", first], ["show", second], ["tree", first], ["next"], ["list", "--ids"])
    for words in (*views, *whole, ["list", "--everywhere"], ["tail"]):
        for more in ([], ["--json"]):
            there, here = (
                shell.gate("task", *words, *more, COLUMNS="100")
                for shell in (tasks.ada, tasks.local)
            )
            assert there.code == 0 and without_ages(there) == without_ages(here), (words, more)
    assert tasks("list", "--awaiting") == tasks("task", "list", "--awaiting")
    assert "❓ Which?" in tasks("task", "list") and "1. a" in tasks("task", "show", first)


@pytest.mark.proves("REMOTE-61")
def test_fields_and_needs_of_a_servers_task_change(tasks):
    first, second = tasks.create("First"), tasks.create("Second")
    given = ("--title", "One", "--test", "make", "--answer-within", "2h", "-p", "urgent")
    tasks("task", "update", first, *given, *ADA)
    after = tasks.store.tasks.get(first)
    assert (after.title, after.test_command, after.test_from) == ("One", "make", "person:ada")
    assert (after.answer_within_seconds, after.priority) == (7200, 0)
    assert tasks("task", "dep", first, second, *ADA) == f"✓ {first} needs {second}\n"
    assert "itself" in tasks("task", "dep", second, first, *ADA, code=7)
    tasks("task", "dep", first, second, "--remove", *ADA)
    assert tasks.store.tasks.get(first).needs == ()
    tasks("task", "edit", first, *ADA, EDITOR="sed -i s/One/Other/")
    assert tasks.store.tasks.get(first).title == "Other"
    for words, code in (
        (["show", "tm-zzzz"], 5),
        (["update", "tm-zzzz", "--title", "x"], 5),
        (["create", " "], 2),
        (["create", "x", "--parent", "tm-zzzz"], 5),
        (["list", "--project", "/nowhere"], 2),
    ):
        assert tasks("task", *words, code=code), words


@pytest.mark.proves("REMOTE-61", "REMOTE-10", "LAW-6", "LAW-10")
def test_text_for_a_task_is_kept_without_a_server(tasks):
    first = tasks.create("First")
    for words, kept in (
        (["create", "Second", "-d", "all of it"], "Second\n\nall of it"),
        (["update", first, "-d", "other words"], "description: other words"),
    ):
        said = tasks("task", *words, *ADA, code=8, **NO_SERVER)
        path = Path(said.split("kept in ")[1].strip())
        assert path.read_text() == kept and "cannot be reached" in said
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert tasks.store.tasks.get(first).description == ""


@pytest.mark.proves("REMOTE-61", "REMOTE-3", "LAW-3")
def test_agent_with_its_persons_token_changes_no_task(tasks):
    task = tasks.create("First")
    found = Shell(tasks.folder, tasks.ada.environ | {"CLAUDECODE": "1"})
    for words in (["create", "Mine"], ["update", task, "--test", "true"], ["close", task]):
        ran = found.gate("task", *words)
        assert ran.code == 7 and "an agent seems to be at work here" in ran.err
    assert found.gate("respond", task, "x").code == 7


@pytest.mark.proves("REMOTE-62", "LAW-6")
def test_task_of_a_server_is_answered_in_every_way(tasks):
    ids = [tasks.create(f"T{number}") for number in range(4)]
    asks = [tasks.let_ask("Which?") for _ in ids]
    ran = tasks("respond", ids[0], "Use", "JWT", "--note", "so", *ADA).splitlines()
    assert ran[-2:] == [
        f"✓ Response recorded for task {ids[0]}",
        "  Task returned to 'open' state; no worker is running. Start one: gate worker",
    ]
    tasks("respond", ids[1], "--file", "-", *ADA, text="Cookies\n")
    (tasks.folder / ".gate" / "templates").mkdir(parents=True)
    (tasks.folder / ".gate" / "templates" / "later.md").write_text("{{person}}: {{title}} {{how}}")
    tasks("respond", ids[2], "--template", "later", "--set", "how=later")
    broken = "sh -c 'echo half >> $0; exit 3'"
    assert "kept as a draft" in tasks("respond", ids[3], "--edit", *ADA, code=2, EDITOR=broken)
    assert tasks.store.asks.draft(asks[3], "person:ada") == "half"
    more = "sh -c 'echo whole >> $0'"
    said = json.loads(tasks("respond", ids[3], "--edit", "--json", *ADA, EDITOR=more))
    assert (said["task"]["id"], said["worker"]) == (ids[3], False)
    values = [tasks.store.asks.get(one).value for one in asks]
    assert values == ["Use JWT", "Cookies", "ada: T2 later", "half\nwhole"]
    assert all(tasks.store.asks.get(one).settled_by == "person:ada" for one in asks)
    late = tasks("respond", ids[0], "Again", *ADA, code=6)
    assert f"Task {ids[0]} is not awaiting input (state: open)" in late


@pytest.mark.proves("REMOTE-62", "REMOTE-10", "LAW-6")
def test_response_that_cannot_be_sent_is_kept(tasks):
    task = tasks.create("First")
    ask_id = tasks.let_ask("Which?")
    said = tasks("respond", task, "Use JWT", "--note", "so", *ADA, code=8, **NO_SERVER)
    path = Path(said.split("kept in ")[1].strip())
    assert path.read_text() == "Use JWT\nso" and stat.S_IMODE(path.stat().st_mode) == 0o600
    assert tasks.store.asks.get(ask_id).pending
    refused = tasks("respond", task, *ADA, code=2)
    assert "cannot prompt without a terminal" in refused


@pytest.mark.proves("REMOTE-62", "REMOTE-65")
def test_person_asks_for_a_task_claimed_through_a_server(tasks):
    task = tasks.create("By hand")
    tasks("task", "claim", task, *ADA)
    ask_id = tasks("ask", "--no-wait", "Which?", "--task", task).strip()
    assert tasks.store.tasks.get(task).state == TaskState.AWAITING_INPUT
    other = Shell(tasks.folder, tasks.world.bob.environ, "bob")
    refused = other.gate("ask", "--no-wait", "Other?", "--task", task)
    assert refused.code == 7 and ask_id in refused.err
    assert "goes on with it" in other.gate("respond", task, "so", "--as", "bob").out
    assert tasks.store.tasks.get(task).state == TaskState.IN_PROGRESS


@pytest.mark.proves("REMOTE-3", "REMOTE-62")
def test_agent_withdraws_no_question_of_a_task(tasks):
    task = tasks.create("Withdrawn")
    ask_id = tasks.let_ask("Which?")
    agent = Shell(tasks.folder, tasks.ada.environ | {"CLAUDECODE": "1"})
    for named in (task, ask_id):
        refused = agent.gate("cancel", named)
        assert refused.code == 7 and f"withdraws what {task} asks" in refused.err, refused
    assert tasks.store.asks.get(ask_id).pending
    assert agent.gate("cancel", ask_id, *ADA).code == 0


@pytest.mark.proves("REMOTE-61")
def test_tail_of_a_servers_tasks_goes_on(tasks):
    first = tasks.create("First")
    tail = subprocess.Popen(
        [sys.executable, "-m", "gatebell", "task", "tail", "--follow"],
        env=tasks.ada.environ, cwd=tasks.folder, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert f"{first}  created" in tail.stdout.readline()
        backlog.close(tasks.store, first, a_person(), "not needed")
        assert "not needed" in tail.stdout.readline()
    finally:
        tail.kill()
        tail.communicate()
