"""Answering in a real browser: every kind, drafts, rivals, twins, and invalid answers."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect
from tests.support.people import a_person
from tests.support.shells import Shell
from tests.support.waiting import eventually
from tests.support.web_server import FORM, PHONE, WIDE, button, push

from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.asks import Change
from gatebell.domain.permissions.calls import make_call
from gatebell.ports.results import Done
from gatebell.services.asks import answer_ask

SIZES = pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])


@pytest.mark.parametrize(
    ("size", "scripted"),
    [(WIDE, True), (PHONE, True), (PHONE, False)],
    ids=["wide", "phone", "without"],
)
@pytest.mark.proves("WEB-52")
def test_every_kind_is_answered_even_without_javascript(web, tab, size, scripted):
    approval = web.ask("Deploy build 42?", kind="approval")
    choice = web.ask("Which database?", kind="choice", options=("PostgreSQL", "SQLite", "Other…"))
    many = web.ask("Which ones?", kind="choice", multiple=True, options=("a", "b", "Other…"))
    text = web.ask("What shall it be called?")
    secret = web.ask("The token?", secret=True)
    form = web.ask("Where to?", kind="form", schema=FORM)
    page = tab(size=size, java_script_enabled=scripted)

    page.goto(f"{web.url}/asks/{approval.id}")
    page.get_by_label("Note (optional)").fill("tests are green\nsecond line")
    button(page, "Reject").click()
    done = page.locator(".banner.good")
    expect(done).to_contain_text(f"{approval.id} is rejected")
    page.goto(f"{web.url}/asks/{choice.id}")
    page.get_by_label("Other…").check()
    page.get_by_label("Other, in your words").fill("DuckDB")
    button(page, "Answer").click()
    expect(done).to_contain_text(f"{choice.id} is answered")
    page.goto(f"{web.url}/asks/{many.id}")
    page.get_by_label("b", exact=True).check()
    page.get_by_label("a", exact=True).check()
    button(page, "Answer").click()
    expect(done).to_contain_text(f"{many.id} is answered")
    page.goto(f"{web.url}/asks/{text.id}")
    page.get_by_label("In your words").fill("Open Gate")
    button(page, "Answer").click()
    expect(done).to_contain_text(f"{text.id} is answered")
    page.goto(f"{web.url}/asks/{secret.id}")
    page.get_by_label("The secret").fill("s3cr3t")
    button(page, "Answer").click()
    expect(done).to_contain_text(f"{secret.id} is answered")
    page.goto(f"{web.url}/asks/{form.id}")
    page.get_by_label("Host").fill("example")
    page.get_by_label("replicas").fill("3")
    page.get_by_label("team").fill("core")
    button(page, "Answer").click()
    expect(done).to_contain_text(f"{form.id} is answered")

    settled = web.get(approval.id)
    assert (settled.decision, settled.note) == ("rejected", "tests are green\nsecond line")
    assert (settled.settled_by, settled.settled_via) == ("person:ada", "web")
    assert web.get(choice.id).value == {"other": "DuckDB"}
    assert web.get(many.id).value == ["a", "b"]
    assert web.get(text.id).value == "Open Gate"
    assert web.store.asks.secret(secret.id) == "s3cr3t"
    assert web.get(form.id).value == {"host": "example", "replicas": 3, "owner": {"team": "core"}}


@pytest.mark.proves("WEB-32", "LAW-3")
def test_nothing_is_preselected_and_enter_decides_nothing(web, tab):
    asked = push(web)
    choice = web.ask("Which?", kind="choice", options=("a", "b"))
    form = web.ask("Where to?", kind="form", schema=FORM)
    page = tab(f"/asks/{asked.id}")
    page.locator(".split summary").click()
    page.get_by_label("Pattern", exact=True).press("Enter")
    expect(page).to_have_url(f"{web.url}/asks/{asked.id}")
    page.goto(f"{web.url}/asks/{choice.id}")
    assert page.locator("input:checked").count() == 0
    page.get_by_label("a", exact=True).check()
    page.get_by_label("a", exact=True).press("Enter")
    plain = tab(f"/asks/{choice.id}", java_script_enabled=False)
    plain.get_by_label("a", exact=True).check()
    plain.get_by_label("a", exact=True).press("Enter")
    expect(plain).to_have_url(f"{web.url}/asks/{choice.id}/answer")
    expect(plain.get_by_label("a", exact=True)).to_be_checked()
    page.goto(f"{web.url}/asks/{form.id}")
    assert page.locator("input:checked").count() == 0
    page.get_by_label("Host").fill("example")
    page.get_by_label("Host").press("Enter")
    expect(page).to_have_url(f"{web.url}/asks/{form.id}")
    assert [one.id for one in web.store.asks.pending(9)] == [asked.id, choice.id, form.id]
    assert web.store.asks.answers(asked.id) == web.store.asks.answers(form.id) == []


@pytest.mark.proves("WEB-34")
def test_viewer_sees_who_is_answering_even_from_a_terminal(web, tab):
    asked = web.ask("Which name?")
    page, other = tab(f"/asks/{asked.id}"), tab(who="bob")
    expect(page.locator("#live")).to_have_text("live")
    answer_ask.save_draft(web.store, asked.id, a_person("cy"), "typed in a termi")
    expect(page.locator("#answering")).to_have_text("cy is answering just now.")
    page.get_by_label("In your words").fill("Open")
    expect(other.locator(f"#go-{asked.id}")).to_contain_text("cy, ada is answering")
    expect(page.locator("#answering")).not_to_contain_text("ada")


@pytest.mark.proves("WEB-35", "LAW-6")
def test_drafts_survive_reloads_reach_devices_and_extend_soft_deadlines(web, tab):
    text = web.ask("Which name?", expires_seconds=60)
    hard = web.ask("Which name now?", expires_seconds=60, hard=True)
    choice = web.ask("Which?", kind="choice", options=("a", "b", "Other…"))
    approval = web.ask("Deploy?", kind="approval")
    form = web.ask("Where to?", kind="form", schema=FORM)
    page, phone = tab(f"/asks/{text.id}"), tab(size=PHONE)
    page.get_by_label("In your words").fill("Open Ga")
    expect(page.locator("#kept")).to_have_text("Draft kept.")
    page.reload()
    expect(page.get_by_label("In your words")).to_have_value("Open Ga")
    assert web.get(text.id).deadlines.moved_seconds > 50
    page.get_by_label("In your words").fill("Open Gate")
    page.goto(f"{web.url}/asks/{hard.id}")
    page.get_by_label("In your words").fill("hasty")
    page.goto(f"{web.url}/asks/{choice.id}")
    page.get_by_label("Other, in your words").fill("neither")
    page.goto(f"{web.url}/asks/{approval.id}")
    page.get_by_label("Note (optional)").fill("if the tests pass")
    page.goto(f"{web.url}/asks/{form.id}")
    page.get_by_label("replicas").fill("many")
    page.goto(web.url)
    eventually(lambda: answer_ask.draft(web.store, form.id, a_person()))
    assert web.get(hard.id).deadlines.moved_seconds == 0
    assert answer_ask.draft(web.store, choice.id, a_person()) == "neither"
    phone.goto(f"{web.url}/asks/{text.id}")
    expect(phone.get_by_label("In your words")).to_have_value("Open Gate")
    phone.goto(f"{web.url}/asks/{choice.id}")
    expect(phone.get_by_label("Other…")).to_be_checked()
    expect(phone.get_by_label("Other, in your words")).to_have_value("neither")
    phone.goto(f"{web.url}/asks/{approval.id}")
    expect(phone.get_by_label("Note (optional)")).to_have_value("if the tests pass")
    phone.goto(f"{web.url}/asks/{form.id}")
    expect(phone.get_by_label("replicas")).to_have_value("many")


@pytest.mark.proves("WEB-35")
def test_secret_sends_only_that_a_person_is_typing(web, tab):
    asked = web.ask("The token?", secret=True, expires_seconds=60)
    page = tab(f"/asks/{asked.id}")
    with page.expect_request("**/draft") as sent:
        page.get_by_label("The secret").fill("s3cr3t")
    assert sent.value.response().status == 204
    assert web.get(asked.id).deadlines.moved_seconds > 0
    assert "csrf=" in sent.value.post_data
    assert "s3cr3t" not in sent.value.post_data


@pytest.mark.proves("WEB-36", "LAW-2", "LAW-6")
def test_one_answer_wins_and_the_others_keep_their_words(web, tab, tmp_path):
    asked = web.ask("Deploy build 42?", kind="approval")
    environ = {"GATE_STORE": web.path, "GATE_TOKEN": web.token("cy"), "HOME": str(tmp_path)}
    pages = [
        tab(f"/asks/{asked.id}", who, size, java_script_enabled=False)
        for who, size in (("ada", WIDE), ("bob", PHONE))
    ]
    for page in pages:
        page.get_by_label("Note (optional)").fill("in my own words")
    terminal = Shell(tmp_path, environ, "cy").start("answer", asked.id, "yes", "--note", "mine")
    for page in pages:
        button(page, "Approve").click()
    _, err = terminal.communicate(timeout=60)
    answers = web.store.asks.answers(asked.id)
    assert sorted(one.outcome for one in answers) == ["late", "late", "settled"]
    winner = web.get(asked.id).settled_by
    for who, page in zip(("ada", "bob"), pages, strict=True):
        if winner == f"person:{who}":
            expect(page.locator(".banner.good")).to_contain_text(f"{asked.id} is approved")
        else:
            expect(page.get_by_role("alert")).to_contain_text("Another answer came first")
            expect(page.get_by_role("alert")).to_contain_text(f"already answered by {winner}")
            expect(page.get_by_role("alert")).to_contain_text("your answer is kept beside it")
            expect(page.get_by_label("Note (optional)")).to_have_value("in my own words")
            expect(button(page, "Approve")).to_have_count(0)
    if winner != "person:cy":
        assert (terminal.returncode, winner in err) == (6, True)


@pytest.mark.proves("WEB-49", "LAW-6")
def test_ask_settled_elsewhere_cannot_be_sent_and_keeps_words(web, tab):
    asked = web.ask("Deploy build 42?", kind="approval")
    page = tab(f"/asks/{asked.id}")
    page.get_by_label("Note (optional)").fill("half a sent")
    answer_ask.answer(web.store, asked.id, a_person("bob"), Given("no", "not today"))
    expect(page.get_by_role("region", name="Outcome")).to_contain_text("by bob via cli")
    expect(page.get_by_role("region", name="Outcome")).to_contain_text("not today")
    expect(button(page, "Approve")).to_be_disabled()
    expect(page.get_by_label("Note (optional)")).to_have_value("half a sent")
    expect(page.locator("#trail")).to_contain_text("ask answered by bob")


@pytest.mark.proves("WEB-37")
def test_same_answer_goes_to_ticked_asks_with_results(web, tab):
    asks = [web.ask("Update it?", f"t{n}", kind="choice", options=("Yes", "No")) for n in range(4)]
    page = tab(f"/asks/{asks[0].id}")
    group = page.get_by_role("group", name="The same answer to others")
    boxes = group.locator("[name=also]")
    expect(boxes).to_have_count(3)
    group.get_by_label("All 3 of them").check()
    assert all(box.is_checked() for box in boxes.all())
    group.get_by_label("All 3 of them").uncheck()
    assert not any(box.is_checked() for box in boxes.all())
    page.get_by_label(asks[1].id).check()
    page.get_by_label(asks[2].id).check()
    page.get_by_label("Yes", exact=True).check()
    web.stop()
    answer_ask.answer(web.store, asks[2].id, a_person("bob"), Given("No"))
    web.start()
    button(page, "Answer").click()
    said = page.locator(".done")
    for line in (f"{asks[0].id} is answered", f"{asks[1].id} is answered", "by person:bob"):
        expect(said).to_contain_text(line)
    assert [web.get(one.id).value for one in asks] == ["Yes", "Yes", "No", None]


@pytest.mark.proves("WEB-37", "LAW-3")
def test_approvals_that_look_different_are_never_answered_together(web, tab):
    first = web.ask("Deploy?", kind="approval", activity="after the tests")
    second = web.ask("Deploy?", kind="approval", activity="without any tests")
    page = tab(f"/asks/{first.id}")
    expect(page.get_by_role("group", name="The same answer")).to_have_count(0)
    page.evaluate(
        """pair => document.getElementById("decide").insertAdjacentHTML("beforeend",
        `<input name="also" value="${pair}">`)""",
        f"{second.id}:{second.digest}",
    )
    button(page, "Approve").click()
    expect(page.get_by_role("alert")).to_contain_text("Not the same question")
    assert web.get(first.id).pending and web.get(second.id).pending


@pytest.mark.proves("WEB-54")
def test_approval_can_last_longer_or_change_the_input(web, tab):
    first, second = push(web), push(web, owner="task-7")
    page = tab(f"/asks/{first.id}")
    page.locator(".split summary").click()
    expect(page.get_by_label("Pattern", exact=True)).to_have_value("Bash(git push *)")
    expect(page.get_by_label("Exactly this one")).to_be_checked()
    button(page, "Approve that many").click()
    expect(page.get_by_role("alert")).to_contain_text("a number from 2 to 1000")
    page.get_by_label("Number of times").fill("3")
    page.get_by_label("Pattern", exact=True).fill("Bash(git push o*)")
    expect(page.get_by_label("All that fit this pattern")).to_be_checked()
    button(page, "Approve that many").click()
    expect(page.locator(".banner.good")).to_contain_text("is approved")
    (grant,) = web.store.rules.in_force()
    assert (grant.pattern, grant.uses_left) == ("Bash(git push o*)", 2)
    page.goto(f"{web.url}/asks/{second.id}")
    page.get_by_text("Change first").click()
    button(page, "Approve as edited").click()
    expect(page.get_by_role("alert")).to_contain_text("The input is unchanged")
    page.get_by_label("The command that runs instead").fill("git push origin dev")
    button(page, "Approve as edited").click()
    expect(page.locator(".banner.good")).to_contain_text("is approved")
    assert web.get(second.id).value == {"input": {"command": "git push origin dev"}}


@pytest.mark.proves("WEB-54")
def test_edit_of_a_file_is_changed_as_text(web, tab):
    given = {"file_path": "/projects/shop/a.py", "old_string": "a = 1", "new_string": "\ta = 2\n"}
    call = make_call("Edit", given, "/projects/shop", "main")
    asked = web.ask("Change a.py?", "claude", kind="approval", call=call)
    page = tab(f"/asks/{asked.id}")
    page.get_by_text("Change first").click()
    text = page.get_by_label("The new text, in place of the old one")
    expect(text).to_have_value("\ta = 2\n")
    text.fill("\ta = 3\n")
    button(page, "Approve as edited").click()
    expect(page.locator(".banner.good")).to_contain_text("is approved")
    assert web.get(asked.id).value == {"input": given | {"new_string": "\ta = 3\n"}}


MOMENTS = {
    "type": "object",
    "properties": {
        "start": {"type": "string", "format": "date-time", "default": "2026-11-15T14:30:00Z"},
        "end": {"type": "string", "format": "date-time", "title": "End"},
    },
}


@pytest.mark.parametrize("scripted", [True, False], ids=["scripted", "plain"])
@pytest.mark.proves("WEB-113")
def test_time_is_chosen_in_zone_of_reader(web, tab, scripted):
    asked = web.ask("When?", kind="form", schema=MOMENTS)
    page = tab(f"/asks/{asked.id}", timezone_id="Asia/Kolkata", java_script_enabled=scripted)
    start, end = page.get_by_label("start"), page.get_by_label("End")
    hint = page.locator(".hint").last
    if scripted:
        expect(start).to_have_value("2026-11-15T20:00")
        expect(hint).to_have_text("in your time zone, Asia/Calcutta")
        end.press_sequentially("11")
        button(page, "Answer").click()
        # Half a date is kept in its field: no answer was sent.
        assert web.get(asked.id).pending
        end.fill("2026-11-16T09:00")
    else:
        expect(start).to_have_value("2026-11-15T14:30:00Z")
        end.fill("2026-11-16T09:00:00+05:30")
    button(page, "Answer").click()
    expect(page.locator(".done")).to_contain_text(f"{asked.id} is answered")
    given = {"start": "2026-11-15T14:30:00Z", "end": "2026-11-16T09:00:00+05:30"}
    assert web.get(asked.id).value == given


@pytest.mark.proves("WEB-113", "LAW-6")
def test_typed_text_without_time_is_kept(web, tab):
    asked = web.ask("When?", kind="form", schema=MOMENTS)
    answer_ask.save_draft(web.store, asked.id, a_person("ada"), '{"end": "tomorrow"}')
    page = tab(f"/asks/{asked.id}")
    expect(page.get_by_label("End")).to_have_value("tomorrow")
    button(page, "Answer").click()
    expect(page.locator(".done")).to_contain_text(f"{asked.id} is answered")
    assert web.get(asked.id).value == {"end": "tomorrow"}


@pytest.mark.proves("WEB-54")
def test_field_that_is_typed_before_the_script_counts(web, tab):
    """On a slow network, a person can type before the script of the page has arrived."""
    ask, held = push(web), []

    def hold(route):
        held.append(route)

    page = tab("/")
    page.route("**/static/gate.js", hold)
    page.goto(f"{web.url}/asks/{ask.id}", wait_until="commit")
    page.locator(".split summary").click()
    page.get_by_label("Pattern", exact=True).fill("Bash(git push o*)")
    expect(page.get_by_label("Exactly this one")).to_be_checked()
    held.pop().continue_()
    expect(page.get_by_label("All that fit this pattern")).to_be_checked()


@SIZES
@pytest.mark.proves("WEB-44", "LAW-6")
def test_error_is_shown_beside_its_field_and_input_stays(web, tab, size):
    asked = web.ask("Where to?", kind="form", schema=FORM)
    page = tab(f"/asks/{asked.id}", size=size)
    page.get_by_label("Host").fill("x")
    page.get_by_label("team").fill("core")
    page.get_by_label("port").fill("80")
    button(page, "More rows: ports").click()
    expect(page.get_by_label("port")).to_have_count(2)
    expect(page.get_by_label("team")).to_have_value("core")
    assert web.store.asks.answers(asked.id) == []
    button(page, "Answer").click()
    alert = page.get_by_role("alert")
    expect(alert).to_be_focused()
    expect(alert.get_by_role("link")).to_have_text(
        ['Host: "x" is shorter than 3 characters', "replicas: is missing"]
    )
    expect(page.get_by_label("Host")).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_label("Host")).to_have_value("x")
    assert Axe().run(page).violations_count == 0
    alert.get_by_role("link").first.click()
    page.get_by_label("Host").fill("example")
    page.get_by_label("replicas").fill("2")
    button(page, "Answer").click()
    expect(page.locator(".banner.good")).to_contain_text("is answered")
    assert web.get(asked.id).value["ports"] == [{"port": 80}]


@pytest.mark.proves("WEB-51")
def test_answer_that_is_sent_twice_counts_once(web, tab):
    asked = web.ask("Which name?")
    page = tab(f"/asks/{asked.id}")
    page.get_by_label("In your words").fill("Open Gate")
    told = page.evaluate(
        """async () => {
          const form = document.getElementById("answer"), body = new URLSearchParams(new FormData(form));
          const read = (text) => new DOMParser().parseFromString(text, "text/html").body.textContent;
          const send = async () => read(await (await fetch(form.action, { method: "POST", body })).text());
          return [await send(), await send()];
        }"""
    )
    assert [f"{asked.id} is answered" in one for one in told] == [True, True]
    assert [one.outcome for one in web.store.asks.answers(asked.id)] == ["settled"]


@pytest.mark.proves("WEB-52", "WEB-104", "WEB-117")
def test_vote_counts_and_a_claimed_name_does_not(web, tab):
    tokens = {name: web.token(name) for name in ("ada", "bob")}
    asked = web.ask("Deploy?", kind="approval", requirement={"all": ["ada", "bob"]})
    page = tab(f"/asks/{asked.id}")
    expect(page.get_by_text("Ask back", exact=True)).to_be_visible()
    expect(button(page, "Approve")).to_have_count(0)
    for name, token in tokens.items():
        page = tab(f"/asks/{asked.id}")
        page.get_by_role("link", name="Sign in with your personal token").click()
        page.get_by_label("personal token").fill(token)
        button(page, "Sign in").click()
        expect(page).to_have_url(f"{web.url}/asks/{asked.id}")
        expect(page.locator("#terms")).to_contain_text("all of ada, bob")
        if name == "bob":
            expect(page.locator("#terms")).to_contain_text("ada: approved")
            expect(page.locator("#list")).not_to_contain_text("you have answered")
        button(page, "Approve").click()
        said = f"answer to {asked.id} counts" if name == "ada" else f"{asked.id} is approved"
        expect(page.locator(".banner.good")).to_contain_text(said)
        expect(page.get_by_role("heading", level=1)).to_have_text(
            "1 waiting for you" if name == "ada" else "Nothing is waiting for you"
        )
        if name == "ada":
            expect(page.locator("#list")).to_contain_text("you have answered, others have not")
    assert web.get(asked.id).decision == "approved"


@pytest.mark.proves("WEB-49", "LAW-6")
def test_answer_after_the_deadline_is_explained_and_kept(web, tab):
    asked = web.ask("Which name?", expires_seconds=3600, hard=True)
    page = tab(f"/asks/{asked.id}", java_script_enabled=False)
    page.get_by_label("In your words").fill("Open Gate")
    over = asked.deadlines._replace(expires_at=web.store.now())
    changed = Change(asked._replace(deadlines=over), ())
    assert web.store.asks.change(changed, asked.version) == Done()
    button(page, "Answer").click()
    expect(page.get_by_role("alert")).to_contain_text("Too late")
    expect(page.get_by_role("alert")).to_contain_text("Open Gate")
    assert [one.outcome for one in web.store.asks.answers(asked.id)] == ["late"]


@pytest.mark.proves("WEB-49", "LAW-6")
def test_message_to_a_gone_asker_is_shown_back(web, tab):
    asked = web.ask("Deploy?", kind="approval")
    page = tab(f"/asks/{asked.id}", java_script_enabled=False)
    page.get_by_text("Ask back").click()
    page.get_by_label("A message to the asker").fill("which build?")
    answer_ask.answer(web.store, asked.id, a_person("bob"), Given("no"))
    button(page, "Send").click()
    expect(page.get_by_role("alert")).to_contain_text("already answered by person:bob")
    expect(page.get_by_role("alert")).to_contain_text("which build?")
    assert web.store.asks.messages(asked.id) == []
