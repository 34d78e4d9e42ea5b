"""The web inbox for people: in a real browser, wide and phone-sized."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect
from tests.support.people import a_person
from tests.support.waiting import eventually
from tests.support.web_server import FORM, PHONE, WIDE, button, must_suit_everybody, push

from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.asks import Origin
from gatebell.domain.permissions.calls import make_call
from gatebell.domain.sessions.visits import Terms
from gatebell.services.asks import answer_ask, ask_messages, create_ask
from gatebell.services.asks.create_ask import Request
from gatebell.services.notifications import notes
from gatebell.services.people import manage_logins, manage_people
from gatebell.services.sessions import ask_session

SIZES = pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])


@SIZES
@pytest.mark.proves("WEB-30")
def test_list_shows_asker_question_place_age_and_blocked_run(web, tab, size):
    push(web, priority="urgent", expires_seconds=900, hard=True)
    for number in (1, 2, 3):
        web.ask("Update the lock file?", f"tester-{number}", project="/srv/site")
    scout = Origin("/srv/site", agent="scout")
    notes.tell(web.store, scout, a_person("root"), "the tests are green again")
    page = tab("/?list", size=size)
    expect(page).to_have_title("(4) gatebell")
    shop, site = page.get_by_role("region", name="/projects/shop"), page.locator("section").nth(1)
    expect(shop.get_by_role("link")).to_contain_text("claude")
    for words in (
        "urgent",
        "Run this command?",
        "approval",
        "session s1",
        "times out in 14 min",
    ):
        expect(shop.get_by_role("link")).to_contain_text(words)
    expect(site).to_contain_text("3 alike")
    expect(site).to_contain_text("tester-1, tester-2, tester-3")
    expect(page.get_by_role("region", name="Notes")).to_contain_text("the tests are green again")
    shop.get_by_role("link").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Run this command?")
    expect(page).to_have_title("(4) Run this command? git push origin main · gatebell")
    expect(page.locator("#side")).to_be_visible(visible=size == WIDE)
    if size == PHONE:
        page.get_by_role("link", name="Waiting for you").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("4 waiting for you")


@pytest.mark.proves("WEB-30")
def test_empty_inbox_says_how_an_agent_asks(web, tab):
    page = tab()
    expect(page).to_have_title("gatebell")
    expect(page.locator("main")).to_contain_text("gate ask")
    expect(page.locator("#live")).to_have_text("live")
    web.ask("And now?")
    expect(page.get_by_role("heading", level=1)).to_have_text("And now?")


@pytest.mark.proves("WEB-52", "WEB-54")
def test_ask_shows_call_changes_context_terms_and_trail(web, tab):
    asked = push(web, context="## Why\nIt is **late**.", confidence=0.8, expires_seconds=900)
    page = tab(f"/asks/{asked.id}")
    main = page.locator("main")
    expect(main).not_to_contain_text("You answer as")
    web.token("bob")
    page.reload()
    for words in (
        *("ask opened by", "it moves while you write", "the asker is 80 % sure", "claude/s1"),
        *("It works on", "return round(sum(items), 2)", "L0, one OS user", "You answer as ada."),
    ):
        expect(main).to_contain_text(words)
    for words in ("git push origin main", "in /projects/shop on the branch main"):
        expect(main.locator(".call")).to_contain_text(words)
    expect(main.locator("tr.add .sign")).to_have_text("+")
    expect(main.locator(".context strong")).to_have_text("late")


@pytest.mark.proves("WEB-33")
def test_list_is_live_and_survives_a_server_restart(web, tab):
    first = web.ask("First?")
    page = tab("/?list")
    expect(page.locator("#live")).to_have_text("live")
    second = web.ask("Second?", agent="newcomer")
    expect(page.locator(f"#go-{second.id}")).to_be_visible()
    expect(page).to_have_title("(2) gatebell")
    web.stop()
    expect(page.locator("#live")).to_have_text("reconnecting…")
    answer_ask.answer(web.store, first.id, a_person("bob"), Given("while it was away"))
    web.start()
    expect(page.locator(f"#go-{first.id}")).to_have_count(0)
    expect(page.locator("#live")).to_have_text("live")
    third = web.ask("Third?")
    expect(page.locator(f"#go-{third.id}")).to_be_visible()


@pytest.mark.proves("WEB-33")
def test_event_between_page_and_stream_is_not_missed(web, tab):
    page, asked = tab("/login"), []

    def late(route):
        if not asked:
            asked.append(web.ask("Asked before anybody listened?"))
        route.continue_()

    page.route("**/api/events/stream", late)
    page.goto(f"{web.url}/?list")
    expect(page.locator(".entry")).to_have_count(1)


@pytest.mark.proves("WEB-46")
def test_all_tabs_share_one_stream_so_the_seventh_loads(web, tab):
    page = tab()
    tabs = [page, *(page.context.new_page() for _ in range(7))]
    for one in tabs[1:]:
        one.goto(web.url)
    asked = web.ask("Does everybody hear of this?")
    for one in tabs:
        expect(one.locator(f"#go-{asked.id}")).to_be_visible()
        expect(one.locator("#live")).to_have_text("live")
    eventually(lambda: web.streams() == 1)
    page.close()
    again = web.ask("And when the one that listened is gone?")
    expect(tabs[-1].locator(f"#go-{again.id}")).to_be_visible()


@SIZES
@pytest.mark.proves("WEB-42")
def test_people_ask_back_see_the_reply_and_withdraw(web, tab, size):
    asked = web.ask("Deploy?", kind="approval")
    page = tab(f"/asks/{asked.id}", size=size)
    page.get_by_text("Ask back").click()
    page.get_by_label("A message to the asker").fill("which build?")
    button(page, "Send").click()
    expect(page.locator("#said")).to_contain_text("which build?")
    ask_messages.reply(web.store, asked.id, a_person("root"), "build 42")
    expect(page.locator("#said")).to_contain_text("build 42")
    assert web.get(asked.id).pending
    page.get_by_text("Withdraw it").click()
    page.get_by_label("Why no answer is needed").fill("superseded")
    button(page, f"Withdraw {asked.id}").click()
    expect(page.get_by_role("region", name="Outcome")).to_contain_text("superseded")
    assert web.get(asked.id).status == "cancelled"


@pytest.mark.proves("WEB-43")
def test_keys_move_open_and_focus_but_decide_nothing(web, tab):
    first, second = web.ask("Deploy?", kind="approval"), web.ask("Which name?")
    page = tab("/?list")
    expect(page.locator("#live")).to_have_text("live")
    press = page.keyboard.press
    press("j"), press("j"), press("k")
    expect(page.locator(f"#go-{first.id}")).to_be_focused()
    press("j")
    web.ask("Does the focus stay while the list grows?")
    expect(page.locator(".entry")).to_have_count(3)
    expect(page.locator(f"#go-{second.id}")).to_be_focused()
    press("k"), press("o")
    expect(page).to_have_url(f"{web.url}/asks/{first.id}")
    expect(page.locator("#live")).to_have_text("live")
    press("a")
    expect(page.get_by_role("button", name="Approve", exact=True)).to_be_focused()
    press("r")
    expect(page.get_by_role("button", name="Reject")).to_be_focused()
    press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    press("Escape")
    expect(page.get_by_role("dialog", name="Keys")).to_be_hidden()
    page.get_by_label("Note (optional)").focus()
    page.keyboard.type("jkoar/?u")
    expect(page.get_by_label("Note (optional)")).to_have_value("jkoar/?u")
    page.get_by_label("Note (optional)").blur()
    press("Control+a"), press("u")
    expect(page).to_have_url(f"{web.url}/?list")
    expect(page.locator("#live")).to_have_text("live")
    press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.goto(f"{web.url}/asks/{second.id}")
    expect(page.locator("#live")).to_have_text("live")
    press("a")
    expect(page.get_by_label("In your words")).to_be_focused()
    button(page, "Answer").focus()
    press("r")
    expect(page.get_by_label("A message to the asker")).to_be_focused()
    assert web.get(first.id).pending and web.get(second.id).pending


@SIZES
@pytest.mark.proves("WEB-39")
def test_history_is_searched_and_leads_to_each_trail(web, tab, size):
    for number in (41, 42):
        asked = web.ask(f"Deploy build {number}?", kind="approval")
        answer_ask.answer(web.store, asked.id, a_person("bob"), Given("yes", f"go {number}"))
    page = tab("/history", size=size)
    expect(page.locator(".past li")).to_have_count(2)
    expect(page.locator(".past li").first).to_contain_text("approved by bob via cli")
    page.get_by_role("searchbox").fill("build 42")
    page.get_by_role("searchbox").press("Enter")
    expect(page.locator(".past li")).to_have_count(1)
    page.get_by_role("link", name="Deploy build 42?").click()
    expect(page.locator("#trail")).to_contain_text("ask answered by bob via cli")
    expect(page.get_by_role("region", name="Outcome")).to_contain_text("go 42")


@pytest.mark.proves("WEB-38")
def test_numbers_are_drawn_and_written_beside_the_drawing(web, tab):
    web.ask("Waiting?")
    asked = web.ask("Answered?")
    answer_ask.answer(web.store, asked.id, a_person("bob"), Given("yes"))
    page = tab("/numbers")
    expect(page.get_by_role("img")).to_have_count(3)
    expect(page.locator(".charts")).to_contain_text("Waiting now, by project")
    expect(page.locator(".charts table").first).to_contain_text("/projects/shop")


@SIZES
@pytest.mark.proves("WEB-53")
def test_people_and_tokens_are_managed_and_removal_is_confirmed(web, tab, size):
    page = tab("/people", size=size)
    page.get_by_label("Name").fill("no name!")
    button(page, "Add").click()
    expect(page.get_by_role("alert")).to_contain_text("expected a name")
    page.get_by_label("Name").fill("bob")
    button(page, "Add").click()
    token = page.locator("#token").inner_text()
    page.goto(f"{web.url}/people")
    expect(page.locator("main")).not_to_contain_text(token)
    bob = page.get_by_role("region", name="bob")
    bob.get_by_text("One more token").click()
    bob.get_by_label("Label").fill("phone")
    bob.get_by_role("button", name="Make a token").click()
    expect(bob).to_contain_text("phone")
    first = manage_people.whose(web.store, token)
    button(page, f"Revoke the token {first.id}").click()
    assert first in web.store.people.tokens()
    button(page, "Yes, do it").click()
    expect(page.get_by_role("region", name="bob")).not_to_contain_text(first.id)
    button(page, "Remove bob").click()
    page.get_by_role("link", name="No, go back").click()
    button(page, "Remove bob").click()
    button(page, "Yes, do it").click()
    expect(page.get_by_role("region", name="bob")).to_have_count(0)
    assert web.store.people.all() == []


@SIZES
@pytest.mark.proves("WEB-47", "WEB-1")
def test_people_log_in_by_link_or_token_and_leave(web, tab, size):
    asked = web.ask("Which name?")
    token, link = web.token("bob"), web.link("ada")
    page = tab(f"/asks/{asked.id}", who="", size=size)
    expect(page.get_by_role("link", name="Open the page again")).to_have_attribute(
        "href", f"/asks/{asked.id}"
    )
    page.get_by_label("personal token").fill("gate_wrong")
    button(page, "Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("token is unknown")
    page.get_by_label("personal token").fill(token)
    button(page, "Sign in").click()
    expect(page).to_have_url(f"{web.url}/asks/{asked.id}")
    expect(page.locator("#answer")).not_to_contain_text("You answer as")
    page.goto(f"{web.url}/?list")  # on a phone, an open ask has no such button
    button(page, "Sign out").click()
    heading = page.get_by_role("heading", level=1)
    expect(heading).to_have_text("Sign in")  # continuing at once would abort the request
    page.goto(web.url)
    expect(heading).to_have_text("Sign in")
    for _ in range(2):
        page.goto(f"{link}?next=/history")
        expect(page.get_by_role("heading", level=1)).to_have_text("Sign in as ada?")
    button(page, "Open the inbox").click()
    expect(page).to_have_url(f"{web.url}/history")
    (cookie,) = page.context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"], cookie["path"]) == (True, "Strict", "/")
    page.goto(link)
    expect(page.get_by_role("alert")).to_contain_text("was used")


@pytest.mark.parametrize(
    "away",
    [
        "//evil.example",
        "https://evil.example",
        "/\\evil.example",
        "/\t/evil.example",
        "javascript:1",
    ],
)
@pytest.mark.proves("WEB-47")
def test_login_sends_no_person_to_another_site(web, chromium, away):
    link = manage_logins.make_link(web.store, a_person())
    request = chromium.new_context().request
    form = {"next": away, "csrf": ""}
    origin = {"origin": web.url}
    came = request.post(f"{web.url}/link/{link}", form=form, headers=origin, max_redirects=0)
    assert (came.status, came.headers["location"]) == (303, "/")
    request.dispose()


@pytest.mark.proves("WEB-50")
def test_reader_without_rights_is_offered_nothing_else(web, tab, chromium):
    asked = web.ask("Deploy?", kind="approval")
    secret = manage_logins.enter_by_token(web.store, web.token("cy", ["read"]), {})
    page = tab("/login", who="")
    page.context.add_cookies([{"name": "gatebell", "value": secret, "url": web.url}])
    page.goto(f"{web.url}/asks/{asked.id}")
    expect(page.locator("main")).to_contain_text("You may look at this, but not answer it.")
    assert page.locator("main button").count() == 0
    expect(page.get_by_role("link", name="People")).to_have_count(0)
    page.goto(f"{web.url}/people")
    expect(page.get_by_role("heading", level=1)).to_have_text("Not allowed")


@pytest.mark.proves("WEB-48", "LAW-8")
def test_hostile_texts_are_shown_and_nothing_of_them_runs(web, tab):
    evil = '"><img src=x onerror=alert(1)><script>alert(2)</script></textarea>\u202egpj.exe{{7*7}}'
    call = make_call("Bash", {"command": evil.replace("\u202e", "")}, evil, evil)
    asks = [
        web.ask(evil, evil, kind="approval", context=evil, activity=evil, project=evil, owner=evil),
        web.ask(evil, kind="choice", options=(evil, f"{evil}2", "Other…"), context={evil: evil}),
        web.ask(evil, kind="approval", call=call, session=f"claude/{evil}"),
        web.ask(
            evil, kind="form", schema={"type": "object", "properties": {evil: {"title": evil}}}
        ),
    ]
    page = tab()
    page.on("dialog", lambda dialog: pytest.fail(f"ran: {dialog.message}"))
    asked_for = []
    page.on("request", lambda request: asked_for.append(request.url))
    for one in asks:
        ask_messages.ask_back(web.store, one.id, a_person(evil), evil)
        page.goto(f"{web.url}/asks/{one.id}")
        expect(page.locator("article")).to_contain_text("onerror=alert(1)")
        expect(page.locator("article")).to_contain_text("‹U+202E›")
        assert page.locator('article img, article script:not([src^="/static/"])').count() == 0
        assert "\u202e" not in page.locator("body").inner_text()
    assert all(url.startswith(web.url) for url in asked_for)


@pytest.mark.parametrize(("size", "scheme"), [(WIDE, "light"), (PHONE, "dark")])
@pytest.mark.proves("WEB-45", "SES-108")
def test_axe_finds_nothing_and_pages_fit_the_screen(web, tab, size, scheme):
    done = web.ask("Deploy build 41?", kind="approval")
    answer_ask.answer(web.store, done.id, a_person("bob"), Given("yes", "go"))
    asks = [
        push(web, priority="urgent", expires_seconds=600),
        web.ask(
            "x" * 400, kind="choice", options=("y" * 200, "b", "Other…"), context={"a": "z" * 300}
        ),
        web.ask("Where to?", kind="form", schema=FORM),
        web.ask("The token?", secret=True),
    ]
    terms = Terms("approval", "w" * 300, cwd="/" + "f" * 300, session_seconds=1800)
    request = Request("Is it good?", "session", session=terms)
    session = create_ask.ask(web.store, request, Origin("/projects/shop"), a_person("sue")).ask
    ask_session.open_visit(web.store, session.id, a_person("bob"), "claude", "s1")
    asks.append(session)
    twin = web.ask("The same?", kind="text")
    web.ask("The same?", kind="text")
    ask_messages.ask_back(web.store, twin.id, a_person("bob"), "what?")
    answer_ask.save_draft(web.store, twin.id, a_person("bob"), "typing")
    web.token("bob")
    page = tab(size=size, color_scheme=scheme)
    paths = [
        "/",
        "/?list",
        *(f"/asks/{one.id}" for one in [*asks, twin, done]),
        f"/?done={done.id}",
    ]
    for path in [*paths, "/history?q=build", "/numbers", "/people", "/asks/none", "/login"]:
        page.goto(web.url + path)
        must_suit_everybody(page, path, size)


@pytest.mark.proves("WEB-118")
def test_ask_on_a_phone_begins_without_sign_out(web, tab):
    asked = push(web)
    page = tab(f"/asks/{asked.id}", size=PHONE)
    assert page.get_by_role("heading", level=1).bounding_box()["y"] < 140
    assert page.locator(".call .command").bounding_box()["y"] < 220
    expect(button(page, "Sign out")).to_be_hidden()
    page.get_by_role("link", name="Waiting for you").click()
    expect(button(page, "Sign out")).to_be_visible()
    expect(page.locator(f"#go-{asked.id} code")).to_have_text("git push origin main")


@pytest.mark.proves("WEB-45")
def test_targets_fit_thumbs_and_small_phones_at_double_size(web, tab):
    asked = push(web)
    page = tab(f"/asks/{asked.id}", size=(360, 640))
    for path in ("/?list", f"/asks/{asked.id}"):
        page.goto(web.url + path)
        targets = "button:visible, summary:visible, textarea:visible, .top a:visible"
        for one in page.locator(targets).all():
            assert one.bounding_box()["height"] >= 44, one.inner_text()
    page.set_viewport_size({"width": 640, "height": 400})
    page.evaluate("document.documentElement.style.fontSize = '200%'")
    assert page.evaluate("document.documentElement.scrollWidth") <= 640
