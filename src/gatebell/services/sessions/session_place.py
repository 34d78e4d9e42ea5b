"""Where the session of an ask can be opened: on the host that has its folder."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gatebell.domain.audit.events import EventKind
from gatebell.domain.people.logins import client_of
from gatebell.domain.text.display import inert_line
from gatebell.errors import RefusedError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.audit.events import Entry
    from gatebell.ports.store import Store


def find_host(entries: Iterable[Entry]) -> str:
    """Return the host that opened a session ask; empty for one of an older version."""
    opened = (one.event for one in entries if one.event.kind == EventKind.ASK_OPENED)
    return next((str(event.content.get("host", "")) for event in opened), "")


def must_be_of_this_host(store: Store, ask: Ask) -> None:
    """Refuse a session whose folder is on another host."""
    host = find_host(store.audit.of_subject(ask.id))
    if host in ("", store.machine.host):
        return
    if not client_of(ask.origin.session) and os.path.isdir(find_folder(ask)):
        # Containers that share a folder may have different names.
        return
    raise RefusedError(describe_place(ask, host))


def describe_place(ask: Ask, host: str) -> str:
    """Return where a session opens, and what a person elsewhere does."""
    folder = find_folder(ask)
    where = f"on {inert_line(host, 80)}" if host else "on the machine that asked"
    return (
        f"the session of {ask.id} works in {inert_line(folder, 200) or 'a folder'} {where}: run gate "
        f"continue {ask.id} there. To answer without it: gate answer {ask.id}"
    )


def find_folder(ask: Ask) -> str:
    """Return the folder in which the session of an ask works."""
    terms = ask.question.session
    return os.path.join(ask.origin.cwd, terms.cwd) if terms and terms.cwd else ask.origin.cwd
