"""Asks whose waiting process was killed, as people see them."""

from __future__ import annotations

import json
import signal
import subprocess

import pytest
from tests.support.markup import text_of
from tests.support.waiting import eventually
from tests.support.web_inbox import inbox

from gatebell.adapters.system import waiter_locks

__all__ = ["inbox"]

GONE = "The process that waited for the answer has ended."


def ask_and_end(world, number):
    """Make a question whose `gate ask` waits, and then gets this signal."""
    asking = world.plain.start("ask", "Deploy?", "--kind", "approval")
    ask_id = asking.stderr.readline().split()[-1]
    path = f"{world.path}-waiters/{ask_id}"
    eventually(lambda: waits(path))
    asking.send_signal(number)
    asking.communicate(timeout=20)
    return ask_id


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
    assert asking.communicate(timeout=20)[0] == "approved\n"


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
