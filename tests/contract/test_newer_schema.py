"""A program goes on while a newer one has added to the tables of its PostgreSQL store."""

from __future__ import annotations

import shutil
from contextlib import closing

import apsw
import psycopg
import pytest
from tests.support import new_schema, postgres_server, rich_store

from gatebell.adapters.postgres import migrations
from gatebell.adapters.postgres.connection import Connection
from gatebell.adapters.tables.columns import TABLES
from gatebell.adapters.tables.row_columns import ROW_COLUMNS
from gatebell.app.wiring import open_store
from gatebell.errors import StoreError
from gatebell.services import audit

# psycopg prepares a statement after it was run so often.
_UNTIL_PREPARED = 7


@pytest.fixture
def dsn(tmp_path, monkeypatch):
    """A store of its own, because its tables change."""
    monkeypatch.setenv("GATE_KEY_FILE", str(tmp_path / "keys.json"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    made = postgres_server.add_database("gate_newer")
    with closing(Connection(made)) as connection:
        migrations.migrate(connection)
    return made


def add_columns(dsn):
    """Do what `gate store migrate` of a newer program does: it adds a column to every table."""
    with psycopg.connect(dsn, autocommit=True) as raw:
        for table in TABLES:
            raw.execute(f"ALTER TABLE {table} ADD COLUMN newer text NOT NULL DEFAULT 'x'")
        raw.execute("CREATE TABLE only_newer (id bigint)")
        raw.execute("UPDATE schema_version SET version = version + 1")


def read_everything(store):
    """Return rows of every noun, as their readers return them."""
    # Several were settled at the same time, and have no order.
    settled = sorted(store.asks.list_settled(99), key=lambda ask: ask.id)
    asks = [*store.asks.pending(99), *settled]
    runs = store.runs.newest(99)
    return [
        [(ask, store.asks.answers(ask.id), store.asks.visits(ask.id)) for ask in asks],
        [store.asks.messages(ask.id) for ask in asks],
        [(run, store.runs.calls(run.id), store.runs.turns(run.id)) for run in runs],
        [store.asks.of_run(run.id) for run in runs],
        store.rules.in_force(),
        [(task, store.tasks.needing(task.id)) for task in store.tasks.page("/p", "all", 99)],
        store.outbox.problems(99),
        store.people.tokens(),
        store.notes.newest(9),
        store.members.all(),
        store.audit.newest(9),
        list(store.audit.entries()),
    ]


@pytest.mark.proves("UPGRADE-1")
def test_open_store_reads_on_after_columns_were_added(dsn, tmp_path):
    (tmp_path / "project").mkdir()
    rich_store.fill(dsn, tmp_path / "project")
    with closing(open_store(dsn)) as store:
        for _ in range(_UNTIL_PREPARED):
            before = read_everything(store)
        add_columns(dsn)
        assert read_everything(store) == before
        assert audit.verify(store) == [] and store.audit.schema_faults() == []
    with closing(open_store(dsn)) as store:
        assert read_everything(store) == before


@pytest.mark.proves("UPGRADE-1")
def test_every_verb_works_in_newer_tables(dsn, tmp_path):
    add_columns(dsn)
    (tmp_path / "project").mkdir()
    rich_store.fill(dsn, tmp_path / "project")
    with closing(open_store(dsn)) as store:
        assert audit.verify(store) == []


@pytest.mark.proves("UPGRADE-1")
def test_missing_column_of_newer_tables_is_a_fault(dsn):
    add_columns(dsn)
    with closing(open_store(dsn)) as store, psycopg.connect(dsn, autocommit=True) as raw:
        raw.execute("ALTER TABLE notes RENAME COLUMN author TO writer")
        assert store.audit.schema_faults() == ["the column notes.author is missing"]


@pytest.mark.proves("UPGRADE-1")
def test_whole_rows_have_the_columns_of_their_tables():
    raw = apsw.Connection(":memory:")
    raw.execute(new_schema.SCRIPT.read_text(encoding="utf-8"))
    for table, columns in ROW_COLUMNS.items():
        found = raw.execute("SELECT name FROM pragma_table_info(?)", (table,))
        assert columns.split() == [name for (name,) in found], table


@pytest.fixture
def newer(tmp_path, monkeypatch):
    """Replace the migrations by those of newer programs, given by their first lines."""
    folder = tmp_path / "migrations"

    def make(*first_lines):
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(migrations._FOLDER, folder)
        known = len(list(folder.iterdir()))
        for number, line in enumerate(first_lines, known + 1):
            text = f"{line}\nCREATE TABLE newer_{number} (id bigint);\n"
            (folder / f"{number:04}_newer.sql").write_text(text)
        monkeypatch.setattr(migrations, "_FOLDER", str(folder))
        return known

    return make


@pytest.mark.proves("UPGRADE-2")
def test_migration_says_which_programs_go_on(dsn, newer):
    newest = migrations.find_oldest_reader()
    known = newer("-- oldest reader: 1")
    with closing(Connection(dsn)) as connection:
        # The newer program refuses to work before.
        with pytest.raises(StoreError, match=r"has schema \d+, not \d+: gate store migrate"):
            migrations.check_version(connection)
        migrations.migrate(connection)
        assert migrations.read_version(connection) == (known + 1, newest)


@pytest.mark.proves("UPGRADE-2")
@pytest.mark.parametrize("line", ["-- Removes a column.", "-- oldest reader: 99"])
def test_store_that_removes_something_refuses_older_programs(dsn, newer, monkeypatch, line):
    older = migrations._FOLDER
    with closing(open_store(dsn)) as store:
        newer(line, "-- oldest reader: 1")
        with closing(Connection(dsn)) as connection:
            migrations.migrate(connection)
        monkeypatch.setattr(migrations, "_FOLDER", older)
        # A process that runs notices it when it is asked whether it is ready.
        with pytest.raises(StoreError, match="needs a newer gatebell"):
            store.audit.schema_faults()
    with pytest.raises(StoreError, match="needs a newer gatebell"):
        open_store(dsn)
    with closing(Connection(dsn)) as connection:
        version = migrations.read_version(connection)
        # The older program leaves that as it is.
        assert migrations.migrate(connection) == [] and version[1] > 1
        assert migrations.read_version(connection) == version


@pytest.mark.proves("UPGRADE-2")
def test_every_migration_names_its_oldest_reader():
    first, *others = migrations.list_migrations()
    assert first.endswith("0001_store.sql")
    for path in others:
        with open(path, encoding="utf-8") as file:
            line = file.readline()
        assert line.startswith("-- oldest reader: "), f"{path}: see the recipe for a migration"
    assert migrations.find_oldest_reader() <= len(migrations.list_migrations())
