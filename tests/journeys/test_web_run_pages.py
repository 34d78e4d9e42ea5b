"""The pages of runs in a real browser, wide and phone-sized."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect
from tests.support.people import a_person
from tests.support.run_records import add_run, answer, ask_of, call, turn
from tests.support.web_server import PHONE, WIDE, button, must_suit_everybody

from gatebell.domain.runs.runs import RunChange
from gatebell.services.runs import manage_runs
from gatebell.web.runs import timeline


def a_run(web, **more):
    """Make a run that has done something, and works."""
    store, name = web.store, "a" * 300
    signal = {"status": "NEEDS_HUMAN", "question": "Which?", "value": {"x": name}}
    calls = [
        call(store, "1", label="coder"),
        call(store, "2", "step", name, "failed", error={"kind": "OSError", "message": name}),
        call(store, "3", "parallel", "", "open", attempt=2, dangerous=True, accepted=True),
        call(store, "3.1.1", "parallel", "", "open"),
        call(store, "3.1.1.1.1", "read", "x", value=f"{name}\n"),
        call(store, "3.2.1", state="waiting"),
    ]
    turns = [
        turn(store, "1", signal=signal, words=name),
        turn(store, "3.2.1", session=f"s-{more.get('state')}"),
    ]
    more = {"branch": name, "folder": f"/{name}", "parent": 7, "parent_path": "2"} | more
    return add_run(store, calls, turns, **more)


@pytest.mark.proves("WEB-89")
def test_run_page_is_live_and_keeps_focus_and_text(web, tab):
    run = a_run(web)
    page = tab(f"/runs/{run.id}")
    expect(page.locator("#live")).to_have_text("live")
    sent = page.locator("#call-1 details", has_text="Prompt")
    sent.locator("summary").click()
    expect(sent.locator("summary")).to_be_focused()
    # One more turn before it, so that its number differs.
    first = turn(web.store, "1", 0, ago=60, session="s-0", signal={"status": "DONE"})
    added = call(web.store, "4", "step", "the newest call", value=1)(run.id)
    assert web.store.runs.change(RunChange(run, (added,), (first(run.id),)), run)
    told = manage_runs.get(web.store, run.id)._replace(agent="writer")
    assert web.store.runs.change(RunChange(told), run)
    expect(page.locator("#call-4")).to_contain_text("the newest call")
    expect(sent.last).to_have_attribute("open", "")
    expect(sent.last.locator("summary")).to_be_focused()
    expect(sent.first).not_to_have_attribute("open", "")
    page.get_by_text("Stop this run").click()
    page.get_by_label("Why;").fill("not this way")
    page.get_by_label("Why;").blur()
    manage_runs.stop(web.store, run.id, a_person("bob"), "bob was faster")
    expect(page.locator("#state")).to_contain_text("bob was faster")
    expect(page.get_by_label("Why;")).to_have_value("not this way")
    button(page, f"Stop run {run.id}").click()
    expect(page.get_by_role("alert")).to_contain_text("not this way")
    button(page, f"Resume run {run.id}").click()
    expect(page).to_have_url(f"{web.url}/runs/{run.id}")
    expect(page.locator("#state")).to_contain_text("Ready")


@pytest.mark.parametrize("is_typed", [False, True], ids=["untouched", "typed"])
@pytest.mark.proves("WEB-115", "LAW-6")
def test_open_run_page_shows_form_of_new_ask(web, tab, is_typed):
    run = add_run(web.store, [call(web.store, "1", "pause", "Go on?", state="waiting")])
    page = tab(f"/runs/{run.id}", size=PHONE)
    expect(page.locator("#live")).to_have_text("live")
    if is_typed:
        page.get_by_text("Stop this run").click()
        page.get_by_label("Why;").fill("not this way")
    asked = ask_of(web.store, run.id, "1", "Go on?", "approval")
    if is_typed:
        expect(page.locator(f"#waits-{asked.id}")).to_be_visible()
        # The form would come with a new page, and the text would be lost.
        expect(page.get_by_label("Why;")).to_have_value("not this way")
        page.get_by_label("Why;").fill("")
        ask_of(web.store, run.id, "1", "And this?", "approval")
    else:
        # The question is not told twice, once its form is there.
        button(page, "Approve").wait_for()
        expect(page.locator(f"#waits-{asked.id}")).to_be_hidden()
    button(page, "Approve").click()
    expect(page.locator("#call-1")).to_contain_text("approved by ada")
    assert web.get(asked.id).decision == "approved"


@pytest.mark.proves("WEB-89", "WEB-43")
def test_list_of_runs_is_live_and_walked_by_keys(web, tab):
    first = add_run(web.store, flow="first")
    page = tab("/runs")
    expect(page.locator("#live")).to_have_text("live")
    page.keyboard.press("j")
    expect(page.locator(f"#go-{first.id}")).to_be_focused()
    add_run(web.store, flow="second")
    expect(page.locator(".entry")).to_have_count(2)
    expect(page.locator(f"#go-{first.id}")).to_be_focused()
    page.keyboard.press("o")
    expect(page).to_have_url(f"{web.url}/runs/{first.id}")
    expect(page.locator("#live")).to_have_text("live")
    page.keyboard.press("u")
    expect(page).to_have_url(f"{web.url}/runs")


@pytest.mark.proves("WEB-89")
def test_busy_runs_do_not_reload_other_pages_repeatedly(web, tab):
    run = add_run(web.store)
    page, loaded = tab("/"), []
    beside = page.context.new_page()
    beside.goto(f"{web.url}/runs")
    for one in (page, beside):
        expect(one.locator("#live")).to_have_text("live")
    page.on("request", lambda request: loaded.append(request.url))
    for number in range(3):
        before = manage_runs.get(web.store, run.id)
        turned = turn(web.store, "1", number, session=f"s-{number}")(run.id)
        change = RunChange(before._replace(agent=f"coder-{number}"), (), (turned,))
        assert web.store.runs.change(change, before)
        expect(beside.locator(f"#go-{run.id}")).to_contain_text(f"coder-{number}")
    manage_runs.stop(web.store, run.id, a_person(), "enough")
    expect(beside.locator(f"#go-{run.id}")).to_contain_text("stuck")
    assert loaded == []
    asked = web.ask("Does the inbox still hear of asks?")
    expect(page.locator(f"#go-{asked.id}")).to_be_visible()


@pytest.mark.proves("WEB-89")
def test_run_is_stopped_and_resumed_without_javascript(web, tab):
    run = add_run(web.store, [call(web.store, "1", state="waiting")])
    asked = ask_of(web.store, run.id, "1")
    page = tab(f"/asks/{asked.id}", java_script_enabled=False, size=PHONE)
    page.get_by_role("link", name=f"run {run.id}, call 1").first.click()
    expect(page).to_have_url(f"{web.url}/runs/{run.id}?call=1#call-1")
    page.get_by_text("Stop this run").click()
    page.get_by_label("Why;").fill("enough")
    button(page, f"Stop run {run.id}").click()
    expect(page.locator("#state")).to_contain_text("enough")
    button(page, f"Resume run {run.id}").click()
    assert web.store.runs.get(run.id).state == "ready"


@pytest.mark.parametrize(("size", "scheme"), [(WIDE, "light"), (PHONE, "dark")])
@pytest.mark.proves("WEB-45", "WEB-89")
def test_axe_finds_nothing_on_run_pages_and_they_fit(web, tab, size, scheme, monkeypatch):
    store = web.store
    run = a_run(web, flow="b" * 200, prompt="c" * 500, agent="d" * 100)
    answer(store, ask_of(store, run.id, "1", "e" * 300, "approval"), "yes", "f" * 300)
    ask_of(store, run.id, "3.2.1", "g" * 300)
    trace = {"reason": "h" * 300, "error": "i" * 300}
    failed = a_run(web, state="failed", ended_at=store.now(), **trace)
    done = add_run(store, state="completed", result={"j": "k" * 300}, ended_at=store.now())
    long = add_run(store, [call(store, str(n), "step", "x") for n in range(1, 9)])
    monkeypatch.setattr(timeline, "MAX_CALLS", 6)
    page = tab(size=size, color_scheme=scheme)
    paths = [f"/runs/{one.id}" for one in (run, failed, done, long)]
    for path in ["/runs", "/runs?limit=1", *paths, f"{paths[0]}?changes=shown", "/runs/none"]:
        page.goto(web.url + path)
        must_suit_everybody(page, path, size)
    page.goto(f"{web.url}/runs/{run.id}")
    for one in page.locator("button:visible, summary:visible, .places a").all():
        assert one.bounding_box()["height"] >= 44, one.inner_text()
