"""The results that workers received, kept outside the store, and a comparison with the store."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import Any

from points import picture

from gatebell.app import wiring
from gatebell.domain.asks.asks import Ask
from gatebell.ports.store import Store
from gatebell.services.audit import verify

_SETTLING = ("ask.answered", "ask.cancelled", "ask.timed_out")


class Ledger:
    """Announcements and confirmations, in the order of their arrival from each worker."""

    def __init__(self) -> None:
        self._facts: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
        self._open: dict[str, list[Any]] = {}

    def write(self, worker: str, line: str) -> None:
        word, *facts = entry = json.loads(line)
        self._facts[word].append(tuple(facts))
        if word.startswith("try "):
            self._open[worker] = entry
        else:
            self._open.pop(worker, None)

    def find_unfinished(self, worker: str) -> list[Any] | None:
        """Return the facts that the worker had announced and not confirmed when it died."""
        return self._open.pop(worker, None)

    def counts(self) -> str:
        confirmed = {word: len(facts) for word, facts in self._facts.items() if word[:4] != "try "}
        return ", ".join(f"{count} {word}" for word, count in sorted(confirmed.items()))

    def compare(self, path: str) -> Iterator[str]:
        """Return every contradiction between the confirmed facts and the recorded ones."""
        seen = picture(path)
        yield from seen["damage"]
        yield from map(str, seen["orphans"])
        # Here the store is always within reach.
        yield from (f"a worker met {fact}" for fact in self._facts["outage"])
        with closing(wiring.open_store(path)) as store:
            yield from self.compare_store(store)

    def compare_store(self, store: Store) -> Iterator[str]:
        """Return the contradictions, read through the store itself."""
        yield from verify(store)
        yield from (f"a worker met {fact}" for fact in self._facts["error"])
        asks = {ask.id: ask for ask in _all_asks(store)}
        # A run takes the answers to its own asks.
        own = {ask_id: ask for ask_id, ask in asks.items() if not is_of_run(ask)}
        yield from self._check_asked(own)
        yield from self._check_settled(asks)
        yield from self._check_taken(own)
        for ask in asks.values():
            yield from self._once(store, ask)
        yield from self._check_runs(store, asks.values())

    def _check_runs(self, store: Store, asks: Iterable[Ask]) -> Iterator[str]:
        """Every run has ended with the answers to its own asks."""
        answers = defaultdict(list)
        for ask in sorted(filter(is_of_run, asks), key=lambda ask: ask.question.prompt):
            answers[ask.origin.owner.partition("/")[0]].append(ask.value)
        for (run_id,) in self._facts["started"]:
            run = store.runs.get(run_id)
            if run is None:
                yield f"run {run_id} was confirmed and is lost"
            elif (run.state, run.result) != ("completed", answers[f"run:{run_id}"]):
                yield f"run {run_id} is {run.state} with {run.result}: {answers[f'run:{run_id}']}"

    def _check_asked(self, asks: dict[str, Ask]) -> Iterator[str]:
        prompts = Counter(ask.question.prompt for ask in asks.values())
        tried = {prompt for (prompt,) in self._facts["try asked"]}
        for prompt, count in prompts.items():
            if count > 1 or prompt not in tried:
                yield f"{prompt!r} was asked {count} times, {prompt in tried=}"
        for prompt, ask_id in self._facts["asked"]:
            if ask_id not in asks or asks[ask_id].question.prompt != prompt:
                yield f"{ask_id} ({prompt!r}) was confirmed and is lost"

    def _check_settled(self, asks: dict[str, Ask]) -> Iterator[str]:
        for ask_id, words, who in self._facts["answered"]:
            if _answer(asks[ask_id]) != ("answered", words, who):
                yield f"{ask_id}: {who} was told that {words!r} stands"
        for ask_id, who in self._facts["cancelled"]:
            if (asks[ask_id].status, asks[ask_id].settled_by) != ("cancelled", who):
                yield f"{ask_id}: {who} was told that it is cancelled"
        for ask_id, sentence in self._facts["late"]:
            if asks[ask_id].settled_by not in sentence:
                yield f"{ask_id}: somebody was told {sentence!r}"
        tried = {("answered", words, who) for _, words, who in self._facts["try answered"]}
        cancels = set(self._facts["try cancelled"])
        for ask in asks.values():
            if ask.status == "answered" and _answer(ask) not in tried:
                yield f"{ask.id} holds an answer that nobody gave: {ask}"
            if ask.status == "cancelled" and (ask.id, ask.settled_by) not in cancels:
                yield f"{ask.id} was cancelled by nobody: {ask}"

    def _check_taken(self, asks: dict[str, Ask]) -> Iterator[str]:
        for ask_id, who in self._facts["taken"]:
            if asks[ask_id].delivered_to != who:
                yield f"{ask_id}: {who} was told that they took it"
        for ask_id, count in Counter(ask_id for ask_id, _ in self._facts["taken"]).items():
            if count > 1:
                yield f"{ask_id} was handed out {count} times"
        tried = set(self._facts["try taken"])
        for ask in asks.values():
            if ask.delivered_at and (ask.id, ask.delivered_to) not in tried:
                yield f"{ask.id} was taken by nobody"

    def _once(self, store: Store, ask: Ask) -> Iterator[str]:
        kinds = Counter(entry.event.kind for entry in store.audit.of_subject(ask.id))
        settlings = sum(kinds[kind] for kind in _SETTLING)
        if (settlings, kinds["ask.taken"]) != (not ask.pending, bool(ask.delivered_at)):
            yield f"{ask.id} ({ask.status}) has the events {dict(kinds)}"
        outcomes = Counter(answer.outcome for answer in store.asks.answers(ask.id))
        if outcomes["settled"] != (ask.status == "answered"):
            yield f"{ask.id} ({ask.status}) has the answers {dict(outcomes)}"


def is_of_run(ask: Ask) -> bool:
    return ask.origin.owner.startswith("run:")


def _answer(ask: Ask) -> tuple[str, Any, str]:
    return ask.status, ask.value, ask.settled_by


def _all_asks(store: Store) -> Iterator[Ask]:
    for ask_id in store.asks.matching("a-", 1_000_000):
        ask = store.asks.get(ask_id)
        assert ask
        yield ask
