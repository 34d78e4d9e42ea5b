"""How people learn of a waiting run: by their routes, and from its record."""

from __future__ import annotations

from contextlib import closing

import pytest
from tests.support.run_project import RunProject
from tests.support.sessions import Desk
from tests.support.waiting import eventually

from gatebell.app.wiring import open_store
from gatebell.cli.runs.work_line import describe_work


@pytest.mark.proves("S2-76")
def test_waiting_run_notifies_people_by_their_routes(world):
    RunProject(world)
    # A person's own store: a throwaway store sends no notifications.
    path, told = str(world.folder / "own" / "gate.db"), world.folder / "told"
    route = f'echo "$GATE_KIND $GATE_ASK_ID $GATE_TITLE" >> {told}'
    driving = world.plain.start("run", "gated", GATE_STORE=path, GATE_NOTIFY_CMD=route)
    try:
        eventually(lambda: told.exists() and told.read_text().endswith("\n"))
    finally:
        driving.kill()
        driving.communicate()
    with closing(open_store(path)) as store:
        (ask,) = store.asks.pending_of_run(1)
    assert told.read_text().startswith(f"opened {ask.id} ") and "asker" in told.read_text()


@pytest.mark.proves("S2-3")
def test_waiting_calls_record_tells_attempts_reason_and_need(
    world,
):
    tried, why, needed = "tried OAuth twice", "its tests fail", "OAuth or API keys?"
    signal = {"status": "NEEDS_HUMAN", "summary": tried, "reason": why, "question": needed}
    run = Desk(world).run(signal)
    status = world.ada.gate("status", str(run.id)).out
    assert f"Reason: {needed}" in status and "⏸ 1  run coder  waiting" in status
    ask = world.ada.gate("show", str(run.id)).out
    assert f"│ {needed}" in ask and f"│ {tried}" in ask
    record = world.ada.gate("show", str(run.id), "--call", "1").out
    assert all(words in record for words in (tried, why, needed, "Add login"))


@pytest.mark.proves("S2-B23")
def test_run_is_ready_before_and_stuck_after_a_kill(world):
    RunProject(world)
    assert world.ada.gate("run", "simple", "--detach").code == 0
    assert world.store.runs.get(1).state == "ready" and " ready " in world.ada.gate("list").out
    assert describe_work(world.store, 1) == ("ready, waits for a process that drives it", False)
    killed = world.ada.gate("kill", "1", "--reason", "not now")
    assert killed.out == "Run 1 marked as stuck: not now\n"
    assert world.store.runs.get(1).state == "stuck" and " stuck " in world.ada.gate("list").out
    assert world.ada.gate("resume", "1").code == 0
    assert world.store.runs.get(1).state == "completed"
