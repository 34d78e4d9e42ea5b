"""A bridge is killed at every call of receive, answer and confirm: no answer is lost or doubled."""

from __future__ import annotations

import os
import re
import shutil
from collections import Counter
from contextlib import closing, suppress
from pathlib import Path

import pytest
from nursery import Nursery
from telling import tell
from tests.support.chat_room import ask, link
from tests.support.slack_service import TOKENS, SlackService
from tests.support.telegram_service import TOKEN, TelegramService
from tests.support.waiting import eventually
from tracing import Tracer, needs_strace

from gatebell.app import wiring
from gatebell.domain.enums import ChannelKind, Decision
from gatebell.domain.notifications.chats import ChatMessage
from gatebell.services.audit import verify

pytestmark = [needs_strace, pytest.mark.proves("CHAT-8")]
# The library's threads wait and wake a thousand times a second. These calls do something.
DOING = (
    *("connect", "sendto", "recvfrom", "openat", "write", "pwrite64", "fdatasync", "fsync"),
    *("ftruncate", "unlink", "fcntl"),
)


class Scene:
    """A store with two asks that a chat shows, and what comes from the chat: a yes, and a text."""

    def __init__(self, folder, service, chat, room, account):
        self.service, self.chat = service, chat
        self._folder, self._copies = folder, 0
        template = folder / "template"
        template.mkdir(parents=True)
        with closing(wiring.open_store(str(template / "gate.db"), starts_sender=False)) as store:
            link(store, account=account, room=room, chat=chat)
            self.approval, self.text = ask(store), ask(store, "Which name?", "text")
            for number, one in (("1", self.approval), ("2", self.text)):
                shown = (chat, room, number, one.id, one.digest, "opened", store.now())
                store.chats.add_message(ChatMessage(*shown))
        self.button = f"{self.approval.id}|{self.approval.digest[:32]}|y"

    def begin(self):
        """Copy the store for another try, and put the updates into the service again."""
        self._copies += 1
        copy = self._folder / f"{self._copies:06}"
        shutil.copytree(self._folder / "template", copy)
        self.give()
        return str(copy / "gate.db")

    def judge(self, path):
        """Return what is wrong after the updates were confirmed."""
        with closing(wiring.open_store(path, starts_sender=False)) as store:
            wrong = list(verify(store))
            if store.asks.get(self.approval.id).decision != Decision.APPROVED:
                wrong.append("an answer was lost")
            if len(store.asks.answers(self.approval.id)) != 1:
                wrong.append("an answer was doubled")
            said = [one.text for one in store.asks.messages(self.text.id)]
            if said != ["why"]:
                wrong.append(f"the agent got {said}")
        shutil.rmtree(os.path.dirname(path))
        return wrong

    def is_recorded(self, path):
        with closing(wiring.open_store(path, starts_sender=False)) as store:
            return not store.asks.get(self.approval.id).pending


class TelegramScene(Scene):
    tokens = (TOKEN,)

    def __init__(self, folder, service):
        super().__init__(folder, service, ChannelKind.TELEGRAM, "7", "7")
        service.messages = {1: {}, 2: {}}
        self.updates = (
            service.pressed(1, "", data=self.button, query="q1"), service.words("? why", about=2)
        )  # fmt: skip

    def give(self):
        self.service.updates, self.service.confirmed = [], 0
        self.service.give(*self.updates)

    def is_confirmed(self):
        return not self.service.updates

    def run(self, child, path):
        return child.line()


class SlackScene(Scene):
    tokens = TOKENS

    def __init__(self, folder, service):
        super().__init__(folder, service, ChannelKind.SLACK, "D7", "U7")
        service.messages = {"1": {}, "2": {}}
        self.updates = (
            ("interactive", service.pressed("1", "", value=self.button)),
            ("events_api", service.words("? why", about="2")),
        )

    def give(self):
        self.service.waiting.clear()
        for kind, payload in self.updates:
            self.service.give(kind, payload)

    def is_confirmed(self):
        return not self.service.waiting

    def run(self, child, path):
        eventually(lambda: self.is_confirmed() or child.is_gone())
        with suppress(OSError):
            child.hang_up()
        return child.line()


@pytest.fixture(params=["telegram", "slack"])
def scene(request, tmp_path):
    service = TelegramService() if request.param == "telegram" else SlackService()
    kind = TelegramScene if request.param == "telegram" else SlackScene
    yield kind(tmp_path, service)
    service.close()


def serve(nursery, scene, path, *options):
    """Let a bridge serve the updates under strace; return whether it ended well."""
    child = nursery.start(str(scene.chat), path=path, url=scene.service.url, tokens=scene.tokens)
    tracer = Tracer(child.pid, f"{path}-trace", *options)
    child.go()
    said = scene.run(child, path)
    tracer.calls()
    child.close()
    return said.startswith("ACK")


def list_points(trace):
    """Return each call after the start by its name and number: strace counts for each thread."""
    counts, found, has_begun = Counter(), {}, False
    for line in Path(trace).read_text(errors="replace").splitlines():
        if call := re.match(r"(\d+) +(\w+)\((.*)", line):
            thread, name, rest = call.groups()
            counts[thread, name] += 1
            if has_begun:
                found[name, counts[thread, name]] = None
            has_begun = has_begun or (name == "read" and rest.startswith("0<") and '"g"' in rest)
    return list(found)


def test_kill_at_any_call_leaves_one_answer(scene, whole, capsys):
    with Nursery("chat_jobs.py") as nursery:
        path = scene.begin()
        is_done = serve(nursery, scene, path)
        is_telegram = scene.chat == ChannelKind.TELEGRAM
        points = [one for one in list_points(f"{path}-trace") if is_telegram or one[0] in DOING]
        assert is_done and scene.judge(path) == []
        step = 1 if whole else max(1, len(points) // (24 if is_telegram else 6))
        wrong, killed = [], 0
        for name, nth in points[::step]:
            path, point = scene.begin(), f"{name} {nth}"
            is_done = serve(nursery, scene, path, f"--inject={name}:signal=KILL:when={nth}")
            killed += not is_done
            if scene.is_confirmed() and not scene.is_recorded(path):
                wrong.append(f"{point}: confirmed before it was recorded")
            if not serve(nursery, scene, path):
                wrong.append(f"{point}: the next bridge did not end")
            wrong += [f"{point}: {one}" for one in scene.judge(path)]
    tried = len(points[::step])
    tell(capsys, f"{scene.chat}: {len(points)} calls seen, {tried} tried, {killed} killed")
    assert wrong == []
    assert killed > tried // 3


def test_judge_finds_a_lost_answer(scene):
    """As after a bridge that confirms before it records."""
    path = scene.begin()
    with closing(wiring.open_store(path, starts_sender=False)):
        assert not scene.is_recorded(path)
    assert "an answer was lost" in scene.judge(path)
