"""`gate rules` and `gate stats`, and the card and the page in the web inbox."""

from __future__ import annotations

import json
import os
import re

import pytest
from tests.support.hook_session import Session, decision, the_ask, wait_for_end
from tests.support.markup import text_of
from tests.support.past_calls import ask_about, decide
from tests.support.server_world import server_world
from tests.support.web_inbox import inbox

from gatebell.services.permissions import manage_rules

__all__ = ["inbox", "server_world"]

TESTS = "Bash(npm test *)"


@pytest.fixture
def past(world):
    """A project in which three tests were approved."""
    world.where = os.path.realpath(world.ada.folder)
    for name in ("a", "b", "c"):
        decide(world.store, f"npm test {name}", project=world.where)
    return world


@pytest.mark.proves("LESS-1", "LESS-3", "LESS-5", "LESS-6")
def test_suggestion_is_tested_tried_and_promoted(past):
    rules = past.ada.gate
    assert f"{TESTS}  3 approved, 0 rejected" in rules("rules", "suggest").out
    (one,) = json.loads(rules("rules", "suggest", "--json").out)
    assert one["pattern"] == TESTS and one["decided"]["approved"] == 3
    tried = json.loads(rules("rules", "test", TESTS, "--shadow", "--json").out)
    assert len(tried["asks"]) == 3 and tried["why_not"] == "" and tried["objecting"] == []
    shadow = tried["shadow"]["id"]
    decide(past.store, "npm test d", project=past.where)
    listed = rules("rules").out
    assert shadow in listed and "would have allowed 1: 1 approved, 0 rejected (active)" in listed
    assert "is allowed in" in rules("rules", "promote", shadow).out
    (grant,) = manage_rules.grants(past.store)
    assert grant.pattern == TESTS and grant.made_by == "person:ada" and grant.is_standing
    assert "There are no shadow rules" in rules("rules").out
    assert TESTS in rules("grants").out


@pytest.mark.proves("LESS-5", "LESS-7")
def test_promoted_rule_lets_calls_of_a_host_pass(world):
    session = Session(world)

    def call(command):
        return session.event("PermissionRequest", tool_input={"command": command})

    asked = session.start(call("npm test a"))
    world.ada.gate("answer", the_ask(world).id, "yes")
    assert decision(wait_for_end(asked)) == {"behavior": "allow"}
    assert world.ada.gate("rules", "test", TESTS, "--shadow").code == 0
    asked = session.start(call("npm test b"))
    ask = the_ask(world)
    assert world.ada.gate("answer", ask.id, "yes").code == 0
    wait_for_end(asked)
    assert "would have allowed 1: 1 approved" in world.ada.gate("rules").out
    assert world.ada.gate("rules", "promote", TESTS).code == 0
    ran = session.hook(call("npm test c"))
    assert decision(ran.out) == {"behavior": "allow"} and world.store.asks.pending(9) == []
    found = json.loads(world.ada.gate("stats", "--json").out)
    assert (found["grants_used"], found["calls_decided"]) == (1, 2)


@pytest.mark.proves("LESS-3", "LESS-4")
def test_objections_are_shown_and_end_it(past):
    refused = decide(past.store, "npm test e", "no", project=past.where)
    out = past.ada.gate("rules", "test", TESTS).out
    assert "4 past asks here" in out and "3 approved, 1 rejected" in out
    assert f"gate show {refused.id}" in out and "cannot become a grant" in out
    ran = past.ada.gate("rules", "test", TESTS, "--shadow")
    assert ran.code == 7 and "did not plainly approve" in ran.err
    assert "Nothing to suggest" in past.ada.gate("rules", "suggest").out


@pytest.mark.proves("LESS-4")
def test_suspended_rule_is_shown_and_removed(past):
    past.ada.gate("rules", "test", TESTS, "--shadow")
    decide(past.store, "npm test e", "no", project=past.where)
    (shadow,) = json.loads(past.ada.gate("rules", "--json").out)
    assert shadow["state"] == "suspended" and shadow["compared"]["rejected"] == 1
    assert "shadow rule disagrees" in past.ada.gate("inbox").out
    assert past.ada.gate("rules", "promote", shadow["id"]).code == 7
    assert "Removed" in past.ada.gate("rules", "remove", shadow["id"]).out


@pytest.mark.proves("LESS-6")
@pytest.mark.parametrize(
    "words",
    [["list"], ["suggest"], ["test", TESTS], ["test", TESTS, "--shadow"], ["promote", "s-1"],
     ["remove", "s-1"]],
)  # fmt: skip
def test_agents_shell_is_refused(past, words):
    ran = past.claude.gate("rules", *words)
    assert ran.code == 7 and "only a person" in ran.err, ran
    assert past.store.rules.shadows() == []


@pytest.mark.proves("LESS-6")
def test_wrong_words_are_named(past):
    for words, part in (
        (["test"], "name a pattern"),
        (["suggest", "--shadow"], "--shadow belongs to test"),
        (["test", "npm test"], "expected a pattern Tool"),
        (["test", TESTS, "--shadow", "--days", "0"], "days from 1 to 365"),
        (["suggest", "--project", "/nowhere"], "is not a folder"),
    ):
        ran = past.ada.gate("rules", *words)
        assert ran.code == 2 and part in ran.err, ran


@pytest.mark.proves("LESS-7")
def test_show_offers_to_allow_it_always(past):
    ask = ask_about(past.store, "npm test d", past.where)
    shown = past.ada.gate("show", ask.id).out
    assert f"Always allow {TESTS} in this project" in shown and "3 approved, 0 rejected" in shown
    command = f"gate answer {ask.id} yes --for always --pattern '{TESTS}'"
    assert command in shown
    document = json.loads(past.ada.gate("show", ask.id, "--json").out)
    assert document["suggested_rule"]["pattern"] == TESTS
    ran = past.ada.gate("answer", ask.id, "yes", "--for", "always", "--pattern", TESTS)
    assert ran.code == 0, ran.err
    assert [one.pattern for one in manage_rules.grants(past.store)] == [TESTS]


@pytest.mark.proves("LESS-8")
def test_stats_are_printed(past):
    out = past.ada.gate("stats").out
    assert re.search(r"Asks per agent hour +1 \(asks: 3, agent hours: 3\)", out), out
    found = json.loads(past.ada.gate("stats", "--since", "1d", "--project", ".", "--json").out)
    assert (found["asks"], found["answered"], found["calls_decided"]) == (3, 3, 3)
    assert found["share_by_grants"] == 0 and found["project"] == past.where
    ran = past.ada.gate("stats", "--since", "2000-01-01")
    assert ran.code == 2 and "longer than 366 days" in ran.err


@pytest.mark.proves("LESS-7")
def test_card_of_the_web_allows_a_kind_always(inbox):
    for name in ("a", "b"):
        decide(inbox.store, f"npm test {name}")
    ask = ask_about(inbox.store, "npm test c")
    browser = inbox.browser()
    page = browser.get(f"/asks/{ask.id}").text
    words = text_of(page)
    assert f"Always allow {TESTS} in this project? It would have answered 2 past asks" in words
    assert "2 approved, 0 rejected" in words
    hidden = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', page))
    form = {**hidden, "value": "yes:always"}
    browser.post(f"/asks/{ask.id}/answer", data=form)
    assert [one.pattern for one in manage_rules.grants(inbox.store)] == [TESTS]
    decide(inbox.store, "make check", "no")
    other = ask_about(inbox.store, "make check")
    assert "Always allow" not in text_of(browser.get(f"/asks/{other.id}").text)
    forged = {**form, "digest": other.digest, "key": "k2", "standing": "Bash(make check)"}
    refused = browser.post(f"/asks/{other.id}/answer", data=forged)
    assert "cannot be allowed always" in refused.text
    assert inbox.get(other).pending and len(manage_rules.grants(inbox.store)) == 1


@pytest.mark.proves("LESS-8")
def test_numbers_of_the_last_days_are_on_the_page(inbox):
    decide(inbox.store, "npm test a")
    inbox.clock.advance(60)
    words = text_of(inbox.client("read").get("/numbers").text)
    assert "The last seven days" in words and "1 (asks: 1, agent hours: 1)" in words


@pytest.mark.proves("LESS-9")
def test_rules_and_numbers_of_a_server(server_world):
    gate, store = server_world.ada.gate, server_world.store
    where = os.path.realpath(server_world.ada.folder)
    for name in ("a", "b", "c"):
        decide(store, f"npm test {name}", project=where)
    assert f"{TESTS}  3 approved" in gate("rules", "suggest").out
    shown = gate("show", ask_about(store, "npm test d", where).id).out
    assert f"Always allow {TESTS}" in shown
    assert gate("rules", "test", TESTS, "--shadow", "--days", "0").code == 2
    assert gate("rules", "test", TESTS, "--shadow").code == 0
    (shadow,) = store.rules.shadows()
    assert shadow.id in gate("rules").out
    assert gate("rules", "promote", shadow.id, CLAUDECODE="1").code == 7
    assert server_world.plain.gate("rules").code == 7
    assert "is allowed in" in gate("rules", "promote", shadow.id).out
    (grant,) = manage_rules.grants(store)
    assert (grant.pattern, grant.made_by) == (TESTS, "person:ada")
    assert json.loads(gate("stats", "--json").out)["calls_decided"] == 3
    assert "Median time to an answer" in gate("stats").out
