"""Session asks in the view `human_interactions`, for programs that read the older shape."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from contextlib import closing
from datetime import UTC, datetime

import apsw
import pytest
from tests.support.people import a_person

from gatebell.app.wiring import open_store, open_throwaway_store
from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.asks import Origin
from gatebell.domain.runs import run_xml
from gatebell.domain.runs.runs import FlowCall, Run
from gatebell.domain.sessions.visits import Terms
from gatebell.services.asks import answer_ask, create_ask, wait_for_ask
from gatebell.services.asks.create_ask import Request
from gatebell.services.sessions import ask_session
from gatebell.testing import FakeClock

SCHEMA = {"type": "object", "properties": {"approved": {"type": "boolean"}}}

NOW = datetime(2026, 1, 1, tzinfo=UTC)
RUN = Run(1, "feature", "f.py", "", "Add login", "/p", "person:ada", NOW)
CALL = FlowCall(1, "2", "ask", "", "d", NOW)


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "gate.db")


@pytest.fixture
def store(path):
    clock = FakeClock()
    made = open_throwaway_store(path, clock)
    made.clock = clock
    yield made
    made.close()


def open_ask(store, terms=None, kind="session", **more):
    request = Request("Is it good?", kind, session=terms, **more)
    return create_ask.ask(store, request, Origin(cwd="/p", owner="run:1/2"), a_person()).ask


def sat(store, ask, seconds, end="left", transcript=""):
    """Open a visit of this duration."""
    seated = ask_session.open_visit(store, ask.id, a_person(), "claude", "s1")
    store.clock.advance(seconds)
    ask_session.close_visit(store, seated.visit, a_person(), end, transcript=transcript)


def row(path, ask):
    """Read the view as a foreign program does."""
    with closing(apsw.Connection(str(path))) as raw:
        sql = "SELECT * FROM human_interactions WHERE id = ?"
        cursor = raw.execute(sql, (ask.id,))
        names = [name for name, _ in cursor.get_description()]
        (found,) = cursor.fetchall()
        return dict(zip(names, found, strict=True))


@pytest.mark.proves("S0-34", "S0-35", "S0-39", "S0-42", "S0-93", "S0-94")
def test_session_is_shown_with_its_settings(store, path):
    terms = Terms("form", "Be careful", "opus", "/w", "more.json", 1800.5, True)
    ask = open_ask(store, terms, context={"files": ["a.py"]}, schema=SCHEMA)
    shown = row(path, ask)
    assert (shown["type"], shown["status"], shown["execution_id"]) == (
        "interactive_session", "pending", "run:1/2"
    )  # fmt: skip
    assert (shown["prompt"], shown["response"], shown["resolved_at"]) == (
        "Is it good?",
        "null",
        None,
    )
    assert json.loads(shown["session_config"]) == {
        "systemPrompt": "Be careful",
        "context": {"files": ["a.py"]},
        "model": "opus",
        "cwd": "/w",
        "mcpConfig": "more.json",
        "timeout": 1800500,
        "captureTranscript": True,
        "outcomeSchema": {"type": "structured", "options": None, "schema": SCHEMA},
    }
    assert (shown["session_transcript"], shown["session_duration"]) == (None, None)


@pytest.mark.proves("S0-35", "S0-42", "S0-94")
@pytest.mark.parametrize(
    ("answer", "more", "word"),
    [
        ("approval", {}, "approval"),
        ("choice", {"options": ("A", "B")}, "selection"),
        ("text", {}, "freeform"),
    ],
)
def test_missing_fields_are_null_or_default(store, path, answer, more, word):
    config = json.loads(row(path, open_ask(store, Terms(answer), **more))["session_config"])
    assert (config["model"], config["cwd"], config["timeout"]) == ("sonnet", "/p", None)
    assert (config["captureTranscript"], config["context"]) == (False, None)
    told = {"type": word, "options": list(more["options"]) if more else None, "schema": None}
    assert config["outcomeSchema"] == told


@pytest.mark.proves("S0-36", "S0-37", "S0-95", "S0-96", "S0-B24")
def test_transcript_and_duration_are_those_of_all_visits(store, path):
    ask = open_ask(store, Terms("approval", capture_transcript=True))
    store.clock.advance(999)
    sat(store, ask, 100.25, transcript="person: hm")
    store.clock.advance(999)
    sat(store, ask, 1000, "lost")
    sat(store, ask, 241.75, transcript="person: yes")
    answer_ask.answer(store, ask.id, a_person(), Given("yes"))
    shown = row(path, ask)
    assert shown["session_duration"] == 342_000, "without waiting, and without what nobody knows"
    assert shown["session_transcript"] == "person: hm\nperson: yes"
    assert (shown["status"], json.loads(shown["response"])) == ("approved", "approved")


@pytest.mark.proves("S0-40", "S0-B6", "S0-B7")
@pytest.mark.parametrize(
    ("settle", "status"),
    [
        (lambda store, ask: answer_ask.answer(store, ask.id, a_person(), Given("no")), "rejected"),
        (lambda store, ask: create_ask.cancel(store, ask.id, a_person(), ""), "cancelled"),
        (lambda store, ask: ask_session.fail(store, ask.id, a_person(), "broken"), "failed"),
        (lambda store, ask: sat(store, ask, 70, "time"), "timeout"),
    ],
    ids=["rejected", "cancelled", "failed", "timeout"],
)
def test_session_status_is_never_approved_by_its_end_alone(store, path, settle, status):
    ask = open_ask(store, Terms("approval", session_seconds=10))
    settle(store, ask)
    assert row(path, ask)["status"] == status


@pytest.mark.proves("FLT-5", "S0-B8")
def test_view_plan_and_session_have_one_word(store, path):
    ask = open_ask(store, Terms("text"))
    answer_ask.answer(store, ask.id, a_person(), Given("approved"))
    ask = store.asks.get(ask.id)
    xml = run_xml.to_xml(run_xml.plan(RUN, [CALL], [], [ask]))
    (drawn,) = ET.fromstring(xml).iter("human-interaction")
    session = wait_for_ask.outcome(store, ask, ask.value).outcome
    words = {row(path, ask)["status"], drawn.get("status"), drawn.findtext("outcome"), session}
    assert words == {"completed"}


@pytest.mark.proves("S0-38", "S0-B31", "S0-P8")
def test_older_store_gains_the_columns_and_keeps_its_rows(store, path):
    plain = open_ask(store, kind="text")
    answer_ask.answer(store, plain.id, a_person(), Given("so"))
    before = row(path, plain)
    store.close()
    with closing(apsw.Connection(str(path))) as raw:
        # The state of the version before sessions.
        raw.execute(
            "DROP TABLE chat_links; DROP TABLE chat_messages;"
            "ALTER TABLE asks DROP COLUMN assume;"
            "DROP TABLE shadow_rules; DROP INDEX asks_about_calls; DROP INDEX asks_objected;"
            "DROP INDEX events_of_grants; DROP INDEX turns_by_time; DROP TABLE devices;"
            "DROP TABLE presence; DROP INDEX deliveries_of_ask; DROP INDEX deliveries_of_message; DROP INDEX deliveries_told;"
            "ALTER TABLE deliveries DROP COLUMN message; ALTER TABLE deliveries DROP COLUMN receipt;"
            "DROP TABLE attachments; DROP TABLE uploads; ALTER TABLE asks DROP COLUMN attachments;"
            "ALTER TABLE asks DROP COLUMN answer_attachments; ALTER TABLE answers DROP COLUMN attachments;"
            "DROP TABLE freezes; DROP INDEX asks_settled_of_agent; DROP INDEX asks_settled_of_project;"
            "DROP INDEX asks_settled_by; DROP INDEX asks_settled_by_several;"
            "DROP TABLE members; DROP INDEX runs_changed; DROP INDEX runs_driven; DROP INDEX runs_leased;"
            "CREATE INDEX runs_running ON runs (id) WHERE state = 'running';"
            "ALTER TABLE asks DROP COLUMN project_key; ALTER TABLE runs DROP COLUMN project_key;"
            "ALTER TABLE runs DROP COLUMN changed_at; ALTER TABLE runs DROP COLUMN host; ALTER TABLE runs DROP COLUMN pool; ALTER TABLE rules DROP COLUMN project_key;"
            "DROP TABLE task_needs; DROP TABLE tasks; DROP INDEX asks_of_task; ALTER TABLE asks DROP COLUMN task;"
            "DROP INDEX runs_of_task; DROP INDEX runs_ready; ALTER TABLE runs DROP COLUMN task;"
            "ALTER TABLE runs DROP COLUMN priority;"
            "CREATE INDEX runs_ready ON runs (ready_at, id) WHERE state = 'ready';"
            "DROP VIEW human_interactions; DROP TABLE visits; ALTER TABLE asks DROP COLUMN terms;"
            "ALTER TABLE asks RENAME started_by TO sponsor; ALTER TABLE asks RENAME activity TO going_on;"
            "ALTER TABLE runs RENAME started_by TO sponsor; ALTER TABLE runs RENAME stopped_at TO at_path;"
            "ALTER TABLE runs RENAME crash_count TO falls; DROP INDEX deliveries_with_problems;"
            "ALTER TABLE deliveries RENAME route TO road; ALTER TABLE deliveries RENAME problem TO trouble;"
            "CREATE INDEX deliveries_in_trouble ON deliveries (written_at) WHERE trouble <> '';"
            "CREATE VIEW human_interactions AS SELECT id FROM asks; PRAGMA user_version = 5;"
        )
    for _ in range(2):
        open_store(path).close()
    after = row(path, plain)
    assert after == before and after["response"] == '"so"'
    fields = ("session_config", "session_transcript", "session_duration")
    assert [after[name] for name in fields] == [None, None, None]
    again = open_store(path)
    newer = open_ask(again, Terms("text"))
    assert row(path, newer)["session_config"] is not None
    again.close()


@pytest.mark.proves("S0-37", "S0-96")
def test_duration_is_unknown_during_a_visit(store, path):
    ask = open_ask(store, Terms("text"))
    ask_session.open_visit(store, ask.id, a_person(), "claude", "s1")
    store.clock.advance(5)
    assert row(path, ask)["session_duration"] is None
