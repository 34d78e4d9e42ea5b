"""`gate audit verify` finds and names each change by hand in the store."""

from __future__ import annotations

import json
import shutil
from contextlib import closing

import apsw
import pytest
from tests.support import rich_store
from tests.support.rich_store import ADA, answer, open_ask

from gatebell.adapters.tables.columns import TABLES, list_apart
from gatebell.adapters.tables.rows import list_compared_columns
from gatebell.app.wiring import open_store
from gatebell.cli import main
from gatebell.domain.audit.events import Event
from gatebell.domain.digests import GENESIS, canonical, link, text_digest
from gatebell.services import audit
from gatebell.services.asks import wait_for_ask
from gatebell.services.audit import Checked
from gatebell.services.permissions import manage_rules
from gatebell.services.tasks import backlog

# Columns with a unique index besides the key: a copied row needs other values.
UNIQUE = {"asks": ("seq", "session"), "visits": ("number",), "tasks": ("seq",)}
ENDED = "state IN ('completed', 'stuck', 'failed')"
# Each person uses a key once per ask: a copied row without one breaks no table rule.
ROW = {"runs": ENDED, "calls": "state <> 'open'", "answers": "key = ''"}


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """The file of a store with rows in every table."""
    folder = tmp_path_factory.mktemp("rich")
    (folder / "project").mkdir()
    rich_store.fill(str(folder / "gate.db"), folder / "project")
    return str(folder / "gate.db")


@pytest.fixture
def forge(filled, tmp_path):
    """Write plain SQL into a copy of that file; return the faults that are found."""
    copy = str(tmp_path / "gate.db")

    def write_forged(sql, parameters=()):
        shutil.copy(filled, copy)
        write(copy, sql, parameters)
        return faults(copy)

    return write_forged


def write(path, sql, parameters=()):
    with closing(apsw.Connection(path)) as raw:
        raw.execute("PRAGMA ignore_check_constraints = ON")
        raw.execute(sql, parameters)
        assert raw.total_changes(), sql


def read(path, sql, parameters=()):
    with closing(apsw.Connection(path)) as raw:
        return raw.execute(sql, parameters).fetchall()


def faults(path, checked=None):
    with closing(open_store(path)) as store:
        checked = checked or audit.Checked()
        for _ in audit.check(store, checked):
            pass
        return checked.faults


def columns_of(path, table):
    """The columns and their types."""
    return {row[1]: row[2] for row in read(path, f"PRAGMA table_info({table})")}


def another(column, kind):
    """Return SQL for another value than the present one."""
    if kind == "TEXT":
        return f"coalesce(\"{column}\", '') || 'x'"
    return f'coalesce("{column}", 0) + 1000'


def row_of(path, table):
    """Return the SQL condition for one row, and its name in faults."""
    key = TABLES[table].key
    names = ", ".join(f'"{column}"' for column in key)
    found = read(path, f"SELECT {names} FROM {table} WHERE {ROW.get(table, '1')} LIMIT 1")[0]
    where = " AND ".join(
        f'"{column}" = {literal(value)}' for column, value in zip(key, found, strict=False)
    )
    return where, f"{table} {' '.join(map(str, found))}:"


def literal(value):
    return str(value) if isinstance(value, int) else "'{}'".format(value.replace("'", "''"))


@pytest.mark.proves("STORE-11")
def test_every_column_is_compared_or_listed(tmp_path):
    path = str(tmp_path / "gate.db")
    open_store(path).close()
    tables = read(path, "SELECT name FROM sqlite_schema WHERE type = 'table'")
    names = {name for (name,) in tables if not name.startswith("sqlite_")}
    assert names == set(TABLES)
    for name in names:
        table = TABLES[name]
        listed = [*table.fixed, *table.changing, *table.apart]
        assert sorted(listed) == sorted(columns_of(path, name)), name
        assert set(table.partly) <= set(table.changing)
        assert all(table.apart.values())


@pytest.mark.proves("STORE-12")
def test_untouched_store_has_no_faults(filled):
    checked = Checked()
    assert faults(filled, checked) == []
    for table in TABLES:
        assert read(filled, f"SELECT count(*) FROM {table}") != [(0,)], table
    assert checked.rows >= len(list_compared_columns()) and checked.older == {}


@pytest.mark.parametrize("table", list_compared_columns())
@pytest.mark.proves("STORE-12")
def test_changed_column_is_named(filled, forge, table):
    where, named = row_of(filled, table)
    kinds = columns_of(filled, table)
    for column in (*TABLES[table].fixed, *TABLES[table].changing):
        found = forge(
            f'UPDATE {table} SET "{column}" = {another(column, kinds[column])} WHERE {where}'
        )
        if column in TABLES[table].key:
            assert f"{named} this row was removed without an event" in found, column
        else:
            assert f"{named} the column {column} was changed without an event" in found, column


@pytest.mark.parametrize("table", list_compared_columns())
@pytest.mark.proves("STORE-13")
def test_each_deleted_row_is_named(filled, forge, table):
    key = TABLES[table].key
    names = ", ".join(f'"{column}"' for column in key)
    for values in read(filled, f"SELECT {names} FROM {table} WHERE {ROW.get(table, '1')}"):
        where = " AND ".join(f'"{column}" = ?' for column in key)
        found = forge(f"DELETE FROM {table} WHERE {where}", values)
        assert (
            f"{table} {' '.join(map(str, values))}: this row was removed without an event" in found
        )
    assert len(forge(f"DELETE FROM {table}")) >= 1


@pytest.mark.parametrize("table", list_compared_columns())
@pytest.mark.proves("STORE-13")
def test_each_forged_row_is_named(filled, forge, table):
    where, _ = row_of(filled, table)
    kinds = columns_of(filled, table)
    changed = (TABLES[table].key[-1], *UNIQUE.get(table, ()))
    values = [
        f"'z' || \"{name}\"" if kind == "TEXT" and name in changed
        else f'1000 + "{name}"' if name in changed else f'"{name}"'
        for name, kind in kinds.items()
    ]  # fmt: skip
    found = forge(f"INSERT INTO {table} SELECT {', '.join(values)} FROM {table} WHERE {where}")
    named = [fault for fault in found if fault.startswith(f"{table} ")]
    assert len(named) == 1 and named[0].endswith(": this row was added without an event")


@pytest.mark.proves("STORE-14")
def test_columns_outside_the_trail_are_listed(filled, forge, capsys, monkeypatch):
    monkeypatch.setenv("GATE_STORE", filled)
    assert main.main(["audit", "verify", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["not_compared"] == list_apart() and told["faults"] == [] and told["older"] == {}
    for table, column in (name.split(".") for name in list_apart()):
        if table == "events" or column in ("*", *TABLES[table].changing):
            continue
        kind = columns_of(filled, table)[column]
        assert forge(f'UPDATE {table} SET "{column}" = {another(column, kind)}') == [], column
    for table in ("drafts", "secrets"):
        assert forge(f"DELETE FROM {table}") == []


@pytest.mark.proves("STORE-12")
@pytest.mark.parametrize(
    ("sql", "fault"),
    [
        (
            (
                "UPDATE asks SET delivered_at = settled_at, delivered_to = 'x' "
                "WHERE status = 'answered' AND delivered_at IS NULL"
            ),
            "in a state that no event explains",
        ),
        ("UPDATE rules SET pattern = 'Bash(*)', identity = ''", "the column pattern was changed"),
        ("UPDATE rules SET uses_left = 1000", "the column uses_left was changed"),
        ("UPDATE rules SET ended_at = NULL WHERE kind = 'deny'", "the column ended_at was changed"),
        ("UPDATE tokens SET scopes = 'ask answer read admin'", "the column scopes was changed"),
        ("UPDATE logins SET expires_at = '2999'", "the column expires_at was changed"),
        ("UPDATE asks SET expires_at = NULL, due_at = NULL", "the column expires_at was changed"),
        ("DELETE FROM answers", "this row was removed"),
        ("DELETE FROM outbox", "this row was removed"),
        ("DELETE FROM deliveries", "this row was removed"),
        ("UPDATE calls SET value = '\"approved\"'", "the column value was changed"),
        ("UPDATE events SET content = NULL WHERE kind = 'grant.made'", "its content is gone"),
        ("UPDATE traits SET value = 'no'", "the column value was changed"),
    ],
)
def test_known_forgeries_are_found(forge, sql, fault):
    assert any(fault in found for found in forge(sql))


@pytest.mark.proves("STORE-15")
def test_later_verbs_do_not_bless_a_change(filled, tmp_path):
    copy = str(tmp_path / "gate.db")
    shutil.copy(filled, copy)
    (grant,) = read(copy, "SELECT id FROM rules WHERE kind = 'grant'")[0]
    write(copy, "UPDATE rules SET uses_left = 500 WHERE kind = 'grant'")
    with closing(open_store(copy)) as store:
        assert store.rules.use(grant, [Event("grant.used", grant, "agent:x", {})])
        ((fault),) = audit.verify(store)
    assert fault.startswith(f"rules {grant}: this row was changed without an event, before event")


@pytest.mark.proves("STORE-15")
def test_forged_row_is_found_after_its_use(filled, tmp_path):
    copy = str(tmp_path / "gate.db")
    shutil.copy(filled, copy)
    write(
        copy,
        "INSERT INTO rules SELECT 'g-forged', kind, pattern, identity, project, session, owner, "
        "branch, expires_at, 9, made_by, made_at, ask_id, NULL, project_key FROM rules WHERE kind = 'grant'",
    )
    login = (
        "SELECT 'forged', kind, person, verified, scopes, token_id, expires_at, seal FROM logins"
    )
    write(copy, f"INSERT INTO logins {login} LIMIT 1")
    with closing(open_store(copy)) as store:
        assert store.rules.use("g-forged", [Event("grant.used", "g-forged", "agent:x", {})])
        store.logins.end("forged", [Event("login.ended", "ada", "person:ada", {})])
        found = audit.verify(store)
    assert any("rules g-forged: this row was added without an event, before" in f for f in found)
    assert any("logins forged: this row was added without an event, before" in f for f in found)


@pytest.mark.proves("STORE-16")
def test_changed_schema_is_named(forge):
    trigger = "CREATE TRIGGER yes AFTER UPDATE ON asks BEGIN SELECT 1; END"
    wrote = "; INSERT INTO drafts SELECT id, 'x', '', '' FROM asks"
    assert forge(trigger + wrote) == ["the trigger yes does not belong to a store"]
    assert forge(f"DROP INDEX asks_attachable{wrote}") == ["the index asks_attachable is missing"]
    view = "DROP VIEW human_interactions; CREATE VIEW human_interactions AS SELECT 1"
    assert forge(view + wrote) == ["the view human_interactions was changed"]


@pytest.mark.proves("STORE-17")
def test_verify_sees_one_moment_of_a_busy_store(filled, tmp_path):
    copy = str(tmp_path / "gate.db")
    shutil.copy(filled, copy)
    with closing(open_store(copy)) as store, closing(open_store(copy)) as other:
        checked = audit.Checked()
        for seq in audit.check(store, checked):
            if seq % 10 == 0:
                answer(other, open_ask(other, f"Meanwhile {seq}?").ask.id, "yes")
        assert checked.events >= 10 and checked.faults == []
        assert audit.verify(store) == []


def age(path):
    """Turn a store into one of an older version: its events seal no rows."""
    # Older versions had no devices.
    write(path, "DELETE FROM devices; DELETE FROM shadow_rules")
    with closing(apsw.Connection(path)) as raw:
        events = raw.execute("SELECT * FROM events ORDER BY seq").fetchall()
        raw.execute("DELETE FROM events")
        # Older versions could not freeze.
        raw.execute("DELETE FROM freezes")
        seq, previous = 0, GENESIS
        for _, at, kind, subject, actor, content, *_ in events:
            told = json.loads(content)
            del told["rows"]
            if kind.endswith(".written"):
                continue
            seq += 1
            words = canonical(told)
            event = Event(kind, subject, actor, told)
            previous = link(previous, seq, at, event, text_digest(words))
            row = (seq, at, kind, subject, actor, words, text_digest(words), previous)
            raw.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)


@pytest.fixture
def aged(filled, tmp_path):
    copy = str(tmp_path / "aged.db")
    shutil.copy(filled, copy)
    write(copy, "DELETE FROM traits")
    age(copy)
    return copy


@pytest.fixture
def aged_demo(filled, tmp_path):
    """A throwaway store of an older version."""
    copy = str(tmp_path / "demo.db")
    shutil.copy(filled, copy)
    age(copy)
    return copy


def use(path, clock):
    with closing(open_store(path, clock)) as store:
        backlog.create(store, "/p", ADA, {"title": "Fourth"})


@pytest.mark.proves("STORE-18")
def test_rows_of_older_versions_are_counted(aged, capsys, monkeypatch):
    checked = Checked()
    assert faults(aged, checked) == []
    for table in ("asks", "answers", "rules", "logins", "tokens", "calls", "tasks"):
        assert checked.older[table] == read(aged, f"SELECT count(*) FROM {table}")[0][0]
    monkeypatch.setenv("GATE_STORE", aged)
    assert main.main(["audit", "verify"]) == 0
    out = capsys.readouterr().out
    assert "nothing was changed" in out and "Older than this check, so compared only in part" in out


@pytest.mark.proves("STORE-18")
def test_older_store_stays_clean_in_use(aged, clock):
    with closing(open_store(aged, clock)) as store:
        (untaken,) = [
            ask for ask in store.asks.list_settled(99) if ask.question.prompt == "Untaken?"
        ]
        assert wait_for_ask.take(store, untaken, "agent:claude/s1")
        for ask in store.asks.pending(99):
            if ask.question.kind == "text" and not ask.question.call:
                answer(store, ask.id, "fine")
        for grant in manage_rules.grants(store):
            manage_rules.end_grant(store, ADA, grant.id)
        task = backlog.create(store, "/p", ADA, {"title": "Third"})
        backlog.close(store, task.id, ADA, "")
        assert audit.verify(store) == []


@pytest.mark.proves("STORE-18")
@pytest.mark.parametrize(
    ("sql", "fault"),
    [
        (
            (
                "INSERT INTO rules SELECT 'g-new', kind, pattern, identity, project, session, owner, "
                "branch, expires_at, 9, made_by, made_at, ask_id, NULL, project_key FROM rules LIMIT 1"
            ),
            "rules g-new: this row was added without an event",
        ),
        (
            "INSERT INTO people VALUES ('mallory', '2026')",
            "people mallory: this row was added without an event",
        ),
        (
            (
                "INSERT INTO logins SELECT 'f', kind, 'mallory', verified, scopes, token_id, "
                "expires_at, seal FROM logins LIMIT 1"
            ),
            "logins f: this row was added without an event",
        ),
        ("DELETE FROM rules", "this row was removed without an event"),
        ("DELETE FROM people", "this row was removed without an event"),
        (
            (
                "UPDATE asks SET delivered_at = settled_at, delivered_to = 'x' "
                "WHERE status = 'answered' AND delivered_at IS NULL"
            ),
            "in a state that no event explains",
        ),
    ],
)
def test_forgeries_in_older_stores_are_found(aged, sql, fault):
    write(aged, sql)
    assert any(fault in found for found in faults(aged))


@pytest.mark.proves("STORE-20")
def test_older_throwaway_store_has_no_fault(aged_demo, clock):
    checked = Checked()
    assert faults(aged_demo, checked) == [] and checked.older["traits"] == 1
    use(aged_demo, clock)
    checked = Checked()
    assert faults(aged_demo, checked) == [] and "traits" not in checked.older
    use(aged_demo, clock)
    assert faults(aged_demo) == []


@pytest.mark.proves("STORE-20")
@pytest.mark.parametrize(
    ("sql", "fault"),
    [
        ("UPDATE traits SET value = 'no'", "the column value was changed without an event"),
        ("DELETE FROM traits", "this row was removed without an event"),
    ],
)
def test_trait_is_sealed_once_an_older_store_is_used(aged_demo, clock, sql, fault):
    use(aged_demo, clock)
    write(aged_demo, sql)
    assert faults(aged_demo) == [f"traits throwaway: {fault}"]


@pytest.mark.proves("STORE-20")
def test_used_older_store_made_throwaway_is_a_fault(aged, clock):
    use(aged, clock)
    write(aged, "INSERT INTO traits VALUES ('throwaway', 'yes')")
    use(aged, clock)
    assert faults(aged) == ["traits throwaway: this row was added without an event"]


@pytest.mark.proves("STORE-14")
def test_command_names_table_row_and_column(filled, tmp_path, capsys, monkeypatch):
    copy = str(tmp_path / "gate.db")
    shutil.copy(filled, copy)
    write(copy, "UPDATE tokens SET scopes = 'admin' WHERE person = 'ada'")
    monkeypatch.setenv("GATE_STORE", copy)
    assert main.main(["audit", "verify"]) == 1
    out = capsys.readouterr().out
    (digest,) = read(copy, "SELECT digest FROM tokens WHERE person = 'ada'")[0]
    assert f"tokens {digest}: the column scopes was changed without an event\n" in out
    assert out.splitlines()[-1].endswith("rows checked: 1 faults")
