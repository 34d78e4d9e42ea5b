"""`gate setup` and `gate doctor` with Telegram and Slack."""

from __future__ import annotations

import argparse
import os
import stat
import threading

import pytest
from tests.support.chat_room import link, service
from tests.support.slack_service import TOKENS, SlackService
from tests.support.waiting import eventually

from gatebell.app import chats, environment, wiring
from gatebell.cli.setup import doctor, setup_chats, setup_routes
from gatebell.cli.setup.setup_dialogue import Dialogue
from gatebell.domain.enums import ChannelKind
from gatebell.errors import UsageError

__all__ = ["service"]

SERVICE = SlackService


@pytest.fixture
def store(tmp_path, monkeypatch, service):
    environ = {
        "HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "GATE_STORE": str(tmp_path / "s" / "gate.db"),
        "GATE_SLACK_URL": service.url,
    }  # fmt: skip
    monkeypatch.setattr(os, "environ", environ)
    monkeypatch.setattr(setup_chats, "_LOOK_SECONDS", 0.02)
    made = wiring.open_store(starts_sender=False)
    yield made
    made.close()


@pytest.fixture
def told(monkeypatch):
    """The sentences that setup printed, each in one line."""
    said = []
    monkeypatch.setattr(Dialogue, "say", lambda _, text: said.append(text))
    return said


def person(monkeypatch, *typed, hidden=()):
    """Answer the questions of setup."""
    lines, secrets = iter(typed), iter(hidden)
    monkeypatch.setattr("builtins.input", lambda _: next(lines))
    monkeypatch.setattr("getpass.getpass", lambda _: next(secrets))
    return argparse.Namespace(
        notify=[],
        as_name="",
        token_file="",
        wait=60.0,
        port=4283,
        test=True,
        ntfy_server="https://n",
    )


def send_code(service, told):
    """Send the code as soon as it is shown."""

    def find():
        return next((one for one in told if "send it: link " in one), "")

    def send():
        eventually(find)
        eventually(lambda: service.links)
        service.say(find().rpartition("send it: ")[2])

    threading.Thread(target=send, daemon=True).start()


@pytest.mark.proves("SETUP-17")
def test_slack_is_set_up_from_nothing(store, service, monkeypatch, told, capsys):
    bot, app = TOKENS
    hidden = ("hunter2", "x", app, "xoxb-wrong-token", app, bot)
    args = person(monkeypatch, "x", "s", "n", "y", hidden=hidden)
    send_code(service, told)
    assert setup_chats.run(args, store, Dialogue(asks=True, prints=True)) == ["slack"]
    said = "\n".join(told)
    assert "Not taken: this is not a token of Slack" in said and "invalid_auth" in said
    for words in ("api.slack.com/apps", "connections:write", "chat:write and im:history"):
        assert words in said, words
    assert "hunter2" not in said + "".join(capsys.readouterr()) and bot not in said
    (kept,) = (p for p in os.listdir(f"{os.environ['HOME']}/.config/gatebell") if "token" in p)
    path = f"{os.environ['HOME']}/.config/gatebell/{kept}"
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    (linked,) = store.chats.all()
    assert (linked.account, linked.person) == ("U7", environment.user_name())
    # A second run changes nothing.
    told.clear()
    args = person(monkeypatch, "n", "n")
    assert setup_chats.run(args, store, Dialogue(asks=True, prints=True)) == ["slack"]
    assert "You answer in Slack already" in told[0] and store.chats.all() == [linked]


@pytest.mark.proves("SETUP-17")
def test_missing_scope_and_stopped_link_keep_what_works(store, service, monkeypatch, told):
    bot, app = TOKENS
    service.scopes = "chat:write"
    args = person(monkeypatch, hidden=(app, bot, ""))
    # As with --notify slack, which needs no choice.
    args.notify = ["slack"]
    assert setup_chats.run(args, store, Dialogue(asks=True, prints=True)) == []
    assert any("lacks the scopes im:history" in one for one in told) and not chats.list_set_up()
    service.scopes = "chat:write,im:history"
    args = person(monkeypatch, "s", hidden=(app, bot))

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(setup_chats, "_wait", stop)
    assert setup_chats.run(args, store, Dialogue(asks=True, prints=True)) == []
    assert chats.list_set_up() == [ChannelKind.SLACK] and store.chats.all() == []
    assert any("the code works no more" in one for one in told)


@pytest.mark.proves("SETUP-17", "SETUP-4")
def test_script_cannot_set_a_chat_up(store, monkeypatch):
    args = person(monkeypatch)
    args.notify = ["telegram"]
    with pytest.raises(UsageError, match="telegram needs a person who links an account"):
        setup_routes.run(args, store, Dialogue(asks=False, prints=False))


@pytest.mark.proves("SETUP-18")
def test_doctor_tells_about_chats(store, service, monkeypatch, tmp_path):
    def look():
        return {one.what: one.ok for one in doctor._check_chats(store)}

    assert look() == {"no chat is set up; gate setup lets you answer in Telegram or Slack": True}
    (tmp_path / "tokens").write_text("\n".join(TOKENS))
    (tmp_path / "tokens").chmod(0o644)
    os.environ["GATE_SLACK_TOKEN_FILE"] = str(tmp_path / "tokens")
    assert look() == {
        "slack: the bot gatebell answers": True,
        f"slack: other users may use {tmp_path}/tokens; run: chmod 600 {tmp_path}/tokens": False,
        "slack: nothing here reads the answers; run: gate up": False,
        "slack: no account is linked; run: gate person link slack": False,
    }
    (tmp_path / "tokens").chmod(0o600)
    made = link(store, "ada", "U7", ChannelKind.SLACK, "D7")
    end = chats.begin(store)
    eventually(lambda: chats.is_heard(store, ChannelKind.SLACK))
    found = look()
    end()
    assert found["slack: a process here reads the answers"]
    assert found[f"slack: answers count for ada (account U7, {made.id})"] and all(found.values())
    (tmp_path / "tokens").write_text("xapp-1-wrong xoxb-1-wrong")
    assert any("refuses the token" in what and not ok for what, ok in look().items())
    assert not chats.is_heard(store, ChannelKind.SLACK)


@pytest.mark.proves("CHAT-13")
def test_running_process_notices_a_chat_in_the_settings(store, service, monkeypatch, tmp_path):
    monkeypatch.setattr(chats, "_LOOK_AGAIN_SECONDS", 0.02)
    end = chats.begin(store)
    assert not chats.is_heard(store, ChannelKind.SLACK)
    settings = tmp_path / ".config" / "gatebell" / "config.toml"
    settings.parent.mkdir(parents=True)
    (tmp_path / "tokens").write_text("\n".join(TOKENS))
    settings.write_text(f'slack_token_file = "{tmp_path}/tokens"\n')
    service.wait(lambda: service.links, "it did not notice the settings")
    settings.write_text("slack_token_file = 5\n[\n")
    settings.write_text("")
    service.wait(lambda: not service.links, "it listens on")
    eventually(lambda: not chats.is_heard(store, ChannelKind.SLACK))
    end()
