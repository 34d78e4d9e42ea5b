"""Runs of tasks on every face: the task and its result."""

from __future__ import annotations

import json

import pytest
from tests.support.markup import text_of
from tests.support.people import a_person
from tests.support.task_records import add_task, asks, taken_up
from tests.support.tui_play import play
from tests.support.web_inbox import Inbox

from gatebell.app.wiring import open_throwaway_store
from gatebell.domain.runs import runs
from gatebell.services.runs import manage_runs
from gatebell.services.tasks import backlog
from gatebell.terminal import task_runs

WHY = "there is no\x1b[2J network"


def end(store, title, **result):
    """Make a task whose run has completed with this report."""
    run = taken_up(store, add_task(store, title, priority=0))
    assert store.runs.change(runs.complete(run, {"summary": "", **result}, store.now()), run)
    return store.runs.get(run.id)


def every_end(store):
    """Make runs that failed, were closed, closed by a person, stopped by a person, and wait."""
    failed = end(store, "Pull the feed", state="failed", status=WHY, summary="Tried twice")
    closed = end(store, "Add login", state="closed", summary="All of it")
    by_ada = taken_up(store, add_task(store, "Old idea", priority=0))
    backlog.close(store, by_ada.task, a_person("ada"), "not needed")
    stopped = taken_up(store, add_task(store, "Long one", priority=0))
    manage_runs.stop(store, stopped.id, a_person("ada"), "too long")
    waits = taken_up(store, add_task(store, "Unclear", priority=0))
    asks(store, waits, "Which way?")
    return [store.runs.get(one.id) for one in (failed, closed, by_ada, stopped, waits)]


@pytest.mark.proves("TASK-280", "LAW-8")
def test_gate_list_names_a_runs_task_and_result(world):
    failed, closed, by_ada, stopped, waits = every_end(world.store)
    out = world.plain.gate("list").out
    lines = {int(line.split()[0]): line for line in out.splitlines()[1:]}
    for run, title, *told in (
        (failed, "Pull the feed", "✗ failed", "there is no"),
        (closed, "Add login", "✓ closed"),
        (by_ada, "Old idea", "✓ closed", "by person:ada: not ne"),
        (stopped, "Long one", "✗ failed", "by person:ada: too"),
        (waits, "Unclear", "waiting_human", "Which way?"),
    ):
        for word in (f"{run.task}: {title}", *told):
            assert word in lines[run.id], (word, lines[run.id])
    assert "completed" not in out and "stuck" not in out and "\x1b" not in out
    assert all(len(line) <= 100 for line in out.splitlines())
    states = [one["state"] for one in json.loads(world.plain.gate("list", "--json").out)]
    assert states == ["waiting_human", "stuck", "stuck", "completed", "completed"]


@pytest.mark.proves("TASK-280", "LAW-10")
def test_gate_status_tells_why_a_task_failed(world):
    failed, closed, by_ada, stopped, waits = every_end(world.store)

    def status(run):
        return world.plain.gate("status", str(run.id)).out

    assert status(failed).splitlines() == [
        f"Run {failed.id}: ✗ failed",
        f"Task: {failed.task}: Pull the feed",
        "Reason: there is no␛[2J network",
        "Summary: Tried twice",
        "",
        f"Use 'gate task show {failed.task}' to see the whole task, 'gate task reopen {failed.task}' to try it again.",
    ]
    assert "Summary: All of it" in status(closed) and "reopen" not in status(closed)
    assert status(by_ada).startswith(f"Run {by_ada.id}: ✓ closed\n")
    assert "Ended by: person:ada\nReason: not needed\n" in status(by_ada)
    assert "✗ failed" in status(stopped) and "gate " in status(stopped)
    assert f"Task: {waits.task}: Unclear [awaiting_input]" in status(waits)
    assert json.loads(world.plain.gate("status", str(failed.id), "--json").out)["state"] == (
        "completed"
    )
    assert f"Runs: {failed.id} failed" in world.plain.gate("task", "show", failed.task).out


@pytest.mark.proves("TASK-313", "CLI-28", "LAW-10")
def test_task_means_its_last_run_also_for_watch(world):
    failed, closed, by_ada, *_ = every_end(world.store)
    told = world.plain.gate("watch", failed.task.upper())
    assert told.code == 12 and f"Run {failed.id}: ✗ failed" in told.out
    assert world.plain.gate("watch", str(closed.id)).code == 0
    assert world.plain.gate("watch", by_ada.task).code == 0
    *_, last = world.plain.gate("watch", failed.task, "--json").out.splitlines()
    state = json.loads(last)
    assert (state["state"], state["task_state"]) == ("completed", "failed")
    status = world.plain.gate("status", failed.task).out
    assert status.startswith(f"Run {failed.id}: ✗ failed\n")
    shown = world.plain.gate("show", failed.task).out
    assert shown.startswith(failed.task) and shown.endswith(status)
    assert json.loads(world.plain.gate("show", failed.task, "--json").out)["last_run"] == (
        json.loads(world.plain.gate("status", failed.task, "--json").out)
    )
    assert world.plain.gate("show", failed.task, "--calls").out.startswith(f"Run {failed.id}: ")
    new = add_task(world.store)
    none = world.plain.gate("logs", new.id)
    assert none.code == 5 and f"no run has worked on {new.id} yet" in none.err
    assert world.plain.gate("stop", "tm-none").code == 5
    # A person who types this may mean the task.
    assert world.plain.gate("delete", failed.task).code == 2


@pytest.mark.proves("TASK-280")
def test_run_shows_its_own_state_when_its_task_left(world):
    run = taken_up(world.store, add_task(world.store))
    assert task_runs.end_of(world.store, run) is None
    stopped = run._replace(state="stuck")
    assert task_runs.end_of(world.store, stopped) is None
    assert task_runs.end_of(world.store, run._replace(state="completed")).word == "✓ closed"
    flow = run._replace(task="", flow="feature", prompt="\nAdd login \nby OAuth")
    assert task_runs.about(world.store, flow) == "feature: Add login"
    assert flow._replace(prompt=" ").title == "feature"


@pytest.mark.proves("TASK-280")
def test_tui_names_a_runs_task_and_result(tmp_path):
    store = open_throwaway_store(str(tmp_path / "gate.db"))
    failed, *_ = every_end(store)

    async def acts(screen):
        await screen.press("tab")
        seen = await screen.until(f"{failed.task}: Pull the feed", "✗ failed", "there is no")
        assert "completed" not in seen and "by person:ada: not needed" in seen
        await screen.press(*["down"] * 4, "enter")
        await screen.until(
            f"Run {failed.id}: {failed.task}: Pull the feed", "Status: ✗ Failed", "Tried"
        )

    play(store, acts, size=(100, 24))
    store.close()


@pytest.mark.proves("TASK-280", "LAW-8")
def test_web_names_a_runs_task_and_result(tmp_path):
    inbox = Inbox(tmp_path)
    failed, closed, by_ada, *_ = every_end(inbox.store)
    page = inbox.client("read").get("/runs").text
    text = " ".join(text_of(page.partition("<main")[2]).split())
    assert f"{failed.id} {failed.task} ✗ failed" in text and "Pull the feed there is no" in text
    assert f"{by_ada.id} {by_ada.task} ✓ closed by ada" in text and "not needed" in text
    assert "completed" not in text and "stuck" not in text and "# Task" not in text
    assert 'class="state failed"' in page and "\x1b" not in page
    page = inbox.client("read").get(f"/runs/{failed.id}").text
    assert '<section class="banner bad"' in page and f"{failed.task}: Pull the feed</h1>" in page
    assert "Tried twice" in page and "&#34;summary&#34;" not in page
    assert '<section class="banner good"' in inbox.client("read").get(f"/runs/{closed.id}").text
    page = inbox.client("read").get(f"/tasks/{failed.task}").text
    assert f"run {failed.id} ✗ failed" in " ".join(text_of(page).split())
    inbox.close()
