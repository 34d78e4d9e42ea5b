"""Chats in the commands: links, the bridge in the background, and the settings."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest
from tests.support.chat_room import ask, service
from tests.support.telegram_service import TOKEN, TelegramService

from gatebell.adapters.files import settings_file
from gatebell.app import chats, wiring
from gatebell.cli import main
from gatebell.domain.enums import ChannelKind, Decision
from gatebell.errors import UsageError

__all__ = ["service"]

SERVICE = TelegramService


@pytest.fixture
def home(tmp_path, monkeypatch, service):
    token = tmp_path / "token"
    token.write_text(f"{TOKEN}\n")
    monkeypatch.setenv("GATE_STORE", str(tmp_path / "gate.db"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("GATE_TELEGRAM_TOKEN_FILE", str(token))
    monkeypatch.setenv("GATE_TELEGRAM_URL", service.url)
    return tmp_path


def gate(*words):
    return main.main(list(words))


@pytest.mark.proves("CHAT-2", "CHAT-5", "CHAT-8")
def test_bridge_links_an_account_and_brings_its_answers(home, service, capsys):
    assert gate("person", "link", "telegram") == 0
    printed = capsys.readouterr()
    words = printed.out.strip()
    assert words.startswith("/start ") and "within 15 minutes" in printed.err
    store = wiring.open_store(starts_sender=False)

    def start():
        return subprocess.Popen([sys.executable, "-m", "gatebell", "bridge"])

    bridge = start()
    try:
        service.wait_confirmed(service.say(words))
        asked = ask(store)
        service.wait(lambda: service.find(asked.id), "no message about the ask")
        # It may die at any moment; the next one goes on.
        bridge.kill()
        bridge.wait()
        update = service.press(service.find(asked.id), "Approve")
        bridge = start()
        service.wait_confirmed(update)
        assert store.asks.get(asked.id).decision == Decision.APPROVED
        service.wait(lambda: service.find("approved by"), "the message was not changed")
        bridge.send_signal(signal.SIGTERM)
        assert bridge.wait(30) == 0
    finally:
        bridge.kill()
        bridge.wait()
    assert gate("person", "list") == 0
    (line,) = [one for one in capsys.readouterr().out.splitlines() if one.startswith("c-")]
    assert "telegram of" in line
    assert gate("person", "list", "--json") == 0
    (found,) = json.loads(capsys.readouterr().out)["chats"]
    assert found["account"] == "7" and "code" not in found
    assert gate("person", "unlink", found["id"]) == 0
    assert store.chats.all() == []
    store.close()


@pytest.mark.proves("CHAT-8")
@pytest.mark.parametrize("words", [("up", "--no-worker"), ("serve",)], ids=["up", "serve"])
def test_servers_listen_to_chats(home, service, words):
    server = subprocess.Popen(
        [sys.executable, "-m", "gatebell", *words, "--port", "0"], stdout=subprocess.DEVNULL
    )
    try:
        service.wait_confirmed(service.say("hello"))
        server.send_signal(signal.SIGTERM)
        server.wait(60)
    finally:
        server.kill()
        server.wait()


@pytest.mark.proves("CHAT-11")
def test_agent_cannot_link_or_bridge(home, monkeypatch, capsys):
    monkeypatch.setenv("CLAUDECODE", "1")
    for words in (("person", "link", "telegram"), ("person", "unlink", "c-1"), ("bridge",)):
        assert gate(*words) != 0
        assert "only a person" in capsys.readouterr().err


@pytest.mark.proves("CHAT-9")
def test_token_is_read_from_a_file_and_never_shown(home, monkeypatch, capsys):
    assert gate("config") == 0
    assert gate("notify") == 0
    assert TOKEN not in "".join(capsys.readouterr())
    access = settings_file.chat_access(os.environ, ChannelKind.TELEGRAM)
    assert access[1] == (TOKEN,)
    (home / "token").write_text("hunter2-is-no-token")
    with pytest.raises(UsageError) as error:
        chats.list_set_up()
    assert "hunter2" not in str(error.value)
    monkeypatch.setenv("GATE_TELEGRAM_TOKEN_FILE", str(home / "nothing"))
    with pytest.raises(UsageError, match="cannot be read"):
        chats.list_set_up()
    monkeypatch.setenv("GATE_TELEGRAM_URL", "http://evil.example")
    with pytest.raises(UsageError, match="telegram_url"):
        chats.list_set_up()
    monkeypatch.setenv("GATE_TELEGRAM_TOKEN_FILE", "")
    assert chats.list_set_up() == []
    assert gate("person", "link", "telegram") != 0
    assert gate("person", "link", "irc") != 0
    assert gate("bridge") != 0
    assert "telegram_token_file" in capsys.readouterr().err
    monkeypatch.setenv("GATE_CHAT_CALLS", "perhaps")
    with pytest.raises(UsageError, match="chat_calls"):
        settings_file.chat_calls(os.environ)


@pytest.mark.proves("CHAT-2")
def test_slack_tokens_are_two_lines_of_a_file(home, monkeypatch):
    (home / "slack").write_text("xapp-1-A0123\nxoxb-1-B0123\n")
    monkeypatch.setenv("GATE_SLACK_TOKEN_FILE", str(home / "slack"))
    url, tokens = settings_file.chat_access(os.environ, ChannelKind.SLACK)
    assert (url, tokens) == ("https://slack.com/api/", ("xoxb-1-B0123", "xapp-1-A0123"))
    (home / "slack").write_text("xoxb-1-B0123\n")
    with pytest.raises(UsageError):
        settings_file.chat_access(os.environ, ChannelKind.SLACK)


@pytest.mark.proves("CHAT-8")
def test_one_process_of_a_host_listens_to_a_chat(home, service):
    store = wiring.open_store(starts_sender=False)
    ends = [chats.begin(store) for _ in range(2)]
    service.wait_confirmed(service.say("hello"))
    polls = service.called("getUpdates")
    assert len(polls) <= 3
    for end in ends:
        end()
    store.close()


@pytest.mark.proves("CHAT-7")
def test_ask_names_its_ways(home, capsys):
    words = ("ask", "Deploy?", "--kind", "approval", "--only-by", "web", "--no-wait")
    assert gate(*words, "--not-by", "telegram,slack") in (0, 3, 4)
    out = "".join(capsys.readouterr())
    store = wiring.open_store(starts_sender=False)
    (asked,) = store.asks.pending(5)
    assert asked.question.requirement.via == ("web",), out
    assert asked.question.requirement.not_via == ("telegram", "slack")
    assert gate("show", asked.id) == 0
    assert "only by web; not by telegram, slack" in capsys.readouterr().out
    assert gate("answer", asked.id, "yes") != 0
    assert "answered only by web" in capsys.readouterr().err
    assert gate("ask", "Deploy?", "--only-by", "webb") != 0
    assert "webb" in capsys.readouterr().err
    store.close()
