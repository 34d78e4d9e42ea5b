"""Routes: how, whom and when notifications reach."""

from __future__ import annotations

import re
from binascii import Error as NotBase64Error, a2b_base64
from datetime import time
from typing import TYPE_CHECKING, Any, NamedTuple

from gatebell.domain.asks.asks import parse_priority
from gatebell.domain.asks.deadlines import parse_duration
from gatebell.domain.digests import text_digest
from gatebell.domain.enums import ChannelKind, NoticeKind, Priority
from gatebell.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gatebell.domain.asks.asks import Ask, Notice

KEYS = {
    "to": 'where to send: "desktop", an Apprise address, "command: …" or "webhook: https://…"',
    "person": "the person who gets the notices; without it, everybody",
    "priority": "only asks at least this urgent: urgent, high, normal, low or backlog (all)",
    "quiet": 'when only urgent asks are sent: "22:00-07:00", in local time',
    "secret": "the key that signs a webhook: whsec_…",
    "after": 'how long an ask waits before it is sent here: "90s", "5m" or "0"; at most 10m',
    "withdrawn": 'of a command: "yes" runs it again when an ask that it was told of is settled',
}
MACHINES = (ChannelKind.COMMAND, ChannelKind.WEBHOOK)
"""Channels that start or call a program: an escalation to one person takes them, too."""
FOR_PROGRAMS = (ChannelKind.WEBHOOK,)
"""Channels whose messages are read by programs: each event, at once, settled asks included."""
CHATS = (ChannelKind.TELEGRAM, ChannelKind.SLACK)
"""Channels in which people answer: each ask has a message of its own, which is changed later."""

MAX_AFTER_SECONDS = 600.0
"""With the delay by presence shorter than a sender lives, so that none needs a daemon."""

# Only addresses with these schemes have a host in its place; others have a token there.
_HAVE_A_HOST = (
    *("apprise", "form", "gotify", "http", "json", "mailto", "matrix", "mmost", "mqtt"),
    *("ncloud", "nctalk", "ntfy", "rocket", "xml", "xmpp"),
)


class Quiet(NamedTuple):
    """Hours of the day in which only urgent asks are sent; they may span midnight."""

    begin: time
    end: time


class Route(NamedTuple):
    """One way to notify people. Its target may hold a password, so only its name is shown."""

    via: ChannelKind
    target: str
    person: str = ""
    """The person whose route it is; empty: everybody's."""
    priority: Priority = Priority.BACKLOG
    """Asks less urgent than this do not go here."""
    quiet: Quiet | None = None
    secret: str = ""
    """The key that signs a webhook; the address and the keys of a device."""
    after: float | None = None
    """The seconds that an ask waits before it is sent here; None: it depends on the ask."""
    withdrawn: bool = False
    """A command that hears of settled asks."""

    @property
    def name(self) -> str:
        """The name for people and the store: enough to recognise the route, not to use it."""
        whose = f" of {self.person}" if self.person else ""
        if self.via == ChannelKind.DESKTOP:
            return f"desktop{whose}"
        if self.via == ChannelKind.WEBPUSH:
            return f"device {self.target}{whose}"
        if self.via in CHATS:
            return f"{self.via} #{text_digest(self.target)[:6]}{whose}"
        return f"{_describe_target(self)} #{text_digest(self.target)[:6]}{whose}"

    def __repr__(self) -> str:
        return f"Route({self.name!r})"


def _describe_target(route: Route) -> str:
    if route.via == ChannelKind.COMMAND:
        words = [word for word in route.target.split() if "=" not in word]
        program = words[0].rpartition("/")[2] if words else ""
        return f"command {program}" if re.fullmatch(r"[\w.+-]{1,40}", program) else "command"
    scheme, _, rest = route.target.partition("://")
    authority, slash, after = re.split(r"[?#]", rest, maxsplit=1)[0].partition("/")
    host = authority.rpartition("@")[2].partition(":")[0]
    hidden = (
        scheme.removesuffix("s") not in _HAVE_A_HOST
        # A password with a slash in it: the part that looks like the host is the user name.
        or "@" in after
        # Without a path it is a topic on a public server, which is readable by its name.
        or (scheme.startswith("ntfy") and not (slash and after))
        or not re.fullmatch(r"[A-Za-z0-9.-]{1,80}", host)
    )
    kind = "webhook " if route.via == ChannelKind.WEBHOOK else ""
    return f"{kind}{scheme}://{'' if hidden else host}"


def parse_route(table: Any, where: str) -> Route:
    """Read a route from the settings; `where` names the place in error messages."""
    if not isinstance(table, dict):
        raise UsageError(f"{where} is not a table: write [[notify]], and below it to = …")
    for key, value in table.items():
        if key not in KEYS:
            raise UsageError(f"{where} sets {key!r}; a route has only {', '.join(KEYS)}")
        if not isinstance(value, str) or not value.strip():
            raise UsageError(f"{where}: expected a text in quotes for {key}")
    via, target = _parse_target(table.get("to", ""), where)
    secret = table.get("secret", "")
    if secret and via != ChannelKind.WEBHOOK:
        raise UsageError(f"{where}: only a webhook has a secret: remove the secret")
    if secret and not _is_key(secret):
        raise UsageError(f"{where}: expected base64 for secret, with or without whsec_ before it")
    try:
        priority = parse_priority(table.get("priority", Priority.BACKLOG))
    except UsageError:
        raise UsageError(
            f"{where}: expected a priority from {', '.join(one.word for one in Priority)}"
        ) from None
    quiet = _parse_quiet(table["quiet"], where) if "quiet" in table else None
    after = _parse_after(table["after"], where) if "after" in table else None
    person = table.get("person", "").strip()
    withdrawn = _parse_withdrawn(table.get("withdrawn", "no"), via, where)
    return Route(via, target, person, priority, quiet, secret, after, withdrawn)


def _parse_after(text: str, where: str) -> float:
    try:
        after = parse_duration(text.strip()) if text.strip().strip("0") else 0.0
    except UsageError:
        after = MAX_AFTER_SECONDS + 1
    if after > MAX_AFTER_SECONDS:
        raise UsageError(f'{where}: expected a time such as "90s" or "5m" for after, at most "10m"')
    return after


def _parse_withdrawn(text: str, via: ChannelKind, where: str) -> bool:
    if text not in ("yes", "no"):
        raise UsageError(f'{where}: expected "yes" or "no" for withdrawn')
    if text == "yes" and via != ChannelKind.COMMAND:
        raise UsageError(f"{where}: only a command has withdrawn: remove it")
    return text == "yes"


def _parse_target(to: str, where: str) -> tuple[ChannelKind, str]:
    via, _, rest = to.partition(":")
    rest = rest.strip()
    if to.strip() == ChannelKind.DESKTOP:
        return ChannelKind.DESKTOP, ""
    if via == ChannelKind.COMMAND and rest:
        return ChannelKind.COMMAND, rest
    if via == ChannelKind.WEBHOOK:
        if not re.match(r"https?://[^\s/?#@]+([/?#]\S*)?$", rest):
            raise UsageError(f"{where}: expected webhook: https://HOST/PATH, without user@")
        return ChannelKind.WEBHOOK, rest
    if re.match(r"[a-z][a-z0-9+.-]*://\S", to):
        return ChannelKind.APPRISE, to
    raise UsageError(
        f'{where}: expected for to: "desktop", an Apprise address such as ntfy://HOST/TOPIC, '
        '"command: …" or "webhook: https://…"'
    )


def _is_key(secret: str) -> bool:
    return bool(signing_key(secret))


def signing_key(secret: str) -> bytes:
    """Return the bytes that sign a webhook; empty if the secret is not base64."""
    text = secret.removeprefix("whsec_").rstrip("=")
    try:
        return a2b_base64(text + "=" * (-len(text) % 4), strict_mode=True)
    except (NotBase64Error, ValueError):
        return b""


def _parse_quiet(text: str, where: str) -> Quiet:
    found = re.fullmatch(r"\s*(\d\d):(\d\d)\s*-\s*(\d\d):(\d\d)\s*", text)
    try:
        begin_hour, begin_minute, end_hour, end_minute = map(int, found.groups() if found else ())
        quiet = Quiet(time(begin_hour, begin_minute), time(end_hour, end_minute))
    except ValueError:
        raise UsageError(f'{where}: expected hours such as "22:00-07:00" for quiet') from None
    if quiet.begin == quiet.end:
        raise UsageError(f"{where}: quiet begins and ends at the same time: use two times")
    return quiet


def routes_for(
    notice: Notice, ask: Ask | None, routes: Sequence[Route], groups: Mapping[str, tuple[str, ...]]
) -> list[Route]:
    """Return the routes that a notice takes."""
    priority = ask.priority if ask else Priority.NORMAL
    fitting = [route for route in routes if priority <= route.priority]
    if notice.kind == NoticeKind.ESCALATED:
        members = groups.get(notice.to, (notice.to,))
        theirs = [route for route in fitting if route.person in members]
        everybodys = [route for route in fitting if not route.person]
        programs = [route for route in everybodys if route.via in MACHINES]
        return [*theirs, *programs] if theirs else everybodys
    requirement = ask.question.requirement if ask else None
    wanted = requirement.people if requirement and requirement.of else ()
    fitting = [
        route for route in fitting if not (route.person and wanted) or route.person in wanted
    ]
    if notice.kind == NoticeKind.SETTLED:
        return [route for route in fitting if route.via in FOR_PROGRAMS]
    return fitting


def can_withdraw(route: Route) -> bool:
    """Return whether a channel can take back or change a message that it sent."""
    # Imported here: commands that only read the settings need none of it.
    from gatebell.domain.notifications.ntfy_topics import parse_topic

    if route.via == ChannelKind.COMMAND:
        return route.withdrawn
    if route.via == ChannelKind.WEBPUSH:
        # Safari ends its notifications after a few messages that show nothing.
        return ".push.apple.com/" not in route.secret
    return route.via in (ChannelKind.DESKTOP, *CHATS) or parse_topic(route.target) is not None
