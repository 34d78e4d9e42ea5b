"""Answer an ask by one conditional write that counts and settles (law 2)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gatebell.domain.asks import answers
from gatebell.domain.asks.asks import hold_deadlines
from gatebell.domain.asks.duplicates import alike
from gatebell.domain.asks.requirements import Vote
from gatebell.domain.audit.events import EventKind
from gatebell.domain.enums import AnswerOutcome, Decision
from gatebell.domain.people.principals import person
from gatebell.domain.text.display import plain, storable
from gatebell.errors import AlreadySettledError, GateError, RefusedError
from gatebell.ports.results import Conflict, Done
from gatebell.services.asks.apply_deadlines import apply_deadlines, fall_due
from gatebell.services.asks.create_ask import get, must_be_linked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gatebell.domain.asks.answers import Answer, Given
    from gatebell.domain.asks.asks import Ask, Change
    from gatebell.domain.people.principals import Caller
    from gatebell.domain.sessions.joined_sessions import Leaving
    from gatebell.ports.store import Store


def answer(
    store: Store, ask_id: str, caller: Caller, given: Given, leaving: Leaving | None = None
) -> tuple[Answer, Ask]:
    """Record an answer; a refused answer is kept, then raised as an error.

    `leaving` ends a person's turn in a run in the same transaction, unless the answer is refused.
    """
    given = given._replace(value=plain(given.value), note=storable(given.note))
    # A turn that ends here needs no second look.
    look = apply_deadlines if leaving else fall_due
    while True:
        ask = look(store, get(store, ask_id))
        must_be_linked(store, caller)
        if given.attachments:
            _check_attachments(ask, given)
        if first := _find_retried(store, ask, caller, given):
            return first, ask
        random_bytes = os.urandom(32)
        verdict = answers.answer(ask, _votes(store, ask), caller, given, store.now(), random_bytes)
        if verdict.change is None:
            result = store.asks.keep_answer(verdict.answer, verdict.events)
        else:
            change = _with_leaving(verdict.change, leaving)._replace(chat_link=caller.chat_link)
            if ask.question.call:
                change = _with_rules(store, change)
            result = store.asks.change(change, ask.version, verdict.answer, verdict.secret)
        if isinstance(result, Conflict):
            continue
        if verdict.error:
            raise verdict.error
        return verdict.answer, verdict.change.ask if verdict.change else ask


def _with_rules(store: Store, change: Change) -> Change:
    """Check a grant without an end, and compare the answer with the rules from history."""
    ask, project = change.ask, change.ask.origin.project
    if ask.pending or not project:
        return change
    is_plain = ask.decision == Decision.APPROVED and not (ask.value or ask.note or ask.asked_back)
    is_standing = change.grant is not None and change.grant.is_standing
    # Before the rules are read: one that is made or ended at the same time changes it.
    seen = () if is_plain and not is_standing else store.rules.standing_state(project)
    shadows = store.rules.shadows(project)
    if not shadows and not seen:
        return change
    # Imported here: most answers meet no such rule.
    from gatebell.services.permissions import standing_rules

    if is_standing:
        standing_rules.must_be_undisputed(store, change)
    return standing_rules.compare(store, change._replace(rules_seen=seen), shadows)


def _check_attachments(ask: Ask, given: Given) -> None:
    # Imported here: most answers have no files.
    from gatebell.domain.asks.attachments import must_fit

    must_fit(given.attachments, is_secret=bool(ask.token_digest))


def _with_leaving(change: Change, leaving: Leaving | None) -> Change:
    if leaving is None:
        return change
    return change._replace(turn=leaving.turn, events=(*change.events, leaving.event))


def _votes(store: Store, ask: Ask) -> Sequence[Vote]:
    requirement = ask.question.requirement
    if requirement.n == 1 and requirement.reject == 1:
        return ()
    # From the chain, where a forged vote is found, not from the table of answers. People who were
    # removed since then do not vote.
    here = {person(one.name) for one in store.people.all()}
    return [
        Vote(entry.event.actor, entry.event.content["decision"])
        for entry in store.audit.of_subject(ask.id)
        if entry.event.kind == EventKind.ASK_VOTED and entry.event.actor in here
    ]


def _find_retried(store: Store, ask: Ask, caller: Caller, given: Given) -> Answer | None:
    """Return the first result of an answer that was given before under the same key."""
    if not given.key:
        return None
    principal = caller.actor
    first = store.asks.answer_with_key(ask.id, principal, given.key)
    if first is None:
        return None
    if first.fingerprint and first.fingerprint != answers.fingerprint(given):
        raise RefusedError(f"the key {given.key!r} was used for another answer: use a new key")
    if first.outcome == AnswerOutcome.LATE:
        raise AlreadySettledError(first.reason)
    if first.outcome == AnswerOutcome.REFUSED:
        raise RefusedError(first.reason)
    return first


def answer_alike(
    store: Store, shown: Sequence[tuple[str, str]], caller: Caller, given: Given
) -> list[tuple[Ask, GateError | None]]:
    """Give one answer to several asks, each (id, digest), with the same question.

    Each ask is answered separately: a refusal of one does not stop the others.
    """
    asks = [get(store, ask_id) for ask_id, _ in shown]
    strangers = {ask.id for ask in asks} - {asks[0].id, *(a.id for a in alike(asks[0], asks))}
    if strangers:
        names = ", ".join(sorted(strangers))
        raise RefusedError(
            f"not the same question as {asks[0].id}: answer these separately: {names}"
        )
    results: list[tuple[Ask, GateError | None]] = []
    for ask, (_, digest_shown) in zip(asks, shown, strict=True):
        try:
            after = answer(store, ask.id, caller, given._replace(digest=digest_shown))[1]
            results.append((after, None))
        except GateError as error:
            results.append((get(store, ask.id), error))
    return results


def save_draft(store: Store, ask_id: str, caller: Caller, text: str) -> None:
    """Keep an unfinished answer; a soft deadline waits for it."""
    while True:
        ask = get(store, ask_id)
        principal = caller.actor
        change = hold_deadlines(ask, principal, store.now())
        # For a secret, keep only the fact that a person is typing.
        kept = "" if ask.token_digest else storable(text)
        result = store.asks.save_draft(change, ask.version, principal, kept)
        if isinstance(result, Done):
            return


def draft(store: Store, ask_id: str, caller: Caller) -> str:
    return store.asks.draft(ask_id, caller.actor)
