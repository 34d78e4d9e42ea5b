"""The verbs of `ports/backends/backend.py` on a server: each is one request, or a few."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from gatebell.adapters.remote.answering import RemoteAnswering
from gatebell.adapters.remote.connection import must_be_a_person
from gatebell.adapters.remote.http import Patience
from gatebell.adapters.remote.rules import RemoteRules
from gatebell.adapters.remote.wire_format import (
    OUTAGE_SECONDS,
    WAIT_SECONDS,
    build_origin,
    build_request,
    build_wait,
    quote,
    session_name,
)
from gatebell.adapters.remote.work import RemoteWork
from gatebell.domain.asks.asks import iso
from gatebell.domain.asks.document_reader import read_message
from gatebell.domain.asks.requests import Opened
from gatebell.domain.enums import AskStatus
from gatebell.domain.people import principals
from gatebell.domain.people.principals import TRUST
from gatebell.errors import AlreadySettledError, RefusedError, ServerError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gatebell.domain.asks.answers import Answer
    from gatebell.domain.asks.asks import Ask, Message, Origin
    from gatebell.domain.asks.attachments import Attachment
    from gatebell.domain.asks.history_filters import HistoryFilter
    from gatebell.domain.asks.requests import Request
    from gatebell.domain.audit.events import Entry
    from gatebell.domain.freezes import Freeze
    from gatebell.domain.notifications.notes import Note
    from gatebell.domain.people.principals import Caller
    from gatebell.domain.permissions.calls import Call
    from gatebell.ports.calls.waiting_calls import Held, Permission
    from gatebell.ports.calls.waiting_requests import WaitingRequests

_SLACK_SECONDS = 15.0
_OPEN_SECONDS = 60.0
_TAKE_SECONDS = 3.0


class RemoteBackend(RemoteAnswering, RemoteWork, RemoteRules):
    """All verbs on one server."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    def close(self) -> None:
        self._http.close()

    def act_as(self, name: str) -> None:
        """Name the person in every request; the server refuses those with another's token."""
        self._http.name = name

    def me(self) -> dict[str, Any]:
        """Return the person and the scopes of the token."""
        found: dict[str, Any] = self._http.send("GET", "/api/me")
        if not isinstance(found, dict) or not {"person", "scopes", "may_approve"} <= found.keys():
            raise ServerError(f"the server {self.name} has another version: it does not know you")
        return found

    def name_of(self, caller: Caller) -> str:
        return str(self.me()["person"])

    def ask(self, request: Request, origin: Origin, caller: Caller, key: str = "") -> Opened:
        body, chosen = build_request(request, origin), key or os.urandom(16).hex()
        patience = Patience(min(_OPEN_SECONDS, request.expires_seconds or _OPEN_SECONDS))
        while True:
            try:
                found = self._http.send("POST", "/api/asks", body, key=chosen, via=caller.via)
                break
            except ServerError as error:
                if not self._pause(patience, error):
                    raise ServerError(f"{error}. No person was asked: run the same again") from None
        self._note_reply()
        return Opened(self.read(found["ask"]), found["token"], found["attached"])

    def follow(
        self, ask_id: str, seconds: float | None = None, hears: bool = True
    ) -> Iterator[Ask]:
        until = None if seconds is None else time.monotonic() + seconds
        patience = Patience(OUTAGE_SECONDS if seconds is None else seconds)
        while True:
            left = WAIT_SECONDS if until is None else max(0.0, until - time.monotonic())
            try:
                ask = self.wait_once(ask_id, left, hears)
            except ServerError as error:
                if not self._pause(patience, error):
                    raise
                continue
            self._note_reply()
            patience = Patience(OUTAGE_SECONDS) if until is None else patience
            patience.begin_again()
            yield ask
            if not ask.pending or (hears and ask.asked_back > ask.heard) or left <= 0:
                return

    def waiting_requests(self) -> WaitingRequests:
        # Imported here: only async programs need it.
        from gatebell.adapters.remote.waiting_requests import RemoteWaits

        return RemoteWaits(self._http, self.read)

    def wait_once(
        self,
        ask_id: str,
        seconds: float,
        hears: bool = True,
        host: Any = None,
        slack_seconds: float = _SLACK_SECONDS,
    ) -> Ask:
        """Wait in one request, for less than a minute; the host may end it earlier.

        Args:
            slack_seconds: how much later the response may come
        """
        path, whole = build_wait(ask_id, seconds, hears)
        found = self._http.send("GET", path, seconds=whole + slack_seconds, host=host, is_wait=True)
        return self.read(found["ask"])

    def is_ready(self, ask: Ask) -> bool:
        return not ask.pending

    def reveal(self, ask: Ask, token: str) -> tuple[Ask, Any]:
        """Return the ask with its decision, and the value.

        The asker sees both only by asking for the answer. It is marked as taken later, by `take`,
        so nothing is lost if this process ends before it prints it.
        """
        is_hidden = bool(ask.token_digest) or (ask.decision is None and ask.value is None)
        if ask.status != AskStatus.ANSWERED or not is_hidden or ask.question.call:
            return ask, ask.value
        self._revealed[ask.id] = {"token": token} if token else {}
        body = self._revealed[ask.id] | {"keep": True}
        found = self._http.send("POST", f"/api/asks/{quote(ask.id)}/take", body)
        return self.read(found), found["value"]

    def take(self, ask: Ask, to: str) -> bool:
        if ask.status != AskStatus.ANSWERED or ask.question.call:
            return False
        body, patience = self._revealed.pop(ask.id, None), Patience(_TAKE_SECONDS)
        while body is not None:
            try:
                self._http.send("POST", f"/api/asks/{quote(ask.id)}/take", body)
                break
            except ServerError:
                if patience.pause():
                    continue
                if ask.token_digest:
                    raise
                # The asker has its answer: only the mark is missing, which does no harm.
                return False
        return True

    def hear(self, ask: Ask) -> None:
        path = f"/api/asks/{quote(ask.id)}/heard"
        # A person who reads along is not the asker, for whom the messages stay new.
        with suppress(RefusedError):
            self._http.send("POST", path, {"messages": ask.asked_back})

    def reply(self, ask_id: str, caller: Caller, text: str) -> Ask:
        return self._say(ask_id, caller, text)

    def ask_back(self, ask_id: str, caller: Caller, text: str) -> Ask:
        must_be_a_person(caller)
        return self._say(ask_id, caller, text, asks_back=True)

    def _say(self, ask_id: str, caller: Caller, text: str, *, asks_back: bool = False) -> Ask:
        path = f"/api/asks/{quote(ask_id)}/messages"
        try:
            # The server takes every message of the token that asked as the asker's reply.
            if asks_back and self._is_own(ask_id):
                raise RefusedError(
                    f"{ask_id} was asked with this token, which cannot ask back: use another token. "
                    f"For the asker: gate reply {ask_id} TEXT"
                )
            self._http.send("POST", path, {"text": text}, via=caller.via, again=False)
        except ServerError as error:
            raise self._drafts.keep(error, ask_id, text, "your message") from None
        return self.get(ask_id)

    def _is_own(self, ask_id: str) -> bool:
        # Imported here: only a person who asks back needs it.
        from gatebell.domain.people.logins import session_prefix

        token_id = self.me().get("token_id") or "unknown"
        return self.get(ask_id).origin.session.startswith(session_prefix(str(token_id)))

    def cancel(self, ask_id: str, caller: Caller, reason: str, *, failed: bool = False) -> Ask:
        if failed:
            raise UsageError("--failed is for sessions, which are open on the store's machine")
        if task_id := self.get(ask_id).origin.task:
            # The server sees only the token, and an agent inherits that of its person.
            principals.must_be_a_person(caller, f"withdraws what {task_id} asks")
        path = f"/api/asks/{quote(ask_id)}/cancel"
        return self.read(self._http.send("POST", path, {"reason": reason}, via=caller.via))

    def pending_of_session(self, origin: Origin) -> list[Ask]:
        name = session_name(origin)
        found = self._get_list(f"/api/asks?session={quote(name)}") if name else []
        return [self.read(one) for one in found]

    def is_of_session(self, ask: Ask, origin: Origin) -> bool:
        return ask.origin.session.partition("/")[2] == session_name(origin)

    def get(self, ask_id: str) -> Ask:
        return self.read(self._http.send("GET", f"/api/asks/{quote(ask_id)}"))

    def find(self, named: str) -> Ask:
        return self.read(self._http.send("GET", f"/api/asks/{quote(named)}?by=name"))

    def look_up(self, abbreviation: str) -> Ask:
        return self.read(self._http.send("GET", f"/api/asks/{quote(abbreviation)}?by=beginning"))

    def pending(self, limit: int, project: str | None = None, key: str = "") -> list[Ask]:
        where = "" if project is None else f"&project={quote(project)}"
        where += f"&project_key={quote(key)}" if key else ""
        found = self._get_list(f"/api/asks?limit={min(limit, 1000)}{where}")
        return [self.read(one) for one in found]

    def settled(self, limit: int, wanted: HistoryFilter) -> list[Ask]:
        times = {"since": iso(wanted.since), "until": iso(wanted.until)}
        given = {name: text for name, text in (wanted._asdict() | times).items() if text}
        where = "".join(f"&{name}={quote(text)}" for name, text in given.items())
        path = f"/api/asks?status=settled&limit={min(limit, 1000)}{where}"
        return [self.read(one) for one in self._get_list(path)]

    def messages(self, ask_id: str) -> list[Message]:
        found = self._get_list(f"/api/asks/{quote(ask_id)}/messages")
        return [read_message(one) for one in found]

    def answers(self, ask_id: str) -> list[Answer]:
        # Imported here and below: only people who look at one ask need them.
        from gatebell.domain.asks.document_reader import read_answer

        return [read_answer(one) for one in self._list(f"/api/asks/{quote(ask_id)}/answers")]

    def events(self, ask_id: str) -> list[Entry]:
        from gatebell.domain.asks.document_reader import read_entry

        return [read_entry(one) for one in self._list(f"/api/asks/{quote(ask_id)}/events")]

    def _list(self, path: str) -> list[Any]:
        """Return a list, which is empty for a token that may only ask."""
        try:
            return self._get_list(path)
        except RefusedError:
            return []

    def find_freeze(self) -> Freeze | None:
        from gatebell.domain.freezes import read_freeze

        return self._read_as(read_freeze, self._http.send("GET", "/api/freeze"), "a freeze")

    def notes(self, limit: int) -> list[Note]:
        from gatebell.domain.asks.document_reader import read_time
        from gatebell.domain.notifications.notes import Note

        found = self._get_list(f"/api/notes?limit={limit}")
        return [Note(**one | {"sent_at": read_time(one["sent_at"])}) for one in found]

    def attach(self, name: str, content: bytes) -> Attachment:
        from gatebell.adapters.remote import attachments

        return attachments.attach(self._http, name, content)

    def read_attachment(self, ask_id: str, attachment: Attachment) -> bytes:
        from gatebell.adapters.remote import attachments

        return attachments.read_attachment(self._http, ask_id, attachment)

    def is_waiter_gone(self, ask: Ask) -> bool:
        return self._gone.get(ask.id, False)

    def describe_trust(self, ask: Ask) -> str:
        return self._trust.get(ask.id, TRUST)

    def decide(self, held: Held, caller: Caller) -> Permission:
        from gatebell.adapters.remote.permissions import decide

        return decide(self, self._http, held, caller)

    def defer(self, held: Held, caller: Caller) -> Permission | None:
        from gatebell.adapters.remote.permissions import defer

        return defer(self._http, held, caller)

    def is_gated(
        self,
        call: Call,
        origin: Origin,
        folders: tuple[str, ...] = (),
        *,
        is_harmless: bool = False,
    ) -> bool:
        from gatebell.adapters.remote.permissions import is_gated

        return is_gated(self._http, call, origin, folders, is_harmless=is_harmless)

    def must_have_gates(self) -> None:
        if not self._http.send("GET", "/api/permissions")["had_gates"]:
            raise ServerError(f"the server {self.name} never had a gate: make gates there first")

    def instead(self, ask_id: str, held: Held, edited: Call) -> Permission:
        raise UsageError("the server itself hands an edited input over as text")

    def hand_over(self, permission: Permission, held: Held) -> None:
        """Do nothing: the server has recorded the answers when they were read."""

    def retire(self, ask: Ask, caller: Caller, reason: str) -> Ask:
        try:
            return self.cancel(ask.id, caller, reason)
        except AlreadySettledError:
            return self.get(ask.id)

    def tell(self, origin: Origin, caller: Caller, text: str) -> None:
        body = build_origin(origin) | {"text": text}
        self._http.send("POST", "/api/notes", body, via=caller.via, again=False)

    def signal(self, origin: Origin, caller: Caller, status: str, summary: str) -> None:
        body = build_origin(origin) | {"status": status, "summary": summary}
        self._http.send("POST", "/api/signals", body, via=caller.via, again=False)
