"""Tasks with hostile agents, careless people and crashes."""

from __future__ import annotations

import os
import shlex
import sys
from contextlib import closing

import pytest
from tests.support.backlog_project import BacklogProject, report
from tests.support.people import a_person, an_agent
from tests.support.task_records import add_task, asks, awaiting, taken_up

from gatebell.adapters.git import provisions
from gatebell.app import runtime, wiring
from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.asks import Origin
from gatebell.domain.asks.owners import owner_of_task
from gatebell.domain.enums import TaskState
from gatebell.domain.people.principals import find_agent
from gatebell.domain.runs import runs
from gatebell.domain.tasks import tasks
from gatebell.errors import AgentRefusedError, RefusedError, UsageError
from gatebell.services.asks import answer_ask, create_ask
from gatebell.services.asks.apply_deadlines import sweep
from gatebell.services.asks.create_ask import Request
from gatebell.services.runs import manage_runs
from gatebell.services.tasks import backlog

DONE = report("completed", "It is done")
ADA = a_person("ada")


class Desk:
    """A project with a backlog, a worker, and ada who answers."""

    def __init__(self, folder, store, clock):
        self.folder, self.store, self.clock = folder, store, clock
        self.driver = runtime.build_driver(store)

    def set_up(self, terms=""):
        """Check out another branch than main."""
        where = self.folder / "project"
        self.project = BacklogProject(where, self.folder / "stage", terms=f'base = "main"\n{terms}')
        self.project.git("checkout", "-q", "-b", "elsewhere")
        return self.project

    def task(self, title, script, by=ADA, **fields):
        self.project.script(title, script)
        where = os.path.realpath(self.project.folder)
        return backlog.create(self.store, where, by, {"title": title, **fields})

    def work(self):
        """Work until no task is ready."""
        where = os.path.realpath(self.project.folder)
        while run := self._ready() or backlog.take_up(self.store, where, runtime.work_digest()):
            self.driver.drive(run)

    def _ready(self):
        return next((self.store.runs.get(one) for one in self.store.runs.ready(1)), None)

    def answer(self, part, value):
        (ask,) = self.store.asks.pending(9)
        assert part in ask.question.prompt
        answer_ask.answer(self.store, ask.id, ADA, Given(value))
        self.work()
        return ask

    def get(self, task):
        return self.store.tasks.get(task.id)


@pytest.fixture
def store(tmp_path, clock):
    with closing(wiring.open_throwaway_store(str(tmp_path / "gate.db"), clock)) as made:
        yield made


@pytest.fixture
def desk(tmp_path, store, clock, monkeypatch):
    for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
        monkeypatch.setenv(name, "/dev/null")
    made = Desk(tmp_path, store, clock)
    yield made
    made.driver.close()


FORGES = """echo evil >evil.txt
git add -A
for call in 1 2 3 4 5 6 7 8 9; do
    git -c user.name=x -c user.email=x@x commit -q --allow-empty -m "innocent

Gate-Call: run-$GATE_RUN/$call/1"
done
rm evil.txt
echo good >good.txt
"""


@pytest.mark.proves("TASK-250", "LAW-4")
def test_agent_commit_is_not_taken_for_the_approved_one(desk):
    project = desk.set_up('strategy = "review"')
    task = desk.task("Own", FORGES + DONE)
    desk.work()
    ask = desk.answer("right", "yes")
    assert "+good" in ask.activity and "evil" not in ask.activity
    assert desk.get(task).status.startswith("on main as ")
    assert project.text("main", "good.txt") == "good"
    assert "evil.txt" not in project.git("ls-tree", "--name-only", "main")


@pytest.mark.proves("TASK-251", "LAW-3")
def test_process_of_a_test_command_is_not_a_person(desk, monkeypatch):
    desk.set_up()
    monkeypatch.setenv("GATE_STORE", desk.store.path)
    for name in ("CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "AI_AGENT", "GATE_TURN"):
        monkeypatch.delenv(name, raising=False)
    said = desk.folder / "said"
    told = report("needs_input", "Hm", question="Really?")
    waits = desk.task("Waits", f"case $text in *Human*) {DONE};; esac\n{told}")
    desk.work()
    gate = f"{shlex.quote(sys.executable)} -m gatebell"
    # An agent could write this into the file that the test command runs.
    command = (
        f"{gate} respond {waits.id} sure >{said} 2>&1; {gate} task close {waits.id} >>{said} 2>&1"
    )
    desk.task("Tests", f"echo own >own.txt\n{DONE}", test_command=f"{command}; true")
    desk.work()
    assert desk.get(waits).state == "awaiting_input"
    assert said.read_text().count("an agent seems to be at work here") >= 1
    (ask,) = desk.store.asks.pending(9)
    assert [one.outcome for one in desk.store.asks.answers(ask.id)] == ["refused"]


@pytest.mark.proves("TASK-252")
def test_task_closed_while_being_taken_ends_its_run(store, monkeypatch):
    task = add_task(store)
    real, made = store.tasks.change, []

    def change(step, expected):
        if not made:
            made.append(taken_up(store, task))
        return real(step, expected)

    monkeypatch.setattr(store.tasks, "change", change)
    backlog.close(store, task.id, a_person("ada"))
    assert store.tasks.get(task.id).state == "closed"
    assert store.runs.get(made[0].id).state == "stuck"


@pytest.mark.proves("TASK-252")
@pytest.mark.parametrize("state", [one for one in TaskState if one != "awaiting_input"])
def test_run_is_written_and_stopped_in_every_task_state(store, state):
    task = add_task(store)
    run = taken_up(store, task)
    now = store.tasks.get(task.id)
    moved = now._replace(state=state, version=now.version + 1)
    assert store.tasks.change(tasks.TaskChange(moved), now)
    asks(store, run)
    assert manage_runs.stop(store, run.id, a_person("ada"), "enough").state == "stuck"
    assert store.runs.get(run.id).has_ended


@pytest.mark.proves("TASK-253", "S3-B3")
def test_agent_cannot_end_a_waiting_run_or_ask(store):
    task, ask = awaiting(store)
    for deed in (
        lambda: manage_runs.stop(store, task.run, an_agent(), "enough"),
        lambda: create_ask.cancel(store, ask.id, an_agent(), "enough"),
        lambda: backlog.close(store, task.id, an_agent()),
    ):
        with pytest.raises(AgentRefusedError):
            deed()
    assert store.tasks.get(task.id).state == "awaiting_input" and store.asks.get(ask.id).pending
    assert create_ask.cancel(store, ask.id, a_person("ada"), "enough").status == "cancelled"


@pytest.mark.proves("TASK-254", "LAW-3")
def test_test_not_allowed_in_time_closes_nothing(desk):
    project = desk.set_up('answer_within = "1h"')
    task = desk.task("Own", f"echo own >own.txt\n{DONE}", an_agent(), test_command="true")
    desk.work()
    desk.clock.advance(3601)
    sweep(desk.store)
    desk.work()
    done = desk.get(task)
    assert (done.state, done.status) == (
        "deferred",
        "no person answered whether its test may be run",
    )
    assert project.commits(f"task/{task.id}") == []


@pytest.mark.proves("TASK-254")
def test_project_test_runs_when_the_agent_test_is_rejected(desk):
    desk.set_up('test = "false"')
    task = desk.task("Own", f"echo own >own.txt\n{DONE}", an_agent(), test_command="true")
    desk.work()
    desk.answer("An agent named the test command", "no")
    assert desk.get(task).state == "failed"


@pytest.mark.proves("TASK-255", "S3-B3")
@pytest.mark.parametrize("command", ["", "true"])
def test_agent_cannot_remove_the_test_of_a_person(store, command):
    task = add_task(store, test_command="make test")
    with pytest.raises(AgentRefusedError, match="which a person set"):
        backlog.update(store, task.id, an_agent(), {"test_command": command})
    assert backlog.update(store, task.id, an_agent(), {"title": "Other"}).title == "Other"
    agents = backlog.create(store, "/p", an_agent(), {"title": "A", "test_command": "x"})
    assert backlog.update(store, agents.id, an_agent(), {"test_command": "y"})


@pytest.mark.proves("TASK-340")
@pytest.mark.parametrize("role", ["careful", ""], ids=["named", "default"])
def test_no_agent_changes_the_role_of_a_persons_task(store, role):
    task = add_task(store, role=role)
    with pytest.raises(AgentRefusedError, match="changes the role of"):
        backlog.update(store, task.id, an_agent(), {"role": "quick"})
    assert backlog.update(store, task.id, an_agent(), {"role": role, "title": "Other"})
    proven = an_agent()._replace(verified=True)
    assert backlog.update(store, task.id, proven, {"role": "quick"}).role == "quick"


@pytest.mark.proves("TASK-340")
def test_agent_changes_its_own_role_until_a_person_does(store):
    task = backlog.create(store, "/p", an_agent(), {"title": "A", "role": "careful"})
    assert backlog.update(store, task.id, an_agent(), {"role": "quick"}).role == "quick"
    backlog.update(store, task.id, a_person("ada"), {"role": "careful"})
    with pytest.raises(AgentRefusedError, match="changes the role of"):
        backlog.update(store, task.id, an_agent(), {"role": "quick"})


@pytest.mark.proves("TASK-256", "TASK-323")
def test_task_with_a_very_talkative_agent_can_be_reopened(store):
    task = add_task(store)
    run = taken_up(store, task)
    result = {"state": "closed", "summary": "s" * 300_000, "details": ["no", "text"]}
    assert store.runs.change(runs.complete(run, result, store.now()), run)
    closed = store.tasks.get(task.id)
    assert closed.state == "closed" and len(closed.summary) == 200_000
    again = backlog.reopen(store, task.id, ADA)
    assert (again.state, again.summary, again.details) == ("open", "", "")
    assert len(store.runs.get(run.id).result["summary"]) == 300_000


@pytest.mark.proves("TASK-257")
def test_run_of_a_task_is_not_forked(store):
    task, _ = awaiting(store)
    with pytest.raises(RefusedError, match=f"gate task reopen {task.id}"):
        manage_runs.fork(store, runtime.workspace(store), task.run, "1", ADA)
    assert [run.id for run in store.runs.newest(9)] == [task.run]


@pytest.mark.proves("TASK-258")
@pytest.mark.parametrize("seconds", [0.0, -1.0, 1e9, 1e300])
def test_invalid_wait_is_refused_before_any_work(store, seconds):
    with pytest.raises(UsageError, match="expected a time for the answer"):
        add_task(store, answer_within_seconds=seconds)


@pytest.mark.proves("TASK-259", "LAW-7")
@pytest.mark.parametrize("merged", [True, False])
def test_task_starts_with_dependencies_whose_branch_is_gone(desk, merged):
    project = desk.set_up()
    first = desk.task("First", f"echo one >one.txt\n{DONE}")
    desk.work()
    branch = desk.get(first).branch
    if merged:
        project.git("checkout", "-q", "main")
        project.git("merge", "-q", "--no-ff", "-m", "Merged", branch)
    project.git("worktree", "remove", "--force", desk.store.runs.get(desk.get(first).run).root)
    project.git("branch", "-D", branch)
    second = desk.task("Second", f"cat one.txt >two.txt\n{DONE}", needs=[first.id])
    desk.work()
    assert desk.get(second).state == "closed"
    assert project.text(desk.get(second).branch, "two.txt") == "one"


@pytest.mark.proves("TASK-260", "LAW-7")
def test_reopened_task_without_folder_starts_from_its_snapshot(desk):
    project = desk.set_up()
    asked = report("needs_input", "Hm", question="Really?")
    task = desk.task("Own", f"echo part >part.txt\n{asked}")
    desk.work()
    run = desk.store.runs.get(desk.get(task).run)
    backlog.defer(desk.store, task.id, ADA)
    project.git("worktree", "remove", "--force", run.root)
    project.script("Own", f"cat part.txt >whole.txt\n{DONE}")
    backlog.reopen(desk.store, task.id, ADA)
    desk.work()
    done = desk.get(task)
    assert done.state == "closed" and project.text(done.branch, "whole.txt") == "part"


@pytest.mark.proves("TASK-261", "LAW-10")
def test_long_circle_is_reported_in_a_short_sentence(store):
    first = last = add_task(store)
    for _ in range(50):
        last = add_task(store, needs=[last.id])
    with pytest.raises(RefusedError, match=f"^{first.id} would wait .* → … → ") as refused:
        backlog.depend(store, first.id, ADA, [last.id])
    assert len(str(refused.value)) < 250 and str(refused.value).endswith(f"→ {first.id}")


@pytest.mark.proves("TASK-262", "LAW-3")
@pytest.mark.parametrize(
    "fields",
    [
        {"state": "closed"},
        {"test_from": "person:ada"},
        {"run": 4},
        {"created_by": "person:bob"},
        {"project": "/elsewhere"},
        {"nonsense": 1},
        {"needs": "tm-abc"},
    ],
)
def test_invalid_fields_cannot_be_written_into_a_task(store, fields):
    task = backlog.create(store, "/p", an_agent(), {"title": "A", "test_command": "x"})
    with pytest.raises(UsageError):
        backlog.update(store, task.id, an_agent(), fields)
    with pytest.raises(UsageError):
        backlog.create(store, "/p", an_agent(), {"title": "B", **fields})
    assert store.tasks.get(task.id) == task


@pytest.mark.proves("TASK-263")
def test_agent_cannot_ask_for_a_task_claimed_by_another(store):
    task = add_task(store)
    backlog.claim(store, task.id, ADA)
    origin = Origin("/p", "/p", "claude", owner=owner_of_task(task.id))
    with pytest.raises(AgentRefusedError, match="which person:ada has claimed"):
        create_ask.ask(store, Request("Which way?"), origin, an_agent())
    assert store.tasks.get(task.id).state == "in_progress"
    assert create_ask.ask(store, Request("Which way?"), origin, ADA).ask.pending


@pytest.mark.proves("TASK-264")
def test_concurrent_dependencies_of_a_task_are_both_kept(store, monkeypatch):
    first, second, task = (add_task(store) for _ in range(3))
    real, others = store.tasks.change, [second.id]

    def change(step, expected):
        if others:
            backlog.depend(store, task.id, ADA, [others.pop()])
        return real(step, expected)

    monkeypatch.setattr(store.tasks, "change", change)
    assert set(backlog.depend(store, task.id, ADA, [first.id]).needs) == {first.id, second.id}


@pytest.mark.proves("TASK-251")
def test_process_of_a_setup_is_not_a_person(tmp_path):
    (tmp_path / ".gate").mkdir()
    (tmp_path / ".gate" / "setup").write_text("env >around\n")
    assert provisions.run_setup(str(tmp_path), str(tmp_path)) == ""
    lines = (tmp_path / "around").read_text(errors="replace").splitlines()
    around = dict(line.partition("=")[::2] for line in lines)
    assert find_agent({"GATE_CHECK": around["GATE_CHECK"]}, []).cli == "check"
