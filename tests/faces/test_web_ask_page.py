"""The page of an ask: its order, its call, the work behind it, and the next ask."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.support.markup import text_of
from tests.support.people import an_agent
from tests.support.run_records import add_run, call, turn
from tests.support.web_inbox import in_order, inbox

from gatebell.domain.asks.asks import Origin
from gatebell.domain.asks.owners import owner_of
from gatebell.domain.permissions.calls import headline, make_call
from gatebell.services.asks import create_ask
from gatebell.web import rendering
from gatebell.web.asks.activity_view import read_activity

__all__ = ["inbox"]

PUSH = make_call("Bash", {"command": "git push origin main", "timeout": 5}, "/p", "main")
DIFF = "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\n"
ACTIVITY = f"""It works on:
Round the totals

It last said:
The **sum** is right.

It last did:
Bash: make test
cd x
Edit: {{"file_path": "/p/x.py", "old_string": "a", "new_string": "b"}}
Grep: {{"pattern": "def total", "path": "/p", "con … (99 more characters)
Bash: git push origin main

Changes:
{DIFF}"""


def main_of(inbox, ask):
    page = inbox.client("read", "answer").get(f"/asks/{ask.id}").text
    return page.partition("<main")[2].partition("</main>")[0]


@pytest.mark.proves("WEB-107")
def test_activity_is_taken_apart_without_the_decided_call():
    found = read_activity(ACTIVITY, PUSH._replace(input={"command": "git push origin main"}))
    assert (found.task, found.said) == ("Round the totals", "The **sum** is right.")
    assert found.commands == (
        ("Bash", "make test\ncd x"),
        ("Edit", "/p/x.py"),
        ("Grep", "def total"),
    )
    assert found.diff == DIFF and not found.of_run
    assert read_activity(ACTIVITY).commands[-1] == ("Bash", "git push origin main")


@pytest.mark.proves("WEB-107")
def test_file_status_is_listed_with_the_changes():
    found = read_activity(f"It last said:\nDone.\n\nChanges:\n M x.py\n?? new.py\n{DIFF}")
    assert (found.said, found.files) == ("Done.", "?? new.py")
    assert found.diff.startswith("diff --git a/x.py")


@pytest.mark.parametrize(
    "text",
    ["just words", "It last did:\n", "Changes:\n", "a\n\nChanges:\nnone", "It works on:\n\n\nb"],
)
@pytest.mark.proves("WEB-107", "LAW-8")
def test_no_word_of_a_free_activity_is_lost(text):
    found = read_activity(text)
    shown = " ".join([found.task, found.said, *map(str, found.commands), found.files, found.diff])
    assert all(word in shown for word in re.findall(r"\b(just|words|a|none|b)\b", text))


@pytest.mark.proves("WEB-107", "WEB-52")
def test_page_shows_question_call_context_and_answer_in_order(inbox):
    asked = inbox.ask(
        "Run this command? git push origin main", "approval", call=PUSH, activity=ACTIVITY,
        context="See https://a.example/x.",
    )  # fmt: skip
    page = main_of(inbox, asked)
    in_order(
        page,
        *(
            '<h1 id="title" class="question">Run this command?</h1>',
            "git push origin main",
            "timeout: 5",
        ),
        *(
            "Context",
            'href="https://a.example/x"',
            "Activity",
            "make test",
            "Details",
            "Audit trail",
        ),
        *('class="bar"', ">Approve</button>", "Bash(git push *)", ">Reject</button>", "Ask back"),
    )
    assert "{" not in text_of(page.partition('id="activity"')[2].partition("</section>")[0])
    assert page.count("git push origin main") == 2  # the call, and the field to change it


@pytest.mark.proves("WEB-106")
def test_gate_of_a_flow_shows_the_work_behind_it(inbox):
    store = inbox.store
    said = "## Plan\n\nOne **table**.\n\n" + "More. " * 400
    run = add_run(
        store,
        [call(store, "1", label="architect")],
        [
            turn(store, "1", role="scout", ago=90, words="early", signal={"status": "DONE"}),
            turn(store, "1", 2, role="architect", words=said, signal={"status": "DONE"}),
            turn(store, "3", role="later", words="not yet", signal={"status": "DONE"}),
        ],
        prompt="Add login\n\nWith a mail address.",
    )
    gate = (
        "Workspace: /p (branch b)\n\nSaid so far:\n\narchitect:\nDONE: planned\n\n"
        f"Changes since the run began:\n{DIFF}"
    )
    origin = Origin("/p", agent="feature", owner=owner_of(run.id, "2"))
    asked = inbox.ask("Approve the plan?", "approval", origin, activity=gate)
    page = main_of(inbox, asked)
    in_order(
        page,
        *("Approve the plan?", "feature: Add login", "With a mail address.", "architect said"),
        *("<h3>Plan</h3>", "<strong>table</strong>", "Changes since the run began", ">x.py</code>"),
        *("Activity", "DONE: planned"),
    )
    assert page.count("More. ") >= 399 and "not yet" not in page and "early" not in page
    assert page.count('class="diff"') == 2  # the section and its table
    of_run = inbox.browser().get(f"/runs/{run.id}").text
    in_order(
        of_run, "Approve the plan?", "architect said", "<h3>Plan</h3>", ">x.py</code>", "Reject"
    )
    listed = inbox.client("read").get("/?list").text
    assert "feature: Add login" in listed


@pytest.mark.parametrize("owner", ["run:1/x", "run:99999999999999999999999/1", "run:7/1", "run:1/"])
@pytest.mark.proves("WEB-106", "LAW-8")
def test_owner_that_names_no_call_breaks_no_page(inbox, owner):
    add_run(inbox.store)
    asked = inbox.ask("Deploy?", "approval", Origin("/p", owner=owner))
    assert "The work so far" not in main_of(inbox, asked)


@pytest.mark.proves("WEB-110")
def test_meanings_of_options_are_under_the_options(inbox):
    meanings = {"SQLite": "One file", "Postgres": "A <server>"}
    asked = inbox.ask("Which?", "choice", options=("SQLite", "Postgres"), context=meanings)
    page = main_of(inbox, asked)
    in_order(page, "SQLite", "One file", "Postgres", "A &lt;server&gt;")
    assert 'aria-label="Context"' not in page
    both = {"SQLite": "One file", "Other…": "Say which"}
    free = inbox.ask("Which?", "choice", options=("SQLite", "b", "Other…"), context=both)
    page = main_of(inbox, free)
    in_order(page, "One file", "Other…", "Say which", "Other, in your words")
    assert 'aria-label="Context"' not in page
    other = inbox.ask("Which?", "choice", options=("a", "b"), context={"a": "x", "why": "y"})
    assert 'aria-label="Context"' in main_of(inbox, other)


@pytest.mark.proves("WEB-107")
def test_plan_of_an_agent_is_shown_as_markdown(inbox):
    plan = make_call("ExitPlanMode", {"plan": "1. do **it**"})
    page = main_of(inbox, inbox.ask("Go on with this plan?", "approval", call=plan))
    assert "<li>do <strong>it</strong></li>" in page


@pytest.mark.proves("WEB-104")
def test_inbox_opens_the_first_ask_and_then_the_next(inbox):
    first, second, third = (inbox.ask(f"Question {n}?") for n in (1, 2, 3))
    browser = inbox.browser()
    assert "<title>(3) Question 1? · gatebell</title>" in browser.get("/").text
    assert "3 waiting for you" in browser.get("/?list").text
    places = []
    for asked in (second, third, first):
        page = browser.get(f"/asks/{asked.id}").text
        hidden = dict(re.findall(r'name="(csrf|digest|key)" value="([^"]*)"', page))
        came = browser.post(
            f"/asks/{asked.id}/answer", data=hidden | {"text": "x", "value": "given"}
        )
        places.append(came.headers["location"])
    done = [f"?done={one.id}" for one in (second, third, first)]
    assert places == [f"/asks/{third.id}{done[0]}", f"/asks/{first.id}{done[1]}", f"/{done[2]}"]
    shown = browser.get(places[0]).text
    assert f"{second.id}</a> is answered" in shown
    assert "Nothing is waiting for you" in browser.get(places[2]).text


@pytest.mark.proves("WEB-37")
def test_one_box_answers_all_alike_asks(inbox):
    asks = [inbox.ask("Update?", "choice", options=("Yes", "No")) for _ in range(3)]
    browser = inbox.browser()
    page = browser.get(f"/asks/{asks[0].id}").text
    hidden = dict(re.findall(r'name="(csrf|digest|key)" value="([^"]*)"', page))
    alike = re.findall(r'name="alike" value="([^"]*)"', page)
    sent = hidden | {"chosen": "0", "value": "given", "alike": alike, "all": "1"}
    browser.post(f"/asks/{asks[0].id}/answer", data=sent)
    assert [inbox.get(one).value for one in asks] == ["Yes"] * 3


@pytest.mark.parametrize(
    ("scopes", "path", "status", "words"),
    [
        (["read"], "/people", 403, ("Not allowed", "needs the right “admin”")),
        (["read"], "/asks/a-zzzz", 404, ("Not found", "There is no ask a-zzzz")),
        (["read"], "/nowhere", 404, ("Not found", "There is nothing at this address.")),
        (["read"], "/freeze", 405, ("Nothing to read here", "Only the forms of the inbox")),
        (["read"], "/asks/a-2/answer", 405, ("Nothing to read here", "Open the ask")),
    ],
)
@pytest.mark.proves("WEB-112")
def test_refused_page_says_why_and_offers_the_inbox(inbox, scopes, path, status, words):
    came = inbox.client(*scopes).get(path)
    assert came.status_code == status
    in_order(
        text_of(came.text.partition("<main")[2].partition(">")[2].partition("</main>")[0]),
        *words,
        "Open the inbox",
    )
    assert "Reload" not in came.text and f"<title>{words[0]} · gatebell" in came.text


@pytest.mark.proves("WEB-112")
def test_no_tab_leads_to_a_page_out_of_reach(inbox):
    asked = inbox.ask("Why?")
    page = inbox.client("read").get(f"/asks/{asked.id}").text
    assert 'href="/history"' in page and 'href="/people"' not in page
    assert (
        'href="/people"' in inbox.client("read", "admin", name="bob").get(f"/asks/{asked.id}").text
    )
    admin = inbox.client("admin", name="cy").get("/people").text
    assert (
        'href="/people"' in admin and 'href="/history"' not in admin and 'href="/runs"' not in admin
    )


@pytest.mark.proves("WEB-114")
def test_every_page_names_file_as_in_its_project(inbox):
    given = {"file_path": "/p/shop/x.py", "old_string": "a", "new_string": "b"}
    held = make_call("Edit", given, "/p", "main")
    asked = inbox.ask(headline(held), "approval", Origin("/p", "/p", "claude"), call=held)
    browser, named = inbox.browser(), "Change shop/x.py?"
    opened = browser.get(f"/asks/{asked.id}").text
    assert f"<title>(1) {named} · gatebell</title>" in opened
    inbox.answer(asked, "yes", name="ada")
    pages = [browser.get(path).text for path in ("/history", f"/?done={asked.id}")]
    assert all(named in text_of(page) for page in pages)
    assert all("/p/shop/x.py?" not in page for page in (opened, *pages))


@pytest.mark.proves("WEB-116")
def test_tools_agents_and_files_are_named_shortly(inbox):
    given = {"title": "Off by a cent", "body": "Two\nlines", "labels": ["bug", "money"]}
    held = make_call("mcp__hub__create", given, "/p", "main")
    session = "e2322994-aaaa-bbbb-cccc-1234567890ab"
    origin = Origin("/p", "/p", "claude", session=f"claude/{session}")
    activity = "It last did:\nRead: /p/shop/x.py\nRead: /elsewhere/y.py"
    asked = inbox.ask(headline(held), "approval", origin, call=held, activity=activity)
    browser = inbox.browser()
    page = browser.get(f"/asks/{asked.id}").text
    words = "Use mcp__hub__create? title Off by a cent, body Two ⏎ lines, labels (2 parts)"
    in_order(text_of(page), words, "session e2322994", "Use mcp__hub__create?", "title: Off by")
    assert "<code>shop/x.py</code>" in page and "<code>/elsewhere/y.py</code>" in page
    create_ask.cancel(inbox.store, asked.id, an_agent(session), "gone")
    in_order(text_of(browser.get("/history").text), "cancelled by agent claude/e2322994 via")


@pytest.mark.proves("WEB-109")
def test_times_carry_their_moment_for_the_readers_zone(inbox):
    asked = inbox.ask("Why?", expires_seconds=7_199)
    page = main_of(inbox, asked)
    assert re.search(
        r'<time datetime="2026-01-01T01:59:59[^"]*"[^>]*data-left>1 h 59 min</time>', page
    )
    assert re.search(r'<time datetime="[^"]+" data-clock>2026-01-01 00:00 UTC</time>', page)


@pytest.mark.proves("WEB-109")
def test_every_page_prints_moments_for_a_zone():
    folder = Path(rendering.__file__).parent / "templates"
    pages = {one.name: one.read_text(encoding="utf-8") for one in folder.glob("*.html")}
    assert [name for name, page in pages.items() if "|clock }}" in page] == ["parts.html"]
