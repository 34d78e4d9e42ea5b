"""`gate hook claude --defer` with a store that does not hold the gates."""

from __future__ import annotations

import json
import os
import shutil

import pytest
from tests.support.hook_session import Session

from gatebell.app import wiring

WRONG_STORES = (
    "missing",
    "missing folder",
    "empty file",
    "empty name",
    "memory",
    "url of a folder",
    "folder without a store",
    "dangling link",
    "device",
    "moved home",
    "another store",
)


@pytest.fixture
def session(world):
    world.plain.environ["CLAUDE_CODE_SESSION_ATTENDED"] = "0"
    return Session(world)


def hook_before_use(session):
    event = session.event("PreToolUse", tool_use_id="t1")
    return session.hook(event, "--defer", "--guarded")


def name_store(world, kind):
    """Return the value of GATE_STORE, and the file that gate would derive from it."""
    here = world.folder / "other"
    here.mkdir()
    file, default = here / "gate.db", ".local/share/gatebell/gate.db"
    if kind == "empty file":
        file.touch()
    elif kind == "dangling link":
        file.symlink_to(here / "nowhere")
    elif kind == "another store":
        wiring.open_store(str(file)).close()
    return {
        "missing folder": (str(here / "sub" / "gate.db"), here / "sub"),
        "empty name": ("", world.folder / "home" / default),
        "moved home": ("", here / default),
        "memory": (":memory:", world.plain.folder / ":memory:"),
        "url of a folder": (f"sqlite://{here}/", file),
        "folder without a store": (str(here), file),
        "dangling link": (str(file), here / "nowhere"),
        "device": (os.devnull, None),
    }.get(kind, (str(file), None if file.exists() else file))


@pytest.mark.proves("HOOK-11")
@pytest.mark.parametrize("kind", WRONG_STORES)
def test_wrong_store_blocks_before_use(world, session, kind):
    """A new store has no gates, and every call would run."""
    world.plain.gate("gates", "add", "Bash(git push *)")
    named, made = name_store(world, kind)
    world.plain.environ["GATE_STORE"] = named
    if kind == "moved home":
        world.plain.environ["HOME"] = str(world.folder / "other")
    ran = hook_before_use(session)
    assert (ran.code, ran.out) == (2, "")
    assert "gate install" in ran.err and "GATE_STORE" in ran.err
    assert made is None or not os.path.exists(made)


@pytest.mark.proves("HOOK-11")
def test_deleted_store_blocks_before_use(world, session):
    world.plain.gate("gates", "add", "Bash(git push *)")
    assert "defer" in hook_before_use(session).out
    world.store.close()
    shutil.rmtree(os.path.dirname(world.path))
    assert hook_before_use(session).code == 2
    assert not os.path.exists(world.path)


@pytest.mark.proves("HOOK-12")
def test_store_without_gates_blocks_before_use(world, session):
    world.ask("Which way?")
    ran = hook_before_use(session)
    assert ran.code == 2 and "never had a gate" in ran.err


@pytest.mark.proves("HOOK-12")
def test_gates_that_a_person_took_away_do_not_block(world, session):
    world.plain.gate("gates", "add", "Bash(git push *)")
    assert world.ada.gate("gates", "remove", "Bash(git push *)").code == 0
    ran = hook_before_use(session)
    assert (ran.code, json.loads(ran.out)) == (0, {})
