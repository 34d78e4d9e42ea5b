"""Columns with a closed set of values: known ones become members, unknown ones are errors."""

from __future__ import annotations

import re
import shutil

import pytest
from tests.support import rich_store

from gatebell.adapters.sqlite.connection import Connection
from gatebell.adapters.tables.statements import list_nouns, load
from gatebell.app.wiring import open_throwaway_store
from gatebell.domain import enums
from gatebell.domain.tasks import tasks as backlog
from gatebell.errors import StoreError


def first(store, table, key="id"):
    return store.connection.rows(f"SELECT {key} FROM {table} WHERE {key} IS NOT NULL")[0][0]


def asks(store):
    return [store.asks.get(ask_id) for (ask_id,) in store.connection.rows("SELECT id FROM asks")]


def answers(store):
    return store.asks.answers(first(store, "answers", "ask_id"))


def visits(store):
    return store.asks.visits(first(store, "visits", "ask_id"))


def calls(store):
    return store.runs.calls(first(store, "calls", "run"))


def runs(store):
    return store.runs.newest(10)


def tasks(store):
    return store.tasks.page(first(store, "tasks", "project"), "all", 10)


def rules(store):
    return store.rules.in_force()


def notices(store):
    return store.outbox.waiting(10)


def list_notices(store):
    return [one.notice for one in store.outbox.list_posted(10)]


def deliveries(store):
    return store.outbox.problems(10)


COLUMNS = {
    "asks.kind": (asks, "question.kind", enums.AskKind),
    "asks.status": (asks, "status", enums.AskStatus),
    "asks.decision": (asks, "decision", enums.Decision),
    "asks.priority": (asks, "priority", enums.Priority),
    "answers.decision": (answers, "decision", enums.Decision),
    "answers.outcome": (answers, "outcome", enums.AnswerOutcome),
    "visits.end": (visits, "end", enums.VisitEnd),
    "runs.state": (runs, "state", enums.RunState),
    "runs.priority": (runs, "priority", enums.Priority),
    "calls.name": (calls, "name", enums.CallName),
    "calls.state": (calls, "state", enums.CallState),
    "tasks.state": (tasks, "state", enums.TaskState),
    "tasks.size": (tasks, "size", backlog.TaskSize),
    "tasks.type": (tasks, "type", backlog.TaskType),
    "tasks.priority": (tasks, "priority", enums.Priority),
    "rules.kind": (rules, "kind", enums.RuleKind),
    "outbox.kind": (notices, "kind", enums.NoticeKind),
    "deliveries.kind": (deliveries, "kind", enums.NoticeKind),
}


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("filled")
    path = folder / "gate.db"
    (folder / "project").mkdir()
    rich_store.fill(str(path), folder / "project")
    return path


@pytest.fixture
def store(filled, tmp_path):
    path = tmp_path / "gate.db"
    shutil.copy(filled, path)
    store = open_throwaway_store(str(path))
    raw = store.connection.raw
    raw.execute("PRAGMA ignore_check_constraints = ON")
    raw.execute("UPDATE deliveries SET problem = 'no desktop'")
    raw.execute("UPDATE rules SET expires_at = NULL, uses_left = NULL, ended_at = NULL")
    raw.execute("UPDATE asks SET decision = 'approved' WHERE status = 'answered'")
    raw.execute("UPDATE answers SET decision = 'approved'")
    raw.execute("UPDATE visits SET \"end\" = 'left'")
    raw.execute(
        "INSERT INTO outbox VALUES (NULL, 'opened', 'a-222', '', '2026-01-01T00:00:00+00:00')"
    )
    yield store
    store.close()


def values(read, store, field):
    for row in read(store):
        value = row
        for name in field.split("."):
            value = getattr(value, name)
        if value is not None:
            yield value


@pytest.mark.proves("ENUM-5")
@pytest.mark.parametrize("column", COLUMNS)
def test_closed_column_is_read_as_a_member(store, column):
    read, field, members = COLUMNS[column]
    found = list(values(read, store, field))
    assert found and all(type(one) is members for one in found)


@pytest.mark.proves("ENUM-5", "STORE-22")
@pytest.mark.parametrize("column", COLUMNS)
def test_unknown_value_is_named_with_its_row(store, column):
    read, _, members = COLUMNS[column]
    table, _, name = column.partition(".")
    unknown = 9 if issubclass(members, int) else "novel"
    store.connection.raw.execute(f'UPDATE {table} SET "{name}" = ?', (unknown,))
    with pytest.raises(StoreError) as caught:
        read(store)
    noun = re.sub(r"(?<=.)([A-Z])", r" \1", members.__name__).lower()
    assert f"does not know {unknown!r} as its {noun}. A newer version" in str(caught.value)
    assert "Upgrade gatebell" in str(caught.value) and caught.value.exit_code == 8


@pytest.mark.proves("ENUM-5")
def test_posted_notices_are_read_as_members(store):
    assert {type(one.kind) for one in list_notices(store)} == {enums.NoticeKind}


@pytest.mark.proves("ENUM-6")
def test_every_write_names_its_parameters_and_columns():
    written = {
        f"{noun}.{name}": sql
        for noun in list_nouns(Connection.folder)
        for name, sql in load(noun, Connection.folder).items()
        if re.search(r"^(INSERT|UPDATE|DELETE)\b", sql, re.MULTILINE)
    }
    assert len(written) > 30
    assert [name for name, sql in written.items() if "?" in sql.partition("\n--")[0]] == []
    bare = r"INSERT (OR IGNORE )?INTO \w+ (VALUES|SELECT)"
    assert [name for name, sql in written.items() if re.search(bare, sql)] == [
        "store.mark_throwaway"
    ]
