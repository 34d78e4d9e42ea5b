"""Short checks of the promises that a seeded bug breaks, each run against a copy of the package.

    python checks.py NAME FOLDER    FOLDER holds the package `gatebell`

A check that fails ends with exit code 3; one that cannot run, with another.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from typing import Any, NamedTuple

import apsw
import flow_checks
from nursery import Nursery
from operation import ADA, LONG_AGO, ORIGIN, SECRET, pending, secretly_answered
from points import FULL_DISK, KILL, WRITING_CALLS, sweep, traces_of_secret
from syncs import count_syncs
from tracing import Tracer, since_start

import gatebell
from gatebell.adapters.sqlite.connection import Connection
from gatebell.app import wiring
from gatebell.domain.asks.answers import Given
from gatebell.domain.people.principals import Caller, Sighting
from gatebell.errors import (
    AgentRefusedError,
    AlreadySettledError,
    GateError,
    InvalidAnswerError,
    RefusedError,
)
from gatebell.services.asks import answer_ask, apply_deadlines, create_ask, wait_for_ask
from gatebell.services.asks.create_ask import Request
from gatebell.testing import FakeClock

GRACE = Caller("person:grace", verified=False, via="cli", agent=None, evidence={})
AGENT = ADA._replace(agent=Sighting("claude", "s2", "the variable CLAUDECODE is set"))
TAKER = "agent:claude/s1"
DOES_NOT_HOLD = 3

CHECKS: dict[str, Callable[[str], None]] = {}


class Outcome(NamedTuple):
    code: int
    said: str

    @property
    def holds(self) -> bool:
        return self.code == 0

    @property
    def fails(self) -> bool:
        return self.code == DOES_NOT_HOLD


def run_check(name: str, folder: str, python: str = sys.executable) -> Outcome:
    """Run one check in a process that imports the package from this folder."""
    done = subprocess.run(
        [python, __file__, name, folder],
        env={**os.environ, "PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return Outcome(done.returncode, done.stdout + done.stderr)


def check(function: Callable[[str], None]) -> Callable[[str], None]:
    CHECKS[function.__name__] = function
    return function


def check_refused(error: type[Exception], verb: Callable[..., Any], *arguments: Any) -> str:
    try:
        verb(*arguments)
    except error as refusal:
        return str(refusal)
    raise AssertionError(f"{verb.__name__} was not refused")


@check
def overtaken_answer_does_not_settle(path: str) -> None:
    ask_id = pending(path)
    with closing(wiring.open_store(path)) as slow, closing(wiring.open_store(path)) as fast:
        write = slow.asks.change

        def overtaken(*arguments: Any) -> Any:
            slow.asks.change = write
            answer_ask.answer(fast, ask_id, GRACE, Given("no"))
            return write(*arguments)

        slow.asks.change = overtaken
        check_refused(AlreadySettledError, answer_ask.answer, slow, ask_id, ADA, Given("yes"))
        assert create_ask.get(slow, ask_id).settled_by == "person:grace"
        outcomes = [answer.outcome for answer in slow.asks.answers(ask_id)]
        assert outcomes == ["settled", "late"], outcomes


@check
def confirmed_answer_outlives_its_process(path: str) -> None:
    ask_id = pending(path)
    with Nursery() as nursery:
        child = nursery.start("perform", operation="answer", path=path, ask_id=ask_id)
        child.go()
        assert child.line().startswith("ACK")
        child.close()
    with closing(wiring.open_store(path)) as store:
        assert create_ask.get(store, ask_id).decision == "approved"


@check
def log_is_synced_before_confirming(path: str) -> None:
    ask_id = pending(path)
    with Nursery() as nursery:
        child = nursery.start("perform", operation="answer", path=path, ask_id=ask_id)
        tracer = Tracer(child.pid, f"{path}-trace")
        child.go()
        assert child.line().startswith("ACK")
        _, early = count_syncs(since_start(tracer.calls()))
        child.close()
    assert early == [], early


@check
def kill_leaves_all_or_nothing_of_an_answer(path: str) -> None:
    swept = sweep(os.path.dirname(path), "answer", KILL, lambda _: True, stops=True)
    assert swept.wrong == [], swept.wrong[0]


@check
def kill_leaves_all_or_nothing_of_a_schema(path: str) -> None:
    folder = os.path.dirname(path)
    swept = sweep(folder, "migrate", KILL, lambda point: point.place % 10 == 0, stops=True)
    assert swept.wrong == [], swept.wrong[0]


@check
def full_disk_confirms_nothing(path: str) -> None:
    folder = os.path.dirname(path)
    swept = sweep(
        folder, "answer", FULL_DISK, lambda point: point.call.name in WRITING_CALLS, stops=True
    )
    assert swept.wrong == [], swept.wrong[0]


@check
def silence_approves_nothing(path: str) -> None:
    clock = FakeClock()
    with closing(wiring.open_store(path, clock)) as store:
        request = Request("May it go out?", "approval", expires_seconds=60)
        ask = create_ask.ask(store, request, ORIGIN, ADA).ask
        clock.advance(61)
        apply_deadlines.sweep(store)
        after = create_ask.get(store, ask.id)
    assert (after.status, after.decision) == ("timed_out", None), after


@check
def only_the_clock_of_the_store_expires(path: str) -> None:
    for start in (LONG_AGO, datetime(2100, 1, 1, tzinfo=UTC)):
        clock = FakeClock(start)
        with closing(wiring.open_store(f"{path}-{start.year}", clock)) as store:
            ask = create_ask.ask(store, Request("Which?", expires_seconds=60), ORIGIN, ADA).ask
            clock.advance(59)
            assert wait_for_ask.wait(store, ask.id, 0).pending
            clock.advance(2)
            assert wait_for_ask.wait(store, ask.id, 0).status == "timed_out"


@check
def answer_to_another_question_is_refused(path: str) -> None:
    ask_id = pending(path)
    with closing(wiring.open_store(path)) as store:
        other = Given("yes", digest="the digest of what was shown before")
        check_refused(RefusedError, answer_ask.answer, store, ask_id, ADA, other)
        assert create_ask.get(store, ask_id).pending


@check
def only_the_bare_word_decides(path: str) -> None:
    ask_id = pending(path)
    with closing(wiring.open_store(path)) as store:
        for words in ("yes, if the tests pass", "never say yes to that", "no yes", "yesterday"):
            check_refused(InvalidAnswerError, answer_ask.answer, store, ask_id, ADA, Given(words))
        assert create_ask.get(store, ask_id).pending


@check
def refused_answer_is_kept(path: str) -> None:
    ask_id = pending(path)
    with closing(wiring.open_store(path)) as store:
        check_refused(InvalidAnswerError, answer_ask.answer, store, ask_id, ADA, Given("perhaps"))
        kept = [(answer.value, answer.outcome) for answer in store.asks.answers(ask_id)]
        assert kept == [("perhaps", "refused")], kept
        assert store.audit.of_subject(ask_id)[-1].event.kind == "answer.refused"


@check
def same_key_returns_the_first_result(path: str) -> None:
    ask_id = pending(path)
    with closing(wiring.open_store(path)) as store:
        given = Given("yes", key="once")
        first, _ = answer_ask.answer(store, ask_id, ADA, given)
        again, _ = answer_ask.answer(store, ask_id, ADA, given)
        assert first == again
        assert len(store.asks.answers(ask_id)) == 1


@check
def answer_is_taken_once(path: str) -> None:
    ask_id = pending(path)
    with closing(wiring.open_store(path)) as store:
        answer_ask.answer(store, ask_id, ADA, Given("yes"))
        assert wait_for_ask.take(store, create_ask.get(store, ask_id), TAKER)
        assert not wait_for_ask.take(store, create_ask.get(store, ask_id), "agent:claude/s2")
        assert create_ask.get(store, ask_id).delivered_to == TAKER


@check
def taken_answer_is_not_given_again(path: str) -> None:
    ask_id = pending(path)
    with closing(wiring.open_store(path)) as store:
        request = Request("May it go out?", "approval")
        assert create_ask.ask(store, request, ORIGIN, ADA).ask.id == ask_id
        answer_ask.answer(store, ask_id, ADA, Given("yes"))
        wait_for_ask.take(store, create_ask.get(store, ask_id), TAKER)
        again = create_ask.ask(store, request, ORIGIN, ADA)
        assert not again.attached and again.ask.pending


@check
def secret_is_in_one_table_and_then_in_none(path: str) -> None:
    ask_id = secretly_answered(path)
    with closing(apsw.Connection(path)) as db:
        tables = [
            name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        held = [
            name for name in tables if SECRET in str(db.execute(f"SELECT * FROM {name}").fetchall())
        ]
    assert held == ["secrets"], held
    with closing(wiring.open_store(path)) as store:
        wait_for_ask.take(store, create_ask.get(store, ask_id), TAKER)
        assert traces_of_secret(path) == []


@check
def agent_approves_nothing(path: str) -> None:
    ask_id = pending(path)
    with closing(wiring.open_store(path)) as store:
        check_refused(AgentRefusedError, answer_ask.answer, store, ask_id, AGENT, Given("yes"))
        assert create_ask.get(store, ask_id).pending


@check
def overtaken_maker_of_the_store_continues(path: str) -> None:
    migrate = Connection._migrate

    def overtaken(self: Connection, migrations: list[str]) -> None:
        Connection._migrate = migrate
        wiring.open_store(path).close()
        migrate(self, migrations)

    Connection._migrate = overtaken
    with closing(wiring.open_store(path)) as store:
        assert store.asks.count() == 0


@check
def writer_waits_for_its_turn(path: str) -> None:
    ask_id = pending(path)
    with closing(wiring.open_store(path)) as store, closing(apsw.Connection(path)) as other:
        other.execute("BEGIN IMMEDIATE")

        def other_has_finished(_: float) -> None:
            if other.in_transaction:
                other.execute("COMMIT")

        # A process that waits for its turn sleeps, and finds at its wake-up that the turn has come.
        time.sleep = other_has_finished
        answer_ask.answer(store, ask_id, ADA, Given("yes"))


CHECKS.update(flow_checks.CHECKS)


def main(name: str, folder: str) -> int:
    assert os.path.dirname(gatebell.__path__[0]) == folder, gatebell.__path__
    with tempfile.TemporaryDirectory() as place:
        try:
            CHECKS[name](os.path.join(place, "gate.db"))
        except (AssertionError, GateError) as problem:
            print(f"{name} does not hold: {type(problem).__name__}: {problem}")
            return DOES_NOT_HOLD
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
