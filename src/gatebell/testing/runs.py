"""Runs in memory, with their calls and turns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gatebell.domain.runs.journals import Carried, order

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from gatebell.domain.audit.events import Event
    from gatebell.domain.runs.runs import FlowCall, Run, RunChange, Turn
    from gatebell.testing.store import MemoryStore


class MemoryRuns:
    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._last = 0
        self._runs: dict[int, Run] = {}
        self._calls: dict[tuple[int, str], FlowCall] = {}
        self._turns: dict[str, Turn] = {}

    def add(self, run: Run, events: Sequence[Event], carried: Carried) -> Run:
        with self._store.lock:
            new = self.insert(run, events)
            calls, turns = carried.by(new.id)
            self._calls.update({(new.id, call.path): call for call in calls})
            self._turns.update({turn.id: turn for turn in turns})
            return new

    def insert(self, run: Run, events: Sequence[Event]) -> Run:
        """As part of a transaction; with its number."""
        self._last += 1
        new = self._runs[self._last] = run._replace(id=self._last)
        self._store.record([event._replace(subject=new.name) for event in events])
        return new

    def of_task(self, task_id: str) -> list[Run]:
        return [run for run in self._runs.values() if task_id and run.task == task_id]

    def set_priority(self, run_id: int, priority: int) -> None:
        """As part of a transaction."""
        self._runs[run_id] = self._runs[run_id]._replace(priority=priority)

    def get(self, run_id: int) -> Run | None:
        return self._runs.get(run_id)

    def newest(self, limit: int, *, active: bool = False) -> list[Run]:
        found = [run for run in self._runs.values() if not (active and run.ended)]
        return sorted(found, reverse=True)[:limit]

    def ready(self, limit: int) -> list[int]:
        found = sorted((run for run in self._due() if not run.owner), key=_order)
        return [run.id for run in found[:limit]]

    def kept(self) -> list[Run]:
        return [run for run in self._due() if run.owner]

    def _due(self) -> list[Run]:
        now = self._store.now()
        return [
            run
            for run in self._runs.values()
            if (run.state == "ready" and (run.ready_at is None or run.ready_at <= now))
            or (run.state == "waiting_human" and run.ready_at and run.ready_at <= now)
        ]

    def next_ready_at(self) -> datetime | None:
        free = [run for run in self._runs.values() if not run.owner]
        asleep = [run.ready_at for run in free if run.state in ("ready", "waiting_human")]
        return min((at for at in asleep if at), default=None)

    def running(self) -> list[Run]:
        return [run for run in self._runs.values() if run.state == "running"]

    def change(self, change: RunChange, expected: Run) -> bool:
        run = change.run
        with self._store.lock:
            current = self._runs.get(run.id)
            if not current or (current.claim, current.state) != (expected.claim, expected.state):
                return False
            closed = {turn.id for turn in change.turns if turn.ended_at}
            for turn in change.turns:
                holder = self.holder(turn.cli, turn.session)
                if not turn.ended_at and holder and holder.id not in {turn.id, *closed}:
                    return False
            for call in change.calls:
                self._calls[call.run, call.path] = call
            for turn in change.turns:
                self.write_turn(turn)
            self._runs[run.id] = run
            for withdrawn in change.withdrawn:
                self._store.asks.withdraw(withdrawn)
            if run.state == "waiting_human" and self._was_answered(run):
                self._runs[run.id] = run._replace(state="ready", ready_at=None)
            self._store.record(change.events)
            self._store.tasks.follow(self._runs[run.id], change.task_state, change.actor)
            return True

    def write_turn(self, turn: Turn) -> None:
        """As part of a transaction. What its agent offered is its own to write."""
        before = self._turns.get(turn.id)
        if before and before.ended_at:
            # Of several who take back what a dead holder left, the first has written it.
            turn = turn._replace(signal=before.signal)
        self._turns[turn.id] = turn._replace(offered=before.offered if before else None)

    def _was_answered(self, run: Run) -> bool:
        for call in self.calls(run.id):
            waits = call.state == "waiting" and call.path in run.at_path.split()
            ask = self._store.asks.get(call.ask_id) if waits else None
            if ask and (not ask.pending or (ask.asked_back > ask.heard and call.name == "run")):
                return True
        return False

    def wake(self, run_id: int) -> None:
        """In the transaction that settles its ask."""
        run = self._runs.get(run_id)
        if run and run.state == "waiting_human":
            self._runs[run_id] = run._replace(state="ready", ready_at=None)
            self._store.tasks.follow(self._runs[run_id])

    def extend(self, run: Run, until: datetime) -> bool:
        with self._store.lock:
            current = self._runs.get(run.id)
            if not current or (current.claim, current.state) != (run.claim, "running"):
                return False
            self._runs[run.id] = current._replace(lease_until=until)
            return True

    def calls(self, run_id: int) -> list[FlowCall]:
        found = [call for call in self._calls.values() if call.run == run_id]
        return sorted(found, key=lambda call: order(call.path))

    def turns(self, run_id: int) -> list[Turn]:
        found = [turn for turn in self._turns.values() if turn.run == run_id]
        return sorted(found, key=lambda turn: (turn.started_at, turn.number))

    def turn(self, turn_id: str) -> Turn | None:
        return self._turns.get(turn_id)

    def holder(self, cli: str, session: str) -> Turn | None:
        for turn in self._turns.values():
            if session and not turn.ended_at and (turn.cli, turn.session) == (cli, session):
                return turn
        return None

    def joined(self) -> list[Turn]:
        found = [turn for turn in self._turns.values() if turn.by and not turn.ended_at]
        return sorted((turn for turn in found if turn.session), key=lambda turn: turn.started_at)

    def _hears(self, turn: Turn) -> bool:
        """Whether a signal can still count there."""
        run, ask = self._runs.get(turn.run), self._store.asks.get(turn.ask_id)
        return not (run and run.ended) and (not turn.by or bool(ask and ask.pending))

    def offer(self, turn_id: str, signal: Any) -> bool:
        with self._store.lock:
            turn = self._turns.get(turn_id)
            if turn is None or turn.ended_at or not self._hears(turn):
                return False
            self._turns[turn_id] = turn._replace(offered=signal)
            return True

    def delete(self, run: Run, events: Sequence[Event]) -> bool:
        with self._store.lock:
            current = self._runs.get(run.id)
            if current is None or current.claim != run.claim:
                return False
            del self._runs[run.id]
            self._calls = {key: call for key, call in self._calls.items() if key[0] != run.id}
            self._turns = {key: turn for key, turn in self._turns.items() if turn.run != run.id}
            self._store.record(events)
            return True


def _order(run: Run) -> tuple[bool, float, int, int]:
    at = run.ready_at.timestamp() if run.ready_at else 0.0
    return run.ready_at is not None, at, run.priority, run.id
