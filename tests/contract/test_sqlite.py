"""Behaviours of the embedded store only."""

from __future__ import annotations

import json
import subprocess
import sys
import threading

import apsw
import pytest
from bench import plans
from tests.support import new_schema
from tests.support.people import a_person

from gatebell.adapters.sqlite import bell
from gatebell.app.wiring import open_store, open_throwaway_store
from gatebell.domain.asks import asks
from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.asks import Origin
from gatebell.domain.sessions.visits import Terms
from gatebell.errors import StoreError
from gatebell.services.asks import answer_ask, create_ask, wait_for_ask
from gatebell.services.asks.create_ask import Request


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "gate.db")


def open_ask(store, kind="text", **more):
    return create_ask.ask(
        store, Request("Why?", kind, **more), Origin(owner="run:1"), a_person()
    ).ask


@pytest.mark.proves("STORE-5", "S0-34", "S0-39", "S0-40", "S0-93")
def test_view_shows_asks_in_their_older_shape_and_words(path):
    store = open_throwaway_store(path)
    approved, rejected, chosen, text, late = (
        open_ask(store, "approval"), open_ask(store, "approval"), open_ask(store, "choice", options=("A", "B")),
        open_ask(store), open_ask(store, expires_seconds=0.000001),
    )  # fmt: skip
    create_ask.ask(store, Request("Why?", "session", session=Terms()), Origin(), a_person())
    for ask, value in ((approved, "yes"), (rejected, "no"), (chosen, "B")):
        answer_ask.answer(store, ask.id, a_person(), Given(value))
    create_ask.cancel(store, text.id, a_person(), "")
    wait_for_ask.wait(store, late.id)
    store.close()
    raw = apsw.Connection(path)
    cursor = raw.execute("SELECT * FROM human_interactions ORDER BY created_at")
    names = [column[0] for column in cursor.description]
    rows = [dict(zip(names, row, strict=True)) for row in cursor]
    assert names == [
        "id", "execution_id", "type", "prompt", "options", "status", "response", "created_at", "resolved_at",
        "session_config", "session_transcript", "session_duration",
    ]  # fmt: skip
    assert [(row["type"], row["status"]) for row in rows] == [
        ("confirmation", "approved"), ("confirmation", "rejected"), ("select", "approved"),
        ("input", "cancelled"), ("input", "timeout"), ("interactive_session", "pending"),
    ]  # fmt: skip
    assert json.loads(rows[2]["response"]) == "B" and json.loads(rows[2]["options"]) == ["A", "B"]
    assert json.loads(rows[1]["response"]) == "rejected" and rows[5]["resolved_at"] is None
    assert rows[0]["execution_id"] == "run:1"


@pytest.mark.proves("STORE-3", "LAW-10")
def test_foreign_database_is_left_as_it_is(path):
    raw = apsw.Connection(path)
    raw.execute("CREATE TABLE theirs (x)")
    raw.close()
    with pytest.raises(StoreError, match="not a gatebell store"):
        open_store(path)


@pytest.mark.proves("STORE-3")
def test_second_store_in_a_process_keeps_the_first_locks(path):
    first = open_store(path)
    with first.transaction():
        open_store(path).close()
        code = f"import apsw; apsw.Connection({path!r}).execute('BEGIN IMMEDIATE')"
        ran = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=False
        )
    assert "BusyError" in ran.stderr


@pytest.mark.proves("STORE-2", "LAW-10")
def test_store_of_a_newer_version_is_refused(path):
    open_store(path).close()
    raw = apsw.Connection(path)
    raw.execute("PRAGMA user_version = 99")
    raw.close()
    with pytest.raises(StoreError, match="newer gatebell: upgrade"):
        open_store(path)


def read_schema(path):
    """Everything that decides how a store behaves, and its version."""
    raw = apsw.Connection(path)
    parts = raw.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY 1, 2")
    return parts.fetchall(), raw.execute("PRAGMA user_version").get


@pytest.mark.proves("STORE-23")
def test_script_for_new_stores_is_that_of_the_migrations():
    written = new_schema.SCRIPT.read_text(encoding="utf-8")
    assert written == new_schema.build_script(), "run make schema"


@pytest.mark.proves("STORE-23", "STORE-16")
@pytest.mark.parametrize("version", [1, 8])
def test_migrated_store_has_the_schema_of_a_new_one(path, tmp_path, version):
    older = apsw.Connection(path)
    for migration in sorted((new_schema.FOLDER / "migrations").iterdir())[:version]:
        older.execute(migration.read_text(encoding="utf-8"))
    older.execute(f"PRAGMA user_version = {version}")
    older.close()
    new = str(tmp_path / "new.db")
    for place in (path, new):
        store = open_store(place)
        assert store.audit.schema_faults() == []
        store.close()
    assert read_schema(path) == read_schema(new)


@pytest.mark.proves("STORE-4")
def test_no_named_query_reads_a_whole_table():
    assert len(plans.plans()) > 30
    assert plans.scans() == []


@pytest.mark.proves("STORE-9")
def test_store_in_use_cannot_become_a_throwaway_one(path):
    store = open_store(path)
    assert not store.throwaway
    open_ask(store)
    store.mark_throwaway()
    assert not store.throwaway


@pytest.mark.proves("STORE-10")
@pytest.mark.parametrize("make", [bell.KernelBell, bell.LookingBell])
def test_bell_wakes_its_waiter(path, make):
    bell.ring(f"{path}-bell")
    waiter = make(f"{path}-bell")
    woken = threading.Event()

    def wait():
        waiter.wait(30)
        woken.set()

    threading.Thread(target=wait, daemon=True).start()
    while not woken.wait(0.02):
        bell.ring(f"{path}-bell")
    waiter.close()


@pytest.mark.proves("STORE-10", "LAW-1")
def test_waiter_notices_by_itself_without_a_bell(path, monkeypatch):
    asker, person = open_throwaway_store(path), open_store(path)
    ask = open_ask(asker)
    monkeypatch.setattr("gatebell.adapters.sqlite.connection.ring", lambda _: None)
    answer = threading.Timer(
        0.05, lambda: answer_ask.answer(person, ask.id, a_person(), Given("x"))
    )
    answer.start()
    assert wait_for_ask.wait(asker, ask.id, 30).value == "x"
    answer.join()


@pytest.mark.proves("STORE-10")
def test_file_is_polled_without_kernel_notices(path, monkeypatch):
    monkeypatch.setattr(bell, "KernelBell", _raise)
    found = bell.listen(f"{path}-bell")
    assert isinstance(found, bell.LookingBell)
    found.wait(0.001)
    found.close()
    gone = bell.LookingBell(f"{path}-nowhere")
    gone.wait(0.001)


def _raise(_):
    raise OSError


@pytest.mark.proves("STORE-3", "LAW-10")
@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (apsw.FullError("x"), "disk is full"),
        (apsw.BusyError("x"), "busy for 30 seconds"),
        (apsw.ReadOnlyError("x"), "GATE_STORE=PATH"),
        (apsw.CorruptError("x"), "restore a copy"),
        (apsw.IOError("disk I/O error"), "disk I/O error"),
    ],
)
def test_database_errors_become_sentences(path, error, sentence):
    store = open_store(path)
    said = str(store.connection.problem(error))
    assert sentence in said and path in said and "Nothing was confirmed" in said


@pytest.mark.proves("STORE-3", "LAW-10")
def test_broken_constraint_is_an_error_not_an_endless_retry(path):
    store = open_store(path)
    ask = open_ask(store)
    broken = ask._replace(id="a-zzz", priority="soon")
    with pytest.raises(StoreError):
        store.asks.open(asks.open_ask(broken, "person:ada"))
    change = asks.cancel(ask, a_person(), "", store.now())
    with pytest.raises(StoreError):
        store.asks.change(change._replace(ask=change.ask._replace(status="flying")), 1)


@pytest.mark.proves("STORE-3")
def test_error_inside_a_transaction_undoes_it(path):
    store = open_store(path)

    def break_off():
        with store.transaction():
            store.connection.write("INSERT INTO people VALUES ('x', 'now')")
            store.connection.write("INSERT INTO nowhere VALUES (1)")

    with pytest.raises(StoreError):
        break_off()
    assert store.people.all() == []
    with pytest.raises(StoreError):
        store.connection.rows("SELECT * FROM nowhere")
    assert store.problems() == []
