"""`gate ask` and `gate wait` in a sandbox that cannot reach the store."""

from __future__ import annotations

import json
import os
from contextlib import closing

import apsw
import pytest
from tests.support.file_agent import set_up
from tests.support.people import a_person
from tests.support.waiting import eventually

from gatebell.domain.asks.answers import Given
from gatebell.file_protocol.listener import Listener
from gatebell.services.asks import answer_ask

NOWHERE = {"GATE_STORE": "/dev/null/nowhere"}


@pytest.fixture
def collect(world):
    """Check the files of the project once; it is set up for them."""
    project = str(world.plain.folder)
    set_up(project)
    listener = Listener(world.store, lambda: [project], a_person(), lambda *_: None, lambda: 0)
    listener.begin(project)
    yield listener.look
    listener.leave()


def wait_for_ask(world, collect):
    def look():
        collect()
        return world.store.asks.pending(5)

    return eventually(look)[0]


@pytest.mark.proves("FILE-140")
def test_gate_ask_uses_files_where_the_store_is_unreachable(world, collect):
    asker = world.plain.start(
        "ask", 'A "B" $(c)?', "--option", "Yes, sure", "--option", "No", **NOWHERE
    )
    ask = wait_for_ask(world, collect)
    assert (ask.question.prompt, ask.question.options) == ('A "B" $(c)?', ("Yes, sure", "No"))
    answer_ask.answer(world.store, ask.id, a_person(), Given("Yes, sure"))
    collect()
    out, err = asker.communicate(timeout=60)
    assert (out, asker.returncode) == ("Yes, sure\n", 0)
    assert "cannot be opened" in err


@pytest.mark.proves("FILE-140", "FILE-144", "LAW-3")
@pytest.mark.parametrize(
    "words",
    [
        ("--kind", "approval"),
        ("--secret",),
        ("--schema", '{"type": "object"}'),
        ("--option", "yes", "--require", "2"),
        ("--default", "yes", "--timeout", "9"),
    ],
)
def test_by_files_only_texts_and_choices_are_asked(world, collect, words):
    ran = world.plain.gate("ask", "Go?", *words, **NOWHERE)
    assert ran.code == 7 and "not for an approval" in ran.err and ran.out == ""
    assert os.listdir(world.plain.folder / ".helpers" / "questions") == []


@pytest.mark.proves("FILE-140", "FILE-145", "LAW-10")
def test_store_error_is_reported_without_files(world):
    for words in (("ask", "Go?"), ("wait", "a-222")):
        ran = world.plain.gate(*words, **NOWHERE)
        assert ran.code == 8 and "cannot be opened" in ran.err, words
    set_up(str(world.plain.folder))
    assert world.plain.gate("ask", "Go?", "--no-wait", **NOWHERE).code == 8
    # An ask in the store may still be waiting there.
    assert world.plain.gate("wait", "a-222", **NOWHERE).code == 8
    gone = world.plain.gate("wait", "0123456789abcdef", **NOWHERE)
    assert gone.code == 5 and "question 0123456789abcdef is gone" in gone.err


@pytest.mark.proves("FILE-186", "LAW-1")
def test_store_failure_during_a_wait_asks_only_once(world):
    asker, by_json = world.plain.start("ask", "Which?"), world.plain.start("ask", "That?", "--json")
    ask_id = asker.stderr.readline().split()[-1]
    by_json.stderr.readline()
    with closing(apsw.Connection(world.path)) as database:
        database.execute("ALTER TABLE asks RENAME TO gone")
        out, err = asker.communicate(timeout=60)
        assert (out, asker.returncode) == (f"NOT ANSWERED YET: run: gate wait {ask_id}\n", 11)
        assert err.startswith("gate: ") and "no such table" in err
        told = json.loads(by_json.communicate(timeout=60)[0])
        assert told["exit_code"] == by_json.returncode == 8 and "no such table" in told["error"]
        database.execute("ALTER TABLE gone RENAME TO asks")
    answer_ask.answer(world.store, ask_id, a_person(), Given("this"))
    assert world.plain.gate("wait", ask_id).out == "this\n"
