"""The pages of tasks in a real browser, wide and phone-sized."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect
from tests.support.people import a_person
from tests.support.run_records import answer
from tests.support.task_records import add_task, add_tasks, awaiting
from tests.support.web_server import PHONE, WIDE, must_suit_everybody

from gatebell.services.tasks import backlog


@pytest.mark.proves("TASK-127")
def test_tree_is_live_and_keeps_folds_and_focus(web, tab):
    top = add_task(web.store, "Users")
    part = add_task(web.store, "Sign in", parent=top.id)
    beside = add_task(web.store, "Docs")
    page = tab("/tasks")
    expect(page.locator("#live")).to_have_text("live")
    page.keyboard.press("j")
    expect(page.locator(f"#go-{top.id}")).to_be_focused()
    page.keyboard.press("j")
    expect(page.locator(f"#go-{part.id}")).to_be_focused()
    summary = page.locator(f"#parts-{top.id} > summary")
    summary.click()
    expect(page.locator(f"#go-{part.id}")).not_to_be_visible()
    backlog.update(web.store, top.id, a_person(), {"title": "People"})
    expect(page.locator(f"#go-{top.id}")).to_have_text("People")
    expect(page.locator(f"#parts-{top.id}")).not_to_have_attribute("open", "")
    expect(summary).to_be_focused()
    page.locator(f"#go-{top.id}").focus()
    page.keyboard.press("j")
    expect(page.locator(f"#go-{beside.id}")).to_be_focused()
    page.keyboard.press("o")
    expect(page).to_have_url(f"{web.url}/tasks/{beside.id}")
    expect(page.locator("#live")).to_have_text("live")
    backlog.defer(web.store, beside.id, a_person(), "not now")
    expect(page.locator("#state")).to_contain_text("not now")
    page.keyboard.press("u")
    expect(page).to_have_url(f"{web.url}/tasks?project=%2Fp")


@pytest.mark.proves("TASK-127")
def test_question_in_the_tree_is_answered_without_javascript(web, tab):
    task, ask = awaiting(web.store, "Sign in", "Cookie or token?")
    top = add_task(web.store, "Users")
    backlog.update(web.store, task.id, a_person(), {"parent": top.id})
    add_task(web.store, "Elsewhere", "/q")
    page = tab("/tasks", java_script_enabled=False, size=PHONE)
    page.locator(f"#parts-{top.id} > summary").click()
    expect(page.locator(f"#go-{task.id}")).not_to_be_visible()
    page.locator(f"#parts-{top.id} > summary").click()
    page.get_by_role("link", name="Cookie or token?").click()
    expect(page).to_have_url(f"{web.url}/asks/{ask.id}")
    page.locator(f"#about-{task.id}").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")
    answer(web.store, ask, "token")
    page.get_by_role("link", name="Tasks", exact=True).click()
    page.get_by_label("Project").select_option("/q")
    page.get_by_role("button", name="Show", exact=True).click()
    expect(page.locator(".tree")).to_contain_text("Elsewhere")


@pytest.mark.proves("TASK-127")
def test_busy_tasks_do_not_make_other_pages_load_again(web, tab):
    task = add_task(web.store, "Sign in")
    page, loaded = tab("/"), []
    beside = page.context.new_page()
    beside.goto(f"{web.url}/tasks")
    for one in (page, beside):
        expect(one.locator("#live")).to_have_text("live")
    page.on("request", lambda request: loaded.append(request.url))
    for title in ("One", "Two", "Three"):
        backlog.update(web.store, task.id, a_person(), {"title": title})
        expect(beside.locator(f"#go-{task.id}")).to_have_text(title)
    assert loaded == []
    asked = web.ask("Does the inbox still hear of asks?")
    expect(page.locator(f"#go-{asked.id}")).to_be_visible()


@pytest.mark.parametrize(("size", "scheme"), [(WIDE, "light"), (PHONE, "dark")])
@pytest.mark.proves("WEB-45", "TASK-127")
def test_axe_finds_nothing_on_task_pages_and_they_fit(web, tab, size, scheme):
    store, long = web.store, "w" * 300
    texts = {"description": f"# {long}\n\n{long}", "role": "r" * 80, "test_command": long}
    waits, ask = awaiting(store, long, long, **texts)
    answered, before = awaiting(store, "Answered", "Which?", parent=waits.id)
    answer(store, before, long, long)
    above = waits
    for n in range(9):
        above = add_task(store, f"{n} {long}", parent=above.id, needs=[waits.id])
    for act in (backlog.close, backlog.defer):
        act(store, add_task(store, "Over").id, a_person(), long)
    hand = add_task(store, "By hand")
    backlog.claim(store, hand.id, a_person("b" * 60))
    add_task(store, "Elsewhere", f"/{long}")
    add_tasks(store, 150, parent=hand.id, priority=4)
    page = tab(size=size, color_scheme=scheme)
    tasks = [f"/tasks/{one.id}" for one in (waits, answered, above, hand)]
    trees = ["/tasks", "/tasks?all=1&limit=5", "/tasks?project=/none"]
    for path in [*trees, *tasks, "/", f"/asks/{ask.id}", "/tasks/none"]:
        page.goto(web.url + path)
        must_suit_everybody(page, path, size)
        twice = "const ids = [...document.querySelectorAll('[id]')].map(one => one.id); return"
        assert page.evaluate(f"() => {{ {twice} ids.length - new Set(ids).size }}") == 0, path
    page.goto(f"{web.url}/tasks")
    for one in page.locator("button:visible, summary:visible, .places a, .ways a").all():
        assert one.bounding_box()["height"] >= 44, one.inner_text()
