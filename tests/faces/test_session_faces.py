"""Session asks as people see and answer them: in a terminal, in the browser, in a plan."""

from __future__ import annotations

import json
import re
from xml.etree import ElementTree as ET

import pytest
from tests.support.markup import text_of
from tests.support.people import a_person
from tests.support.run_project import RunProject
from tests.support.visits import kill_harness, orphan
from tests.support.web_inbox import inbox

from gatebell.app import runtime
from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.asks import Origin
from gatebell.domain.sessions.visits import Terms
from gatebell.services.asks import answer_ask, ask_messages, create_ask
from gatebell.services.asks.create_ask import Request
from gatebell.services.sessions import ask_session

__all__ = ["inbox", "orphan"]

HOSTILE = "Be \x1b[2Jcareful\n\u202e<b>now</b>"
TERMS = Terms("approval", HOSTILE, "opus", "", "more.json", 1800, True, max_attempts=3)


def open_ask(store, terms=TERMS, prompt="Is the schema good?", **more):
    request = Request(prompt, "session", session=terms, **more)
    return create_ask.ask(store, request, Origin(cwd="/p", agent="coder"), a_person()).ask


def sat(store, ask, end="left", **more):
    seated = ask_session.open_visit(store, ask.id, a_person("ada"), "claude", "s1")
    return ask_session.close_visit(store, seated.visit, a_person("ada"), end, **more)


@pytest.mark.proves("SES-105", "SES-106", "S0-109", "LAW-8")
def test_gate_show_describes_a_session_and_its_visitors(world):
    ask = open_ask(world.store)
    sat(world.store, ask, "failed", problem="claude is \x1b[2J not found")
    ask_session.open_visit(world.store, ask.id, a_person("bob"), "codex", "s1")
    ran = world.ada.gate("show", ask.id)
    assert ran.code == 0 and "\x1b" not in ran.out and "\u202e" not in ran.out
    for line in (
        "The session",
        "  Result: approve or reject",
        "  Model: opus",
        "  Folder: /p",
        "  More tools: more.json",
        "  Time: 30m, all visits together",
        "  Transcript: the conversation is kept",
        "  Attempts: given up after 3 failed ones",
        "  System prompt:",
        "  │ Be ␛[2Jcareful",
        "  │ ‹U+202E›<b>now</b>",
        "  1. person:ada with claude, for 0s: it failed: claude is ␛[2J not found",
        f"Answer: gate answer {ask.id}   With an agent: gate continue {ask.id}",
    ):
        assert f"\n{line}" in ran.out, line
    assert "\n  2. person:bob with claude, open now, for " in ran.out, (
        "the conversation is claude's"
    )


@pytest.mark.proves("SES-65")
def test_participant_who_died_is_not_shown_in_the_session(world, inbox):
    for store, look in (
        (world.store, lambda ask: world.ada.gate("show", ask.id).out),
        (inbox.store, lambda ask: text_of(inbox.browser().get(f"/asks/{ask.id}").text)),
    ):
        ask = open_ask(store)
        ask_session.open_visit(store, ask.id, a_person("bob"), "claude", "s1")
        assert "open now" in look(ask)
        with store.transaction():
            store.connection.write("UPDATE visits SET process = ?", ("before/1/1",))
        died = r"person:bob with claude, since [-0-9: ]+ UTC: their gate continue died"
        assert re.search(died, look(ask))


@pytest.mark.proves("SES-172", "LAW-8")
def test_orphan_of_a_session_is_shown_with_its_command(world, inbox, orphan):
    for store, look in (
        (world.store, lambda ask: world.ada.gate("show", ask.id).out),
        (inbox.store, lambda ask: text_of(inbox.browser().get(f"/asks/{ask.id}").text)),
    ):
        ask = open_ask(store)
        seated = ask_session.open_visit(store, ask.id, a_person("bob"), "claude", "s1")
        kill_harness(store, seated.visit)
        pid = orphan(seated.visit.id).pid
        shown = " ".join(look(ask).split())
        assert re.search(
            rf"their gate continue died, but process {pid} \(.*\) of it still runs", shown
        )
        assert "\x1b" not in shown


@pytest.mark.proves("SES-172")
def test_waiting_asker_hears_of_an_orphan(world, orphan):
    ask = open_ask(world.store)
    seated = ask_session.open_visit(world.store, ask.id, a_person("bob"), "claude", "s1")
    kill_harness(world.store, seated.visit)
    pid = orphan(seated.visit.id).pid
    answer_ask.answer(world.store, ask.id, a_person("bob"), Given("yes"))
    ran = world.ada.gate("wait", ask.id, "--timeout", "1.5")
    assert ran.code == 11 and ran.err.count("the visitor of") == 1
    assert f"gate: the visitor of {ask.id} has left, but process {pid} (" in ran.err


@pytest.mark.proves("SES-66")
def test_failed_session_is_shown_and_offers_no_way_in(world, inbox):
    for store, look in (
        (world.store, lambda ask: world.ada.gate("show", ask.id).out),
        (inbox.store, lambda ask: text_of(inbox.browser().get(f"/asks/{ask.id}").text)),
    ):
        ask = open_ask(store)
        ask_session.fail(store, ask.id, a_person("bob"), "no login")
        shown = look(ask)
        assert (
            "Failed" in shown
            and "given up by " in shown
            and "via failed" not in shown.lower().split("audit trail")[0]
        )
        assert "gate continue" not in shown
    listed = world.ada.gate("history").out
    assert "failed" in listed and "cancelled" not in listed


@pytest.mark.proves("SES-105", "SES-107")
def test_ask_without_a_session_shows_no_session(world):
    shown = world.ada.gate("show", world.ask("--kind", "text", "Which?"))
    assert "The session" not in shown.out and "gate continue" not in shown.out


@pytest.mark.proves("SES-107")
def test_json_has_the_terms_and_every_visit(world):
    ask = open_ask(world.store)
    sat(world.store, ask, transcript="person: hm")
    told = json.loads(world.ada.gate("show", ask.id, "--json").out)
    assert (told["kind"], told["answered_as"]) == ("session", "approval")
    assert told["terms"] == json.loads(json.dumps(TERMS._asdict()))
    (stay,) = told["visits"]
    assert (stay["by"], stay["end"], stay["transcript"]) == ("person:ada", "left", "person: hm")
    assert stay["started_at"] and stay["ended_at"]


@pytest.mark.proves("SES-105", "SES-106", "SES-108", "LAW-8")
def test_page_of_a_session_shows_the_same(inbox):
    ask = open_ask(inbox.store)
    sat(inbox.store, ask, transcript="person: <i>hm</i> \x1b[2J")
    ask_messages.reply(inbox.store, ask.id, a_person("x"), "proposes: APPROVED")
    ask_session.open_visit(inbox.store, ask.id, a_person("bob"), "claude", "s1")
    page = inbox.browser().get(f"/asks/{ask.id}").text
    shown = text_of(page)
    assert "<i>" not in page and "<b>now" not in page and "\x1b" not in page
    for words in (
        "Worked out with an agent",
        f"gate continue {ask.id}",
        "approve or reject",
        "30m, all visits together",
        "Be ␛[2Jcareful",
        "person:ada with claude, for 0s: left",
        "person:bob with claude, open now, for 0s",
        "person: <i>hm</i> ␛[2J",
        "proposes: APPROVED",
    ):
        assert words in shown, words


@pytest.mark.proves("SES-108", "S0-78", "LAW-3")
@pytest.mark.parametrize(
    ("terms", "more", "sent", "came"),
    [
        (Terms("approval"), {}, {"value": "no", "note": "no index"}, ("rejected", None)),
        (
            Terms("choice"),
            {"options": ("A", "B")},
            {"value": "given", "chosen": "1"},
            (None, "B"),
        ),
        (Terms("text"), {}, {"value": "given", "text": "Postgres"}, (None, "Postgres")),
    ],
    ids=["approval", "choice", "text"],
)
def test_session_ask_can_be_answered_in_the_browser_unopened(inbox, terms, more, sent, came):
    ask = open_ask(inbox.store, terms, **more)
    browser = inbox.browser()
    page = browser.get(f"/asks/{ask.id}").text
    hidden = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', page))
    buttons = re.findall(r'type="submit" name="value" value="(\w+)"', page)
    decide = ["yes", "no"] if terms.answer == "approval" else ["given"]
    assert sorted(buttons) == sorted([*decide, "back", "stay", "withdraw"])
    assert browser.post(f"/asks/{ask.id}/answer", data=hidden | sent).status_code == 303
    after = inbox.get(ask)
    assert (after.status, after.decision, after.value) == ("answered", *came)


@pytest.mark.proves("SES-108")
def test_form_of_a_session_is_filled_in_the_browser(inbox):
    schema = {"type": "object", "properties": {"notes": {"type": "string"}}}
    ask = open_ask(inbox.store, Terms("form"), schema=schema)
    page = inbox.browser().get(f"/asks/{ask.id}").text
    assert "notes" in page and 'value="given"' in page and 'value="yes"' not in page


FLOW = """
from gatebell import Approval, ask_interactive, flow
@flow
def review(prompt):
    came = ask_interactive("Is <it> good?", returns=Approval, session_timeout=1800)
    return came.response
"""


@pytest.mark.proves("S0-79", "S0-80", "S0-109")
def test_gate_plan_shows_how_far_a_session_is(world):
    project = RunProject(world)
    path = project.folder / ".gate" / "flows" / "review.py"
    path.write_text(FLOW, encoding="utf-8")
    project.commit()
    ran = world.ada.gate("run", "review", "Look", "--detach", "--as", "ada")
    assert ran.code in (0, 11), ran.err
    runtime.build_driver(world.store).drive(project.run(1))
    ask = project.ask(1)
    (waits,) = ET.fromstring(world.ada.gate("plan", "1").out).iter("human-interaction")
    assert waits.attrib == {"type": "interactive_session", "status": "pending"}
    assert [waits.findtext(tag) for tag in ("prompt", "config/timeout", "config/outcome-type")] == [
        "Is <it> good?", "1800000", "approval"
    ]  # fmt: skip
    sat(world.store, ask)
    answer_ask.answer(world.store, ask.id, a_person("ada"), Given("yes"))
    (done,) = ET.fromstring(world.ada.gate("plan", "1").out).iter("human-interaction")
    assert (done.get("status"), done.findtext("outcome")) == ("completed", "approved")
    assert int(done.findtext("duration")) >= 0 and done.findtext("response") == '"approved"'
    told = json.loads(world.ada.gate("plan", "1", "--json").out)["calls"][-1]["interactions"][0]
    assert (told["id"], told["by"], told["session"]["attempts"]) == (ask.id, "person:ada", 1)
