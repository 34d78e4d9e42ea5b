"""Strike an operation at every system call, by a crash or a full disk.

A sweep runs the operation once to see its calls, then once more for each of them, on a fresh
copy of the store, with that call spoilt. Then the store is judged from outside: it must look
exactly as before or exactly as after the operation, and as after if that was confirmed.
"""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any, NamedTuple

import apsw
from nursery import Child, Nursery
from operation import OPERATIONS, SECRET, Scene
from tracing import Call, Tracer, since_start, until_acknowledged

from gatebell.app import wiring
from gatebell.errors import AlreadySettledError, GateError
from gatebell.services.audit import verify

KILL = "signal=KILL"
FULL_DISK = "error=ENOSPC"
BROKEN_DISK = "error=EIO"
WRITING_CALLS = (
    "write", "pwrite64", "fdatasync", "fsync", "ftruncate", "fallocate", "openat", "mkdir", "unlink",
)  # fmt: skip

_TRIES = 5
_SHOWN = 200
_TIMED = ("at", "record", "rows", "content_digest")
_RANDOM_COLUMNS = ("id", "ask_id", "subject", "hash")

Picture = dict[str, Any]


class Point(NamedTuple):
    """One call of an operation, and the fault that strikes it."""

    place: int
    call: Call
    fault: str

    @property
    def can_fail(self) -> bool:
        """Return whether the call can fail: all can, except the release of a lock."""
        return "F_UNLCK" not in self.call.rest

    def __str__(self) -> str:
        return f"{self.fault} at call {self.place} ({self.call.name} {self.call.nth})"


class Strike(NamedTuple):
    """The outcome of one point."""

    hit: bool
    said: str
    """The words of the process about its end."""
    wrong: list[str]


class Sweep(NamedTuple):
    """The outcome of all points that were tried."""

    seen: int
    tried: int
    hit: int
    wrong: list[str]
    errors: Counter[str]

    def __str__(self) -> str:
        said = ", ".join(f"{n} {error}" for error, n in sorted(self.errors.items()))
        tried = "" if self.tried == self.seen else f", {self.tried} points tried"
        return f"{self.seen} calls seen{tried}, {self.hit} hit" + (f" ({said})" if said else "")


def picture(path: str) -> Picture:
    """Return the content of the store except random ids and times, read without our own code."""
    if not os.path.exists(path):
        path = ":memory:"
    with closing(apsw.Connection(path)) as db:
        # A killed process may still be releasing its locks.
        db.set_busy_timeout(10_000)
        rows = db.execute("SELECT type, name FROM sqlite_master ORDER BY name").fetchall()
        return {
            "damage": [row[0] for row in db.execute("PRAGMA integrity_check") if row[0] != "ok"],
            "orphans": db.execute("PRAGMA foreign_key_check").fetchall(),
            "version": db.execute("PRAGMA user_version").get,
            "schema": rows,
            **{name: _rows(db, name) for kind, name in rows if kind == "table"},
        }


def _rows(db: apsw.Connection, table: str) -> list[dict[str, Any]]:
    names = [name for (name,) in db.execute("SELECT name FROM pragma_table_info(?)", (table,))]
    found = [dict(zip(names, row, strict=True)) for row in db.execute(f"SELECT * FROM {table}")]
    return [
        {name: _steady(name, value) for name, value in row.items() if name not in _RANDOM_COLUMNS}
        for row in found
    ]


def _steady(name: str, value: Any) -> Any:
    """Replace a time, or a digest of one: it differs from run to run."""
    if name == "content" and value:
        return {inner: _steady(inner, part) for inner, part in json.loads(value).items()}
    return value is not None if name in _TIMED or name.endswith("_at") else value


def traces_of_secret(path: str) -> list[str]:
    """Return the files in which the secret can still be read."""
    found = []
    for end in ("", "-wal"):
        if os.path.exists(path + end):
            with open(path + end, "rb") as file:
                if SECRET.encode() in file.read():
                    found.append(os.path.basename(path) + end)
    return found


class Field:
    """An operation with its prepared store; every point gets a copy."""

    def __init__(self, folder: str, operation: str, nursery: Nursery) -> None:
        self._folder = folder
        self._operation = operation
        self._nursery = nursery
        self._copies = 0
        os.makedirs(folder)
        template = os.path.join(folder, "template", "gate.db")
        self._ask_id = OPERATIONS[operation].prepare(template)
        self.before = picture(template)
        self.calls, self.after = self._see()

    def _see(self) -> tuple[list[Call], Picture]:
        with self._copy() as path, self._child(path) as child:
            tracer = Tracer(child.pid, f"{path}-trace")
            child.go()
            said = child.line()
            calls = tracer.calls()
            assert said.startswith("ACK"), said
            return until_acknowledged(since_start(calls)), picture(path)

    @contextmanager
    def _copy(self) -> Iterator[str]:
        self._copies += 1
        # Names of equal length: a longer path may need more memory, which is another call.
        copy = os.path.join(self._folder, f"{self._copies:08}")
        shutil.copytree(os.path.join(self._folder, "template"), copy)
        yield os.path.join(copy, "gate.db")
        shutil.rmtree(copy)

    @contextmanager
    def _child(self, path: str) -> Iterator[Child]:
        arguments = {"operation": self._operation, "path": path, "ask_id": self._ask_id}
        with closing(self._nursery.start("perform", **arguments)) as child:
            yield child

    def strike(self, point: Point) -> Strike:
        for _ in range(_TRIES):
            strike = self._strike(point)
            if strike.hit or strike.wrong:
                break
        return strike

    def _strike(self, point: Point) -> Strike:
        with self._copy() as path:
            with self._child(path) as child:
                inject = f"--inject={point.call.name}:{point.fault}:when={point.call.nth}"
                tracer = Tracer(child.pid, f"{path}-trace", inject)
                child.go()
                said = child.line()
                confirmed = said.startswith("ACK")
                wrong = self._judge(path, confirmed=confirmed)
                wrong += _outspoken(point, said)
                if said.startswith("ERR") and point.fault == FULL_DISK:
                    wrong += self._again(path, child)
                child.hang_up()
                calls = since_start(tracer.calls())
            wrong += self._judge(path, confirmed=confirmed) + self._redo(path)
        wrong = [f"{self._operation}, {point}: {one}" for one in wrong]
        return Strike(_was_hit(point, calls), said, wrong)

    def _judge(self, path: str, *, confirmed: bool) -> list[str]:
        seen = picture(path)
        if confirmed and seen != self.after:
            return [f"confirmed, but not in the store: {differences(seen, self.after)}"]
        if seen not in (self.before, self.after):
            return [f"half done: {differences(seen, self.after)}"]
        return list(faults(path)) if seen["version"] else []

    def _again(self, path: str, child: Child) -> list[str]:
        """Let the process that found the disk full try again once there is space."""
        done = picture(path) == self.after
        child.go()
        said = child.line()
        if said.startswith("ACK") or (done and "AlreadySettledError" in said):
            return self._judge(path, confirmed=True)
        return [f"the same process could not try again: {said}"]

    def _redo(self, path: str) -> list[str]:
        """Let another process do it again, as after a crash: there must be one effect."""
        store = wiring.open_store(path) if self.before["version"] else None
        try:
            OPERATIONS[self._operation].perform(Scene(path, self._ask_id, store))
        except AlreadySettledError:
            """The operation had happened, as the picture will show."""
        except GateError as error:
            return [f"it could not be done again: {error}"]
        finally:
            if store:
                store.close()
        wrong = self._judge(path, confirmed=True)
        if self._operation == "take_secret":
            wrong += [f"the secret is still in {name}" for name in traces_of_secret(path)]
        return [f"done again: {one}" for one in wrong]


def _outspoken(point: Point, said: str) -> list[str]:
    """Report an error of the store's files that is not one of gate's own errors."""
    own = said.startswith(("ACK", "ERR StoreError")) or not said
    outside = point.call.acknowledges or point.call.name == "getrandom"
    return [] if own or outside else [f"a raw error came out: {said}"]


def _was_hit(point: Point, calls: list[Call]) -> bool:
    """Return whether the planned call itself was struck, not another one of the same name."""
    struck = calls[point.place - 1] if len(calls) >= point.place else None
    if struck is None or (struck.name, struck.nth) != (point.call.name, point.call.nth):
        return False
    return struck.spoilt if point.fault != KILL else len(calls) == point.place


def differences(one: Picture, other: Picture) -> str:
    names = sorted(one.keys() | other.keys())
    return "; ".join(
        f"{name} is {str(one.get(name))[:_SHOWN]}, not {str(other.get(name))[:_SHOWN]}"
        for name in names
        if one.get(name) != other.get(name)
    )


def faults(path: str) -> Iterator[str]:
    """Return the faults of the record that the package itself finds."""
    with closing(wiring.open_store(path)) as store:
        yield from verify(store)


def sweep(
    folder: str, operation: str, fault: str, wanted: Callable[[Point], bool], *, stops: bool = False
) -> Sweep:
    """Strike every wanted call of an operation; if it `stops`, only until one goes wrong."""
    with Nursery() as nursery:
        field = Field(os.path.join(folder, f"{operation}-{fault}"), operation, nursery)
        points = [Point(at, call, fault) for at, call in enumerate(field.calls, 1)]
        points = [point for point in points if wanted(point)]
        strikes = []
        for point in points:
            strikes.append(field.strike(point))
            if stops and strikes[-1].wrong:
                break
    errors = Counter(one.said.split()[1].rstrip(":") for one in strikes if one.said[:3] == "ERR")
    wrong = [sentence for one in strikes for sentence in one.wrong]
    return Sweep(len(field.calls), len(strikes), sum(one.hit for one in strikes), wrong, errors)
