"""Asks whose waiting process was killed, as people see them."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pytest
from tests.support.markup import text_of
from tests.support.mcp_client import Client
from tests.support.run_records import add_run, ask_of, call
from tests.support.tui_play import lone_ask, play
from tests.support.waiting import eventually
from tests.support.web_inbox import inbox

from gatebell.adapters.system import waiter_locks
from gatebell.app.wiring import open_throwaway_store
from gatebell.domain.runs.runs import RunChange

__all__ = ["inbox"]

GONE = "The process that waited for the answer has ended."


def ask_and_end(world, number, *asked):
    """Make a question whose `gate ask` waits, and then gets this signal."""
    asking = world.plain.start("ask", *(asked or ("Deploy?", "--kind", "approval")))
    ask_id = asking.stderr.readline().split()[-1]
    path = f"{world.path}-waiters/{ask_id}"
    eventually(lambda: waits(path))
    asking.send_signal(number)
    asking.communicate(timeout=60)
    return ask_id


def leave_mark(store, ask):
    """What a waiter that was killed leaves behind."""
    path = Path(f"{store.path}-waiters") / ask.id
    path.parent.mkdir(exist_ok=True)
    path.touch()


def waits(path):
    return subprocess.run(["test", "-e", path], check=False).returncode == 0


@pytest.mark.proves("FLT-21")
def test_killed_asker_is_marked_everywhere(world):
    ask_id = ask_and_end(world, signal.SIGKILL)
    assert "[asker is gone] Deploy?" in world.plain.gate("inbox").out
    assert GONE in world.plain.gate("show", ask_id).out
    (listed,) = json.loads(world.plain.gate("inbox", "--json").out)
    assert listed["asker_gone"] is True
    assert json.loads(world.plain.gate("show", ask_id, "--json").out)["asker_gone"] is True
    said = world.ada.gate("answer", ask_id, "yes").out
    assert f"{ask_id} is approved" in said
    assert f"{GONE} The answer is kept: gate wait {ask_id}" in said
    assert world.plain.gate("wait", ask_id).out == "approved\n"
    assert GONE not in world.plain.gate("show", ask_id).out
    assert not waits(f"{world.path}-waiters/{ask_id}")


@pytest.mark.proves("FLT-21")
def test_asker_that_left_in_good_order_is_not_marked(world):
    ask_id = ask_and_end(world, signal.SIGINT)
    assert "asker is gone" not in world.plain.gate("inbox").out
    assert GONE not in world.ada.gate("answer", ask_id, "yes").out
    never = world.ask("Which?")
    assert GONE not in world.plain.gate("show", never).out


@pytest.mark.proves("FLT-21")
def test_living_asker_is_not_marked(world):
    asking = world.plain.start("ask", "Deploy?", "--kind", "approval")
    ask_id = asking.stderr.readline().split()[-1]
    eventually(lambda: waits(f"{world.path}-waiters/{ask_id}"))
    assert "asker is gone" not in world.plain.gate("inbox").out
    assert GONE not in world.ada.gate("answer", ask_id, "yes").out
    assert asking.communicate(timeout=60)[0] == "approved\n"


@pytest.mark.proves("FLT-21")
def test_browser_marks_killed_askers(inbox, tmp_path):
    one = inbox.ask("Deploy?", "approval")
    path = tmp_path / "gate.db-waiters" / one.id
    path.parent.mkdir()
    path.touch()
    browser = inbox.browser()
    assert "asker is gone" in text_of(browser.get("/").text)
    assert GONE in text_of(browser.get(f"/asks/{one.id}").text)
    with waiter_locks.waiting(str(tmp_path / "gate.db"), one.id):
        assert "asker is gone" not in text_of(browser.get("/").text)
    assert not path.exists()


@pytest.mark.proves("FLT-21")
def test_of_two_waiters_the_last_removes_the_mark(tmp_path):
    store = str(tmp_path / "gate.db")
    first, second = (waiter_locks.waiting(store, "a-222") for _ in range(2))
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert (tmp_path / "gate.db-waiters" / "a-222").exists()
    assert not waiter_locks.is_gone(store, "a-222")
    second.__exit__(None, None, None)
    assert not (tmp_path / "gate.db-waiters" / "a-222").exists()


@pytest.mark.proves("FLT-21")
def test_wait_works_where_no_lock_can_be_made(tmp_path):
    (tmp_path / "gate.db-waiters").write_text("in the way")
    with waiter_locks.waiting(str(tmp_path / "gate.db"), "a-222"):
        assert not waiter_locks.is_gone(str(tmp_path / "gate.db"), "a-222")


@pytest.mark.proves("FLT-22")
def test_runs_mark_killed_askers(world):
    run = add_run(world.store, state="waiting_human", agent="coder")
    dead, alive = (ask_of(world.store, run.id, path, f"Way {path}?") for path in ("2.1", "2.2"))
    leave_mark(world.store, dead)
    for command in (("list",), ("status", str(run.id))):
        told = world.plain.gate(*command).out
        assert "[asker is gone] Way 2.1?" in told, command
        assert "[asker is gone] Way 2.2?" not in told, command
    for command in (("list",), ("status", str(run.id))):
        told = json.loads(world.plain.gate(*command, "--json").out)
        told = told[0] if isinstance(told, list) else told
        assert told["waiting_for"] == [dead.id, alive.id]
        assert told["askers_gone"] == [dead.id]


@pytest.mark.proves("FLT-28")
def test_waiting_run_is_not_a_killed_asker(world):
    run = add_run(world.store, state="waiting_human")
    ask = ask_of(world.store, run.id, "2", "Ship?", "approval")
    waits_for_it = call(world.store, "2", "pause", state="waiting", ask_id=ask.id)(run.id)
    assert world.store.runs.change(RunChange(run, (waits_for_it,)), run)
    leave_mark(world.store, ask)
    assert "asker is gone" not in world.plain.gate("list").out
    said = world.ada.gate("answer", ask.id, "yes").out
    assert GONE not in said and "No process drives runs now" in said


@pytest.mark.proves("FLT-22")
def test_the_tui_marks_killed_askers(tmp_path):
    store = open_throwaway_store(str(tmp_path / "gate.db"))
    run = add_run(store, state="waiting_human", agent="coder")
    leave_mark(store, ask_of(store, run.id, "2", "OAuth?"))
    leave_mark(store, lone_ask(store, "Which database?"))
    lone_ask(store, "Which colour?")

    async def look(played):
        seen = await played.until("Which colour?")
        assert "[asker is gone] OAuth?" in seen
        assert "[asker is gone] Which database?" in seen
        assert "[asker is gone] Which colour?" not in seen
        await played.press("tab", "enter")
        await played.until("[asker is gone] OAuth?", "Run 1: feature")

    play(store, look, (100, 24))
    store.close()


@pytest.mark.proves("FLT-23")
def test_the_http_api_tells_of_killed_askers(inbox):
    dead, alive = inbox.ask("Deploy?", "approval"), inbox.ask("Which?")
    leave_mark(inbox.store, dead)
    program = inbox.client("read", "answer")
    listed = {one["id"]: one["asker_gone"] for one in program.get("/api/asks").json()}
    assert listed == {dead.id: True, alive.id: False}
    for one, is_gone in listed.items():
        assert program.get(f"/api/asks/{one}").json()["asker_gone"] is is_gone
        waited = program.get(f"/api/asks/{one}/wait?seconds=0").json()
        assert waited["ask"]["asker_gone"] is is_gone
    answered = program.post(f"/api/asks/{dead.id}/answers", json={"value": "yes"}).json()
    assert (answered["decision"], answered["asker_gone"]) == ("approved", True)
    past = program.get("/api/asks?status=settled").json()
    assert [one["asker_gone"] for one in past] == [True]
    cancelled = program.post(f"/api/asks/{alive.id}/cancel", json={}).json()
    assert cancelled["asker_gone"] is False


@pytest.mark.proves("FLT-23")
def test_json_of_an_answer_tells_of_a_killed_asker(world):
    ask_id = ask_and_end(world, signal.SIGKILL)
    said = json.loads(world.ada.gate("answer", ask_id, "yes", "--json").out)
    assert (said["decision"], said["asker_gone"]) == ("approved", True)
    (past,) = json.loads(world.plain.gate("history", "--json").out)
    assert past["asker_gone"] is True
    world.plain.gate("wait", ask_id)
    (past,) = json.loads(world.plain.gate("history", "--json").out)
    assert past["asker_gone"] is False


@pytest.mark.proves("FLT-24", "FLT-25")
def test_agent_reads_of_its_asks_without_a_waiter(world):
    first = Client(world, CLAUDE_CODE_SESSION_ID="s1")
    first.call("ask_human", questions=[{"question": "Which?"}, {"question": "When?"}])
    eventually(lambda: len(found := world.store.asks.pending(9)) == 2 and all(
        waits(f"{world.path}-waiters/{one.id}") for one in found
    ))  # fmt: skip
    which, when = sorted(world.store.asks.pending(9), key=lambda one: one.opened_at)
    second = Client(world, CLAUDE_CODE_SESSION_ID="s1")
    told, _ = second.text(second.call("inbox_status"))
    assert told.splitlines() == [f"{which.id}: Which?", f"{when.id}: When?"]
    first.server.kill()
    first.server.communicate(timeout=60)
    told, _ = second.text(second.call("inbox_status"))
    assert told.splitlines() == [
        f"{which.id}: [asker is gone] Which?",
        f"{when.id}: [asker is gone] When?",
        "Ask the same question again with ask_human to get its answer.",
    ]
    again = f"{GONE} Ask the same question again with ask_human to get its answer."
    told, _ = second.text(second.call("inbox_status", id=when.id))
    assert told == f"{when.id} is waiting for a person. {again}"
    world.plain.gate("answer", when.id, "today")
    told, _ = second.text(second.call("inbox_status", id=when.id))
    assert told == f"today\n{again}"
    assert second.text(second.call("ask_human", question="When?")) == ("today", False)
    assert second.close() == 0


@pytest.mark.proves("FLT-24")
def test_agent_reads_that_a_held_call_must_be_repeated(world):
    client = Client(world, CLAUDE_CODE_SESSION_ID="s1")
    client.call("approve", tool_name="Bash", input={"command": "ls"})
    eventually(lambda: [one for one in world.store.asks.pending(9)
                        if waits(f"{world.path}-waiters/{one.id}")])  # fmt: skip
    (ask,) = world.store.asks.pending(9)
    client.server.kill()
    client.server.communicate(timeout=60)
    client = Client(world, CLAUDE_CODE_SESSION_ID="s1")
    told, _ = client.text(client.call("inbox_status", id=ask.id))
    again = "Make the same call again: the decision counts for that one."
    assert told == f"{ask.id} is waiting for a person. {GONE} {again}"
    told, _ = client.text(client.call("inbox_status"))
    assert told == f"{ask.id}: [asker is gone] {ask.question.prompt}\n{again}"
    other = Client(world, CLAUDE_CODE_SESSION_ID="s2")
    told, _ = other.text(other.call("inbox_status", id=ask.id))
    assert told == f"{ask.id} is waiting for a person. {GONE}"
    assert (client.close(), other.close()) == (0, 0)


@pytest.mark.proves("FLT-27")
def test_a_secret_whose_asker_was_killed_needs_its_token(world):
    ask_id = ask_and_end(world, signal.SIGKILL, "Password?", "--secret")
    said = world.ada.gate("answer", ask_id, "hunter2").out
    assert (
        f"{GONE} The secret is kept for 24 hours, for the holder of the ask's token: "
        f"gate wait {ask_id} --token-file F. Without the token, ask again."
    ) in said


@pytest.mark.proves("FLT-26")
def test_pages_of_runs_mark_killed_askers(inbox):
    run = add_run(inbox.store)
    ask = ask_of(inbox.store, run.id, "2", "OAuth?")
    browser = inbox.browser()
    for page in ("/runs", f"/runs/{run.id}"):
        assert "asker is gone" not in text_of(browser.get(page).text), page
    leave_mark(inbox.store, ask)
    for page in ("/runs", f"/runs/{run.id}"):
        assert "asker is gone" in text_of(browser.get(page).text), page
