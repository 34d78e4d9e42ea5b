"""Two chats, a browser and a terminal answer one ask at once: one wins, the others are told."""

from __future__ import annotations

import os
import random
import re
import threading
from collections import Counter
from contextlib import ExitStack

import pytest
from telling import tell
from tests.support.chat_room import SlackRoom, TelegramRoom, build_post, send
from tests.support.gate_forks import FORKS
from tests.support.slack_service import SlackService
from tests.support.telegram_service import TelegramService
from tests.support.web_inbox import Inbox

from gatebell.adapters.system.clock import SystemClock
from gatebell.domain.digests import text_digest
from gatebell.domain.enums import AnswerOutcome
from gatebell.services.audit import verify

WAYS = ("telegram", "slack", "web", "cli")
LATE = "already answered"
_TAG = re.compile(r"<[^>]*>|\s+")
_START = threading.Event()


class Contest:
    """A store that two chats and a browser serve; each round is one ask with four answers."""

    def __init__(self, folder, stack):
        self.inbox = Inbox(folder, clock=SystemClock())
        self.store = self.inbox.store
        stack.callback(self.store.close)
        self.telegram, self.slack = TelegramService(), SlackService()
        self.rooms = [TelegramRoom(self.store, self.telegram), SlackRoom(self.store, self.slack)]
        for room in self.rooms:
            stack.callback(room.service.close)
            stack.callback(room.close)
            room.listen()
        self.browser = self.inbox.browser("bob")
        self.proof = text_digest(f"csrf {self.browser.cookies['gatebell']}")
        self.environ = {
            "GATE_STORE": self.store.path, "HOME": str(folder), "PATH": os.environ["PATH"],
            "XDG_CONFIG_HOME": str(folder),
        }  # fmt: skip

    def send(self):
        access = {name: found for room in self.rooms for name, found in room.access.items()}
        send(self.store, build_post(self.store, access))

    def play(self, dice):
        """Let all answer one ask at about the same time; return who won."""
        asked = self.inbox.ask("Which colour?", "choice", options=["blue", "red"])
        self.send()
        number, at = self.telegram.find(asked.id), self.slack.find(asked.id)
        told = {}

        def by_telegram():
            pressed = self.telegram.pressed(number, "blue")
            query = pressed["callback_query"]["id"]
            self.telegram.give(pressed)

            def toasts():
                return [
                    given["text"]
                    for name, given in self.telegram.calls
                    if name == "answerCallbackQuery" and given["callback_query_id"] == query
                ]

            self.telegram.wait(toasts)
            told["telegram"] = toasts()[0]

        def by_slack():
            before = len(self.slack.called("chat.postEphemeral"))
            envelope = self.slack.press(at, "blue")
            self.slack.wait_acknowledged(envelope)
            calls = self.slack.calls
            self.slack.wait(
                lambda: len([1 for one, _ in calls if one == "chat.postEphemeral"]) > before
            )
            told["slack"] = str(self.slack.called("chat.postEphemeral")[before])

        def by_web():
            fields = {"csrf": self.proof, "digest": asked.digest, "chosen": "0"}
            given = self.browser.post(f"/asks/{asked.id}/answer", data=fields)
            told["web"] = f"{given.status_code} {_TAG.sub(' ', given.text)}"

        def by_cli():
            words = ["answer", asked.id, "blue"]
            code, out, err = FORKS.run(words, self.environ, self.environ["HOME"])
            told["cli"] = f"{code} {out} {err}"

        rivals = [by_telegram, by_slack, by_web, by_cli]
        dice.shuffle(rivals)
        threads = []
        for rival in rivals:
            threads.append(threading.Thread(target=rival))
            threads[-1].start()
            # A terminal begins later than it is started: give each of them a chance to be first.
            _START.wait(dice.choice([0, 0, 0.01, 0.03]))
        for one in threads:
            one.join(120)
        assert sorted(told) == sorted(WAYS)
        return self.judge(asked, told, number, at)

    def judge(self, asked, told, number, at):
        after = self.store.asks.get(asked.id)
        winner = after.settled_via
        answers = self.store.asks.answers(asked.id)
        assert [one.via for one in answers if one.outcome == AnswerOutcome.SETTLED] == [winner]
        assert sorted(one.via for one in answers) == sorted(WAYS)
        for way, words in told.items():
            assert (LATE in words) == (way != winner), (way, winner, words)
        self.send()
        settled = f"answered by {after.settled_by.partition(':')[2]}, {winner}"
        assert settled in self.telegram.messages[number]["text"]
        assert settled in self.slack.text(at)
        return winner


@pytest.mark.proves("CHAT-12")
def test_one_of_four_ways_wins(whole, tmp_path, capsys):
    dice, won = random.Random(24), Counter()
    rounds = 1_000 if whole else 4
    with ExitStack() as stack:
        contest = Contest(tmp_path, stack)
        for _ in range(rounds):
            won[contest.play(dice)] += 1
        assert verify(contest.store) == []
    tell(capsys, f"{rounds} rounds, won by {dict(won)}")
    assert not whole or sorted(won) == sorted(WAYS)
