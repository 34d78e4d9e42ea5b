"""Processes that ask, answer and take without end, and report to a ledger outside the store.

Every fact is announced before its verb and confirmed after it. A killed worker's successor
begins with the facts that were announced and not confirmed, as a restarted program would.
"""

from __future__ import annotations

import json
import os
import random
import select
import threading
import time
from collections.abc import Callable
from itertools import count
from typing import Any, TypeVar

from gatebell.app import wiring
from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.asks import Ask, Origin
from gatebell.domain.people.principals import Caller, person
from gatebell.errors import AlreadySettledError, GateError, StoreError
from gatebell.ports.store import Store
from gatebell.services.asks import answer_ask, create_ask, wait_for_ask
from gatebell.services.asks.create_ask import Request

_PAGE = 20
_PAUSE_SECONDS = 0.05
_PAUSE = threading.Event()
_Result = TypeVar("_Result")


def tell(word: str, *facts: Any) -> None:
    """Write one line of the ledger in one write, so that a kill cannot cut it."""
    os.write(1, json.dumps([word, *facts]).encode() + b"\n")


def may_start() -> bool:
    """Wait for the starting byte; return False when it will never come."""
    # A tracer that has just attached may miss the call in which a process slept: let it be this
    # one, so that the read from which calls are counted is always seen.
    select.select([0], [], [])
    return bool(os.read(0, 1))


def make_caller(name: str) -> Caller:
    return Caller(person(name), verified=False, via="cli", agent=None, evidence={})


def begin(path: str) -> Store:
    store = wiring.open_store(path)
    os.write(1, b"READY\n")
    may_start()
    return store


def repeat(step: Callable[[int], None]) -> None:
    for number in count():
        try:
            step(number)
        except GateError as error:
            tell("error", type(error).__name__, str(error))


def insist(act: Callable[[], _Result]) -> _Result:
    """Repeat an act, under the same key, until the store is within reach."""
    while True:
        try:
            return act()
        except StoreError as error:
            tell("outage", str(error))
            _PAUSE.wait(_PAUSE_SECONDS)


def asker(path: str, name: str, seed: int, resume: list[Any] | None) -> None:
    store, caller = begin(path), make_caller(name)
    origin = Origin(session=f"claude/{name}", started_by=caller.principal)

    def open_one(prompt: str) -> str:
        tell("try asked", prompt)
        ask_id = create_ask.ask(store, Request(prompt), origin, caller, prompt).ask.id
        tell("asked", prompt, ask_id)
        return ask_id

    def open_some(number: int) -> None:
        ask_id = insist(lambda: open_one(f"{name} asks {seed}.{number}"))
        if number % 7 == 0:
            insist(lambda: _cancel(store, ask_id, caller))

    if resume and resume[0] == "try asked":
        open_one(resume[1])
    elif resume:
        _cancel(store, resume[1], caller)
    repeat(open_some)


def _cancel(store: Store, ask_id: str, caller: Caller) -> None:
    tell("try cancelled", ask_id, caller.principal)
    try:
        create_ask.cancel(store, ask_id, caller, "changed my mind")
    except AlreadySettledError as late:
        tell("late", ask_id, str(late))
    else:
        tell("cancelled", ask_id, caller.principal)


def answerer(path: str, name: str, seed: int, resume: list[Any] | None) -> None:
    store, caller, dice = begin(path), make_caller(name), random.Random(seed)
    bell = store.bell()

    def answer_one(ask_id: str, words: str) -> None:
        tell("try answered", ask_id, words, caller.principal)
        try:
            answer_ask.answer(store, ask_id, caller, Given(words, key=words))
        except AlreadySettledError as late:
            tell("late", ask_id, str(late))
        else:
            tell("answered", ask_id, words, caller.principal)

    def answer_some(number: int) -> None:
        if waiting_asks := insist(lambda: store.asks.pending(_PAGE)):
            ask_id = dice.choice(waiting_asks).id
            insist(lambda: answer_one(ask_id, f"{name} says {seed}.{number}"))
        else:
            tell("idle")
            bell.wait(1)

    if resume:
        answer_one(resume[1], resume[2])
    repeat(answer_some)


def taker(path: str, name: str, seed: int, resume: list[Any] | None) -> None:
    store, dice = begin(path), random.Random(seed)
    bell, who = store.bell(), f"agent:claude/{name}"

    def take_one(ask: Ask) -> None:
        tell("try taken", ask.id, who)
        mine = wait_for_ask.take(store, ask, who)
        tell("taken" if mine else "taken before", ask.id, who)

    def take_some(_: int) -> None:
        ready = [
            a
            for a in insist(lambda: store.asks.list_settled(_PAGE))
            if not a.delivered_at and a.status == "answered" and not a.origin.owner
        ]
        if ready:
            ask = dice.choice(ready)
            insist(lambda: take_one(ask))
        else:
            tell("idle")
            bell.wait(1)

    if resume:
        take_one(create_ask.get(store, resume[1]))
    repeat(take_some)


def rival(path: str, name: str, asks: int) -> None:
    """Answers every ask, at the same moment as all the others."""
    store, caller = wiring.open_store(path), make_caller(name)
    ids = [ask.id for ask in store.asks.pending(asks)]
    os.write(1, b"READY\n")
    may_start()
    for ask_id in ids:
        began = time.perf_counter()
        try:
            answer_ask.answer(store, ask_id, caller, Given(f"{name}'s word"))
            result = ["won", ""]
        except AlreadySettledError as late:
            result = ["lost", str(late)]
        except Exception as error:
            result = ["error", repr(error)]
        tell(ask_id, time.perf_counter() - began, *result)
