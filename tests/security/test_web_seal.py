"""The seal of a login: it is sent with every change, and no address ever holds it."""

from __future__ import annotations

import pytest
from tests.support.run_records import add_run
from tests.support.task_records import add_task

SUBMIT = """form => {
  for (const field of form.querySelectorAll("input[type=text], input[type=search], textarea")) field.value ||= "some words";
  const choice = form.querySelector("input[type=radio]");
  if (choice) choice.checked = true;
  form.noValidate = true;
  const button = form.querySelector("button[type=submit]");
  form.requestSubmit(button);
}"""
ACTIONS = "all => all.map(form => form.getAttribute('action')).filter(to => to !== '/logout')"
SCHEMA = {"type": "object", "properties": {"method": {"type": "string"}}}


def pages_of(real):
    """Return every page, each with content."""
    asks = [
        real.ask("Deploy?", "approval"),
        real.ask("Why?"),
        real.ask("Which?", "choice", options=("one", "two")),
        real.ask("How many?", "form", schema=SCHEMA),
    ]
    run = add_run(real.store)
    tasks = [add_task(real.store, "Users"), add_task(real.store, "Docs", project="/q")]
    real.token("read", name="zoe")
    return [
        *("/", "/runs", "/tasks", "/history", "/numbers", "/people", f"/runs/{run.id}"),
        *(f"/asks/{ask.id}" for ask in asks),
        *(f"/tasks/{task.id}" for task in tasks),
    ]


def must_hide(seal, real, page):
    """Neither the browser's history nor a log of the server contains the seal."""
    entries = page.evaluate("navigation.entries().map(one => one.url)")
    addresses = [page.url, *entries, page.evaluate("document.referrer")]
    for one in real.seen:
        addresses += [one.path, one.query, one.headers.get("referer", "")]
    assert [address for address in addresses if seal in address or "seal=" in address] == []


def sign_in(real, context):
    page = context.new_page()
    page.goto(f"{real.url}/link/{real.link()}")
    page.get_by_role("button", name="Open the inbox").click()
    page.wait_for_url(f"{real.url}/")
    seal = page.evaluate("localStorage.getItem('gatebell-seal')")
    assert len(seal) == 64
    return page, seal


@pytest.mark.proves("WEB-91")
def test_no_form_puts_the_seal_into_an_address(real, chromium):
    context = chromium.new_context()
    real.forget()
    page, seal = sign_in(real, context)
    submitted = set()
    for path in pages_of(real):
        page.goto(real.url + path)
        for action in page.eval_on_selector_all("form[action]", ACTIONS):
            page.goto(real.url + path)
            form = page.locator(f"form[action='{action}']").first
            # An earlier one may have removed it, as a removed person's.
            if form.count():
                with page.expect_navigation():
                    form.evaluate(SUBMIT)
                submitted.add(action)
                must_hide(seal, real, page)
            real.desk.limits._buckets.clear()
    assert {"/history", "/tasks", "/people"} < submitted
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/login")
    must_hide(seal, real, page)
    posts = [one for one in real.seen if one.method == "POST"]
    assert len(posts) > 8
    # It was checked: each change carried the seal, and none was refused without it.
    assert [one.path for one in posts if seal not in one.body] == []
    assert [one.path for one in posts if one.status == 403] == []
    context.close()


@pytest.mark.proves("WEB-91")
def test_no_link_puts_the_seal_into_an_address(real, chromium):
    context = chromium.new_context()
    real.forget()
    page, seal = sign_in(real, context)
    followed = set()
    for path in pages_of(real):
        page.goto(real.url + path)
        addresses = page.eval_on_selector_all("a[href^='/']", "all => all.map(a => a.href)")
        page.locator("#q").fill("words")
        page.locator("#q").press("Enter")
        page.wait_for_url("**/history?q=words")
        must_hide(seal, real, page)
        for address in addresses:
            if address in followed:
                continue
            followed.add(address)
            real.desk.limits._buckets.clear()
            page.goto(address)
            must_hide(seal, real, page)
    assert len(followed) > 8
    context.close()
