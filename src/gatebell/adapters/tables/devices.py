"""Store devices: browsers that get notifications."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gatebell.adapters.tables.values import names_unreadable, read_time
from gatebell.domain.asks.asks import iso
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
