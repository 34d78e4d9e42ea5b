"""Answering in `gate tui`, on a real store without a terminal."""

from __future__ import annotations

import json
import time

import pytest
from tests.support.past_calls import ask_about, decide
from tests.support.people import a_person, an_agent
from tests.support.run_records import answer, ask_of
from tests.support.tui_play import lone_ask, play, store, waiting_run
from textual.widgets import Input

from gatebell.domain.asks.answers import Given
from gatebell.domain.permissions.calls import make_call
from gatebell.domain.sessions.visits import Terms
from gatebell.errors import StoreError
from gatebell.services.asks import answer_ask
from gatebell.services.people import manage_people
from gatebell.services.runs import manage_runs
from gatebell.tui import answer_screen
from gatebell.tui.choices import Choices, YesOrNo

__all__ = ["store"]

RED, GREEN = 1, 2
FORM = {
    "type": "object",
    "properties": {
        "version": {"type": "string", "description": "as in the tag"},
        "public": {"type": "boolean"},
        "channel": {"enum": ["stable", "beta"]},
        "count": {"type": "integer"},
    },
    "required": ["version", "public"],
}


@pytest.mark.proves("RUN-541", "LAW-6")
def test_text_is_answered_in_place_or_kept_unsent(store):
    _, ask = waiting_run(store)

    async def act(played):
        await played.press("a")
        await played.until(f"{ask.id}: text", "│ OAuth or API keys?", "[Ctrl+S] Send")
        await played.press("ctrl+s")
        await played.until("The answer is empty")
        await played.type("OAuth", "escape")
        await played.until(
            f"Not answered; {ask.id} is still waiting. Your text is kept as a draft."
        )
        assert answer_ask.draft(store, ask.id, a_person()) == "OAuth"
        await played.press("a")
        await played.until("Your last draft is filled in.")
        await played.press("enter")
        await played.type("[b]PKCE", "ctrl+s")
        await played.until(
            f"Recorded: {ask.id} is answered", "No process drives runs now", "Nothing is waiting"
        )

    play(store, act)
    settled = store.asks.get(ask.id)
    assert (settled.value, settled.settled_by) == ("OAuth\n[b]PKCE", "person:ada")
    assert store.runs.get(1).state == "ready"


@pytest.mark.proves("RUN-541", "LAW-6")
def test_typed_text_is_saved_while_typing_and_on_exit(store):
    _, ask = waiting_run(store)
    saved = []

    async def act(played):
        await played.press("a")
        await played.type("OAu")
        until = time.monotonic() + 10
        while not saved and time.monotonic() < until:
            saved.extend(filter(None, [answer_ask.draft(store, ask.id, a_person())]))
            await played.pilot.pause(0.05)
        await played.type("th", "ctrl+c")

    play(store, act)
    assert saved == ["OAu"] and answer_ask.draft(store, ask.id, a_person()) == "OAuth"


@pytest.mark.proves("RUN-542", "LAW-3")
def test_approval_needs_a_letter_and_then_enter(store):
    _, ask = waiting_run(store, "Deploy?", "approval")
    pending = lambda: store.asks.get(ask.id).pending  # noqa: E731 - read often

    async def act(played):
        await played.press("a")
        await played.until("( ) y  Yes, approve it", "( ) n  No, reject it", "Trust: L0")
        await played.press("enter")
        await played.until("still waiting", "Waiting for you (1)")
        await played.press("a", "ctrl+s")
        await played.until("Press y or n, then Enter")
        await played.press("down", "space", "1", "2", "ctrl+s")
        assert played.app.screen.query_one(YesOrNo).decision is None, "only letters decide"
        await played.press("tab")
        await played.type("y, looks good", "enter")
        assert pending(), "a note alone decides nothing"
        await played.press("shift+tab", "n")
        await played.until("(•) n  No, reject it", "Enter: reject")
        await played.press("y")
        await played.until("(•) y  Yes, approve it", "Enter: approve")
        assert pending(), "one key never decides"
        await played.press("enter")
        await played.until(f"Recorded: {ask.id} is approved")

    play(store, act)
    settled = store.asks.get(ask.id)
    assert (settled.decision, settled.note) == ("approved", "y, looks good")


@pytest.mark.proves("RUN-542", "TUI-4", "LAW-3")
def test_letters_and_numbers_in_the_list_only_mark(store):
    first = lone_ask(store, "Deploy?", "approval")
    second = lone_ask(store, "Which?", "choice", options=("a", "b"))

    async def act(played):
        await played.press("1")
        await played.until(f"Numbers choose options. To answer {first.id} (approval), press a.")
        await played.press("n")
        await played.until(f"{first.id}: approval", "(•) n  No, reject it")
        await played.press("escape", "n")
        assert store.asks.get(first.id).pending
        await played.press("enter")
        await played.until(f"Recorded: {first.id} is rejected")
        await played.press("2")
        await played.until(f"{second.id}: choice", "(•) 2. b", "Enter: b")
        assert store.asks.get(second.id).pending
        await played.press("enter")
        await played.until(f"Recorded: {second.id} is answered: b")

    play(store, act)
    assert store.asks.get(second.id).value == "b"


@pytest.mark.proves("TUI-3", "LAW-4")
def test_smallest_screen_shows_the_call_of_an_approval(store):
    call = make_call("Bash", {"command": "git push origin main"}, "/p")
    lone_ask(store, "Run a command?", "approval", call=call)

    async def act(played):
        await played.press("y")
        await played.until("(•) y", "│ command: git push origin main", "Run a command?")

    play(store, act, (40, 12))


@pytest.mark.proves("TUI-5", "LAW-4")
def test_key_for_a_row_that_went_away_does_nothing(store):
    first, second = (lone_ask(store, f"Deploy {n}?", "approval") for n in (1, 2))

    async def act(played):
        await played.until("Deploy 1?")
        answer_ask.answer(store, first.id, a_person("bob"), Given("approved"))
        await played.until("Waiting for you (1)", gone="Deploy 1?")
        await played.press("y")
        await played.until(f"The row that you had chosen is gone. For {second.id}")
        await played.press("enter", "enter")
        await played.until("still waiting")
        assert store.asks.get(second.id).pending

    play(store, act)


@pytest.mark.proves("RUN-543", "LAW-3")
def test_approval_from_an_agents_environment_is_refused(store):
    _, ask = waiting_run(store, "Deploy?", "approval")

    async def act(played):
        await played.press("y", "enter")
        await played.until("only a person decides", "CLAUDECODE")

    play(store, act, who=an_agent())
    assert store.asks.get(ask.id).pending


@pytest.mark.proves("RUN-544")
def test_marked_option_is_the_one_that_is_sent(store):
    options = ("PostgreSQL", "[b]SQLite", "Other…")
    first, second, third = (
        lone_ask(store, f"Which database {n}?", "choice", options=options, multiple=n == 3)
        for n in (1, 2, 3)
    )

    async def act(played):
        await played.press("enter")
        await played.until(f"{first.id}: choice", "> ( ) 1. PostgreSQL")
        await played.press("enter")
        await played.until("Nothing is chosen yet")
        assert store.asks.get(first.id).pending, "Enter alone chooses nothing"
        await played.press("down")
        await played.until("  ( ) 1. PostgreSQL", "> (•) 2. [b]SQLite", "Enter: [b]SQLite")
        await played.press("enter")
        await played.until(f"Recorded: {first.id} is answered: [b]SQLite")
        await played.press("enter")
        await played.until(f"{second.id}: choice")
        await played.press("3", "enter")
        await played.type("MariaDB", "enter")
        await played.until(f"Recorded: {second.id} is answered: MariaDB")
        await played.press("enter")
        await played.until(f"{third.id}: choice", "[1-9 Space] Choose")
        await played.press("space", "down", "2", "tab")
        await played.type("DuckDB", "ctrl+s")
        await played.until(f"Recorded: {third.id} is answered")

    play(store, act)
    values = [store.asks.get(one.id).value for one in (first, second, third)]
    several = ["PostgreSQL", "[b]SQLite", {"other": "DuckDB"}]
    assert values == ["[b]SQLite", {"other": "MariaDB"}, several]


@pytest.mark.proves("TUI-18", "RUN-544")
def test_text_after_other_is_the_answer(store):
    options = ("Red", "Other…")
    first, second = (lone_ask(store, f"{n}?", "choice", options=options) for n in "ab")

    async def act(played):
        await played.press("2")
        await played.until(f"{first.id}: choice", "(•) 2. Other…", "Enter: Other…")
        await played.press(*"blood", "enter")
        await played.until(f"Recorded: {first.id} is answered: blood")
        await played.press("enter", "down", "down")
        await played.until("(•) 2. Other…")
        await played.press(*"sea")
        await played.until("Enter: sea")
        await played.press("up")
        await played.until("(•) 1. Red", "Enter: Red", "sea")
        await played.press("tab")
        await played.until("(•) 2. Other…", "Enter: sea")
        await played.press("enter")
        await played.until(f"Recorded: {second.id} is answered: sea")

    play(store, act)


@pytest.mark.proves("TUI-6")
def test_options_are_clicked_and_sent_with_enter(store):
    ask = lone_ask(store, "Which?", "choice", options=("a", "b", "c"))

    async def act(played):
        await played.press("enter")
        await played.until("3. c")
        await played.pilot.click(Choices, offset=(4, 2))
        await played.until("(•) 3. c")
        await played.press("enter")
        await played.until(f"Recorded: {ask.id} is answered: c")

    play(store, act)


@pytest.mark.proves("RUN-545", "LAW-6", "TUI-17")
def test_form_and_secret_are_answered_in_place(store):
    secret = lone_ask(store, "Token?", secret=True)
    form = lone_ask(store, "Release?", "form", schema=FORM)
    nested = {"type": "object", "properties": {"a": {"type": "array"}}}
    other = lone_ask(store, "Which?", "form", schema=nested)

    async def act(played):
        await played.press("enter")
        await played.type("hunter2")
        await played.until("•••••••", gone="hunter2")
        await played.press("escape")
        await played.until("still waiting.", gone="kept as a draft")
        await played.press("enter")
        await played.until("Not shown, not kept")
        await played.type("hunter2", "enter")
        await played.until(f"Recorded: {secret.id}")
        await played.press("enter")
        await played.until("version (text) as in the tag", "channel (stable or beta, optional)")
        await played.type("2.1", "enter", "2", "enter", "escape")
        assert json.loads(answer_ask.draft(store, form.id, a_person())) == {
            "version": "2.1",
            "public": False,
        }
        await played.press("enter")
        await played.until("Your last draft is filled in.", "2.1", "(•) 2. no")
        await played.press("enter")
        await played.until("> (•) 2. no")
        await played.press("enter", "down", "enter")
        await played.type("many", "enter")
        await played.until("Refused, but kept")
        played.app.screen.query_one("#field-3", Input).value = "3"
        await played.press("enter")
        await played.until(f"Recorded: {form.id}")
        await played.press("enter")
        await played.until("The answer is a form, or JSON, with")
        await played.press("ctrl+s")
        await played.until("The form is empty")
        played.app.screen.query_one("#words").text = "[1"
        await played.press("ctrl+s")
        await played.until("This is not JSON yet")
        played.app.screen.query_one("#words").text = '{"a": [1]}'
        await played.press("ctrl+s")
        await played.until(f"Recorded: {other.id}")

    play(store, act, (80, 40))
    values = {"version": "2.1", "public": False, "channel": "beta", "count": 3}
    assert store.asks.get(form.id).value == values
    assert store.asks.get(other.id).value == {"a": [1]}
    assert not store.asks.get(secret.id).pending
    assert answer_ask.draft(store, secret.id, a_person()) == ""


@pytest.mark.proves("TUI-15")
def test_form_begins_with_its_defaults_and_shows_names(store):
    fields = {f"f{number}": {"type": "string"} for number in range(1, 9)}
    fields["f2"]["default"] = "usual"
    form = lone_ask(store, "Release?", "form", schema={"type": "object", "properties": fields})

    async def act(played):
        await played.press("enter")
        await played.until("f1 (text", "usual", "[Ctrl+S] Send  [Enter] Next")
        await played.press("escape")
        await played.until("still waiting.", gone="kept as a draft")
        await played.press("enter")
        await played.until("f1 (text")
        await played.type("x", *["enter"] * 7)
        await played.until("f8 (text", "[Ctrl+S] Send  [Enter] Send", gone="f1 (text")
        await played.pilot.resize_terminal(40, 12)
        await played.until("[Ctrl+S] Send")
        await played.press(*["shift+tab"] * 7)
        await played.until("f1 (text")
        await played.press("ctrl+s")
        await played.until(f"Recorded: {form.id}")

    play(store, act, (80, 24))
    assert store.asks.get(form.id).value == {"f1": "x", "f2": "usual"}


@pytest.mark.proves("RUN-545")
def test_ask_for_several_people_counts_each_answer(store, monkeypatch):
    manage_people.add(store, a_person("root"), "ada")
    manage_people.add(store, a_person("root"), "bob")
    ask = lone_ask(store, "Both?", "approval", requirement={"all": ["ada", "bob"]})
    handed = []
    monkeypatch.setattr(answer_screen, "hand_over", lambda _, __, words: handed.append(words))

    async def act(played):
        await played.press("enter", "ctrl+t")
        await played.until("Waiting for you (1)")
        await played.press("y", "enter")
        await played.until("is not settled yet", "Waiting for you (1)")

    play(store, act, who=a_person(verified=True))
    assert [words[1:] for words in handed] == [["-P", "-m", "gatebell", "answer", ask.id]]
    assert [one.principal for one in store.asks.answers(ask.id)] == ["person:ada"]


@pytest.mark.proves("RUN-557")
def test_enter_opens_a_session_and_ctrl_t_answers(store, monkeypatch):
    ask = lone_ask(store, "Is it ready?", "session", session=Terms("approval"))
    handed = []
    monkeypatch.setattr(answer_screen, "hand_over", lambda _, __, words: handed.append(words))

    async def act(played):
        for key in ("enter", "ctrl+t"):
            await played.press("enter")
            await played.until("[Enter] gate continue", "[Ctrl+T] gate answer")
            await played.press(key)
            await played.until("Waiting for you (1)")

    play(store, act)
    assert [words[-2:] for words in handed] == [["continue", ask.id], ["answer", ask.id]]


@pytest.mark.proves("TUI-7", "CLI-34")
def test_asker_is_asked_back_and_the_ask_stays(store):
    ask = lone_ask(store, "Deploy?", "approval")

    async def act(played):
        await played.press("b")
        await played.until(
            f"Ask back: {ask.id}", "stays open for an answer", "not be able to reply"
        )
        await played.press("enter")
        await played.until("Type a message")
        await played.type("To which host?", "ctrl+s")
        await played.until(f"Sent to migrator; {ask.id} is still waiting.", "To which host?")
        await played.press("a", "b", "escape", "escape")
        await played.until("Waiting for you (1)")

    play(store, act)
    assert [one.text for one in store.asks.messages(ask.id)] == ["To which host?"]


@pytest.mark.proves("RUN-546")
def test_screen_follows_the_store(store):
    run, ask = waiting_run(store)
    other = lone_ask(store, "Which database?")

    async def act(played):
        await played.until("Which database?")
        answer(store, other, "SQLite")
        await played.until("OAuth or API keys?", gone="Which database?")
        await played.press("a")
        await played.type("API keys")
        answer(store, ask, "OAuth", who="bob")
        await played.until(f"{ask.id} was already answered by person:bob")
        await played.press("ctrl+s")
        await played.until(f"{ask.id} was already answered by person:bob")
        await played.press("escape", "tab")
        await played.until("○ ready")
        manage_runs.delete(store, manage_runs.stop(store, run.id, a_person(), "x").id, a_person())
        await played.until("There are no runs yet")

    play(store, act)
    late = [one for one in store.asks.answers(ask.id) if one.outcome == "late"]
    assert [one.value for one in late] == ["API keys"], "and it is kept"


@pytest.mark.proves("RUN-556", "LAW-4")
def test_ask_wider_than_the_screen_hides_nothing(store):
    letters = "".join(chr(ord("A") + number % 26) for number in range(26 * 8))
    lone_ask(store, "Deploy?", "approval", context="\n" * 30 + letters)

    async def act(played):
        await played.press("enter")
        await played.until("Deploy?")
        for _ in range(4):
            await played.press("pagedown")
        seen = await played.until(letters[-20:])
        shown = "".join(part for part in seen if part in letters)
        assert letters in shown

    play(store, act)


@pytest.mark.proves("TUI-2", "LAW-4")
def test_edit_is_previewed_and_asked_as_its_diff(store, tmp_path):
    path = str(tmp_path / "login.py")
    change = {"file_path": path, "old_string": "pass", "new_string": "import pkce"}
    call = make_call("Edit", change, str(tmp_path))
    lone_ask(store, "Edit login.py?", "approval", project=str(tmp_path), call=call)

    async def act(played):
        await played.until("The call: Edit", "+1 -1", "- pass", "+ import pkce")
        colours = {
            part.text.strip(): part.style.color.number
            for strip in played.app.screen._compositor.render_strips()
            for part in strip
            if part.style and part.style.color
        }
        assert (colours["- pass"], colours["+ import pkce"]) == (RED, GREEN)
        await played.press("enter")
        await played.until("- pass", "+ import pkce", "( ) y  Yes")

    play(store, act, (80, 40))


@pytest.mark.proves("RUN-549", "LAW-10")
def test_store_error_is_shown_until_the_store_works_again(store, monkeypatch):
    _, ask = waiting_run(store)

    async def act(played):
        def problem(*_, **__):
            raise StoreError("the store has a problem: look at the disk")

        await played.until("OAuth or API keys?")
        with monkeypatch.context() as away:
            for name in ("pending", "get"):
                away.setattr(store.asks, name, problem)
            played.app.on_changed()
            await played.until("the store has a problem: look at the disk", "OAuth or API keys?")
            await played.press("c", "a", "enter")
            await played.until("the store has a problem")
        played.app.on_changed()
        await played.until("[q] Quit")
        await played.press("a")
        await played.type("OAuth")
        with monkeypatch.context() as away:
            away.setattr(store.asks, "change", problem)
            away.setattr(store.asks, "save_draft", problem)
            await played.press("ctrl+s")
            await played.until("the store has a problem", "OAuth")
        await played.press("ctrl+s")
        await played.until(f"Recorded: {ask.id}")

    play(store, act)


@pytest.mark.proves("RUN-550")
def test_person_picks_one_of_several_asks_of_a_run(store):
    run, first = waiting_run(store)
    second = ask_of(store, run.id, "2", "Which colour?")

    async def act(played):
        await played.press("tab", "a")
        await played.until("Run 1 waits for several answers")
        await played.press("escape", "a", "down", "enter")
        await played.until(f"{second.id}: text")
        await played.type("blue", "ctrl+s")
        await played.until(f"Recorded: {second.id}", "OAuth or API keys?")

    play(store, act)
    assert store.asks.get(first.id).pending and store.asks.get(second.id).value == "blue"


@pytest.mark.proves("LESS-11", "LESS-7")
@pytest.mark.parametrize("size", [(100, 40), (40, 12)])
def test_capital_letter_allows_a_kind_of_call_always(store, size):
    for number in range(3):
        decide(store, f"npm test {number}")
    ask = ask_about(store, "npm test x")

    async def act(played):
        await played.press("y")
        await played.until("(•) y", "npm test x")
        played.app.screen.query_one(YesOrNo).focus()
        await played.press("A")
        if size == (100, 40):
            await played.until(
                "(•) A  Yes. Always allow Bash(npm test *) in this project: it would have answered 3 past",
                "asks (3 approved, 0 rejected)", "Enter: approve always",
            )  # fmt: skip
        assert store.asks.get(ask.id).pending
        await played.press("enter")
        await played.until(f"Recorded: {ask.id} is approved")

    play(store, act, size)
    (grant,) = store.rules.in_force()
    assert (grant.pattern, grant.is_standing, grant.ask_id) == ("Bash(npm test *)", True, ask.id)


@pytest.mark.proves("LESS-11")
def test_call_without_a_safe_kind_has_no_offer(store):
    ask = ask_about(store, "git push")

    async def act(played):
        await played.press("y")
        await played.until("(•) y", "git push")
        await played.press("A", "enter")
        await played.until(f"Recorded: {ask.id} is approved")

    play(store, act)
    assert store.rules.in_force() == []
