"""Store where notifications reach people: browsers, and accounts in chats."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from gatebell.adapters.tables.statements import ConstraintError, OvertakenError
from gatebell.adapters.tables.values import as_member, names_unreadable, read_time
from gatebell.domain.asks.asks import iso
from gatebell.domain.enums import ChannelKind
from gatebell.domain.notifications.chats import (
    CODES_LIVE,
    MESSAGES_KEPT,
    ChatLink,
    ChatMessage,
)
from gatebell.domain.notifications.devices import Device

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gatebell.adapters.tables.store import TableStore
    from gatebell.domain.audit.events import Event


class StoredDevices:
    def __init__(self, store: TableStore) -> None:
        self._store = store
        self._db = store.statements("devices")

    def add(self, device: Device, events: Sequence[Event]) -> bool:
        with self._store.transaction() as at:
            self._store.locks.hold_login_maker(device.person, device.token_id)
            row = device._asdict() | {"added_at": iso(device.added_at)}
            if not self._db.write("add_device", row):
                return False
            self._store.record(at, events)
            return True

    def remove(self, device_id: str, events: Sequence[Event]) -> bool:
        with self._store.transaction() as at:
            if not self._db.write("remove_device", {"id": device_id}):
                return False
            self._store.record(at, events)
            return True

    def get(self, device_id: str) -> Device | None:
        rows = self._db.rows("get_device", (device_id,))
        return _device(rows[0]) if rows else None

    def all(self) -> list[Device]:
        return [_device(row) for row in self._db.rows("all_devices")]

    def remove_of_token(self, token_id: str) -> None:
        """Remove its devices, in the transaction that removes the token."""
        self._db.write("remove_devices_of_token", {"token_id": token_id})

    def remove_of_person(self, name: str) -> None:
        """Remove their devices, in the transaction that removes the person."""
        self._db.write("remove_devices_of_person", {"person": name})

    def remove_of_login(self, digest: str) -> None:
        """Remove the device of the browser, in the transaction that ends its login."""
        self._db.write("remove_devices_of_login", {"digest": digest})

    def remove_of_others(self, seal: str, person: str) -> None:
        """Remove other people's devices of the browser, in the transaction of a new login."""
        self._db.write("remove_devices_of_others", {"seal": seal, "person": person})


@names_unreadable("the device")
def _device(row: Any) -> Device:
    device = Device(*row)
    return device._replace(added_at=read_time(row[-1]))


class StoredChats:
    def __init__(self, store: TableStore) -> None:
        self._store = store
        self._db = store.statements("chats")

    def invite(self, link: ChatLink, events: Sequence[Event]) -> bool:
        with self._store.transaction() as at:
            self._store.locks.hold_login_maker(link.person, link.token_id)
            row = link._asdict() | {"made_at": iso(link.made_at)}
            if not self._db.write("add_chat_link", row):
                return False
            # In a transaction with an event, which records that they are gone.
            old = datetime.fromisoformat(at) - CODES_LIVE
            self._db.write("drop_old_chat_codes", {"before": iso(old)})
            self._store.record(at, events)
            return True

    def use(self, link: ChatLink, account: str, room: str, events: Sequence[Event]) -> bool:
        try:
            with self._store.transaction() as at:
                self._store.locks.hold_login_maker(link.person, link.token_id)
                after = {
                    "id": link.id, "code": link.code, "account": account, "room": room,
                    "since": iso(datetime.fromisoformat(at) - CODES_LIVE),
                }  # fmt: skip
                if not self._db.rows("get_chat_code", after):
                    return False
                # An account belongs to one person: to the last one who has linked it.
                self._db.write("remove_chat_account", {"chat": link.chat, "account": account})
                if not self._db.write("use_chat_code", after):
                    return False
                self._store.record(at, events)
                return True
        except ConstraintError:
            # Another transaction has linked the account at the same time.
            return False

    def remove(self, link_id: str, events: Sequence[Event]) -> bool:
        with self._store.transaction() as at:
            if not self._db.write("remove_chat_link", {"id": link_id}):
                return False
            self._store.record(at, events)
            return True

    def get(self, link_id: str) -> ChatLink | None:
        rows = self._db.rows("get_chat_link", (link_id,))
        return _link(rows[0]) if rows else None

    def must_be_linked(self, link_id: str) -> None:
        """Undo this transaction if the link has ended, and let it not end before that."""
        self._store.locks.hold_chat_link(link_id)
        if not self._db.rows("get_chat_link", (link_id,)):
            raise OvertakenError

    def of_account(self, chat: str, account: str) -> ChatLink | None:
        rows = self._db.rows("chat_link_of_account", (chat, account)) if account else []
        return _link(rows[0]) if rows else None

    def all(self) -> list[ChatLink]:
        return [_link(row) for row in self._db.rows("all_chat_links")]

    def remove_of_token(self, token_id: str) -> None:
        """Remove its links, in the transaction that removes the token."""
        self._db.write("remove_chat_links_of_token", {"token_id": token_id})

    def remove_of_person(self, name: str) -> None:
        """Remove their links, in the transaction that removes the person."""
        self._db.write("remove_chat_links_of_person", {"person": name})

    def add_message(self, message: ChatMessage) -> None:
        with self._store.quiet_transaction() as at:
            row = message._asdict() | {"sent_at": iso(message.sent_at)}
            self._db.write("add_chat_message", row)
            old = datetime.fromisoformat(at) - MESSAGES_KEPT
            self._db.write("drop_old_chat_messages", {"before": iso(old)})

    def message(self, chat: str, room: str, message: str) -> ChatMessage | None:
        rows = self._db.rows("get_chat_message", (chat, room, message))
        return _message(rows[0]) if rows else None

    def messages_about(self, ask_id: str) -> list[ChatMessage]:
        return [_message(row) for row in self._db.rows("chat_messages_about", (ask_id,))]


@names_unreadable("the chat link")
def _link(row: Any) -> ChatLink:
    read = ChatLink(*row)
    return read._replace(
        chat=as_member(ChannelKind, read.chat),
        verified=bool(read.verified),
        made_at=read_time(row[5]),
    )


@names_unreadable("a chat message of", 3)
def _message(row: Any) -> ChatMessage:
    read = ChatMessage(*row)
    return read._replace(chat=as_member(ChannelKind, read.chat), sent_at=read_time(row[6]))
