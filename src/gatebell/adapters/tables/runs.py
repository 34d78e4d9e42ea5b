"""Store runs, with their calls and turns."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, TypeVar

from gatebell.adapters.tables.statements import ConstraintError, OvertakenError
from gatebell.adapters.tables.values import (
    as_json,
    as_member,
    as_time,
    from_json,
    names_unreadable,
    read_time,
)
from gatebell.domain.asks.asks import iso
from gatebell.domain.enums import CallName, CallState, Priority, RunState, TaskState
from gatebell.domain.runs.journals import Carried, order
from gatebell.domain.runs.runs import DRIVER, FlowCall, Run, RunChange, Turn
from gatebell.domain.text.display import storable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from gatebell.adapters.tables.store import TableStore
    from gatebell.domain.audit.events import Event
    from gatebell.domain.stats import TurnTime

_Record = TypeVar("_Record", Run, FlowCall, Turn)
_PAGE = 5_000
# As JSON, any text can be kept.
_JSON = ("result", "value", "signal", "offered")
_POOL = Run._fields.index("pool")
_TIMES_OF_RUN = ("created_at", "ready_at", "waiting_since", "ended_at", "lease_until")


class StoredRuns:
    def __init__(self, store: TableStore) -> None:
        self._store = store
        self._db = store.statements("runs")

    def add(self, run: Run, events: Sequence[Event], carried: Carried) -> Run:
        with self._store.transaction() as at:
            new = self.insert(run, events, at)
            calls, turns = carried.by(new.id)
            for call in calls:
                self._db.write("put_call", _call_row(call))
            for turn in turns:
                self._db.write("put_turn", _turn_row(turn))
        return new

    def insert(self, run: Run, events: Sequence[Event], at: str) -> Run:
        """Insert a run as part of a transaction, and return it with its number."""
        run = _make_storable(run)
        [(number,)] = self._db.rows("insert_run", _to_row(run) | {"changed_at": at})
        new = run._replace(id=number)
        self._store.record(at, [event._replace(subject=new.name) for event in events])
        return new

    def of_task(self, task_id: str) -> list[Run]:
        return self._runs("runs_of_task", task_id)

    def get(self, run_id: int) -> Run | None:
        found = self._runs("get_run", run_id)
        return found[0] if found else None

    def newest(self, limit: int, *, active: bool = False) -> list[Run]:
        return self._runs("active_runs" if active else "newest_runs", limit)

    def ready(self, limit: int, *, shuffled: bool = False) -> list[int]:
        rows = self._db.rows("ready_runs", (iso(self._store.now()), limit, self._host))
        if shuffled:
            alike = sum(row[1:] == rows[0][1:] for row in rows)
            rows[:alike] = sorted(rows[:alike], key=lambda _: os.urandom(4))
        return [number for number, *_ in rows]

    def list_unplaced(self, key: str, limit: int) -> list[Run]:
        return self._runs("unplaced_runs", self._host, key, limit, iso(self._store.now()))

    @property
    def _host(self) -> str:
        return self._store.machine.host

    def list_kept(self) -> list[Run]:
        return self._runs("kept_runs", iso(self._store.now()))

    def next_ready_at(self) -> datetime | None:
        return as_time(self._db.rows("next_ready_at", (self._host,))[0][0])

    def running(self, late_before: datetime) -> list[Run]:
        return self._runs("late_runs", iso(late_before))

    def owners(self) -> list[str]:
        return [owner for (owner,) in self._db.rows("run_owners")]

    def list_driven_by(self, owner: str) -> list[Run]:
        return self._runs("runs_of_owner", owner)

    def list_of_host(self, host: str) -> list[Run]:
        return self._runs("runs_of_host", host)

    def changed_since(self, at: datetime) -> dict[int, tuple[str, str, int]]:
        rows = self._db.rows("changed_runs", (iso(at),))
        return {number: (changed_at, state, claim) for number, changed_at, state, claim in rows}

    def change(self, change: RunChange, expected: Run) -> bool:
        run = change.run
        # Steps for which no process waits ring no bell: a flow may record thousands per second.
        is_step = run.state == expected.state and not change.turns
        quiet = is_step and not change.asks
        begin = self._store.quiet_transaction if quiet else self._store.transaction
        try:
            with begin() as at:
                if change.unless_frozen:
                    self._store.freezes.refuse()
                if run.task and not is_step:
                    self._store.locks.hold_task_of_run(run.id)
                self._write_run(run, expected, None if is_step else at)
                for call in change.calls:
                    self._db.write("put_call", _call_row(call))
                for turn in change.turns:
                    self.write_turn(turn)
                for one in sorted(change.asks, key=lambda one: one.ask.id):
                    self._store.asks.try_change(one, at)
                if run.state == RunState.WAITING_HUMAN:
                    self._db.write("ready_if_answered", {"id": run.id})
                self._store.record(at, change.events)
                if run.task and not is_step:
                    self.move_task(run.id, at, change.task_state, change.actor)
        except OvertakenError:
            return False
        except ConstraintError as error:
            if any(self.holder(turn.cli, turn.session) for turn in change.turns):
                return False
            raise self._db.problem(error) from error
        return True

    def write_turn(self, turn: Turn) -> None:
        """Write a turn as part of a transaction."""
        self._db.write("put_turn", _turn_row(turn))

    def move_task(
        self, run_id: int, at: str, task_state: TaskState | None = None, actor: str = DRIVER
    ) -> None:
        """Update the task of a run, in the transaction that changed the run."""
        if (run := self.get(run_id)) and run.task:
            self._store.tasks.follow(run, at, task_state, actor)

    def set_priority(self, run_id: int, priority: Priority) -> None:
        """Set the priority as part of a transaction."""
        self._db.write("set_priority", {"priority": priority, "id": run_id})

    def _write_run(self, run: Run, expected: Run, touched_at: str | None) -> None:
        proof = {
            "id": run.id, "expected_claim": expected.claim, "expected_state": expected.state,
            "touched_at": touched_at,
        }  # fmt: skip
        if run == expected:
            written = self._db.write("prove_run", proof)
        elif run._replace(lease_until=None) == expected._replace(lease_until=None):
            lease = {"lease_until": iso(run.lease_until), "id": run.id, "claim": run.claim}
            written = self._db.write("extend_lease", lease | {"touched_at": touched_at})
        else:
            written = self._db.write("change_run", _to_row(run) | proof)
        if not written:
            raise OvertakenError

    def extend(self, held: Sequence[Run], until: datetime) -> set[int]:
        claims = json.dumps([[run.id, run.claim] for run in held])
        with self._store.quiet_transaction():
            extended = {"lease_until": iso(until), "held": claims}
            return {number for (number,) in self._db.rows("extend_leases", extended)}

    def raise_claims(self, by: int) -> int:
        raised = 0
        [(last,)] = self._db.rows("last_run")
        # In pages: one statement over all runs could take longer than a statement may.
        for after in range(0, last, _PAGE):
            with self._store.quiet_transaction():
                page = {"by": by, "after": after, "until": after + _PAGE}
                raised += self._db.write("raise_claims", page)
        return raised

    def skip_numbers(self, count: int, events: Sequence[Event]) -> None:
        with self._store.transaction() as at:
            self._db.write("skip_run_numbers", {"count": count})
            self._store.record(at, events)

    def calls(self, run_id: int) -> list[FlowCall]:
        found = [_to_call(row) for row in self._db.rows("calls_of_run", (run_id,))]
        return sorted(found, key=lambda call: order(call.path))

    def turns(self, run_id: int) -> list[Turn]:
        return [_to_turn(row) for row in self._db.rows("turns_of_run", (run_id,))]

    def turn_times(self, since: datetime, until: datetime, project: str) -> list[TurnTime]:
        # Imported here: only the numbers of a period need it.
        from gatebell.domain.stats import TurnTime

        given = {"since": iso(since), "until": iso(until), "project": project}
        rows = self._db.rows("turn_times", given)
        return [
            TurnTime(f"{cli}/{session}", read_time(began), as_time(ended))
            for cli, session, began, ended in rows
        ]

    def turn(self, turn_id: str) -> Turn | None:
        rows = self._db.rows("get_turn", (turn_id,))
        return _to_turn(rows[0]) if rows else None

    def holder(self, cli: str, session: str) -> Turn | None:
        rows = self._db.rows("holder_of_session", (cli, session))
        return _to_turn(rows[0]) if rows else None

    def list_joined_turns(self) -> list[Turn]:
        return [_to_turn(row) for row in self._db.rows("joined_turns")]

    def offer(self, turn_id: str, signal: Any) -> bool:
        with self._store.transaction():
            self._store.locks.hold_turn(turn_id)
            offer = {"offered": json.dumps(signal), "id": turn_id}
            return bool(self._db.write("offer_signal", offer))

    def delete(self, run: Run, events: Sequence[Event]) -> bool:
        with self._store.transaction() as at:
            found = bool(self._db.write("delete_run", {"id": run.id, "claim": run.claim}))
            if found:
                self._store.record(at, events)
            return found

    def _runs(self, query: str, *parameters: Any) -> list[Run]:
        return [_to_run(row) for row in self._db.rows(query, parameters)]


def _make_storable(record: _Record) -> _Record:
    """Return the record with texts that every database can keep."""
    texts: dict[str, Any] = {
        name: storable(text)
        for name, text in record._asdict().items()
        if isinstance(text, str) and name not in _JSON and not text.isprintable()
    }
    return record._replace(**texts) if texts else record


def _to_row(run: Run) -> dict[str, Any]:
    run = _make_storable(run)
    times = {name: iso(getattr(run, name)) for name in _TIMES_OF_RUN}
    return run._asdict() | times | {"result": as_json(run.result)}


@names_unreadable("run")
def _to_run(row: Any) -> Run:
    values = list(row)
    values[7] = read_time(row[7])
    values[12] = as_member(RunState, row[12])
    values[15] = from_json(row[15])
    for place in (18, 19, 20, 25):
        values[place] = as_time(row[place])
    values[28] = as_member(Priority, row[28])
    # The column before the pool is no field of a run; later versions may add columns.
    return Run(*values[:_POOL], *values[_POOL + 1 : _POOL + 2])


def _call_row(call: FlowCall) -> dict[str, Any]:
    call = _make_storable(call)
    return call._asdict() | {
        "started_at": iso(call.started_at),
        "value": as_json(call.value),
        "error": as_json(call.error),
        "ended_at": iso(call.ended_at),
    }


@names_unreadable("a step of run")
def _to_call(row: Any) -> FlowCall:
    values = list(row)
    values[2] = as_member(CallName, row[2])
    values[5], values[6] = read_time(row[5]), as_member(CallState, row[6])
    values[7:9] = from_json(row[7]), from_json(row[8])
    values[12:14] = bool(row[12]), bool(row[13])
    values[16] = as_time(row[16])
    return FlowCall(*values)


def _turn_row(turn: Turn) -> dict[str, Any]:
    turn = _make_storable(turn)
    return turn._asdict() | {
        "started_at": iso(turn.started_at),
        "person": turn.by,
        "ended_at": iso(turn.ended_at),
        "signal": as_json(turn.signal),
    }


@names_unreadable("a turn of run", 1)
def _to_turn(row: Any) -> Turn:
    values = list(row)
    values[8] = read_time(row[8])
    values[13] = as_time(row[13])
    values[14], values[16] = from_json(row[14]), from_json(row[16])
    return Turn(*values)
