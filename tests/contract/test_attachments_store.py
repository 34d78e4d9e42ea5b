"""Attachments in every store: kept before they are confirmed, used or removed."""

from __future__ import annotations

import os
import stat
from datetime import timedelta

import pytest
from tests.support.people import a_person

from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.asks import Origin
from gatebell.domain.asks.attachments import describe_bytes
from gatebell.domain.audit.events import EventKind
from gatebell.errors import AlreadySettledError, RefusedError, StoreError, UsageError
from gatebell.services.asks import answer_ask, attachments, create_ask
from gatebell.services.asks.create_ask import Request
from gatebell.services.audit import verify

ADA = a_person("ada")


def ask(store, *files, **more):
    request = Request("Is this right?", attachments=tuple(files), **more)
    return create_ask.ask(store, request, Origin(), ADA).ask


def move(store, **by):
    store.clock.advance(timedelta(**by).total_seconds())


@pytest.mark.proves("ATT-4", "ATT-7", "LAW-9")
def test_question_and_answer_keep_their_files(store):
    shown = attachments.attach(store, "log.txt", b"x" * 2_500_000)
    asked = ask(store, shown)
    assert store.asks.get(asked.id).question.attachments == (shown,)
    given = attachments.attach(store, "empty", b"")
    settled = answer_ask.answer(store, asked.id, ADA, Given("so", attachments=(given,)))[1]
    assert store.asks.get(asked.id) == settled and settled.answer_attachments == (given,)
    late = attachments.attach(store, "late", b"late")
    with pytest.raises(AlreadySettledError):
        answer_ask.answer(store, asked.id, ADA, Given("no", attachments=(late,)))
    assert [one.attachments for one in store.asks.answers(asked.id)] == [(given,), (late,)]
    assert attachments.read(store, shown) == b"x" * 2_500_000
    assert attachments.read(store, given) == b""
    assert attachments.find(store, settled, late.digest) == late
    events = {one.event.kind: one.event.content for one in store.audit.of_subject(asked.id)}
    assert events[EventKind.ASK_ANSWERED]["attachments"] == [given.digest]
    assert "empty" not in str(events) and "log.txt" not in str(events)
    assert verify(store) == [] and list(attachments.list_faults(store)) == []


@pytest.mark.proves("ATT-5")
def test_ask_without_its_bytes_is_refused(store):
    unknown = describe_bytes(b"never sent", "a.txt")
    before = store.audit.head()
    with pytest.raises(UsageError, match="attach it again"):
        ask(store, unknown)
    asked = ask(store)
    with pytest.raises(UsageError, match="attach it again"):
        answer_ask.answer(store, asked.id, ADA, Given("so", attachments=(unknown,)))
    assert store.asks.get(asked.id).pending and store.asks.count() == 1
    assert store.audit.head().seq == before.seq + 1
    assert store.asks.answers(asked.id) == []


@pytest.mark.proves("ATT-6")
def test_unused_bytes_are_removed_after_a_day(store):
    used = attachments.attach(store, "used", b"used")
    ask(store, used)
    unused = attachments.attach(store, "unused", b"unused", "token-1")
    move(store, hours=23)
    again = attachments.attach(store, "again", b"again")
    assert store.attachments.read(unused.digest) == b"unused"
    move(store, hours=2)
    attachments.attach(store, "other", b"other")
    assert store.attachments.read(unused.digest) is None
    assert store.attachments.read(used.digest) == b"used"
    assert store.attachments.read(again.digest) == b"again"
    with pytest.raises(UsageError, match="upload it first"):
        attachments.find_upload(store, "token-1", "unused", unused.digest)
    # The same bytes may come again.
    asked = ask(store, attachments.attach(store, "unused", b"unused"))
    assert attachments.read(store, asked.question.attachments[0]) == b"unused"


@pytest.mark.proves("ATT-6", "ATT-5")
def test_row_without_bytes_cannot_be_used(store, monkeypatch):
    def die(*_):
        raise KeyboardInterrupt

    # Killed after the row, and before the bytes.
    with monkeypatch.context() as killed:
        killed.setattr(store.attachments._contents, "write", die)
        with pytest.raises(KeyboardInterrupt):
            attachments.attach(store, "a", b"a", "token-1")
    with pytest.raises(UsageError, match="attach it again"):
        ask(store, describe_bytes(b"a", "a"))
    assert list(store.attachments.used()) == [] and list(attachments.list_faults(store)) == []
    move(store, hours=25)
    assert store.attachments.remove_unused(store.now() - attachments.UNUSED_FOR) == 1
    assert store.attachments.remove_unused(store.now()) == 0


@pytest.mark.proves("ATT-6")
def test_bytes_sent_again_are_kept_longer(store):
    first = attachments.attach(store, "a", b"a")
    move(store, hours=20)
    attachments.attach(store, "a", b"a")
    move(store, hours=20)
    attachments.attach(store, "b", b"b")
    assert ask(store, first).question.attachments == (first,)


@pytest.mark.proves("ATT-13", "ATT-17")
def test_only_the_uploader_may_name_the_bytes(store, monkeypatch):
    kept = attachments.attach(store, "a.txt", b"secret plan", "token-1")
    found = attachments.find_upload(store, "token-1", "b.txt", kept.digest)
    assert found == kept._replace(name="b.txt")
    for whose in ("token-2", ""):
        with pytest.raises(UsageError, match="upload it first"):
            attachments.find_upload(store, whose, "b.txt", kept.digest)
    monkeypatch.setattr(attachments, "MAX_DAILY_BYTES", 20)
    with pytest.raises(RefusedError, match="in a day"):
        attachments.attach(store, "more", b"0123456789", "token-1")
    attachments.attach(store, "more", b"0123456789", "token-2")
    move(store, hours=25)
    attachments.attach(store, "more", b"0123456789", "token-1")


@pytest.mark.proves("ATT-2")
def test_secret_takes_no_files(store):
    file = attachments.attach(store, "a", b"a")
    with pytest.raises(UsageError, match="secret"):
        ask(store, file, secret=True)
    secret = ask(store, secret=True)
    with pytest.raises(UsageError, match="secret"):
        answer_ask.answer(store, secret.id, ADA, Given("hunter2", attachments=(file,)))
    assert store.asks.get(secret.id).pending


@pytest.mark.proves("ATT-8")
def test_altered_and_missing_bytes_are_found(store):
    first = attachments.attach(store, "a", b"first")
    second = attachments.attach(store, "b", b"second")
    ask(store, first, second)
    contents = store.attachments._contents
    with store.quiet_transaction():
        contents.remove(first.digest)
    with store.quiet_transaction():
        contents.remove(second.digest)
    contents.write(second.digest, b"forged")
    told = sorted(attachments.list_faults(store))
    assert len(told) == 2 and "lacks the bytes" in " ".join(told) and "altered" in " ".join(told)
    for one, words in ((first, "lacks"), (second, "altered")):
        with pytest.raises(StoreError, match=words):
            attachments.read(store, one)
    # Sent again, they are repaired.
    for name, content in (("a", b"first"), ("b", b"second")):
        attachments.attach(store, name, content)
    assert list(attachments.list_faults(store)) == []


@pytest.mark.proves("ATT-7")
def test_retry_with_other_files_is_another_answer(store):
    asked = ask(store)
    first, second = (attachments.attach(store, name, name.encode()) for name in ("a", "b"))
    given = Given("so", key="k", attachments=(first,))
    assert (
        answer_ask.answer(store, asked.id, ADA, given)[0]
        == (answer_ask.answer(store, asked.id, ADA, given)[0])
    )
    with pytest.raises(RefusedError, match="another answer"):
        answer_ask.answer(store, asked.id, ADA, given._replace(attachments=(second,)))


@pytest.mark.proves("ATT-4", "ATT-6")
def test_files_are_private_and_incomplete_ones_go(tmp_path, monkeypatch):
    from gatebell.adapters.sqlite import attachment_files
    from gatebell.app.wiring import open_throwaway_store

    store = open_throwaway_store(str(tmp_path / "gate.db"))
    folder = tmp_path / "gate.db-attachments"

    def die(*_):
        raise KeyboardInterrupt

    # Killed after the bytes are written, and before they have their name.
    with monkeypatch.context() as killed:
        killed.setattr(attachment_files.os, "replace", die)
        with pytest.raises(KeyboardInterrupt):
            attachments.attach(store, "a", b"a")
    (left,) = (folder / "incoming").iterdir()
    assert stat.S_IMODE(left.stat().st_mode) == 0o600
    os.utime(left, (1, 1))
    synced = []
    monkeypatch.setattr(
        attachment_files.os, "fsync", lambda fd: synced.append(os.readlink(f"/proc/self/fd/{fd}"))
    )
    kept = attachments.attach(store, "a", b"a")
    assert not left.exists() and os.listdir(folder / "incoming") == []
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / kept.digest).stat().st_mode) == 0o600
    assert "incoming" in synced[0] and synced[1:] == [str(folder), str(tmp_path)]
    for digest in ("../gate.db", "A" * 64, ""):
        with pytest.raises(StoreError, match="not the digest"):
            store.attachments.read(digest)
    store.close()
