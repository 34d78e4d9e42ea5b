"""`gate store`: the tables of a PostgreSQL store, its problems, and a copy of a SQLite store."""

from __future__ import annotations

import json
from contextlib import closing

import pytest
from tests.support import postgres_server, rich_store

from gatebell.adapters.postgres import migrations
from gatebell.app.wiring import open_store, open_throwaway_store
from gatebell.cli import main
from gatebell.services import audit
from gatebell.services.asks import attachments


@pytest.fixture
def gate(monkeypatch, tmp_path, capsys):
    """Run a command with an empty PostgreSQL database; return exit code, output and errors."""
    dsn = postgres_server.add_database("gate_faces")
    monkeypatch.setenv("GATE_STORE", dsn)
    monkeypatch.setenv("GATE_KEY_FILE", str(tmp_path / "keys.json"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))

    def run(*words):
        code = main.main([str(word) for word in words])
        said = capsys.readouterr()
        return code, said.out, said.err

    run.dsn = dsn
    return run


@pytest.mark.proves("PG-12")
def test_store_is_refused_until_it_is_migrated(gate):
    code, _, problem = gate("inbox")
    assert code == 8 and "has no tables yet: gate store migrate" in problem
    scripts = ", ".join(path.rpartition("/")[2] for path in map(str, migrations.list_migrations()))
    ran = f"ran {scripts}, the tables of procrastinate\n"
    assert gate("store", "migrate") == (0, ran, "")
    assert gate("store", "migrate")[1] == "the tables are up to date\n"
    assert json.loads(gate("store", "migrate", "--json")[1]) == {"migrations": []}
    assert gate("inbox")[0] == 0


@pytest.mark.proves("PG-12", "PG-14", "PG-2")
def test_problems_of_the_server_are_listed(gate, monkeypatch):
    gate("store", "migrate")
    assert gate("ask", "Why?", "--no-wait")[0] == 0
    code, said, _ = gate("store", "check", "--json")
    found = json.loads(said)
    assert code == 1 and found["events"] == 1 and "fsync = off" in found["problems"][0]
    code, said, _ = gate("store", "check")
    assert code == 1 and "3 problems" in said and "no synchronous standby" in said
    assert found["synchronous_standbys"] == ""
    # The setting itself belongs to the whole server, which other tests use.
    monkeypatch.setattr(migrations, "find_standbys", lambda _: "ANY 1 (b, c)")
    assert "synchronous standbys: ANY 1 (b, c)" in gate("store", "check")[1]
    code, said, _ = gate("audit", "verify")
    assert code == 0 and "nothing was changed" in said


@pytest.mark.proves("PG-13", "ATT-8")
def test_copied_store_has_the_same_chain(gate, tmp_path):
    path = tmp_path / "gate.db"
    (tmp_path / "project").mkdir()
    rich_store.fill(str(path), tmp_path / "project")
    with closing(open_store(str(path))) as source:
        head, waiting = source.audit.head(), source.asks.pending(99)
        counts = source.asks.waiting_counts()
    gate("store", "migrate")
    code, said, problem = gate("store", "copy", path, gate.dsn)
    assert (code, problem) == (0, "") and f"0 faults; the head is {head}" in said, said
    with closing(open_store(gate.dsn)) as copy:
        assert copy.asks.pending(99) == waiting and copy.asks.waiting_counts() == counts
        assert audit.verify(copy) == [] and copy.audit.schema_faults() == []
        files = [copy.attachments.read(digest) for digest in copy.attachments.used()]
        assert sorted(files) == [b"better", b"shown"]
    assert gate("ask", "After the copy?", "--no-wait")[0] == 0
    assert gate("audit", "verify", "--head", head)[0] == 0
    code, _, problem = gate("store", "copy", path, gate.dsn)
    assert code == 7 and "is in use" in problem


@pytest.mark.proves("ATT-8")
def test_copy_without_all_bytes_is_reported(gate, tmp_path):
    path = tmp_path / "gate.db"
    with closing(open_throwaway_store(str(path))) as source:
        file = attachments.attach(source, "a.txt", b"a")
        rich_store.open_ask(source, "Right?", attachments=(file,))
    (tmp_path / "gate.db-attachments" / file.digest).unlink()
    gate("store", "migrate")
    code, said, _ = gate("store", "copy", path, gate.dsn)
    assert code == 1 and f"lacks the bytes of attachment {file.digest}" in said
    code, said, _ = gate("store", "check", "--json")
    assert code == 1 and file.digest in json.loads(said)["problems"][-1]
    code, said, _ = gate("doctor")
    assert code == 1 and f"lacks the bytes of attachment {file.digest}" in said


@pytest.mark.proves("PG-13", "PG-8")
@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("copy",), "usage: gate store copy FROM TO"),
        (("copy", "a", "b"), "expected the path of a SQLite store and an address"),
        (("migrate", "x"), "usage: gate store migrate"),
    ],
)
def test_wrong_words_are_explained(gate, words, problem):
    code, _, said = gate("store", *words)
    assert code == 2 and problem in said


@pytest.mark.proves("PG-8")
def test_address_may_come_from_a_file(gate, monkeypatch, tmp_path):
    monkeypatch.delenv("GATE_STORE")
    file = tmp_path / "address"
    file.write_text(f"{gate.dsn}\n")
    monkeypatch.setenv("GATE_STORE_FILE", str(file))
    assert gate("store", "migrate")[0] == 0
    assert (
        gate("config", "store")[1].startswith("postgresql://") and "gate@" not in gate("config")[1]
    )
    file.write_text("nonsense")
    code, _, problem = gate("inbox")
    assert code == 2 and "has no address postgresql://" in problem and "nonsense" not in problem
    monkeypatch.setenv("GATE_STORE", "mysql://ada:pa55word@h/db")
    code, _, problem = gate("inbox")
    assert code == 2 and "pa55word" not in problem
