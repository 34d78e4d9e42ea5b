"""Digests, the audit chain, and attacks on it."""

from __future__ import annotations

import hashlib
import sys
from types import SimpleNamespace

import pytest
from hypothesis import given, strategies as st

from gatebell.domain import digests
from gatebell.domain.audit.events import Entry, Event, EventKind, Head, parse_head, verify
from gatebell.domain.digests import (
    GENESIS,
    canonical,
    digest,
    keyed_digest,
    link,
    token_digest,
)


def chain(length=6):
    entries, previous = [], GENESIS
    for seq in range(1, length + 1):
        event = Event("ask.opened", f"a-{seq}", "person:ada", {"n": seq})
        content = digest(event.content)
        previous = link(previous, seq, "2026", event, content)
        entries.append(Entry(seq, "2026", event, content, previous, erased=False))
    return entries


@pytest.mark.proves("WEB-89")
def test_events_that_only_seal_rows_are_not_news():
    first = chain(1)[0]
    sealing = first._replace(event=first.event._replace(kind="runs.written"))
    assert (first.is_news, sealing.is_news) == (True, False)


# Stored chains hold these words: a change would break each of them.
KINDS = """
    ask.opened ask.held ask.reminded ask.escalated ask.asked_back ask.replied ask.voted ask.answered
    ask.timed_out ask.cancelled ask.taken answer.refused ask.made ask.ended deny.made deny.ended
    grant.made grant.used grant.ended person.added person.removed group.set token.made token.revoked
    link.made login.made login.ended note.sent agent.signalled file.foreign session.opened
    session.left session.joined session.closed run.started run.placed run.source_changed run.parked
    run.stopped run.resumed run.completed run.stuck run.failed run.deleted run.left run.arrived
    run.released host.forgotten call.recorded call.failed turn.began
    task.created task.changed task.open task.in_progress task.awaiting_input task.blocked
    task.deferred task.failed task.closed store.fenced freeze.begun freeze.lifted
    device.added device.removed shadow.made shadow.agreed shadow.disagreed shadow.promoted
    shadow.removed
"""


@pytest.mark.proves("ENUM-7", "STORE-6")
def test_stored_events_keep_their_words_and_links():
    assert list(EventKind) == KINDS.split()
    entries, previous, nothing = [], "0" * 64, hashlib.sha256(b"{}").hexdigest()
    for seq, kind in enumerate(EventKind, 1):
        parts = f'["{previous}",{seq},"2026","{kind}","a-2","gate","{nothing}"]'
        previous = hashlib.sha256(parts.encode()).hexdigest()
        event = Event(kind, "a-2", "gate", {})
        entries.append(Entry(seq, "2026", event, nothing, previous, erased=False))
    assert list(verify(entries)) == []


@pytest.mark.proves("FENCE-7", "STORE-7")
@pytest.mark.parametrize(
    "text", ["", "12", "12:", f"x:{'0' * 64}", f"1:{'0' * 63}", f"{'9' * 19}:{'0' * 64}"]
)
def test_head_that_was_kept_is_read(text):
    head = Head(12, "0" * 64)
    assert parse_head(f" {head}\n") == head
    assert parse_head(text) is None


@pytest.mark.parametrize("provider", ["_sha2", "_sha256", "hashlib"])
@pytest.mark.proves("LAW-9")
def test_every_python_makes_the_same_digest(monkeypatch, provider):
    found = SimpleNamespace(sha256=hashlib.sha256)
    for name in ("_sha2", "_sha256"):
        monkeypatch.setitem(sys.modules, name, found if name == provider else None)
    digests._sha256.cache_clear()
    assert digests.text_digest("é") == hashlib.sha256("é".encode()).hexdigest()
    digests._sha256.cache_clear()


@pytest.mark.proves("LAW-9")
def test_one_canonical_form():
    assert canonical({"b": 1, "a": [1.5, None, "é"]}) == '{"a":[1.5,null,"é"],"b":1}'
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    assert digest("\ud800") != digest("?")
    with pytest.raises(ValueError, match="Out of range"):
        canonical(float("nan"))


@pytest.mark.proves("ASK-30", "WHO-7")
def test_keyed_digest_needs_its_key():
    assert keyed_digest("x", b"1" * 32) != keyed_digest("x", b"2" * 32)
    assert keyed_digest("x", b"1" * 32) != keyed_digest("y", b"1" * 32)
    assert len(keyed_digest("\ud800", b"1" * 32)) == 64
    assert token_digest("gate_1") != token_digest("gate_2")


@pytest.mark.proves("STORE-6")
def test_untouched_chain_verifies():
    assert list(verify(chain())) == []
    assert list(verify([])) == []
    assert list(verify(chain(), Head(3, chain()[2].hash))) == []
    assert list(verify(chain(), Head(0, GENESIS))) == []


@pytest.mark.proves("STORE-6")
@given(
    st.integers(0, 5),
    st.sampled_from(["kind", "subject", "actor", "content", "at", "seq", "hash", "content_digest"]),
)
def test_every_change_of_every_part_is_found(index, part):
    entries = chain()
    entry = entries[index]
    if part in ("kind", "subject", "actor"):
        entries[index] = entry._replace(event=entry.event._replace(**{part: "other"}))
    elif part == "content":
        entries[index] = entry._replace(event=entry.event._replace(content={"n": 99}))
    elif part == "seq":
        entries[index] = entry._replace(seq=entry.seq + 100)
    else:
        entries[index] = entry._replace(**{part: "0" * 64})
    assert list(verify(entries))


@pytest.mark.proves("STORE-6")
@given(st.integers(0, 4))
def test_deletion_insertion_and_reordering_are_found(index):
    entries = chain()
    assert "missing" in next(verify(entries[:index] + entries[index + 1 :]))
    assert list(verify(entries[: index + 1] + entries[index:]))
    entries[index], entries[index + 1] = entries[index + 1], entries[index]
    assert list(verify(entries))


@pytest.mark.proves("STORE-7")
def test_cut_tail_is_found_against_a_kept_head():
    kept = Head(6, chain()[5].hash)
    assert list(verify(chain()[:4], kept)) == [
        "the log ends at event 4, but the head that was kept is of event 6"
    ]
    assert list(verify([], kept))
    assert list(verify(chain(), Head(6, "1" * 64))) == [
        "event 6 is not the one whose head was kept"
    ]
    assert str(kept) == f"6:{kept.hash}"


@pytest.mark.proves("LAW-9")
def test_erased_content_leaves_a_chain_that_verifies():
    entries = chain()
    entries[2] = entries[2]._replace(event=entries[2].event._replace(content={}), erased=True)
    assert list(verify(entries)) == []
