"""A real terminal: tmux on a server of the test."""

from __future__ import annotations

import os

import pytest
from tests.support.programs import find_program
from tests.support.shells import world
from tests.support.terminals import Terminal

__all__ = ["world"]


@pytest.fixture
def terminal(world, tmp_path):
    find_program("tmux", "no real terminal was tried")
    made = Terminal(
        # pytest cuts long names, so that two workers may have folders of the same name.
        f"gate-{os.getpid()}-{tmp_path.name}",
        world.ada.folder,
        world.ada.environ | {"TERM": "screen-256color"},
    )
    yield made
    made.kill()


@pytest.fixture
def web(tmp_path):
    """The web inbox on a store of its own."""
    from tests.support.web_server import WebServer

    made = WebServer(tmp_path).start()
    yield made
    made.close()


@pytest.fixture
def tab(chromium, web):
    """Open pages in a separate browser, logged in as a person; no page may have an error."""
    contexts, problems = [], []

    def watch(page):
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda said: "Security" in said.text and problems.append(said.text))
        return page

    def open_tab(path="/", who="ada", size=(1280, 800), **more):
        wide, high = size
        context = chromium.new_context(viewport={"width": wide, "height": high}, **more)
        context.set_default_timeout(8_000)
        context.on("page", watch)
        contexts.append(context)
        if who:
            cookie = {"name": "gatebell", "value": web.login(who), "url": web.url}
            context.add_cookies([cookie | {"httpOnly": True, "sameSite": "Strict"}])
        page = context.new_page()
        page.goto(web.url + path)
        return page

    yield open_tab
    for context in contexts:
        context.close()
    assert problems == []
