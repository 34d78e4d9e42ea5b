"""Deciding in a real browser: the answer is always on the screen, and one click is one decision."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect
from tests.support.people import a_person
from tests.support.run_records import add_run, call, turn
from tests.support.web_server import PHONE, WIDE, button, must_suit_everybody, push

from gatebell.domain.asks.asks import Origin
from gatebell.domain.asks.owners import owner_of
from gatebell.domain.permissions.calls import make_call
from gatebell.domain.sessions.visits import Terms
from gatebell.services.asks import create_ask
from gatebell.services.asks.create_ask import Request

LONG = "A long paragraph of words.\n\n" * 80
DIFF = "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a = 1\n+a = 2\n"
TWELVE = {
    "type": "object",
    "properties": {
        f"field {number}": {"type": "integer", "minimum": 1, "default": number + 1}
        if number % 2
        else {"oneOf": [{"const": "a", "description": "the first"}, {"const": "b"}], "default": "a"}
        for number in range(12)
    },
}
# Of each window, whether scripts run is the last word.
WINDOWS = pytest.mark.parametrize(
    ("size", "scheme", "scripted"),
    [
        (WIDE, "light", True),
        (PHONE, "dark", False),
        pytest.param(WIDE, "dark", False, marks=pytest.mark.matrix),
        pytest.param(PHONE, "light", True, marks=pytest.mark.matrix),
    ],
    ids=["wide-light", "phone-dark-plain", "wide-dark-plain", "phone-light"],
)


def edit(web):
    old = "".join(f"    total_{n} = price[{n}] * 1.0{n}  # item {n}\n" for n in range(100))
    given = {"file_path": "/projects/shop/shop/totals.py", "old_string": old}
    given["new_string"] = old.replace("price[", "Decimal(price)[")
    call = make_call("Edit", given, "/projects/shop", "main")
    prompt = "Change /projects/shop/shop/totals.py?"
    return web.ask(prompt, "claude", kind="approval", call=call, session="claude/s1")


def gate(web):
    """An approval of a flow, after its first agent has spoken."""
    store = web.store
    spoken = turn(
        store, "1", role="architect", words=f"## Plan\n\n{LONG}", signal={"status": "DONE"}
    )
    run = add_run(store, [call(store, "1", label="architect")], [spoken], prompt="Add login")
    activity = f"Workspace: /p\n\nChanges since the run began:\n{DIFF}"
    owner = owner_of(run.id, "2")
    return web.ask("Approve the plan?", "feature", kind="approval", owner=owner, activity=activity)


def session(web):
    terms = Terms("approval", "Talk", cwd="/projects/shop", session_seconds=1800)
    request = Request("Is it good?", "session", session=terms, context=LONG)
    return create_ask.ask(web.store, request, Origin("/projects/shop"), a_person("sue")).ask


def every_kind(web):
    for name in ("ada", "bob"):
        web.token(name)
    return {
        "call": push(web, context=LONG),
        "edit": edit(web),
        "gate": gate(web),
        "approval": web.ask("Deploy?", kind="approval", context=LONG),
        "choice": web.ask("Which?", kind="choice", options=("a", "b", "Other…"), context=LONG),
        "choices": web.ask(
            "Which?", kind="choice", options=("a", "b"), multiple=True, context=LONG
        ),
        "text": web.ask("What name?", context=LONG),
        "secret": web.ask("The token?", secret=True, context=LONG),
        "form": web.ask("Where to?", kind="form", schema=TWELVE),
        "session": session(web),
        "people": web.ask("Deploy?", kind="approval", requirement={"all": ["ada", "bob"]}),
        "background": web.ask("Which?", kind="choice", options=("a", "b"), assume="a"),
    }


def hidden_parts(page, size):
    """Return the parts of the answer bar that are not in the window."""
    wide, high = size
    parts = page.locator(".bar, .bar .say > :not(.unseen), #decide > button, #decide summary").all()
    boxes = [(one.inner_text(), one.bounding_box()) for one in parts]
    return [
        (words, box)
        for words, box in boxes
        if box["x"] < 0
        or box["y"] < 0
        or box["x"] + box["width"] > wide + 1
        or box["y"] + box["height"] > high + 1
    ]


@WINDOWS
@pytest.mark.proves("WEB-103", "WEB-45")
def test_answer_of_every_kind_is_on_the_screen(web, tab, size, scheme, scripted):
    page = tab("/login", size=size, color_scheme=scheme, java_script_enabled=scripted)
    for kind, asked in every_kind(web).items():
        page.goto(f"{web.url}/asks/{asked.id}")
        assert page.locator(".bar").count() == 1, kind
        assert hidden_parts(page, size) == [], kind
        page.mouse.move(size[0] - 100, 300)
        for _ in range(2):
            page.mouse.wheel(0, 900)
            assert hidden_parts(page, size) == [], kind
        if scripted:
            must_suit_everybody(page, kind, size)
    # The page of the run has the ask of its gate, after its agent's long words.
    page.goto(f"{web.url}/runs/1")
    expect(page.locator(".run-ask")).to_contain_text("architect said")
    assert hidden_parts(page, size) == []
    if scripted:
        must_suit_everybody(page, "run", size)


@WINDOWS
@pytest.mark.proves("WEB-103", "WEB-104")
def test_decisions_need_no_scrolling_and_open_the_next(web, tab, size, scheme, scripted):
    asks = [push(web), edit(web), gate(web), web.ask("Where to?", kind="form", schema=TWELVE)]
    page = tab(size=size, color_scheme=scheme, java_script_enabled=scripted)
    for asked, word in zip(asks, ("Approve", "Approve", "Reject", "Answer"), strict=True):
        expect(page.locator("article code").first).to_be_visible()
        expect(page.locator("#answer")).to_have_attribute("action", f"/asks/{asked.id}/answer")
        assert page.evaluate("scrollY") == 0
        button(page, word).click()
        expect(page.locator(".done")).to_contain_text(f"{asked.id} is")
    expect(page.get_by_role("heading", level=1)).to_have_text("Nothing is waiting for you")
    settled = [web.get(one.id) for one in asks]
    assert [one.decision for one in settled] == ["approved", "approved", "rejected", None]
    assert settled[3].value == {f"field {n}": n + 1 if n % 2 else "a" for n in range(12)}


@pytest.mark.parametrize("scripted", [True, False], ids=["scripted", "plain"])
@pytest.mark.proves("WEB-105", "LAW-3")
def test_double_click_decides_one_ask(web, tab, scripted):
    first, second = (web.ask(f"Deploy {n}?", kind="approval") for n in (1, 2))
    page = tab(f"/asks/{first.id}", size=PHONE, java_script_enabled=scripted)
    button(page, "Approve").click(trial=True)  # the bar takes clicks now
    box = button(page, "Approve").bounding_box()
    place = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    with page.expect_navigation(wait_until="commit"):
        page.mouse.click(*place)
    page.locator(".done").wait_for()
    page.mouse.click(*place)
    assert page.url == f"{web.url}/asks/{second.id}?done={first.id}"
    assert web.get(first.id).decision == "approved" and web.get(second.id).pending
    button(page, "Approve").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Nothing is waiting for you")
    assert web.get(second.id).decision == "approved"


@pytest.mark.proves("WEB-109")
def test_times_are_in_the_zone_of_the_reader(web, tab):
    asked = web.ask("Why?", expires_seconds=7150)
    zones = []
    for zone in ("Asia/Tokyo", "America/New_York"):
        page = tab(f"/asks/{asked.id}", timezone_id=zone, locale="en-GB")
        expect(page.locator("#terms")).not_to_contain_text("UTC")
        zones.append(page.locator("#terms time").first.text_content())
        expect(page.locator(".asked .deadline")).to_have_text("times out in 1 h 59 min")
    assert zones[0] != zones[1]
    plain = tab(f"/asks/{asked.id}", java_script_enabled=False)
    expect(plain.locator("#terms")).to_contain_text("UTC")


@pytest.mark.proves("WEB-103")
def test_panels_of_the_bar_close_like_menus(web, tab):
    page = tab(f"/asks/{push(web).id}", size=PHONE)
    message = page.get_by_label("A message to the asker")
    page.get_by_text("Ask back", exact=True).click()
    expect(message).to_be_focused()
    page.locator(".split summary").click()
    expect(message).to_be_hidden()
    expect(page.get_by_label("Pattern", exact=True)).to_be_in_viewport()
    page.keyboard.press("Escape")
    expect(page.get_by_label("Pattern", exact=True)).to_be_hidden()
    page.get_by_text("Change first", exact=True).click()
    expect(page.get_by_label("The command that runs instead")).to_be_focused()
    page.get_by_role("heading", level=1).click()
    expect(page.get_by_label("The command that runs instead")).to_be_hidden()
