"""`gate tui` on a real store without a terminal; journeys/test_tui_terminal.py has one."""

from __future__ import annotations

import time

import pytest
from tests.support.people import a_person, an_agent
from tests.support.run_records import add_run, answer, ask_of, call
from tests.support.tui_play import lone_ask, play, waiting_run
from textual.widgets import Input, OptionList

from gatebell.app.wiring import open_throwaway_store
from gatebell.cli.main import main
from gatebell.domain.enums import RunState
from gatebell.domain.sessions.visits import Terms
from gatebell.errors import StoreError
from gatebell.services.asks import answer_ask
from gatebell.services.people import manage_people
from gatebell.services.runs import manage_runs
from gatebell.tui import answer_screen as answering_screen, run_rows, run_screen

EVIL = "[red]\x1b[31mOdd[/red] \u202eway?"


@pytest.fixture
def store(tmp_path):
    made = open_throwaway_store(str(tmp_path / "gate.db"))
    yield made
    made.close()


@pytest.fixture(autouse=True)
def no_tick(monkeypatch):
    """Every change on the screen must come from the store or the terminal."""
    monkeypatch.setattr("gatebell.tui.app._TICK_SECONDS", 1000.0)


@pytest.mark.proves("S2-54", "S2-55", "S2-56", "S2-B23", "RUN-540")
@pytest.mark.parametrize("size", [(80, 24), (200, 50)])
def test_list_shows_every_run_and_its_question(store, size):
    assert set(run_rows.STATES) == set(RunState)
    for state in ("completed", "stuck", "failed", "running", "ready"):
        add_run(store, state=state)
    waiting_run(store)
    lone_ask(store, "Which database?")

    async def look(played):
        seen = await played.until("Which database?")
        lines = seen.splitlines()
        assert lines[0].startswith("╭─ Runs ─") and len(lines[0]) == size[0]
        assert lines[1].split() == ["│", "ID", "FLOW", "STATUS", "WAITING", "FOR", "│"]
        words = [" ".join(line.strip("│ ").split()) for line in lines[2:8]]
        assert words == [
            "6 feature ⏸ waiting OAuth or API keys?",
            "5 feature ○ ready -",
            "4 feature ● running -",
            "3 feature ✗ failed -",
            "2 feature ■ stuck -",
            "1 feature ✓ completed -",
        ]
        for part in (
            "Asks without a run",
            "migrator",
            "[↑↓] Navigate  [Enter] Details  [c] Continue",
        ):
            assert part in seen
        assert lines[-1].rstrip().endswith("[q] Quit") and len(lines) == size[1]
        await played.press("down", "enter")
        await played.until("Run 5: feature", "Status: ○ Ready", "No process drives runs now")
        await played.press("escape")
        await played.pilot.resize_terminal(45, 20)
        await played.until("⏸ waiting    OAuth or API k… │")
        await played.press("q")
        assert not played.app.is_running or played.app._exit

    play(store, look, size)


@pytest.mark.proves("RUN-540")
def test_empty_list_says_how_to_start_a_run(store):
    async def look(played):
        await played.until("There are no runs yet. To start one: gate run FLOW PROMPT")
        await played.press("enter", "c", "a")
        lone_ask(store, "Which database?")
        await played.until("Which database?")
        await played.press("c")
        await played.until("does not belong to a run: answer it with gate answer")

    play(store, look)


@pytest.mark.proves("S2-57", "S2-58", "S2-59")
def test_detail_tells_why_a_run_waits_and_its_progress(store):
    waiting_run(store)

    async def look(played):
        await played.press("enter")
        seen = await played.until("Run 1: feature")
        for line in (
            "Status: ⏸ Waiting for human",
            "Agent: coder",
            "Reason: OAuth or API keys?",
            "Waiting: 10 minutes",
            "#1 architect ✓ 2m 15s",
            "#2 coder ⏸ waiting (12m)",
            "[c] Continue (open Claude)  [s] Stop  [o] Open editor  [a] Answer",
        ):
            assert line in seen
        assert "setup" not in seen
        manage_runs.stop(store, 1, a_person(), "enough")
        await played.until("Status: ■ Stuck", "Reason: enough", gone="[s] Stop")

    play(store, look)


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
            f"Recorded: {ask.id} is answered", "No process drives runs now", "○ ready"
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
def test_approval_is_typed_and_enter_means_not_yet(store):
    _, ask = waiting_run(store, "Deploy?", "approval")
    pending = lambda: store.asks.get(ask.id).pending  # noqa: E731 - read twice

    async def act(played):
        await played.press("a")
        await played.until("approve or reject", "Trust: L0")
        await played.press("enter")
        await played.until("still waiting", "Runs")
        await played.press("a", "ctrl+s")
        await played.until("Type approve or reject in full")
        await played.type("sure, go on", "enter", "ctrl+s")
        assert pending()
        played.app.screen.query_one("#decision", Input).value = ""
        await played.press("tab")
        await played.type("looks good", "enter")
        assert pending(), "a note alone decides nothing"
        await played.press("shift+tab")
        await played.type("Approve", "enter")
        assert pending() and played.app.focused.id == "words"
        await played.press("enter")
        await played.until(f"Recorded: {ask.id} is approved")

    play(store, act)
    settled = store.asks.get(ask.id)
    assert (settled.decision, settled.note) == ("approved", "looks good")


@pytest.mark.proves("RUN-543", "LAW-3")
def test_approval_from_an_agents_environment_is_refused(store):
    _, ask = waiting_run(store, "Deploy?", "approval")

    async def act(played):
        await played.press("a")
        await played.type("approve", "enter", "enter")
        await played.until("only a person decides", "CLAUDECODE")

    play(store, act, who=an_agent())
    assert store.asks.get(ask.id).pending


@pytest.mark.proves("RUN-544")
def test_choice_is_picked_and_nothing_is_picked_beforehand(store):
    options = ("PostgreSQL", "[b]SQLite", "Other…")
    first, second, third = (
        lone_ask(store, f"Which database {n}?", "choice", options=options, multiple=n == 3)
        for n in (1, 2, 3)
    )

    async def act(played):
        await played.press("enter")
        await played.until(f"{first.id}: choice")
        await played.press("enter")
        assert store.asks.get(first.id).pending, "Enter alone chooses nothing"
        assert played.app.screen.query_one(OptionList).highlighted is None
        await played.press("down", "down", "enter")
        await played.until(f"Recorded: {first.id} is answered: [b]SQLite")
        await played.press("enter")
        await played.until(f"{second.id}: choice")
        await played.press("up", "enter")
        await played.type("MariaDB", "enter")
        await played.until(f"Recorded: {second.id} is answered: MariaDB")
        await played.press("enter")
        await played.until(f"{third.id}: choice", "[Ctrl+S] Send")
        await played.press("space", "down", "space", "tab")
        await played.type("DuckDB", "ctrl+s")
        await played.until(f"Recorded: {third.id} is answered")

    play(store, act)
    values = [store.asks.get(one.id).value for one in (first, second, third)]
    several = ["PostgreSQL", "[b]SQLite", {"other": "DuckDB"}]
    assert values == ["[b]SQLite", {"other": "MariaDB"}, several]


@pytest.mark.proves("RUN-545")
def test_ask_that_needs_more_than_fields_opens_gate_answer(store, monkeypatch):
    manage_people.add(store, a_person("root"), "ada")
    manage_people.add(store, a_person("root"), "bob")
    both = {"all": ["ada", "bob"]}
    asks = [
        lone_ask(store, "Token?", secret=True),
        lone_ask(store, "Fields?", "form", schema={"properties": {"n": {"type": "integer"}}}),
        lone_ask(store, "Both?", "approval", requirement=both),
    ]
    handed = []
    monkeypatch.setattr(answering_screen, "hand_over", lambda _, __, words: handed.append(words))

    async def act(played):
        for ask in asks:
            await played.press("enter")
            await played.until(f"{ask.id}: {ask.question.kind}", "run gate answer")
            await played.press("enter")
            await played.until("Asks without a run")
            await played.press("down")
        await played.press("enter", "ctrl+t")

    play(store, act)
    assert [words[1:] for words in handed[:3]] == [
        ["-P", "-m", "gatebell", "answer", ask.id] for ask in asks
    ]


@pytest.mark.proves("RUN-557")
def test_enter_opens_a_session_and_ctrl_t_answers(store, monkeypatch):
    ask = lone_ask(store, "Is it ready?", "session", session=Terms("approval"))
    handed = []
    monkeypatch.setattr(answering_screen, "hand_over", lambda _, __, words: handed.append(words))

    async def act(played):
        for key in ("enter", "ctrl+t"):
            await played.press("enter")
            await played.until("[Enter] gate continue", "[Ctrl+T] gate answer")
            await played.press(key)
            await played.until("Asks without a run")

    play(store, act)
    assert [words[-2:] for words in handed] == [["continue", ask.id], ["answer", ask.id]]


@pytest.mark.proves("RUN-546")
def test_screen_follows_the_store(store):
    run, ask = waiting_run(store)
    other = lone_ask(store, "Which database?")

    async def act(played):
        answer(store, other, "SQLite")
        await played.until("⏸ waiting", gone="Which database?")
        await played.press("a")
        await played.type("API keys")
        answer(store, ask, "OAuth", who="bob")
        await played.until(f"{ask.id} was already answered by person:bob")
        await played.press("ctrl+s")
        await played.until(f"{ask.id} was already answered by person:bob")
        await played.press("escape")
        await played.until("○ ready")
        manage_runs.delete(store, manage_runs.stop(store, run.id, a_person(), "x").id, a_person())
        await played.until("There are no runs yet")

    play(store, act)
    late = [one for one in store.asks.answers(ask.id) if one.outcome == "late"]
    assert [one.value for one in late] == ["API keys"], "and it is kept"


@pytest.mark.proves("RUN-547", "S2-50")
def test_run_is_stopped_for_a_typed_reason_only(store):
    run, ask = waiting_run(store)

    async def act(played):
        await played.press("enter", "s")
        await played.until("Stop Run 1", "This ends its agents and cancels its asks")
        await played.press("enter")
        await played.until("Type a reason to stop the run")
        await played.press("escape", "s")
        assert store.runs.get(run.id).state == "waiting_human"
        await played.type("wrong branch", "enter")
        await played.until("Run 1 marked as stuck: wrong branch", "Status: ■ Stuck")
        await played.press("s")
        await played.type("again", "enter")
        await played.until("run 1 has already ended (stuck)")

    play(store, act)
    assert store.asks.get(ask.id).status == "cancelled"


@pytest.mark.proves("S2-B13", "S2-58")
def test_editor_key_opens_the_runs_folder_once(store, monkeypatch, tmp_path):
    folder = tmp_path / "a folder"
    folder.mkdir()
    waiting_run(store)
    add_run(store, state="completed", folder=str(folder))
    opened = []
    monkeypatch.setattr(
        run_screen, "hand_over", lambda _, __, words, cwd: opened.append((words, cwd))
    )
    monkeypatch.setenv("VISUAL", "code --wait")

    async def act(played):
        await played.press("o")
        assert opened == []
        await played.press("down", "enter", "o")
        await played.until("Run 2: feature")
        assert opened == [(["/bin/sh", "-c", 'code --wait "$1"', "gate", str(folder)], str(folder))]
        folder.rmdir()
        await played.press("o")
        await played.until("the folder of run 2 was removed")
        monkeypatch.delenv("VISUAL")
        monkeypatch.setenv("PATH", "/nowhere")
        monkeypatch.delenv("EDITOR", raising=False)
        await played.press("o")
        await played.until("set $VISUAL or $EDITOR")
        assert len(opened) == 1

    play(store, act)


@pytest.mark.proves("RUN-548", "LAW-8")
def test_text_of_agents_is_neither_markup_nor_a_command(store):
    _, ask = waiting_run(store, EVIL, activity=EVIL, context=EVIL)
    add_run(store, flow="[link]\x1b]0;x", state="failed", reason=EVIL, error=EVIL)
    lone_ask(store, EVIL, "choice", options=(EVIL, "b"))
    inert = "[red]␛[31mOdd[/red] ‹U+202E›way?"

    async def act(played):
        seen = await played.until(inert, "[link]␛]0;x")
        assert seen.count(inert) == 2
        await played.press("enter")
        await played.until(f"Reason: {inert}")
        await played.press("a")
        seen = await played.until(f"{ask.id}: text")
        assert seen.count(f"│ {inert}") == 3
        await played.press("escape", "escape", "tab", "enter")
        await played.until("choice", f"1. {inert}")
        assert played.seen().count(inert) == 3
        await played.press("escape", "shift+tab", "down", "enter")
        seen = await played.until("Run 2: [link]␛]0;x", f"Reason: {inert}")
        assert "\x1b" not in seen and "\u202e" not in seen

    play(store, act)


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


@pytest.mark.proves("RUN-549", "LAW-10")
def test_store_error_is_shown_until_the_store_works_again(store, monkeypatch):
    _, ask = waiting_run(store)

    async def act(played):
        def problem(*_, **__):
            raise StoreError("the store has a problem: look at the disk")

        with monkeypatch.context() as away:
            for name in ("newest", "get"):
                away.setattr(store.runs, name, problem)
            played.app.on_changed()
            await played.until("the store has a problem: look at the disk", "OAuth or API keys?")
            await played.press("c", "a", "enter")
            await played.until("the store has a problem")
        await played.press("escape")
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
        await played.press("a")
        await played.until("Run 1 waits for several answers")
        await played.press("escape", "a", "down", "enter")
        await played.until(f"{second.id}: text")
        await played.type("blue", "ctrl+s")
        await played.until(f"Recorded: {second.id}", "OAuth or API keys?")

    play(store, act)
    assert store.asks.get(first.id).pending and store.asks.get(second.id).value == "blue"


@pytest.mark.proves("RUN-551")
def test_run_without_a_session_says_so(store):
    run = add_run(
        store, [call(store, "1", "pause", "Ship?", state="waiting")], state="waiting_human"
    )
    ask_of(store, run.id, "1", "Ship?", "approval")
    add_run(store, state="running")

    async def act(played):
        await played.press("c")
        await played.until("Run 2 has no open question.")
        await played.press("down", "c")
        await played.until("there is no session to open in run 1")
        await played.press("enter")
        await played.until("Agent: -", gone="[c] Continue")

    play(store, act)


@pytest.mark.proves("RUN-552", "LAW-10")
def test_tui_names_a_missing_terminal_or_textual(world, monkeypatch, capsys):
    ran = world.plain.gate("tui")
    assert ran.code == 2 and "needs a terminal; use gate list and gate inbox" in ran.err
    monkeypatch.setenv("GATE_STORE", world.path)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert main(["tui"]) == 2
    assert "pip install 'gatebell[tui]'" in capsys.readouterr().err


@pytest.mark.proves("RUN-553", "S2-P1")
def test_bare_gate_is_the_inbox_without_a_full_terminal(world, monkeypatch, capsys):
    add_run(world.store, state="running")
    assert "Nothing is waiting" in world.plain.gate().out, "through a pipe"
    monkeypatch.setenv("GATE_STORE", world.path)
    monkeypatch.setenv("TERM", "xterm")
    for stream in ("stdin", "stdout"):
        monkeypatch.setattr(f"sys.{stream}.isatty", lambda: True)
    with monkeypatch.context() as without:
        without.setattr("importlib.util.find_spec", lambda _: None)
        assert main([]) == 0 and "Nothing is waiting" in capsys.readouterr().out
    monkeypatch.setenv("TERM", "dumb")
    assert main([]) == 0 and "Nothing is waiting" in capsys.readouterr().out


@pytest.mark.proves("RUN-554")
def test_duration_has_two_units():
    spoken = {0.4: "0s", 59: "59s", 60: "1m", 135: "2m 15s", 3600: "1h", 11100: "3h 5m"}
    assert {seconds: run_rows.describe_duration(seconds) for seconds in spoken} == spoken
    assert run_rows.describe_duration(90000) == "1d 1h"
