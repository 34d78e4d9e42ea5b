"""A store into which another program wrote values that cannot be read."""

from __future__ import annotations

import asyncio

import pytest
from tests.support.people import a_person
from tests.support.run_records import add_run
from tests.support.tui_play import Play
from tests.support.web_inbox import inbox

from gatebell.app.wiring import local_backend
from gatebell.cli import main
from gatebell.tui.app import GateApp

__all__ = ["inbox"]

TIMES = (
    "nonsense",
    "2026-13-01T00:00:00+00:00",
    "2026-01-01T00:00:00",
    "9999-12-31T23:59:59+00:00",
)
TABLES = {"opened_at": "asks", "expires_at": "asks", "context": "asks", "given_at": "answers"}


@pytest.fixture
def spoil(inbox, monkeypatch):
    """Make an ask with one column set by hand; return the ask."""
    monkeypatch.setenv("GATE_STORE", inbox.store.path)
    ask = inbox.ask("Deploy?")

    def spoil_column(column, value, settled=False):
        if settled:
            inbox.answer(ask, "fine")
        sql = f"UPDATE {TABLES[column]} SET {column} = ?"
        inbox.store.connection.raw.execute(sql, (value,))
        return ask

    return spoil_column


def complaint(capsys, *words):
    capsys.readouterr()
    assert main.main(list(words)) == 8, words
    return capsys.readouterr().err


@pytest.mark.proves("STORE-21", "LAW-10")
@pytest.mark.parametrize("time", TIMES)
@pytest.mark.parametrize("column", ["opened_at", "expires_at"])
def test_nonsense_time_is_named_in_a_sentence(spoil, capsys, column, time):
    ask = spoil(column, time)
    for words in (["inbox"], ["inbox", "--json"], ["show", ask.id], ["wait", ask.id]):
        said = complaint(capsys, *words)
        assert f"ask {ask.id} cannot be read" in said and "gate audit verify" in said, words
        assert "restore a backup" in said, words


@pytest.mark.proves("STORE-21")
def test_unreadable_rows_beside_an_open_ask_are_named(spoil, capsys):
    ask = spoil("given_at", "nonsense", settled=True)
    assert f"an answer to ask {ask.id} cannot be read" in complaint(capsys, "show", ask.id)
    spoil("context", "{")
    for words in (["history"], ["show", ask.id], ["wait", ask.id]):
        assert f"ask {ask.id} cannot be read" in complaint(capsys, *words), words


@pytest.mark.proves("STORE-21")
def test_run_with_a_nonsense_time_is_named(inbox, spoil, capsys):
    run = add_run(inbox.store)
    inbox.store.connection.raw.execute("UPDATE runs SET created_at = 'nonsense'")
    for command in ("list", "status"):
        words = [command, str(run.id)] if command == "status" else [command]
        assert f"run {run.id} cannot be read" in complaint(capsys, *words), words


# Values that no version writes yet, and the words of the error about each.
UNKNOWN = {
    "asks.status": ("parked", "ask status", ["wait", "{ask}"]),
    "asks.kind": ("riddle", "ask kind", ["show", "{ask}"]),
    "asks.decision": ("perhaps", "decision", ["show", "{ask}"]),
    "answers.outcome": ("pondered", "answer outcome", ["show", "{ask}"]),
}


@pytest.mark.proves("STORE-22", "LAW-10")
@pytest.mark.parametrize("column", UNKNOWN)
def test_word_of_a_newer_version_is_named(inbox, spoil, capsys, column):
    word, noun, command = UNKNOWN[column]
    ask = spoil("expires_at", None)
    inbox.answer(ask, "fine")
    table, _, name = column.partition(".")
    raw = inbox.store.connection.raw
    raw.execute("PRAGMA ignore_check_constraints = ON")
    raw.execute(f"UPDATE {table} SET {name} = ?", (word,))
    said = complaint(capsys, *(part.format(ask=ask.id) for part in command))
    assert f"cannot be read: this gatebell does not know {word!r} as its {noun}." in said
    assert "Upgrade gatebell" in said and raw.execute(f"SELECT {name} FROM {table}").get == word


@pytest.mark.proves("STORE-21")
def test_verify_names_the_column_of_a_nonsense_time(spoil, capsys):
    ask = spoil("opened_at", "nonsense")
    assert main.main(["audit", "verify"]) == 1
    said = capsys.readouterr().out
    assert f"asks {ask.id}: the column opened_at was changed without an event" in said


@pytest.mark.proves("STORE-21")
def test_web_inbox_names_the_unreadable_ask(inbox, spoil):
    client = inbox.browser()
    ask = spoil("opened_at", "nonsense")
    for path in ("/", f"/asks/{ask.id}"):
        shown = client.get(path)
        assert shown.status_code == 503 and f"Ask {ask.id} cannot be read" in shown.text, path


@pytest.mark.proves("STORE-21")
def test_terminal_screen_names_the_unreadable_ask(inbox, spoil):
    ask = spoil("opened_at", "nonsense")

    app = GateApp(local_backend(inbox.store), a_person())

    async def look():
        async with app.run_test(size=(80, 24)) as pilot:
            await Play(app, pilot).until(f"ask {ask.id} cannot be read")

    try:
        asyncio.run(look())
    finally:
        app.tui_context.view.stop()
        app.watching.join()


@pytest.mark.proves("STORE-21")
def test_spoiled_ask_is_whole_once_put_back(inbox, spoil):
    ask = inbox.get(spoil("expires_at", None))
    at = ask.opened_at.isoformat(timespec="microseconds")
    spoil("opened_at", "nonsense")
    spoil("opened_at", at)
    assert inbox.get(ask) == ask
