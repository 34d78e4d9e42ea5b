"""A person at `gate tui`, and the inbox on the screen."""

from __future__ import annotations

import asyncio
import time
from datetime import timedelta

import pytest
from textual.events import Paste

from gatebell.adapters.sqlite.bell import ring
from gatebell.app.remote_backend import ServerBackend
from gatebell.app.wiring import local_backend, open_throwaway_store
from gatebell.domain.asks.asks import Origin
from gatebell.services.asks import create_ask
from gatebell.services.asks.create_ask import Request
from gatebell.tui.app import GateApp
from tests.support.people import a_person
from tests.support.run_records import add_run, ask_of, call, turn


@pytest.fixture
def store(tmp_path, monkeypatch):
    """Return a store; every change on the screen must come from it or from the terminal."""
    monkeypatch.setattr("gatebell.tui.app._TICK_SECONDS", 1000.0)
    made = open_throwaway_store(str(tmp_path / "gate.db"))
    yield made
    made.close()


class Play:
    """A person at the screen."""

    def __init__(self, app, pilot):
        self.app, self.pilot = app, pilot

    def seen(self):
        strips = self.app.screen._compositor.render_strips()
        return "\n".join("".join(part.text for part in strip).rstrip() for strip in strips)

    async def until(self, *texts, gone=""):
        """Look until each text is there; only the screen shows it."""
        until = time.monotonic() + 10
        while not all(text in self.seen() for text in texts) or (gone and gone in self.seen()):
            assert time.monotonic() < until, f"{texts!r} never appeared on:\n{self.seen()}"
            await self.pilot.pause(0.02)
        return self.seen()

    def lines(self):
        """Return the lines of the screen as words, without borders."""
        return [" ".join(line.strip("│ ▁▂▃▄▅▆▇█").split()) for line in self.seen().splitlines()]

    async def press(self, *keys):
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def type(self, text, *keys):
        """Type everything at once, as a fast typist does."""
        self.app.post_message(Paste(text))
        await self.press(*keys)


def play(store, acts, size=(80, 24), who=None):
    """Open the TUI and act in it."""
    app = GateApp(local_backend(store), who or a_person())
    try:
        _act(app, acts, size, "[q] Quit")
    finally:
        app.tui_context.view.stop()
        ring(f"{store.path}-bell")
        app.watching.join()


def play_on_server(url, token, acts, folder, who=None):
    """Open the TUI on a server and act in it."""
    backend = ServerBackend(url, token, "", str(folder))
    app = GateApp(backend, who or a_person()._replace(verified=True))
    try:
        _act(app, acts, (80, 24), "╭")
    finally:
        app.tui_context.view.stop()
        app.watching.join()
        backend.close()


def _act(app, acts, size, first):
    async def go():
        async with app.run_test(size=size) as pilot:
            played = Play(app, pilot)
            await played.until(first)
            await acts(played)

    asyncio.run(go())


def waiting_run(store, prompt="OAuth or API keys?", kind="text", **more):
    """Add a run whose coder has waited for ten minutes, and its ask."""
    now = store.now()
    calls = [
        call(store, "0", "setup", "", ago=901, took=1),
        call(store, "1", label="architect", ago=900, took=135, value={"status": "DONE"}),
        call(store, "2", label="coder", state="waiting", ago=725),
    ]
    needs = {"status": "NEEDS_HUMAN", "question": prompt}
    run = add_run(
        store, calls, [turn(store, "2", ago=725, signal=needs)], state="waiting_human",
        agent="coder", waiting_since=now - timedelta(minutes=10),
    )  # fmt: skip
    return run, ask_of(store, run.id, "2", prompt, kind, **more)


def lone_ask(store, prompt, kind="text", project="/p", **more):
    origin = Origin(project, project, "migrator")
    return create_ask.ask(store, Request(prompt, kind, **more), origin, a_person("x")).ask
