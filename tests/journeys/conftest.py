"""A real terminal: tmux on a server of the test's own."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import threading
import time

import pytest
from tests.faces.conftest import World


class Terminal:
    """Types and looks, like a person."""

    def __init__(self, name, folder, environ):
        self.name = name
        self.folder = folder
        self.environ = environ

    def tmux(self, *words):
        command = ["tmux", "-L", self.name, "-f", "/dev/null", *words]
        return subprocess.run(
            command, env=self.environ, cwd=self.folder, capture_output=True, text=True, check=False
        ).stdout

    def run(self, *words):
        # A server that was just told to end may still take the next session with it.
        self.name += "+"
        if words[0] in ("answer", "inbox"):
            words = (*words, "--as", "ada")
        gate = shlex.join([sys.executable, "-m", "gatebell", *words])
        self.tmux(
            "new-session", "-d", "-x", "110", "-y", "60", f"{gate}; echo exit code $?; exec cat"
        )

    def type(self, text, *keys):
        self.tmux("send-keys", "-l", text) if text else None
        for key in keys:
            self.tmux("send-keys", key)

    def screen(self):
        return self.tmux("capture-pane", "-p", "-J", "-S", "-200")

    def until(self, text, seconds=20):
        """Look until it is there. There is nothing to wait on but the screen itself."""
        until = time.monotonic() + seconds
        pause = threading.Event()
        while text not in (seen := self.screen()):
            assert time.monotonic() < until, f"{text!r} never appeared on:\n{seen}"
            pause.wait(0.05)
        return seen

    def prompt(self, after):
        """The prompt that stands last on the screen once so many answers are recorded."""
        until = time.monotonic() + 20
        pause = threading.Event()
        while True:
            lines = [line for line in self.screen().splitlines() if line.strip()]
            recorded = sum(line.startswith("Recorded") for line in lines)
            if recorded == after and lines and "not yet)" in lines[-1]:
                return lines[-1]
            assert time.monotonic() < until, "\n".join(lines)
            pause.wait(0.05)

    def kill(self):
        self.tmux("kill-server")


@pytest.fixture
def world(tmp_path):
    made = World(tmp_path)
    yield made
    made.store.close()


@pytest.fixture
def terminal(world, tmp_path):
    if not shutil.which("tmux"):
        pytest.skip("tmux is not installed, so no real terminal was tried")
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
    """Opens a page in a browser of its own, logged in as somebody; no page may have trouble."""
    contexts, troubles = [], []

    def watch(page):
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("console", lambda said: "Security" in said.text and troubles.append(said.text))
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
    assert troubles == []
