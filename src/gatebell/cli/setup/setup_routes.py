"""The step of `gate setup` that turns notifications on."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from typing import TYPE_CHECKING, Any

from gatebell.app import settings
from gatebell.cli.setup import setup_chats
from gatebell.domain.enums import ChannelKind
from gatebell.domain.notifications.ntfy_topics import NTFY, Topic, make_topic, parse_topic
from gatebell.domain.notifications.routes import CHATS, parse_route
from gatebell.errors import UsageError
from gatebell.install import own_settings

if TYPE_CHECKING:
    import argparse

    from gatebell.cli.setup.setup_dialogue import Dialogue
    from gatebell.ports.store import Store

_RANDOM_BYTES = 15


def run(args: argparse.Namespace, store: Store, dialogue: Dialogue) -> dict[str, Any]:
    """Add routes to the settings; return the names of all routes, a new topic, and the chats."""
    _set_up_desktop(args, dialogue)
    topic = _set_up_ntfy(args, dialogue)
    linked = setup_chats.run(args, store, dialogue)
    _set_up_others(args, dialogue, linked)
    names = [route.name for route in settings.routes(os.environ)]
    dialogue.say(f"Notifications: {', '.join([*names, *linked]) or 'off'}.")
    return {"routes": names, "subscribe": topic.page if topic else None, "chats": linked}


def _set_up_desktop(args: argparse.Namespace, dialogue: Dialogue) -> None:
    wanted = ChannelKind.DESKTOP in args.notify
    if any(route.via == ChannelKind.DESKTOP for route in settings.routes(os.environ)):
        dialogue.say("The desktop is set up already.")
        return
    if not wanted and not _has_desktop():
        return
    unasked = wanted or not args.notify
    if wanted or dialogue.confirm("Show notifications on this desktop?", unasked=unasked):
        own_settings.add_route(os.environ, ChannelKind.DESKTOP)


def _set_up_others(args: argparse.Namespace, dialogue: Dialogue, linked: list[str]) -> None:
    """Add routes to other services by their address."""
    routes = settings.routes(os.environ)
    existing = [route.target for route in routes if route.via != ChannelKind.DESKTOP]
    wanted = [way for way in args.notify if way not in (ChannelKind.DESKTOP, NTFY, *CHATS)]
    for address in wanted:
        if _check_address(address) not in existing:
            own_settings.add_route(os.environ, address)
    if existing or wanted or linked or not dialogue.asks:
        return
    dialogue.say("Mail and others work by an address (docs/notifications.md).")
    while address := dialogue.read(
        "An address, such as mailtos://USER:PASSWORD@HOST; Enter for none:"
    ):
        try:
            own_settings.add_route(os.environ, _check_address(address))
        except UsageError as error:
            dialogue.say(f"Not added: {error}")
        else:
            return


def _check_address(address: str) -> str:
    route = parse_route({"to": address}, "this address")
    if route.via != ChannelKind.APPRISE:
        raise UsageError("expected an address of Apprise, such as mailtos://USER:PASSWORD@HOST")
    if importlib.util.find_spec("apprise") is None and parse_topic(address) is None:
        raise UsageError("this address needs Apprise: pip install 'gatebell[notify]'")
    return address


def _has_desktop() -> bool:
    if sys.platform == "darwin":
        return True
    screen = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    return bool(screen and shutil.which("notify-send"))


def _set_up_ntfy(args: argparse.Namespace, dialogue: Dialogue) -> Topic | None:
    wanted = NTFY in args.notify
    if any(route.target.startswith(NTFY) for route in settings.routes(os.environ)):
        dialogue.say("ntfy is set up already.")
        return None
    topic = make_topic(args.ntfy_server, os.urandom(_RANDOM_BYTES))
    if not wanted:
        dialogue.say(
            f"The free app ntfy shows notifications on a phone. The server {topic.host} then sees "
            "each question, its asker and its project, but no answer."
        )
        if not dialogue.confirm("Notify your phone by ntfy?", unasked=False):
            return None
    own_settings.add_route(os.environ, topic.route)
    dialogue.say(
        "Scan this with the phone and subscribe on the page, or enter the topic in the app."
    )
    dialogue.draw(topic.page)
    dialogue.say(f"Topic: {topic.name}")
    dialogue.say(
        f"Server: {topic.server}. Who knows the topic can read it, so keep it to yourself."
    )
    return topic
