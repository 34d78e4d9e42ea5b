"""`gate task`: the backlog on the command line."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.support.asking_tasks import let_ask
from tests.support.people import a_person
from tests.support.run_records import add_run

from gatebell.app.wiring import open_store
from gatebell.domain.enums import TaskState
from gatebell.domain.tasks.seen_tasks import SeenTask
from gatebell.services.asks import create_ask
from gatebell.services.tasks import backlog
from gatebell.terminal import task_tree
from gatebell.terminal.tasks import COLOURS, ICONS, list_lines
from gatebell.testing import FakeClock

ADA = ("--as", "ada")
JWT = "Should the API use JWT tokens or session cookies?"


class Backlog:
    """The tasks of the project in which ada has her shell."""

    def __init__(self, world):
        self.world = world
        self.folder = world.ada.folder
        (self.folder / ".gate").mkdir()

    def __call__(self, *words, code=0, **more):
        ran = self.world.ada.gate("task", *words, **more)
        assert ran.code == code, (words, ran)
        return ran.out if code == 0 else ran.err

    def create(self, title, *options):
        """Create a task, by the command if there are options: a start takes a tenth of a second."""
        if options:
            return json.loads(self("create", title, *options, "--json", *ADA))["id"]
        return backlog.create(
            self.world.store, str(self.folder), a_person("ada"), {"title": title}
        ).id

    def get(self, name):
        return backlog.get(self.world.store, name)

    def let_ask(self, question, store=None, **request):
        return let_ask(store or self.world.store, self.folder, question, **request)


@pytest.fixture
def tasks(world):
    return Backlog(world)


@pytest.mark.proves("TASK-80", "S3-P3", "S3-P1", "S3-8", "S3-B24")
def test_task_is_created_with_all_its_fields(tasks):
    first = tasks.create("Design payments")
    out = tasks(
        *("create", "Add login ❓", "-d", "With JWT", "-p", "P1", "--size", "small", *ADA),
        *("--type", "bug", "--role", "code", "--dep", first[3:].upper(), "--parent", first),
        *("--test", "make test", "--answer-within", "2h", "--on-timeout", "fail"),
    )
    task = tasks.get(out.split()[2].rstrip(":"))
    assert out == f"✓ Created {task.id}: Add login ❓\n"
    assert (task.priority, task.size, task.type, task.role) == (1, "small", "bug", "code")
    assert (task.needs, task.parent, task.description) == ((first,), first, "With JWT")
    assert (task.test_command, task.test_from) == ("make test", "person:ada")
    assert (task.answer_within_seconds, task.on_timeout) == (7200, "fail")
    assert task.project == str(tasks.folder) and task.created_by == "person:ada"
    long = tasks("create", "Long", "--file", "-", "--json", *ADA, text="one\ntwo\n")
    assert json.loads(long)["description"] == "one\ntwo"


@pytest.mark.proves("TASK-80", "LAW-10", "S3-34")
def test_wrong_arguments_are_refused_with_a_sentence(tasks):
    task = tasks.create("One")
    other = tasks.create("Two", "--dep", task)
    for words, code, told in (
        (["create"], 2, "gate task create TITLE"),
        (["create", " "], 2, "needs a title"),
        (["create", "T", "-p", "9"], 2, "a priority is urgent"),
        (["create", "T", "--dep", "tm-none"], 5, "no task tm-none"),
        (["create", "T", "-d", "x", "--file", "-"], 2, "not both"),
        (["create", "T", "--project", "/nowhere"], 2, "/nowhere is not a folder"),
        (["update", task], 2, "name a field to change"),
        (["update", task, "--parent", task], 7, "part of itself"),
        (["dep", task, other], 7, f"{task} → {other} → {task}"),
        (["show", "tm-none"], 5, "gate task list"),
        (["close", task, "tm-none"], 5, "no task tm-none"),
        (["release", task], 7, "not claimed by hand"),
        (["reopen", task], 7, "cannot be reopened"),
    ):
        assert told in tasks(*words, code=code), words
    assert tasks.get(task).state == "open"


@pytest.mark.proves("TASK-81", "S3-P3")
def test_tasks_are_changed_linked_claimed_closed_reopened_and_deferred(tasks):
    first, second = tasks.create("One"), tasks.create("Two")
    assert "✓ Updated" in tasks(
        *("update", first, "--title", "New", "--priority", "high", "--status", "half", *ADA)
    )
    task = tasks.get(first)
    assert (task.title, task.priority, task.status) == ("New", 1, "half")
    assert tasks("dep", second, first, *ADA) == f"✓ {second} needs {first}\n"
    assert first in tasks("claim", second, *ADA, code=7)
    assert tasks("dep", second, first, "--remove", *ADA) == f"✓ {second} needs no other task\n"
    assert tasks("claim", second, *ADA) == f"✓ Claimed {second}: Two\n"
    assert "[in_progress, person:ada]" in tasks("list")
    tasks("release", second, *ADA)
    tasks("defer", second, "--reason", "next year", *ADA)
    assert "next year" in tasks("list") and tasks.get(second).state == "deferred"
    closed = tasks("close", first, second, first, "--reason", "not needed", *ADA)
    assert closed == f"✓ Closed {first}: New\n✓ Closed {second}: Two\n"
    assert first not in tasks("list") and first in tasks("list", "--all")
    assert json.loads(tasks("reopen", first, "--json", *ADA))["state"] == "open"
    assert [one["id"] for one in json.loads(tasks("list", "--json"))] == [first]


@pytest.mark.proves("TASK-82", "S3-12", "S3-51", "S3-55", "S3-56", "S3-B14", "S3-B6", "S3-87")
def test_waiting_list_has_one_format_with_real_ages(tasks):
    world, now = tasks.world, datetime.now(UTC)
    auth = tasks.create("Implement user authentication")
    clock = FakeClock(now - timedelta(hours=2, minutes=5))
    before = open_store(world.path, clock)
    context = "JWT is better for stateless APIs,\x1b[2J sessions for web apps. " * 9
    tasks.let_ask(JWT, before, context=context)
    deploy = tasks.create("Configure deployment", "--size", "small", "-p", "P1")
    clock.advance(95 * 60)
    tasks.let_ask("Which cloud provider should we use?", before)
    # A later change of the task does not make its question younger.
    tasks("update", auth, "--size", "large", *ADA)
    tasks("update", auth, "--size", "medium", *ADA)
    before.close()
    out = world.ada.gate("list", "--awaiting").out
    assert out == tasks("list", "--awaiting") and "\x1b" not in out
    (told,) = [line for line in out.splitlines() if "Context" in line]
    assert told.startswith("           Context: JWT is better for stateless") and told.endswith("…")
    assert len(told) <= 100
    assert out.splitlines() == [
        "Awaiting Human Input:",
        "",
        f"❓ {deploy}  P1  small   Configure deployment  [awaiting_input]",
        "           ❓ Which cloud provider should we use?",
        "           Asked: 30 minutes ago",
        "",
        f"❓ {auth}  P2  medium  Implement user authentication  [awaiting_input]",
        f"           ❓ {JWT}",
        told,
        "           Asked: 2 hours ago",
        "",
        f"Answer: gate respond {deploy}   One by one: gate respond --all",
    ]
    assert set(out.splitlines()[2:-2]) <= set(tasks("list").splitlines())


@pytest.mark.proves("TASK-82", "S3-12", "S3-9")
def test_every_state_has_an_icon_and_a_colour():
    assert set(ICONS) == set(COLOURS) == set(TaskState) and ICONS["awaiting_input"] == "❓"
    assert len(set(ICONS.values())) == len(TaskState)


@pytest.mark.proves("TASK-82", "LAW-8")
def test_line_fits_the_screen_and_omits_the_rest(tasks):
    task = tasks.get(tasks.create("Very long \x1b[2J" * 30))
    more = {"state": "in_progress", "claimed_by": "person:somebody", "role": "code\x1b[1m"}
    task = task._replace(**more)
    for width, told in (
        (100, "somebody, code"),
        (75, "[in_progress, person:s"),
        (50, "…"),
        (40, "…"),
    ):
        (line,) = list_lines([SeenTask(task)], task.created_at, width, lambda text, _: text)
        assert len(line) <= width and told in line and "\x1b" not in line, line


@pytest.mark.proves("TASK-83", "TASK-285", "S3-5", "S3-B21", "S3-B15")
def test_list_is_in_work_order_and_shows_blockers(tasks):
    low = tasks.create("Low", "-p", "low")
    held = tasks.create("Held", "--dep", low)
    high = tasks.create("High", "-p", "0")
    answered, ask_id = tasks.let_ask("Which?")
    assert answered.id == high
    assert f"waits for {low} (open)" in tasks("list")
    tasks.let_ask("And this?")
    assert f"waits for {low} (awaiting your answer)" in tasks("list")
    tasks.world.ada.gate("answer", ask_id, "left")
    assert tasks("list", "--ids").split() == [high, held, low]
    assert f"{high}  P0  medium  High  [answered]" in tasks("list")
    assert tasks("list", "--awaiting", "--ids").split() == [low]
    assert tasks("list", "--ready", "--ids").split() == [high]
    assert f"waits for {low}" in tasks("show", held)
    assert tasks("list", "--limit", "1", "--ids").split() == [high]
    assert "… and more: --limit 4" in tasks("list", "--limit", "1")
    assert tasks("next").split()[1] == high


@pytest.mark.proves("TASK-83", "LAW-10")
def test_empty_list_names_the_next_step_and_separates_projects(tasks):
    assert f"No task is open in {tasks.folder}.\nTo create one: gate task create" in tasks("list")
    assert "create one: gate task create TITLE" in tasks("next", code=5)
    assert tasks() == tasks("list") and "No task is open" in tasks("tree")
    assert "gate task list" in tasks("list", "--ready")
    assert "No task waits for an answer" in tasks.world.ada.gate("list", "--awaiting").out
    assert tasks.world.ada.gate("list", "--awaiting", "--active").code == 2
    other = tasks.world.folder / "other"
    (other / ".gate").mkdir(parents=True)
    far = tasks.create("Far", "--project", str(other))
    near = tasks.create("Near")
    assert tasks("list", "--ids").split() == [near]
    assert tasks("list", "--ids", "--project", str(other)).split() == [far]
    everywhere = tasks("list", "--everywhere")
    assert everywhere.index(str(other)) < everywhere.index(far) < everywhere.index(near)
    assert tasks("next").split()[1] == near


@pytest.mark.proves("TASK-320", "LAW-10")
def test_tasks_of_moved_folders_are_named_and_can_move(tasks):
    old = tasks.world.folder / "the old one"
    (old / ".gate").mkdir(parents=True)
    far = tasks.create("Far", "--project", str(old))
    assert "gone" not in tasks("list")
    old.rename(tasks.world.folder / "new")
    told = tasks("list", "--ready").splitlines()[-2:]
    assert (
        told[0] == f"There are tasks of {old}, a folder that no longer exists. Was it moved here?"
    )
    assert told[1] == f"To import them: gate task export - --project '{old}' | gate task import -"
    assert tasks("list", "--ids", "--project", str(old)).split() == [far]
    lines = tasks("export", "-", "--project", str(old))
    assert "is not a folder" in tasks("create", "x", "--project", str(old), code=2)
    assert "✓ Imported 1 task" in tasks("import", "-", *ADA, text=lines)
    assert "Far" in tasks("list") and "gone" not in tasks("list", "--awaiting")
    tasks("close", far, *ADA)
    assert "gone" not in tasks("list", "--project", str(tasks.world.folder / "new"))


@pytest.mark.proves("TASK-84")
def test_worktree_of_a_run_means_its_project(tasks):
    store = tasks.world.store
    root = tasks.world.folder / "worktrees" / "run-1" / "project"
    (root / ".git").mkdir(parents=True)
    run = add_run(store, root=str(root), folder=str(root), project=str(tasks.folder))
    assert run.id == 1
    task = tasks.create("Inside", "--project", str(root))
    assert tasks.get(task).project == str(tasks.folder)
    part = tasks.world.claude.gate("task", "create", "Part", "--parent", task, "--json")
    assert json.loads(part.out)["project"] == str(tasks.folder)
    # A folder that only looks similar is another project.
    strange = tasks.world.folder / "worktrees" / "run-7" / "x"
    (strange / ".git").mkdir(parents=True)
    assert tasks.get(tasks.create("Strange", "--project", str(strange))).project == str(strange)


@pytest.mark.proves("TASK-85", "S3-54", "S3-12", "S3-B14")
def test_tree_is_drawn_with_questions_beneath_those_that_wait(tasks):
    pay = tasks.create("Design payment system")
    auth = tasks.create("Implement user authentication", "--parent", pay, "-p", "0")
    api = tasks.create("Implement payment API", "--parent", pay)
    tests = tasks.create("Write integration tests", "--parent", pay)
    tasks.let_ask(JWT)
    assert tasks("tree").splitlines() == [
        f"{pay} [open] Design payment system",
        f"├── {auth} [awaiting_input] ❓ Implement user authentication",
        f"│   └── Question: {JWT}",
        f"├── {api} [open] Implement payment API",
        f"└── {tests} [open] Write integration tests",
    ]
    deep = tasks.create("Deeper", "--parent", auth)
    tasks("close", pay, tests, *ADA)
    assert tasks("tree").splitlines() == [
        f"{pay} [closed] ✓ Design payment system",
        f"├── {auth} [awaiting_input] ❓ Implement user authentication",
        f"│   ├── Question: {JWT}",
        f"│   └── {deep} [open] Deeper",
        f"└── {api} [open] Implement payment API",
    ]
    assert tests in tasks("tree", "--all")
    assert tasks("tree", auth).splitlines()[0].startswith(auth)
    depths = {one["id"]: one["depth"] for one in json.loads(tasks("tree", "--json"))}
    assert depths == {pay: 0, auth: 1, deep: 2, api: 1}
    asked = next(one for one in json.loads(tasks("tree", "--json")) if one["id"] == auth)
    assert asked["questions"][0]["question"] == JWT


@pytest.mark.proves("TASK-85")
def test_task_without_its_parent_is_at_the_root(tasks):
    one = tasks.get(tasks.create("One"))
    lost = one._replace(id="tm-lost", parent="tm-gone")
    circle = [one._replace(id=a, parent=b) for a, b in (("tm-a23", "tm-b23"), ("tm-b23", "tm-a23"))]
    found = task_tree.branches([lost, *circle])
    assert [(branch.task.id, branch.depth) for branch in found] == [
        ("tm-lost", 0),
        ("tm-a23", 0),
        ("tm-b23", 1),
    ]
    beneath = one._replace(id="tm-beneath", parent="tm-lost")
    found = task_tree.branches([beneath, lost])
    assert [(b.task.id, b.depth) for b in found] == [("tm-lost", 0), ("tm-beneath", 1)]
    closed = one._replace(id="tm-closed", state="closed")
    assert [b.task.id for b in task_tree.branches([closed], "tm-closed")] == ["tm-closed"]
    assert task_tree.branches([closed]) == []


@pytest.mark.proves("TASK-79")
def test_ten_thousand_tasks_are_drawn_in_no_time(tasks):
    one = tasks.get(tasks.create("One"))
    wide = [
        one._replace(id=f"tm-{n:05}", parent=f"tm-{n // 10:05}" if n else "") for n in range(10_000)
    ]
    deep = [
        one._replace(id=f"tm-{n:05}", parent=f"tm-{n - 1:05}" if n else "") for n in range(10_000)
    ]
    for many in (wide, deep):
        start = time.process_time()
        found = task_tree.branches(many)
        lines = task_tree.tree_lines(found, {}, 80)
        assert len(lines) == 10_000 and time.process_time() - start < 2
    assert max(map(len, lines)) <= 120 and found[-1].depth == 9_999
    assert max(len(branch.above) for branch in found) == 10


@pytest.mark.proves(
    "TASK-86", "S3-69", "S3-7", "S3-80", "S3-13", "S3-14", "S3-15", "S3-16", "LAW-8"
)
def test_show_has_the_history_of_questions_and_answers(tasks):
    needed = tasks.create("Needed")
    task_id = tasks.create("Add login", "--parent", needed, "-d", "The\x1b[2J whole", "-p", "0")
    tasks.create("Later", "--dep", task_id)
    _, ask_id = tasks.let_ask(JWT, context={"mobile": "soon"})
    proposed = tasks.world.claude.gate("respond", task_id, "JWT, says the agent")
    assert proposed.code == 7 and "agent" in proposed.err
    shown = tasks("show", task_id[:5])
    assert "Not answered yet." in shown and f"Answer: gate respond {task_id}" in shown
    tasks.world.ada.gate("respond", task_id, "Cookies.", *ADA)
    shown = tasks("show", task_id)
    for told in (
        *(f"{task_id}  Add login", "○ open  P0  medium  task", f"({ask_id}, run 1)", "Question 1, asked "),
        *(f"│ {JWT}", "mobile", "Answered by person:ada at 20", "│ Cookies.", "Proposed, from agent:claude/s1"),
        *("JWT, says the agent", "Runs: 1 ready (gate show 1)", "Part of:", "Needed by:", "Description"),
    ):  # fmt: skip
        assert told in shown, told
    assert "\x1b" not in shown
    document = json.loads(tasks("show", task_id, "--json"))
    (asked,) = document["history"]
    assert (asked["answer"], asked["who"], asked["status"]) == (
        "Cookies.",
        "person:ada",
        "answered",
    )
    assert [one["outcome"] for one in asked["answers"]] == ["refused", "settled"]
    assert document["runs"] == [1] and document["ready"] and document["questions"] == []
    assert [document["id"]] == json.loads(tasks("show", document["needed_by"][0], "--json"))[
        "waits_for"
    ]
    tasks.world.ada.gate("answer", ask_id, "late", *ADA)
    assert "Not counted, from person:ada" in tasks("show", task_id)


@pytest.mark.proves("TASK-283", "LAW-8")
def test_show_and_list_have_options_limits_activity_and_agent(tasks):
    made = tasks.world.claude.gate("task", "create", "Deploy", "-p", "0", "--answer-within", "2h")
    task = made.out.split()[2].rstrip(":")
    tasks("update", task, "--on-timeout", "defer", *ADA)
    before = tasks("show", task)
    assert "Answer within: 2h\nOn timeout: defer\n" in before
    assert ", by agent:claude/s1" in before and re.search(
        r"Created: [-0-9]+ [:0-9]+ \w+ by person:", before
    )
    assert "by agent" not in tasks("show", tasks.create("Mine"))
    words = " ".join(f"word{n}" for n in range(40))
    assert words.split() == tasks("show", tasks.create(words)).partition("○")[0].split()[1:]
    options = {"kind": "choice", "options": ("eu-1", "us-1\x1b")}
    tasks.let_ask("Where?", activity="I looked at\x1b[2J both", **options)
    shown = tasks("show", task)
    assert "Choose one of:\n  │ 1. eu-1\n  │ 2. us-1␛\n" in shown
    assert "Activity\n│ I looked at␛[2J both\n" in shown
    assert "           Options: eu-1 | us-1␛\n" in tasks("list", "--awaiting")
    tasks.world.ada.gate("respond", task, "eu-1", *ADA)
    assert "Activity" not in tasks("show", task)
    tasks("edit", task, *ADA, EDITOR="sed -i s/2h/3h/")
    assert tasks.get(task).answer_within_seconds == 10800


@pytest.mark.proves("TASK-87", "LAW-6")
def test_task_is_edited_and_invalid_text_is_kept(tasks):
    task = tasks.create("Add login", "-d", "With\x1b[2J JWT")
    assert tasks("edit", task, *ADA, EDITOR="true") == f"Nothing was changed in {task}.\n"
    assert tasks.get(task).version == 1
    assert "exit code 127" in tasks("edit", task, *ADA, code=2, EDITOR="/no/such")
    tasks("edit", task, *ADA, EDITOR="sed -i s/login/logout/")
    assert (tasks.get(task).title, tasks.get(task).description) == ("Add logout", "With\x1b[2J JWT")
    for editor, code, told in (
        ("sed -i s/P2/P9/", 2, "a priority is urgent"),
        ("sed -i s/needs:/needs:nonsense/", 5, "no task nonsense"),
        ("sed -i s/Description/Nothing/", 2, "is missing"),
        ("sh -c 'echo more >> $0; exit 3'", 2, "exit code 3"),
    ):
        err = tasks("edit", task, *ADA, code=code, EDITOR=editor)
        path = err.split("is kept in ")[1].strip()
        assert told in err and f"# {task}" in Path(path).read_text()
        assert os.stat(path).st_mode & 0o777 == 0o600
    assert tasks.get(task).version == 2
    rival = f"sh -c '{sys.executable} -m gatebell task update {task} --title Faster; sed -i s/logout/in/ $0'"
    assert "has changed since you opened it" in tasks("edit", task, *ADA, code=7, EDITOR=rival)
    assert tasks.get(task).title == "Faster"


@pytest.mark.proves("TASK-88", "TASK-318")
def test_tail_shows_task_events_until_it_is_stopped(tasks):
    first, second = tasks.create("One", "-p", "0"), tasks.create("Two")
    tasks.world.ask("Not a task's?")
    tasks.let_ask("Which \x1b[2Jway?" + " And why?" * 20)
    out = tasks("tail")
    assert len(out.splitlines()[3]) + 1 == 100, "the icon is two columns wide"
    assert "\x1b" not in out and "created" in out.splitlines()[0]
    assert [line.split()[3] for line in out.splitlines()] == [first, second, first, first]
    assert "❓" in out.splitlines()[3] and "Which" in out.splitlines()[3]
    assert len(tasks("tail", "-n", "1").splitlines()) == 1
    assert [line.split()[3] for line in tasks("tail", second).splitlines()] == [second]
    events = [json.loads(line) for line in tasks("tail", first, "--json").splitlines()]
    assert events[-1]["kind"] == "task.awaiting_input"
    process = tasks.world.ada.start("task", "tail", "--follow", "-n", "1")
    assert first in process.stdout.readline()
    tasks("defer", second, "--reason", "no time", *ADA)
    line = process.stdout.readline()
    assert "deferred" in line and "person:ada" in line and "no time" in line
    tasks("reopen", second, *ADA)
    assert second in (line := process.stdout.readline()) and "  open  " in line
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 0


@pytest.mark.proves("TASK-89", "S3-P2", "TASK-73", "TASK-77", "TASK-78", "TASK-287", "TASK-319")
def test_backlog_is_exported_to_a_file_and_imported_again(tasks):
    first = tasks.create("Add login — ❓", "--test", "make")
    second = tasks.create("Later", "--dep", first)
    tasks.let_ask(JWT, context="or cookies")
    tasks.world.ada.gate("respond", first, "JWT", *ADA)
    path = tasks.world.folder / "backlog.jsonl"
    path.write_text("old")
    assert tasks("export", str(path)) == f"✓ Exported 2 tasks to {path}\n"
    assert "is not a folder" in tasks("export", str(path.parent / "tpyo" / "f"), code=2)
    assert not (path.parent / "tpyo").exists()
    assert tasks("export") == tasks("export", "-") == path.read_text(encoding="utf-8")
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [one["id"] for one in records] == [first, second]
    assert records[0]["humanResponse"] == "JWT" and records[0]["questionContext"] == "or cookies"
    assert records[0]["sessionId"] == "s-1" and records[0]["humanRespondedAt"]
    assert sorted(tasks.world.folder.glob(".backlog*")) == []
    assert tasks("import", str(path), *ADA) == "✓ Imported 0 tasks, skipped 2 that exist already\n"
    other = tasks.world.folder / "other"
    (other / ".gate").mkdir(parents=True)
    where = ("--project", str(other), *ADA)
    dry = tasks.world.ada.gate("task", "import", str(path), "--dry-run", *where)
    assert dry.out == "Would import 2 tasks\n"
    taken = "is the id of another task: it gets a new id here"
    assert dry.err == f"Remark: {first} {taken}\nRemark: {second} {taken}\n"
    planned = json.loads(tasks("import", str(path), "--dry-run", "--json", *where))
    assert planned["imported"] == [None, None]
    assert tasks("list", "--ids", "--project", str(other)) == ""
    done = json.loads(tasks("import", "-", "--json", *where, text=path.read_text(encoding="utf-8")))
    assert len(done["imported"]) == 2 and len(done["remarks"]) == 2
    here = tasks.get(done["imported"][1])
    assert here.needs == (done["imported"][0],) and here.title == "Later"
    path.write_text('{"title": "Good"}\n{"title": 7}\n')
    err = tasks("import", str(path), *ADA, code=2)
    assert f"{path}, line 2: expected a text for title, got 7; nothing was imported" in err
    path.write_text('{"title": "Good"}\n')
    assert tasks.world.claude.gate("task", "import", str(path)).code == 7
    assert len(tasks("list", "--ids").split()) == 2


@pytest.mark.proves("TASK-289", "TASK-290", "TASK-288", "TASK-286", "LAW-8", "LAW-10")
def test_invalid_task_is_reported_at_once_with_next_steps(tasks):
    folder = tasks.folder / ".gate" / "agents"
    folder.mkdir()
    (folder / "mine.md").write_text('---\ncommand: ["true"]\n---\nYou are mine.\n')
    made = tasks.world.ada.gate("task", "create", "One", "--role", "nobody\x1b", *ADA)
    assert made.code == 2 and "\x1b" not in made.err
    made = tasks.world.ada.gate("task", "create", "One", "--role", "mime", *ADA)
    assert made.code == 5 and "there is no role 'mime'; there are " in made.err
    assert "did you mean 'mine'?" in made.err
    assert tasks.world.ada.gate("task", "create", "Two", "--role", "mine", *ADA).err == ""
    task = tasks.create("Three")
    words = ("task", "update", task, "--role", "no-one", *ADA)
    assert "there is no role 'no-one'" in tasks.world.ada.gate(*words).err
    assert tasks.world.ada.gate("task", "update", task, "--size", "small", *ADA).err == ""
    assert f"gate task update {task}" in tasks("edit", task, *ADA, code=2)
    wrong = tasks("create", "T", "-p", "soon", *ADA, code=2)
    assert "urgent, high, normal, low or backlog, or P0 to P4" in wrong
    tasks("close", task, *ADA)
    assert f"{task} is already closed" in tasks("close", task, *ADA, code=7)
    for verb in ("claim", "defer"):
        assert f"gate task reopen {task}" in tasks(verb, task, *ADA, code=7)


@pytest.mark.proves("TASK-284")
def test_task_is_accepted_without_tm_where_asks_are_expected(tasks):
    world = tasks.world
    line = '{"id": "tm-7777", "title": "One"}\n{"id": "tm-zzz", "title": "Two"}\n'
    tasks("import", "-", *ADA, text=line)
    tasks.let_ask("First?")
    _, second = tasks.let_ask("Second?")
    assert "First?" in world.plain.gate("show", "7777").out
    assert "Second?" in world.plain.gate("show", "ZZ").out
    assert world.ada.gate("ask-back", "zzz", "For whom?").code == 0
    assert world.plain.gate("wait", "zzz", "--timeout", "0.1s").code == 11
    assert world.ada.gate("answer", "zz", "x").code == 5
    assert world.ada.gate("answer", "zzz", "left").code == 0
    assert world.get(second).value == "left"
    assert "there is no run 101" in world.ada.gate("answer", "101", "x").err
    # Ids of asks and runs come first.
    store = world.store
    ask_id = world.ask("Mine?")
    tasks("import", "-", *ADA, text=f'{{"id": "tm-{ask_id[2:]}", "title": "Same"}}\n')
    assert create_ask.look_up(store, ask_id[2:]).id == ask_id
    tasks("import", "-", *ADA, text='{"id": "tm-111", "title": "Number"}\n')
    assert world.plain.gate("show", "111").out.startswith("tm-111  Number\n")


@pytest.mark.proves("TASK-90", "LAW-3", "S3-P9")
def test_agent_cannot_change_tasks_that_await_a_person(tasks):
    task = tasks.create("One")
    tasks.let_ask("Which?")
    for words in (["close", task], ["defer", task], ["update", task, "--title", "Mine"]):
        ran = tasks.world.claude.gate("task", *words)
        assert ran.code == 7 and "agent" in ran.err, words
    assert tasks.get(task).state == "awaiting_input"
    made = tasks.world.claude.gate("task", "create", "A part", "--parent", task, "--test", "rm x")
    part = tasks.get(made.out.split()[2].rstrip(":"))
    assert part.test_from.startswith("agent:claude") and part.created_by.startswith("person:")


@pytest.mark.proves("TASK-91", "CLI-14")
def test_listing_runs_loads_nothing_of_tasks(tasks):
    code = (
        "import sys; from gatebell.cli.main import main; main(['list']);"
        "print([m for m in sys.modules if m in ('gatebell.services.tasks.backlog', 'gatebell.cli.tasks.task_views')])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], env=tasks.world.ada.environ, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    assert ran.stdout.splitlines()[-1] == "[]"


@pytest.mark.proves("TASK-92", "CLI-11")
def test_completion_knows_task_commands_and_waiting_tasks(tasks):
    task = tasks.create("One", "-p", "0")
    other = tasks.create("Two")
    tasks.let_ask("Which?")
    tries = f"""
try gate task cr; try gate task create --si; try gate task create --size ''; try gate task show ''
try gate respond ''; try gate task show {task} ''; try gate task list --aw
"""
    lines = tasks.world.complete(tries)
    assert lines[:3] == ["create", "--size", "small medium large"]
    assert {task, other} <= set(lines[3].split())
    assert task in lines[4].split() and other not in lines[4].split()
    assert "tm-" not in lines[5] and lines[6] == "--awaiting"
    assert (
        "__fish_seen_subcommand_from task; and" in tasks.world.plain.gate("completion", "fish").out
    )


@pytest.mark.proves("TASK-291", "CLI-11")
def test_completion_knows_roles_templates_priorities_files_and_closed_tasks(tasks):
    world, done, todo = tasks.world, tasks.create("Done"), tasks.create("To do")
    tasks("close", done, *ADA)
    for folder, name, text in (
        ("agents", "mine", '---\ncommand: ["true"]\n---\nYou are mine.\n'),
        ("templates", "later", "Not now.\n"),
    ):
        (tasks.folder / ".gate" / folder).mkdir()
        (tasks.folder / ".gate" / folder / f"{name}.md").write_text(text)
    tries = f"""
try gate task create --role mi; try gate respond tm-x --template ''; try gate template show ''
try gate task update {todo} -p ''; try gate task create --priority P0; try gate task import ''
try gate task import --dr; try gate task show tm-; try gate task reopen tm-; try gate task close tm-
try gate ask --priority ''; try gate template sh; try gate task create -d ''
"""
    lines = world.complete(tries)
    assert lines[:2] == ["mine", "later"] and lines[2].split()[0] == "later"
    # An empty answer leaves it to the shell, which offers files.
    assert lines[3:7] == ["P0 P1 P2 P3 P4", "P0", "", "--dry-run"]
    assert {done, todo} == set(lines[7].split()) == set(lines[8].split())
    assert lines[9].split() == [todo] and "P0" not in lines[10] and lines[11:] == ["show", ""]
    fish = world.plain.gate("completion", "fish").out
    for told in (
        "-l role -x -a '(gate agents --names",
        "-s p -l priority -x -a 'P0 P1",
        "--all --ids",
    ):
        assert told in fish, told


@pytest.mark.proves("TASK-93")
def test_task_means_the_ask_it_waits_for(tasks):
    world, task = tasks.world, tasks.create("One")
    assert (
        "waits for no answer (state: open). See: gate task show"
        in world.ada.gate("answer", task, "x").err
    )
    assert world.plain.gate("show", task).out == world.plain.gate("task", "show", task).out
    assert world.ada.gate("answer", "tm-none", "x").code == 5
    _, ask_id = tasks.let_ask(JWT)
    assert JWT in world.plain.gate("show", task[:5]).out
    assert world.ada.gate("ask-back", task.upper(), "For whom?").code == 0
    assert world.ada.gate("answer", task, "JWT").code == 0
    assert world.get(ask_id).value == "JWT"
    assert world.plain.gate("wait", ask_id).out.strip() == "JWT"
    twins = [tasks.create(f"T{n}") for n in range(40)]
    assert len({name[:4] for name in twins}) < 40
    assert world.plain.gate("show", "tm-").code == 2
    assert backlog.close(world.store, task, a_person()).state == "closed"
