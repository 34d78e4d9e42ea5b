"""Task work is tested, confirmed, committed and merged, in a real repository."""

from __future__ import annotations

from contextlib import closing

import pytest
from tests.support.backlog_project import BacklogProject, report
from tests.support.flow_harness import Crash
from tests.support.people import a_person, an_agent

from gatebell.app import runtime, wiring
from gatebell.domain.asks.answers import Given
from gatebell.services.asks import answer_ask
from gatebell.services.asks.apply_deadlines import sweep
from gatebell.services.runs.run_journal import place_of
from gatebell.services.tasks import backlog

DONE = report("completed", "It is done")
WRITES = f"echo own >own.txt\n{DONE}"


class Desk:
    """A project with a backlog, a worker, and ada who answers."""

    def __init__(self, folder, store, clock):
        self._folder, self.store, self.clock = folder, store, clock
        self.project = None
        self._driver = runtime.build_driver(store)

    def set_up(self, terms="", role="", *, away=True, **more):
        """`away`: the user has another branch than main checked out."""
        self.project = BacklogProject(
            self._folder / "project",
            self._folder / "stage",
            role,
            f'base = "main"\n{terms}',
            **more,
        )
        if away:
            self.project.git("checkout", "-q", "-b", "elsewhere")
        return self.project

    def task(self, title, script, **fields):
        return self.project.task(self.store, title, script, **fields)

    def work(self):
        """Work until no task is ready."""
        where = str(self.project.folder)
        while run := self._ready() or backlog.take_up(self.store, where, runtime.work_digest()):
            self._driver.drive(run)

    def _ready(self):
        return next((self.store.runs.get(one) for one in self.store.runs.ready(1)), None)

    def take_over(self, task):
        """The driver of its run is dead, and its lease has ended."""
        self.clock.advance(60)
        self._driver.drive(self.store.runs.get(self.get(task).run))

    @property
    def workspace(self):
        return self._driver._needs.workspace

    def wait_for_ask(self, part):
        (ask,) = self.store.asks.pending(9)
        assert part in ask.question.prompt
        return ask

    def answer(self, part, value, note=""):
        """Answer the only question, and continue the work."""
        ask = self.wait_for_ask(part)
        answer_ask.answer(self.store, ask.id, a_person("ada"), Given(value, note))
        self.work()
        return ask

    def get(self, task):
        return self.store.tasks.get(task.id)

    def folder(self, task):
        return self.project.folder / self.store.runs.get(self.get(task).run).folder


@pytest.fixture
def desk(tmp_path, clock, monkeypatch):
    for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
        monkeypatch.setenv(name, "/dev/null")
    with closing(wiring.open_throwaway_store(str(tmp_path / "gate.db"), clock)) as store:
        made = Desk(tmp_path, store, clock)
        yield made
        made._driver.close()


@pytest.mark.proves("TASK-200", "S3-P6")
def test_work_stays_on_its_branch_by_default(desk):
    project = desk.set_up()
    before, task = project.state(), desk.task("Own", WRITES)
    desk.work()
    done = desk.get(task)
    assert (done.state, done.branch, done.summary) == ("closed", f"task/{task.id}", "It is done")
    assert project.commits(done.branch) == [("Own", ["own.txt"])]
    assert f"Task: {task.id}" in project.git("log", "-1", "--format=%B", done.branch)
    assert project.state() == before


@pytest.mark.proves("TASK-201", "S3-P6")
def test_checked_out_base_is_left_and_reported(desk):
    project = desk.set_up('strategy = "merge"', away=False)
    before, task = project.state(), desk.task("Own", WRITES)
    desk.work()
    done = desk.get(task)
    assert (done.state, done.branch) == ("closed", f"task/{task.id}")
    assert done.status.startswith(f"left on task/{task.id}: ") and "main" in done.status
    assert str(project.folder) in done.status
    assert project.state() == before
    assert project.commits(done.branch) == [("Own", ["own.txt"])]


@pytest.mark.proves("TASK-202", "S3-P6")
def test_base_without_checkout_gets_a_merge_commit(desk):
    project = desk.set_up('strategy = "merge"')
    main, here = project.git("rev-parse", "main"), project.state()[:2]
    task = desk.task("Own", WRITES)
    desk.work()
    done, branch = desk.get(task), f"task/{task.id}"
    parents = project.git("log", "-1", "--format=%P", "main").split()
    assert parents[0] == main and project.commits(parents[1], main) == [("Own", ["own.txt"])]
    assert (done.state, done.branch) == ("closed", "")
    told = f"on main as {project.git('rev-parse', 'main')[:12]}, so its branch {branch} is removed"
    assert done.status == told and project.git("branch", "--list", "task/*") == ""
    assert project.text("main", "own.txt") == "own" and project.state()[:2] == here


@pytest.mark.proves("TASK-203", "S3-P6")
def test_direct_work_is_one_commit_the_next_task_includes(desk):
    project = desk.set_up('strategy = "direct"')
    main = project.git("rev-parse", "main")
    first = desk.task("First", f"echo one >one.txt\n{DONE}")
    desk.task("Second", f"cat one.txt >two.txt\n{DONE}", needs=[first.id])
    desk.work()
    assert project.commits("main", main) == [("Second", ["two.txt"]), ("First", ["one.txt"])]
    assert project.git("rev-list", "--merges", "--count", f"{main}..main") == "0"
    assert project.text("main", "two.txt") == "one"
    assert desk.get(first).branch == "" and project.git("branch", "--list", "task/*") == ""
    assert (desk.folder(first) / "one.txt").exists()
    run = desk.store.runs.get(desk.get(first).run)
    assert desk.workspace.remove(place_of(run), run.id) == ""


@pytest.mark.proves("TASK-204")
@pytest.mark.parametrize("mended", [True, False])
def test_work_that_conflicts_with_its_base_is_a_question(desk, mended):
    project = desk.set_up('strategy = "merge"')
    mine = desk.task("Mine", f"echo mine >shared.txt\n{DONE}")
    theirs = "git -c user.name=b -c user.email=b@b -C {0} {1}"
    where = desk.project.folder
    # A user commits to the same lines while the agent works.
    desk.project.script(
        "Mine",
        f"""{theirs.format(where, "checkout -q main")}
echo theirs >{where}/shared.txt
{theirs.format(where, "commit -qam theirs")}
{theirs.format(where, "checkout -q elsewhere")}
echo mine >shared.txt
{DONE}""",
    )
    desk.work()
    main = project.git("rev-parse", "main")
    ask = desk.wait_for_ask(f"{mine.id} does not fit main any more")
    assert "shared.txt" in ask.question.context and project.git("rev-parse", "main") == main
    if not mended:
        desk.answer("does not fit", "Leave it on its branch")
        done = desk.get(mine)
        assert done.state == "closed" and done.status.startswith(f"left on task/{mine.id}: ")
        assert project.git("rev-parse", "main") == main
        return
    folder = desk.folder(mine)
    project.git("merge", "-q", "-s", "ours", "-m", "Both", "main", folder=folder)
    desk.answer("does not fit", "Try again")
    done = desk.get(mine)
    assert done.state == "closed" and done.status.startswith("on main as ")
    assert project.text("main", "shared.txt") == "mine"


REVIEWED = f"""case $text in
*"did not accept"*) echo better >own.txt ;;
*) echo good >own.txt ;;
esac
{DONE}"""


@pytest.mark.proves("TASK-205", "S3-P6", "LAW-3")
def test_reviewed_work_is_merged_after_its_approval(desk):
    project = desk.set_up('strategy = "review"')
    task = desk.task("Own", REVIEWED)
    desk.work()
    ask = desk.wait_for_ask(f"Is the work on {task.id} right")
    assert ask.question.kind == "approval" and "+good" in ask.activity
    assert ask.question.context["summary"] == "It is done"
    assert desk.get(task).state == "awaiting_input" and project.commits(f"task/{task.id}") == []
    desk.answer("right", "no", "It must be better")
    again = desk.wait_for_ask("right")
    assert "+better" in again.activity and again.id != ask.id
    (first, _), (second, words) = project.turns("Own")
    assert first == second and "did not accept it:\n> It must be better\n" in words
    assert project.commits(f"task/{task.id}") == []
    desk.answer("right", "yes")
    assert desk.get(task).state == "closed"
    assert project.commits("main", "elsewhere") == [("Own", ["own.txt"])]
    assert project.text("main", "own.txt") == "better"


@pytest.mark.proves("TASK-206", "LAW-4")
def test_approval_holds_only_for_the_shown_work(desk):
    project = desk.set_up('strategy = "review"')
    task = desk.task("Own", WRITES)
    desk.work()
    folder = desk.folder(task)
    (folder / "own.txt").write_text("other\n")
    (folder / "more.txt").write_text("more\n")
    desk.answer("right", "yes")
    again = desk.wait_for_ask("right")
    told = str(again.question.context["changed since it was shown"])
    assert "own.txt" in told and "more.txt" in told
    assert project.commits(f"task/{task.id}") == []
    desk.answer("right", "yes")
    assert desk.get(task).state == "closed"
    assert project.text("main", "own.txt") == "other"


@pytest.mark.proves("TASK-206", "LAW-4")
def test_approval_does_not_cover_changes_after_worker_death(desk, monkeypatch):
    project = desk.set_up('strategy = "review"')
    task = desk.task("Own", WRITES)
    desk.work()

    def die(*_):
        raise Crash

    with monkeypatch.context() as dying:
        dying.setattr(desk.workspace, "commit", die)
        desk.answer("right", "yes")
    assert desk.get(task).state == "in_progress"
    (desk.folder(task) / "own.txt").write_text("other\n")
    desk.take_over(task)
    assert "own.txt" in str(desk.wait_for_ask("right").question.context)
    assert project.commits(f"task/{task.id}") == []
    desk.answer("right", "yes")
    assert project.text("main", "own.txt") == "other"


@pytest.mark.proves("TASK-206", "LAW-5")
def test_approved_work_is_committed_once_despite_worker_death(desk, monkeypatch):
    project = desk.set_up('strategy = "review"')
    task = desk.task("Own", WRITES)
    desk.work()
    commit = desk.workspace.commit

    def die(*words):
        commit(*words)
        raise Crash

    with monkeypatch.context() as dying:
        dying.setattr(desk.workspace, "commit", die)
        desk.answer("right", "yes")
    desk.take_over(task)
    assert desk.get(task).state == "closed"
    assert project.commits("main", "elsewhere") == [("Own", ["own.txt"])]


@pytest.mark.proves("TASK-207")
@pytest.mark.parametrize(("sure", "is_asked"), [(0.4, True), (0.8, False), (0.95, False)])
def test_unsure_agent_is_confirmed_by_a_person(desk, sure, is_asked):
    project = desk.set_up(role="confidence: 0.8\n")
    said = report("completed", "It is done", confidence=sure)
    task = desk.task("Own", f"echo own >own.txt\n{said}")
    desk.work()
    if is_asked:
        assert project.commits(f"task/{task.id}") == []
        ask = desk.answer("right", "yes")
        assert "40% sure" in ask.question.prompt and "+own" in ask.activity
    done = desk.get(task)
    assert (done.state, done.confidence) == ("closed", sure)
    assert project.commits(done.branch) == [("Own", ["own.txt"])]


@pytest.mark.proves("TASK-208")
def test_work_not_confirmed_in_time_is_deferred_uncommitted(desk):
    project = desk.set_up('strategy = "review"\nanswer_within = "1h"')
    task = desk.task("Own", WRITES)
    desk.work()
    desk.wait_for_ask("right")
    desk.clock.advance(3601)
    sweep(desk.store)
    desk.work()
    done = desk.get(task)
    assert (done.state, done.status) == ("deferred", "no person confirmed it in time")
    assert project.commits(f"task/{task.id}") == []
    assert (desk.folder(task) / "own.txt").read_text() == "own\n"


TESTED = "grep -q good own.txt || { echo it is only $(cat own.txt); exit 3; }"
MENDS = f"""case $text in
*"does not pass"*) echo good >own.txt ;;
*) echo bad >own.txt ;;
esac
{DONE}"""


@pytest.mark.proves("TASK-209")
def test_work_that_fails_its_test_returns_to_its_agent(desk):
    project = desk.set_up()
    task = desk.task("Own", MENDS, test_command=TESTED)
    desk.work()
    (first, _), (second, words) = project.turns("Own")
    assert first == second and "> it is only bad" in words and "exit code 3" in words
    assert desk.get(task).state == "closed"
    assert project.commits(f"task/{task.id}") == [("Own", ["own.txt"])]
    assert project.text(f"task/{task.id}", "own.txt") == "good"


@pytest.mark.proves("TASK-210")
def test_work_that_fails_its_test_three_times_is_kept(desk):
    project = desk.set_up(f"test = {TESTED!r}")
    task = desk.task("Own", WRITES)
    desk.work()
    failed = desk.get(task)
    assert failed.state == "failed" and failed.status.startswith("its test failed 3 times.")
    assert "it is only own" in failed.status
    assert len(project.turns("Own")) == 3 and project.commits(f"task/{task.id}") == []
    assert (desk.folder(task) / "own.txt").read_text() == "own\n"


@pytest.mark.proves("TASK-211")
@pytest.mark.parametrize("allowed", [True, False])
def test_test_command_of_an_agent_needs_permission(desk, allowed):
    desk.set_up()
    ran = desk.project.stage / "ran"
    desk.project.script("Own", WRITES)
    wish = {"title": "Own", "test_command": f"echo ran >>{ran}"}
    where = str(desk.project.folder)
    task = backlog.create(desk.store, where, an_agent(), wish)
    desk.work()
    assert not ran.exists()
    ask = desk.answer("An agent named the test command", "yes" if allowed else "no")
    assert str(ran) in str(ask.question.context)
    assert ran.exists() == allowed
    assert desk.get(task).state == "closed"
