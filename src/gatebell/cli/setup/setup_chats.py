"""The part of `gate setup` that lets a person answer in Telegram or Slack."""

from __future__ import annotations

import importlib.util
import json
import os
import time
from typing import TYPE_CHECKING

from gatebell.app import chats, daemon, settings
from gatebell.cli.identity import caller
from gatebell.cli.server.listening import PORT
from gatebell.cli.setup.setup_phone import check_port
from gatebell.domain.enums import ChannelKind
from gatebell.domain.notifications.chats import make_link_id
from gatebell.domain.notifications.routes import CHATS
from gatebell.errors import GateError, UsageError
from gatebell.install import own_settings
from gatebell.services.chats import link_chat

if TYPE_CHECKING:
    import argparse

    from gatebell.cli.setup.setup_dialogue import Dialogue
    from gatebell.domain.notifications.chats import ChatLink
    from gatebell.ports.store import Store

NAMES = {ChannelKind.TELEGRAM: "Telegram", ChannelKind.SLACK: "Slack"}
_KEYS = {"t": ChannelKind.TELEGRAM, "s": ChannelKind.SLACK}
_LOOK_SECONDS = 0.3
_MANIFEST = {
    "display_information": {"name": "gatebell"},
    "features": {
        "app_home": {"messages_tab_enabled": True, "messages_tab_read_only_enabled": False},
        "bot_user": {"display_name": "gatebell", "always_online": True},
    },
    "oauth_config": {"scopes": {"bot": ["chat:write", "im:history"]}},
    "settings": {
        "event_subscriptions": {"bot_events": ["message.im"]},
        "interactivity": {"is_enabled": True},
        "socket_mode_enabled": True,
    },
}


def run(args: argparse.Namespace, store: Store, dialogue: Dialogue) -> list[str]:
    """Set a chat up and link an account of the person; return the chats in which they answer."""
    person = caller(store, args).name
    for chat in find_linked(store, person):
        dialogue.say(f"You answer in {NAMES[chat]} already, as {person}.")
    missing = [one for one in CHATS if one not in find_linked(store, person)]
    if named := [chat for chat in missing if chat in args.notify]:
        if not dialogue.asks:
            raise UsageError(
                f"{named[0]} needs a person who links an account: gate setup in a terminal, or "
                "docs/chat.md"
            )
        for chat in named:
            _set_up(chat, args, store, dialogue)
    elif dialogue.asks and missing:
        _ask(missing, args, store, dialogue)
    linked = find_linked(store, person)
    if dialogue.asks and not all(chats.is_heard(store, chat) for chat in linked):
        _begin_listening(args, dialogue)
    return [chat.value for chat in linked]


def find_linked(store: Store, person: str) -> list[ChannelKind]:
    """Return the chats of the settings in which an account answers for a person."""
    linked = {link.chat for link in store.chats.all() if link.account and link.person == person}
    return [chat for chat in chats.list_set_up() if chat in linked]


def _ask(
    missing: list[ChannelKind], args: argparse.Namespace, store: Store, dialogue: Dialogue
) -> None:
    keys = {key: chat for key, chat in _KEYS.items() if chat in missing}
    words = ", ".join(f"{key} {NAMES[chat]}" for key, chat in keys.items())
    chosen = dialogue.choose(f"Answer in a chat, by buttons? ({words}, n none)", [*keys, "n"], "n")
    if chosen != "n":
        _set_up(keys[chosen], args, store, dialogue)


def _set_up(chat: ChannelKind, args: argparse.Namespace, store: Store, dialogue: Dialogue) -> None:
    bot = _find_bot(chat, dialogue)
    if not bot:
        return
    # Here, until it is linked: gate up may not run, or not know the new settings yet.
    end = chats.begin(store)
    try:
        _link(chat, bot, args, store, dialogue)
    finally:
        end()


def _find_bot(chat: ChannelKind, dialogue: Dialogue) -> str:
    """Return the name of the bot, whose token the settings have then; empty if there is none."""
    if chat in chats.list_set_up():
        bot = chats.find_bot(chat)
        dialogue.say(f"{NAMES[chat]} is set up already, with the bot {bot}.")
        return bot
    if chat == ChannelKind.SLACK and importlib.util.find_spec("slack_sdk") is None:
        raise UsageError("Slack needs slack-sdk: pip install 'gatebell[notify]'")
    _explain_tokens(chat, dialogue)
    while words := _read_tokens(chat, dialogue):
        try:
            bot = chats.find_bot(chat, words)
        except GateError as error:
            dialogue.say(f"Not taken: {error}")
            continue
        path = own_settings.set_tokens(os.environ, chat, words)
        dialogue.say(f"It works: the bot is {bot}. Kept in {path}, which only you can read.")
        return bot
    return ""


def _explain_tokens(chat: ChannelKind, dialogue: Dialogue) -> None:
    dialogue.say(
        f"{NAMES[chat]} then sees each question with its call or changes, and your answers there."
    )
    if chat == ChannelKind.TELEGRAM:
        dialogue.say("1  In Telegram, open a conversation with @BotFather and send /newbot.")
        dialogue.say("2  Choose a name. BotFather then shows a token, such as 123456:ABC-DEF….")
        return
    dialogue.say("1  On https://api.slack.com/apps choose Create New App, From a manifest; paste:")
    dialogue.say(json.dumps(_MANIFEST))
    dialogue.say(
        "   It turns Socket Mode, interactivity and direct messages on, with the bot scopes "
        "chat:write and im:history."
    )
    dialogue.say(
        "2  Basic Information, App-Level Tokens: generate one with the scope connections:write "
        "(xapp-…)."
    )
    dialogue.say(
        "3  Install App: install it in your workspace, and copy the Bot User OAuth Token (xoxb-…)."
    )


def _read_tokens(chat: ChannelKind, dialogue: Dialogue) -> list[str]:
    if chat == ChannelKind.TELEGRAM:
        return dialogue.read_hidden("The token; it is not shown, Enter skips this:").split()
    app = dialogue.read_hidden("The app-level token (xapp-…); it is not shown, Enter skips this:")
    return [dialogue.read_hidden("The bot token (xoxb-…):"), app] if app else []


def _link(
    chat: ChannelKind, bot: str, args: argparse.Namespace, store: Store, dialogue: Dialogue
) -> None:
    """Give the person a code, and wait until they have sent it to the bot."""
    who = caller(store, args)
    code = link_chat.invite(store, who, chat)
    if chat == ChannelKind.TELEGRAM:
        link = f"https://t.me/{bot}?start={code}"
        dialogue.say("Scan this with the phone, or open the link, and press Start:")
        dialogue.draw(link)
        dialogue.say(link)
        dialogue.say(f"Or send this to @{bot}: /start {code}")
    else:
        dialogue.say(f"In Slack, open {bot} under Apps, and send it: link {code}")
    dialogue.say(
        f"Your account then answers for {who.name}. Waiting for {args.wait / 60:g} minutes; Ctrl+C "
        "skips this."
    )
    try:
        linked = _wait(store, make_link_id(code), args.wait)
    except KeyboardInterrupt:
        print()
        linked = None
    if linked is None:
        link_chat.remove(store, who, make_link_id(code))
        dialogue.say(f"Not linked; the code works no more. Later: gate person link {chat}")
    else:
        dialogue.say(f"Linked. To end that: gate person unlink {linked.id}")


def _wait(store: Store, link_id: str, seconds: float) -> ChatLink | None:
    until = store.monotonic() + seconds
    while store.monotonic() < until:
        found = store.chats.get(link_id)
        if found and found.account:
            return found
        time.sleep(_LOOK_SECONDS)
    return None


def _begin_listening(args: argparse.Namespace, dialogue: Dialogue) -> None:
    """Start what reads the answers from now on; a running gate up begins by itself."""
    path = settings.local_path(os.environ)
    if daemon.find(path):
        return
    dialogue.say("Answers in a chat are read while gate up runs.")
    if not dialogue.confirm("Start it in the background now?"):
        return
    check_port(args.port)
    daemon.start(path, [f"--port={args.port}"])
    own_port = "" if args.port == PORT else f" --port {args.port}"
    dialogue.say("It runs. To stop it: gate down")
    dialogue.say(f"After a restart of this machine, start it again: gate up --detach{own_port}")
