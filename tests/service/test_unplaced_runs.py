"""Runs that are started from another machine: a worker makes their folder in its own checkout."""

from __future__ import annotations

import os

import pytest
from tests.support.git_project import git
from tests.support.people import a_person, an_agent

from gatebell.adapters.engines.local import LocalEngine
from gatebell.app import runtime
from gatebell.app.wiring import open_throwaway_store
from gatebell.domain.enums import MemberKind
from gatebell.domain.runs import runs
from gatebell.domain.runs.wanted_runs import WantedRun
from gatebell.errors import AgentRefusedError, RefusedError, UsageError
from gatebell.services import audit, members
from gatebell.services.members import Membership
from gatebell.services.runs import claims, manage_runs, placement

ADA = a_person()
FLOW = """from gatebell import flow


@flow
def greet(prompt):
    return f"hello {prompt} in {flow.context().repo}"
"""
WANTED = WantedRun("name:shop", "hello", "Ada")


class Office:
    """A store, a checkout of the project `shop`, and workers."""

    def __init__(self, folder):
        self.folder = folder
        self.store = open_throwaway_store(str(folder / "gate.db"))
        self.shop = folder / "shop"
        (self.shop / ".gate" / "flows").mkdir(parents=True)
        (self.shop / ".gate" / "project").write_text("shop\n")
        self.flow = self.shop / ".gate" / "flows" / "hello.py"
        self.flow.write_text(FLOW)
        git(self.shop, "init", "-q", "-b", "main")
        git(self.shop, "add", "-A")
        git(self.shop, "commit", "-q", "-m", "first")

    def worker(self, *checkouts):
        driver = runtime.build_driver(self.store)
        drives = runtime.build_drives(
            self.store, driver, 1, checkouts=[str(one) for one in checkouts]
        )
        LocalEngine(drives)
        return drives

    def work(self, *checkouts):
        """Let a worker drive what it finds; return the runs that it took."""
        worker, taken = self.worker(*checkouts), []
        while run := worker._reserve():
            taken.append(run.id)
            worker._drive(run)
            worker._busy.clear()
        return taken

    def want(self, **more):
        return placement.create(self.store, WANTED._replace(**more), ADA)

    def events(self, run, kind):
        found = self.store.audit.of_subject(run.name)
        return [one.event.content for one in found if one.event.kind == kind]


@pytest.fixture
def office(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    made = Office(tmp_path)
    yield made
    made.store.close()


@pytest.mark.proves("RUN-571")
def test_worker_makes_the_folder_in_its_checkout(office):
    run = office.want()
    assert (run.state, run.host, run.folder, run.is_unplaced) == ("ready", "", "", True)
    assert office.work(office.shop) == [run.id]
    done = manage_runs.get(office.store, run.id)
    assert done.state == "completed", done.reason
    assert done.result == f"hello Ada in {office.shop}"
    assert (done.project, done.source, done.flow) == (str(office.shop), str(office.flow), "greet")
    assert done.host == office.store.machine.host and os.path.isdir(done.folder)
    assert done.folder != done.project and done.branch == f"gate/run-{run.id}"
    (placed,) = office.events(run, "run.placed")
    assert (placed["project"], placed["host"]) == (str(office.shop), done.host)
    assert list(audit.verify(office.store)) == []


@pytest.mark.proves("RUN-572")
def test_worker_without_a_checkout_leaves_the_run(office, tmp_path):
    run, other = office.want(), tmp_path / "other"
    other.mkdir()
    assert office.work(other) == [] and office.work() == []
    assert office.store.runs.ready(9) == []
    assert runtime.build_driver(office.store).claim(run) is None
    assert office.store.runs.get(run.id) == run


@pytest.mark.proves("RUN-572")
def test_unplaced_runs_do_not_hold_up_others(office):
    for _ in range(5):
        office.want(project_key="name:elsewhere")
    mine = office.want()
    assert office.work(office.shop) == [mine.id]


@pytest.mark.proves("RUN-571")
def test_digest_is_compared_or_recorded(office):
    plain = office.want()
    other = office.want(source_digest="0" * 64)
    office.work(office.shop)
    placed = office.store.runs.get(plain.id)
    assert len(placed.source_digest) == 64 and not office.events(plain, "run.source_changed")
    (changed,) = office.events(other, "run.source_changed")
    assert changed == {"before": "0" * 64, "now": placed.source_digest}
    assert office.store.runs.get(other.id).source_digest == placed.source_digest


@pytest.mark.proves("RUN-573")
def test_unknown_flow_ends_the_run(office):
    run = office.want(flow="nosuch")
    office.work(office.shop)
    ended = office.store.runs.get(run.id)
    assert ended.state == "failed" and "there is no flow 'nosuch'" in ended.reason
    with pytest.raises(RefusedError, match="Start a new one with gate run"):
        manage_runs.resume(office.store, run.id, ADA)


@pytest.mark.proves("RUN-573")
def test_checkout_without_git_ends_the_run(office, tmp_path):
    empty = tmp_path / "empty"
    (empty / ".gate" / "flows").mkdir(parents=True)
    (empty / ".gate" / "project").write_text("shop\n")
    (empty / ".gate" / "flows" / "hello.py").write_text(FLOW)
    run = office.want()
    office.work(empty)
    ended = office.store.runs.get(run.id)
    assert ended.state == "failed" and "git" in ended.reason


@pytest.mark.proves("RUN-572")
def test_released_run_is_placed_by_the_next_worker(office):
    run = office.want()
    driver = runtime.build_driver(office.store)
    claimed = driver.claim(run, checkout=str(office.shop))
    assert claimed.project == str(office.shop)
    kept = office.store.runs.get(run.id)
    assert (kept.state, kept.host, kept.project) == ("running", office.store.machine.host, "")
    # A worker that ends releases it: only one that has the project takes it again.
    assert office.store.runs.change(runs.release(claimed), claimed)
    assert office.work() == [] and office.work(office.shop) == [run.id]
    assert office.store.runs.get(run.id).state == "completed"


@pytest.mark.proves("RUN-571")
def test_placed_run_is_resumed_and_forked(office):
    office.flow.write_text(FLOW.replace("return f", 'flow.approve("Go?")\n    return f'))
    git(office.shop, "commit", "-qam", "ask first")
    run = office.want()
    office.work(office.shop)
    manage_runs.stop(office.store, run.id, ADA, "later")
    again = manage_runs.resume(office.store, run.id, ADA)
    assert (again.state, again.project) == ("ready", str(office.shop))
    forked, _ = manage_runs.fork(office.store, runtime.workspace(office.store), run.id, "1", ADA)
    assert (forked.project, forked.flow) == (str(office.shop), "greet")
    # Neither needs the checkout any more.
    assert sorted(office.work()) == [run.id, forked.id]
    assert {office.store.runs.get(one).state for one in (run.id, forked.id)} == {"waiting_human"}


@pytest.mark.proves("RUN-572")
def test_unplaced_run_is_not_resumed_here(office):
    run = office.want()
    with pytest.raises(RefusedError, match="a worker with a checkout of name:shop makes it"):
        manage_runs.resume(office.store, run.id, ADA)
    keeper = claims.Keeper(office.store)
    assert not keeper.can_drive(run) and claims.claim(office.store, run, keeper) is None


@pytest.mark.proves("RUN-574")
def test_worker_counts_only_for_its_projects(office):
    run = office.want()
    other = Membership(office.store, MemberKind.WORKER, "name:other")
    try:
        assert members.has_worker(office.store) and not members.has_worker(office.store, run)
        other.tell("name:other\nname:shop")
        assert members.has_worker(office.store, run)
    finally:
        other.end()


@pytest.mark.proves("RUN-573")
@pytest.mark.parametrize("named", ["/etc/evil.py", "evil.py", "../evil", "a\\b", "", ":greet"])
def test_path_of_a_flow_is_refused(office, named):
    with pytest.raises(UsageError, match="not by a path"):
        office.want(flow=named)


@pytest.mark.proves("RUN-573")
def test_agent_and_missing_project_are_refused(office):
    with pytest.raises(AgentRefusedError):
        placement.create(office.store, WANTED, an_agent())
    with pytest.raises(UsageError, match="name the project"):
        office.want(project_key="")
