"""The PostgreSQL store: sealing, waking, the network, secrets, and its schema."""

from __future__ import annotations

import re
import threading
import time
from contextlib import closing
from datetime import timedelta

import psycopg
import pytest
from tests.support import postgres_server, rich_store
from tests.support.people import a_person
from tests.support.postgres_proxy import Proxy
from tests.support.stores import find_place
from tests.support.waiting import eventually

from gatebell.adapters.postgres import (
    bell as bells,
    connection as connections,
    migrations,
    wire as wires,
)
from gatebell.adapters.postgres.connection import Connection
from gatebell.adapters.postgres.names import name_store
from gatebell.adapters.postgres.wire import Wire, number_parameters
from gatebell.adapters.tables.columns import TABLES
from gatebell.adapters.tables.statements import list_nouns, load
from gatebell.app.wiring import open_store, open_throwaway_store
from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.asks import Origin
from gatebell.errors import StoreError
from gatebell.services import audit
from gatebell.services.asks import answer_ask, create_ask, wait_for_ask
from gatebell.services.asks.create_ask import Request


@pytest.fixture
def dsn(tmp_path, monkeypatch):
    return find_place("postgres", tmp_path, monkeypatch)


@pytest.fixture
def store(dsn):
    with closing(open_throwaway_store(dsn)) as made:
        yield made


@pytest.fixture
def proxy(dsn):
    made = Proxy(dsn)
    yield made
    made.close()


def open_ask(store, prompt="Why?", **more):
    origin = Origin(more.pop("project", "/p"))
    return create_ask.ask(store, Request(prompt, **more), origin, a_person()).ask


@pytest.mark.proves("PG-2", "PG-1")
def test_events_are_sealed_after_their_transactions(dsn, store, monkeypatch):
    monkeypatch.setattr(store.audit, "seal", lambda **_: 0)
    asks = [open_ask(store, f"Q{number}") for number in range(3)]
    store.close()
    with psycopg.connect(dsn) as raw:
        unsealed = raw.execute("SELECT count(*) FROM events WHERE seq IS NULL").fetchone()[0]
    with closing(open_store(dsn)) as other:
        checked = audit.Checked()
        assert list(audit.check(other, checked)) == list(range(1, checked.events + 1))
        assert checked.faults == [] and checked.sealed == unsealed
        assert {ask.id for ask in asks} <= {one.event.subject for one in other.audit.entries()}


@pytest.mark.proves("PG-2")
def test_snapshot_verifies_events_that_are_unsealed_in_it(store):
    open_ask(store)
    with store.audit.snapshot():
        before = [entry.seq for entry in store.audit.entries()]
        thread = threading.Thread(target=open_ask, args=(store, "Another?"))
        thread.start()
        thread.join()
        assert [entry.seq for entry in store.audit.entries()] == before


@pytest.mark.proves("PG-2")
def test_many_writers_and_sealers_make_one_chain(dsn):
    def write(number):
        with closing(open_store(dsn)) as mine:
            for n in range(8):
                ask = open_ask(mine, f"{number} {n}?")
                answer_ask.answer(mine, ask.id, a_person(), Given("so"))
                mine.audit.seal(wait=n % 2 == 0)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with closing(open_store(dsn)) as store:
        assert audit.verify(store) == []
        assert store.audit.head().seq == len(list(store.audit.entries())) >= 64


@pytest.mark.proves("PG-2")
def test_chain_has_the_order_of_changes(dsn, store):
    event = (
        "INSERT INTO events (at, kind, subject, actor, content_digest) VALUES ('', 'x', %s, '', '')"
    )
    change = "UPDATE people SET added_at = added_at || 'x' WHERE name = 'ada'"
    store.people.add("ada", [])
    with (
        psycopg.connect(dsn) as older,
        psycopg.connect(dsn) as open_one,
        psycopg.connect(dsn) as newer,
    ):
        older.execute("SELECT pg_current_xact_id()")
        open_one.execute("SELECT pg_current_xact_id()")
        newer.execute(change)
        newer.execute(event, ("first",))
        newer.commit()
        older.execute(change)
        older.execute(event, ("second",))
        older.commit()
        # By the numbers of transactions, the second change would be linked before the first one.
        finished = "SELECT subject FROM events WHERE xid < pg_snapshot_xmin(pg_current_snapshot())"
        subjects = [one for (one,) in store.connection.rows(finished)]
        assert "second" in subjects and "first" not in subjects
        newest = [entry.event.subject for entry in store.audit.newest(2)]
    assert newest == ["first", "second"]


@pytest.mark.proves("PG-11")
def test_feed_reports_a_transaction_that_ends_late(dsn, store):
    with closing(open_store(dsn)) as other:
        position = store.audit.position()
        with other.transaction() as at:
            # This transaction has begun to write; the next one overtakes it.
            other.connection.write("UPDATE traits SET value = value")
            thread = threading.Thread(target=open_ask, args=(store, "Early?"))
            thread.start()
            thread.join()
            position, seen = store.audit.changed_since(position)
            other.notes.add  # noqa: B018  loaded before the event
            other.record(at, [audit_event("late")])
        assert len(seen) == 1 and "late" not in seen
        assert "late" in store.audit.changed_since(position)[1]


def audit_event(subject):
    from gatebell.domain.audit.events import Event

    return Event("note.added", subject, "gate", {})


@pytest.mark.proves("PG-11", "PG-12")
def test_restored_events_are_not_reported_again(dsn, store):
    ask = open_ask(store)
    with psycopg.connect(dsn) as raw:
        raw.execute("UPDATE events SET xid = '999999999999'")
    assert ask.id in store.audit.changed_since(store.audit.position())[1]
    migrations.migrate(store.connection)
    assert store.audit.changed_since(store.audit.position())[1] == frozenset()


@pytest.mark.proves("PG-10")
def test_commit_of_another_process_rings(dsn, store, monkeypatch):
    # Without the net, only the bell can wake the waiter.
    monkeypatch.setattr(bells, "_SAFETY_NET_SECONDS", 30)
    bell = store.bell()
    ask = open_ask(store)
    done = threading.Event()

    def wait():
        while store.asks.get(ask.id).pending:
            bell.wait(60)
        done.set()

    threading.Thread(target=wait, daemon=True).start()
    with closing(open_store(dsn)) as other:
        answer_ask.answer(other, ask.id, a_person(), Given("so"))
    assert done.wait(10)


@pytest.mark.proves("PG-7")
def test_stalled_connection_ends_with_an_error(proxy, monkeypatch):
    with closing(open_store(proxy.dsn)) as store:
        ask = open_ask(store)
        monkeypatch.setattr(Wire, "limit", 0.3)
        began = time.monotonic()
        with pytest.raises(StoreError, match="did not answer for"), store.transaction():  # noqa: PT012  the stall begins inside
            proxy.flows.clear()
            store.asks.pending(1)
        assert time.monotonic() - began < 3
        monkeypatch.undo()
        proxy.flows.set()
        assert answer_ask.answer(store, ask.id, a_person(), Given("so"))[1].status == "answered"


@pytest.mark.proves("PG-6")
def test_commit_without_an_answer_is_in_doubt(dsn, proxy):
    with closing(open_store(proxy.dsn)) as store, closing(open_store(dsn)) as other:
        ask = open_ask(store)
        proxy.cut_after = b"COMMIT"
        with pytest.raises(StoreError, match="it is not known whether the change was recorded"):
            answer_ask.answer(store, ask.id, a_person(), Given("so"))
        proxy.cut_after = b""
        eventually(lambda: not other.asks.get(ask.id).pending)
        assert audit.verify(other) == []
        assert store.asks.get(ask.id).status == "answered"


@pytest.mark.proves("PG-6")
def test_cut_before_the_commit_changes_nothing(dsn, proxy):
    with closing(open_store(proxy.dsn)) as store, closing(open_store(dsn)) as other:
        ask = open_ask(store)
        proxy.cut_after = b"ask.answered"
        with pytest.raises(StoreError, match="Nothing was confirmed"):
            answer_ask.answer(store, ask.id, a_person(), Given("so"))
        assert other.asks.get(ask.id).pending and audit.verify(other) == []


@pytest.mark.proves("PG-6")
def test_error_of_sealing_is_a_store_error(store, monkeypatch):
    # Without a ring, so that no thread seals it first.
    with store.quiet_transaction() as at:
        store.record(at, [audit_event("run:1")])
    monkeypatch.setattr(Wire, "execute", _raise_at("COMMIT", Wire.execute))
    with pytest.raises(StoreError, match="Nothing was confirmed"):
        store.audit.of_subject("run:1")


def _raise_at(statement, execute):
    def failing(wire, query, *words, **named):
        if query == statement:
            raise psycopg.OperationalError("the server is gone")
        return execute(wire, query, *words, **named)

    return failing


@pytest.mark.proves("PG-17")
def test_vanished_host_holds_no_rows(dsn, proxy, monkeypatch):
    monkeypatch.setattr(wires, "_IDLE_SECONDS", 1)
    with closing(open_store(proxy.dsn)) as lost, closing(open_store(dsn)) as other:
        ask = open_ask(other)
        with pytest.raises(StoreError), lost.transaction():  # noqa: PT012  it vanishes inside
            lost.connection.rows("SELECT id FROM asks WHERE id = ? FOR UPDATE", (ask.id,))
            frozen = proxy.freeze()
            answer_ask.answer(other, ask.id, a_person(), Given("so"))
            for link in frozen:
                link.close()
        assert other.asks.get(ask.id).status == "answered" and audit.verify(other) == []


@pytest.mark.proves("PG-2", "PG-17")
def test_snapshot_may_be_silent_for_long(store):
    with store.audit.snapshot():
        (shown,) = store.connection.rows("SHOW idle_in_transaction_session_timeout")
    assert shown == ("0",)


@pytest.mark.proves("PG-18")
def test_lent_connection_of_a_closed_store_is_closed(dsn):
    connection = Connection(dsn)
    with connection.lend() as lent:
        connection.close()
        assert not lent.closed
    assert lent.closed


@pytest.mark.proves("PG-7")
def test_connections_closed_by_the_server_are_replaced(dsn, store):
    ask = open_ask(store)
    with psycopg.connect(dsn, autocommit=True) as raw:
        raw.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    assert store.asks.get(ask.id) == ask
    assert answer_ask.answer(store, ask.id, a_person(), Given("so"))[1].status == "answered"


@pytest.mark.proves("PG-8")
@pytest.mark.parametrize(
    "dsn",
    [
        "postgresql://ada:pa55word@127.0.0.1:1/gate?sslpassword=pa55word",
        "postgresql://ada:pa55word@127.0.0.1:1/gate?connect_timeout=x&password=pa55word",
        "postgresql://ada:pa55word@[::1/gate",
    ],
)
def test_error_shows_no_password(dsn):
    with pytest.raises(StoreError) as caught:
        open_store(dsn)
    assert "pa55word" not in str(caught.value) and "ada" not in str(caught.value)
    assert "pa55word" not in name_store(dsn)


@pytest.mark.proves("PG-9")
def test_secret_is_unreadable_without_its_key(dsn, tmp_path, clock):
    with closing(open_throwaway_store(dsn, clock)) as store:
        opened = create_ask.ask(store, Request("Token?", "text", secret=True), Origin(), a_person())
        answer_ask.answer(store, opened.ask.id, a_person(), Given("swordfish"))
        with psycopg.connect(dsn) as raw:
            [(kept,)] = raw.execute("SELECT value FROM secrets").fetchall()
        assert "swordfish" not in kept and store.asks.secret(opened.ask.id) == "swordfish"
        keys = (tmp_path / "keys.json").read_text()
        assert oct((tmp_path / "keys.json").stat().st_mode)[-3:] == "600"
        clock.advance(timedelta(hours=26).total_seconds())
        assert store.asks.secret(opened.ask.id) is None
        assert not set(re.findall("[0-9a-f]{64}", keys)) & set(
            re.findall("[0-9a-f]{64}", (tmp_path / "keys.json").read_text())
        )


@pytest.mark.proves("PG-9")
def test_secret_needs_a_key_file(dsn, monkeypatch):
    monkeypatch.delenv("GATE_KEY_FILE")
    with closing(open_throwaway_store(dsn)) as store:
        opened = create_ask.ask(store, Request("Token?", "text", secret=True), Origin(), a_person())
        with pytest.raises(StoreError, match="set GATE_KEY_FILE"):
            answer_ask.answer(store, opened.ask.id, a_person(), Given("swordfish"))
        assert wait_for_ask.wait(store, opened.ask.id, 0).pending


@pytest.mark.proves("PG-12")
def test_schema_is_made_once_by_one_of_many():
    dsn = postgres_server.add_database("gate_migrated")
    with pytest.raises(StoreError, match="has no tables yet: gate store migrate"):
        open_store(dsn)
    done = []

    def migrate():
        with closing(Connection(dsn)) as connection:
            done.append(migrations.migrate(connection))

    threads = [threading.Thread(target=migrate) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    names = [path.rpartition("/")[2] for path in migrations.list_migrations()]
    assert sorted(done) == [[], [], names]
    with closing(open_store(dsn)) as store:
        assert audit.verify(store) == []


@pytest.mark.proves("PG-12")
@pytest.mark.parametrize(
    ("version", "oldest_reader", "problem"),
    [(0, 1, "has no tables yet"), (99, 99, "needs a newer gatebell"), (99, 1, "")],
)
def test_store_of_another_version_is_refused(dsn, version, oldest_reader, problem):
    with psycopg.connect(dsn, autocommit=True) as raw:
        before = raw.execute("SELECT version, oldest_reader FROM schema_version").fetchone()
        raw.execute("UPDATE schema_version SET version = %s, oldest_reader = %s",
                    (version, oldest_reader))  # fmt: skip
        try:
            if problem:
                with pytest.raises(StoreError, match=problem):
                    open_store(dsn)
            else:
                open_store(dsn).close()
        finally:
            raw.execute("UPDATE schema_version SET version = %s, oldest_reader = %s", before)


@pytest.mark.proves("PG-14")
def test_unsafe_server_settings_are_problems(store):
    found = store.problems()
    assert any("fsync = off" in one for one in found)
    assert any("synchronous_commit = off" in one for one in found)


@pytest.mark.proves("PG-15")
def test_waiting_asks_are_counted_by_project(store):
    one, two = open_ask(store, "A?"), open_ask(store, "B?")
    open_ask(store, "C?", project="/q")
    assert store.asks.waiting_counts() == [("/p", 2), ("/q", 1)]
    answer_ask.answer(store, one.id, a_person(), Given("so"))
    store.audit.seal()
    assert store.asks.waiting_counts() == [("/p", 1), ("/q", 1)]
    create_ask.cancel(store, two.id, a_person(), "")
    assert store.asks.waiting_counts() == [("/q", 1)]


@pytest.mark.proves("PG-1")
def test_tables_have_the_columns_of_sqlite(store, tmp_path):
    other = open_throwaway_store(str(tmp_path / "gate.db"))
    own = {"events": ["id", "xid"]}
    with closing(other):
        for (table,) in other.connection.rows(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
        ):
            wanted = other.connection.rows("SELECT name FROM pragma_table_info(?)", (table,))
            found = store.connection.rows(
                "SELECT CAST(attname AS text) FROM pg_attribute WHERE attrelid = to_regclass(?) "
                "AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
                (table,),
            )
            assert [one for (one,) in found if one not in own.get(table, ())] == [
                one for (one,) in wanted
            ], table


@pytest.mark.proves("PG-1")
def test_triggers_note_every_compared_column(dsn):
    with psycopg.connect(dsn) as raw:
        found = raw.execute(
            "SELECT tgrelid::regclass::text, prosrc, pg_get_triggerdef(pg_trigger.oid) "
            "FROM pg_trigger JOIN pg_proc ON pg_proc.oid = tgfoid "
            "WHERE tgname IN ('noted', 'noted_change')"
        ).fetchall()
    wanted = {
        name: {*table.key, *table.changing} for name, table in TABLES.items() if table.is_compared
    }
    assert sorted(table for table, *_ in found) == sorted([*wanted] * 2)
    for name, function, trigger in found:
        noted = {row: set(re.findall(rf'{row}\."?(\w+)', function)) for row in ("OLD", "NEW")}
        assert noted["OLD"] == noted["NEW"] >= wanted[name], name
        if "UPDATE" in trigger:
            assert set(re.findall(r'(?i)old\."?(\w+)', trigger)) == noted["OLD"], name


@pytest.mark.proves("PG-1")
@pytest.mark.parametrize(
    ("sql", "fault"),
    [
        ("ALTER TABLE asks DISABLE TRIGGER noted", "the trigger asks.noted was changed"),
        ("DROP INDEX asks_attachable", "the index asks_attachable is missing"),
        ("CREATE VIEW extra AS SELECT 1 AS one", "the column extra.one does not belong"),
    ],
)
def test_changed_schema_is_a_fault(dsn, store, sql, fault):
    with psycopg.connect(dsn) as raw:
        raw.execute(sql)
        raw.commit()
        try:
            assert any(fault in one for one in store.audit.schema_faults())
        finally:
            raw.execute("DROP VIEW IF EXISTS extra")
            raw.execute("ALTER TABLE asks ENABLE TRIGGER noted")
            index = re.search(
                r"CREATE UNIQUE INDEX asks_attachable.*?;", migration_text(), re.DOTALL
            )
            raw.execute("DROP INDEX IF EXISTS asks_attachable")
            raw.execute(index[0])
    assert store.audit.schema_faults() == []


def migration_text():
    with open(migrations.list_migrations()[0], encoding="utf-8") as file:
        return file.read()


@pytest.mark.proves("PG-1")
def test_rows_of_every_verb_are_sealed(dsn, tmp_path):
    (tmp_path / "project").mkdir()
    rich_store.fill(dsn, tmp_path / "project")
    with closing(open_store(dsn)) as store:
        checked = audit.Checked()
        list(audit.check(store, checked))
        assert checked.faults == [] and checked.older == {} and checked.rows > 50


@pytest.mark.proves("PG-1")
def test_change_by_hand_is_found(dsn, store):
    ask = open_ask(store)
    with psycopg.connect(dsn) as raw:
        raw.execute("UPDATE asks SET note = 'forged' WHERE id = %s", (ask.id,))
    assert any(ask.id in fault for fault in audit.verify(store))


@pytest.mark.proves("PG-1")
def test_every_statement_is_understood_by_the_server(dsn):
    with psycopg.connect(dsn) as raw:
        for noun in list_nouns(Connection.folder):
            for name, sql in load(noun, Connection.folder).items():
                if noun != "audit" or name != "first_to_seal":
                    text, _ = number_parameters(sql)
                    raw.pgconn.prepare(f"{noun}.{name}".encode(), text.encode())
                    result = raw.pgconn.prepare(f"{noun}.{name} again".encode(), text.encode())
                    assert not result.error_message, (noun, name, result.error_message)
        raw.rollback()


@pytest.mark.proves("PG-7")
def test_busy_connections_are_an_error(dsn, store, monkeypatch):
    monkeypatch.setattr(connections, "_PATIENCE_SECONDS", 0.01)
    lent = [store.connection.lend() for _ in range(10)]
    for one in lent:
        one.__enter__()
    with pytest.raises(StoreError, match="all its connections are in use"):
        store.asks.pending(1)
    for one in lent:
        one.__exit__(None, None, None)
    assert store.asks.pending(1) == []
