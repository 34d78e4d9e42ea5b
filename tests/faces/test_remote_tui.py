"""`gate tui` on a server, without a terminal."""

from __future__ import annotations

import threading

import pytest
from tests.support.server_world import server_world
from tests.support.tui_play import lone_ask, play_on_server, waiting_run

from gatebell.domain.enums import RunState
from gatebell.tui.server_view import ServerView

__all__ = ["server_world"]


@pytest.fixture
def play(server_world, tmp_path, monkeypatch):
    monkeypatch.setattr("gatebell.tui.server_view._POLL_SECONDS", 0.05)
    monkeypatch.setenv("EDITOR", "true")

    def act(acts, token="ada"):
        play_on_server(server_world.web.url, server_world.tokens[token], acts, tmp_path)

    return act


@pytest.mark.proves("REMOTE-15")
def test_ask_of_a_server_is_answered_on_screen(server_world, play):
    store = server_world.store
    ask = lone_ask(store, "Which database?")

    async def act(played):
        await played.until("Waiting for you (1)", "│ Which database?")
        await played.press("enter")
        await played.until(f"{ask.id}: text")
        await played.type("SQLite")
        await played.press("escape")
        await played.until("Your text is kept as a draft.")
        await played.press("enter")
        await played.until("Your last draft is filled in.", "SQLite")
        await played.press("ctrl+s")
        await played.until("Nothing is waiting for you", gone="Which database?")
        await played.press("left")
        await played.until("╭─ History ─", "answered", "Which database?", "│ SQLite")

    play(act)
    after = store.asks.get(ask.id)
    assert (after.value, after.settled_by) == ("SQLite", "person:ada")


@pytest.mark.proves("REMOTE-15")
def test_run_of_a_server_is_shown_and_stopped(server_world, play):
    store = server_world.store
    run, ask = waiting_run(store)

    async def act(played):
        await played.until("OAuth or API keys?", "feature: Add login")
        await played.press("tab")
        await played.until("‖ waiting", "OAuth or API keys?")
        await played.press("c")
        await played.until(f"run gate continue {ask.id} there")
        await played.press("enter")
        await played.until("Run 1: feature", "Status: ‖ Waiting", "Reason: OAuth", "#2 coder ‖")
        for key, sentence in (("o", "the folder of"), ("d", "the folder of"), ("l", "the log of")):
            await played.press(key)
            await played.until(f"{sentence} run 1 is on")
            await played.press(*["escape"] * (key != "o"))
        await played.press("down", "enter")
        await played.until("Run 1, call 2", "│ You are coder.")
        await played.press("escape")
        await played.press("s")
        await played.type("enough", "enter")
        await played.until("Status: ■ Stuck", "Reason: enough", gone="[s] Stop")

    play(act)
    stopped = store.runs.get(run.id)
    assert stopped.state == RunState.STUCK and not store.asks.get(ask.id).pending


@pytest.mark.proves("REMOTE-15")
def test_screen_shows_why_a_token_sees_nothing(play):
    async def act(played):
        await played.until("scope")

    play(act, "agent")


@pytest.mark.proves("TUI-20")
def test_slow_server_is_read_visibly(play, monkeypatch):
    replied, read = threading.Event(), ServerView.list_waiting

    def read_slowly(view):
        assert replied.wait(30)
        return read(view)

    monkeypatch.setattr(ServerView, "list_waiting", read_slowly)
    monkeypatch.setattr("gatebell.tui.list_screen._SLOW_SECONDS", 0.01)

    async def act(played):
        await played.until("Reading …")
        replied.set()
        await played.until("Nothing is waiting for you", gone="Reading …")

    play(act)
