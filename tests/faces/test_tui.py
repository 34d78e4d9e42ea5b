"""The lists and runs of `gate tui` without a terminal; journeys/test_tui_terminal.py has one."""

from __future__ import annotations

import asyncio
import re
from functools import partial

import pytest
from rich.color import ColorType
from rich.text import Text
from tests.support.people import a_person
from tests.support.run_records import DIFF, add_run, answer, ask_of, call, turn
from tests.support.tui_play import lone_ask, play, store, waiting_run
from textual.app import App

from gatebell.adapters.files.run_log import RunLogFiles
from gatebell.app import runtime
from gatebell.cli.main import main
from gatebell.domain.enums import RunState
from gatebell.services.asks import create_ask
from gatebell.services.runs import manage_runs
from gatebell.services.tasks import backlog
from gatebell.tui import run_rows, store_view, work_screen
from gatebell.tui.row_list import Row, RowList
from gatebell.tui.tab_line import TabLine

__all__ = ["store"]

EVIL = "[red]\x1b[31mOdd[/red] \u202eway?"


@pytest.mark.proves("S2-54", "S2-55", "S2-56", "S2-B23", "RUN-540")
@pytest.mark.parametrize("size", [(80, 24), (200, 50)])
def test_list_shows_every_run_and_its_question(store, size):
    assert set(run_rows.STATES) == set(RunState)
    for state in ("completed", "stuck", "failed", "running", "ready"):
        add_run(store, state=state, reason="no way" if state == "stuck" else "")
    waiting_run(store)

    async def look(played):
        await played.press("tab")
        seen = await played.until("╭─ Runs ─", "Run 6: feature", "#2 coder ‖ waiting")
        listed = [" ".join(line.split("│")[1].split()) for line in seen.splitlines()[2:9]]
        # On a busy machine the runs are older.
        words = [re.sub(r"\b\d+s\b", "0s", line) for line in listed]
        assert words == [
            "ID FLOW STATUS AGE WAITING FOR",
            "6 feature: Add login ‖ waiting 0s OAuth or API keys?",
            "5 feature: Add login ○ ready 0s -",
            "4 feature: Add login ● running 0s -",
            "3 feature: Add login ✗ failed 0s -",
            "2 feature: Add login ■ stuck 0s no way",
            "1 feature: Add login ✓ completed 0s -",
        ]
        assert "[↑↓] Navigate  [Enter] Details  [c] Continue  [a] Answer" in seen
        lines = seen.splitlines()
        assert lines[-1].rstrip().endswith("[q] Quit") and len(lines) == size[1]
        await played.press("down", "enter")
        await played.until("Run 5: feature", "Status: ○ Ready", "No process drives runs now")
        await played.press("escape")
        await played.pilot.resize_terminal(45, 20)
        await played.until("feature: Ad…  ‖ waiting", "OAuth")
        await played.pilot.resize_terminal(40, 12)
        await played.until("feature: Add lo…  ‖ waiting", gone="WAI")
        await played.press("q")
        assert not played.app.is_running or played.app._exit

    play(store, look, size)


@pytest.mark.proves("TUI-1", "S0-P7")
def test_waiting_asks_are_grouped_by_project(store):
    waiting_run(store)
    lone_ask(store, "Deploy?", "approval", project="/projects/shop", expires_seconds=240.0)
    lone_ask(store, "Which file?", project="/projects/shop")

    async def look(played):
        await played.until("Waiting for you (3)", "╭─ Waiting for you ─", "│ OAuth or API keys?")
        assert [re.sub(r"^\ds", "0s", line) for line in played.lines()[2:8]] == [
            "AGE DUE FROM KIND QUESTION",
            "p (1)",
            "0s - feature: Add login text OAuth or API keys?",
            "shop (2)",
            "0s 3m migrator approval Deploy?",
            "0s - migrator text Which file?",
        ]
        await played.press("j")
        await played.until("Times out in")
        await played.press("G")
        await played.until("│ Which file?")
        await played.press("k", "g")
        await played.until("│ OAuth or API keys?")

    play(store, look)


@pytest.mark.proves("TUI-3")
@pytest.mark.parametrize("size", [(40, 12), (60, 15), (80, 24), (120, 30), (200, 50)])
def test_every_size_shows_the_asks_without_cut_lines(store, size):
    ask = lone_ask(store, "Which database?", context="word " * 200)
    for number in range(60):
        lone_ask(store, f"Question {number} " + "is long " * 20)

    async def look(played):
        await played.until("Which database?", "[Enter] Answer", "[q] Quit")
        for key in ("tab", "tab", "tab", "tab", "G", "enter"):
            await played.press(key)
            lines = played.seen().splitlines()
            assert len(lines) <= size[1] and max(map(len, lines)) <= size[0]
            bars = [one.show_horizontal_scrollbar for one in played.app.screen.query("*")]
            assert not any(bars)
        assert re.search(r"ago by (migrator|mi\w*…)", " ".join(played.lines()))
        await played.press("escape", "g")
        shown = await played.until("Which database?")
        has_preview = f"╭─ {ask.id} ─" in shown
        assert has_preview == (size[1] > 16)
        is_beside = any("╮╭" in line for line in shown.splitlines())
        assert is_beside == (size[0] == 200)

    play(store, look, size)


@pytest.mark.proves("TUI-14")
def test_colours_are_those_of_the_terminal(store):
    waiting_run(store, context=DIFF)
    lone_ask(store, "Deploy?", "approval", expires_seconds=60.0)

    def find_colours(played):
        strips = played.app.screen._compositor.render_strips()
        styles = [part.style for strip in strips for part in strip if part.style]
        return {one for style in styles for one in (style.color, style.bgcolor) if one}

    async def look(played):
        await played.until("+import pkce")
        for keys in (("tab",), ("enter",), ("a",), ("escape", "s")):
            assert {one.type for one in find_colours(played)} <= {
                ColorType.DEFAULT,
                ColorType.STANDARD,
            }
            await played.press(*keys)

    play(store, look, (80, 40))


@pytest.mark.proves("TUI-8")
def test_filter_shows_only_rows_with_a_text(store):
    for name in ("red", "Green", "[blue"):
        lone_ask(store, f"Is it {name}?", project="/p/shop")
    lone_ask(store, "Is it warm?", project="/p/bath")

    async def act(played):
        await played.until("Is it red?", "shop (3)", "bath (1)")
        await played.press("slash")
        await played.type("GREEN")
        await played.until("Is it Green?", "1 row with GREEN", "shop (1)", gone="bath")
        await played.press("enter", "enter")
        await played.until("│ Is it Green?", "Your answer")
        await played.press("escape", "escape")
        await played.until("Is it red?", "shop (3)", gone="1 row with")
        await played.press("slash", *"blue?/")
        await played.until("0 rows with blue?/")
        await played.press("backspace")
        await played.until("1 row with blue?")
        await played.press("escape")
        await played.until("Is it red?")
        await played.press("slash")
        await played.type("nothing like it")
        await played.until("0 rows with nothing like it", gone="Is it red?")
        await played.press("enter", "enter", "y", "a", "c", "o", "tab", "shift+tab")
        assert len(played.app.screen_stack) == 2, "without a row, keys do nothing"

    play(store, act)


@pytest.mark.proves("TUI-9")
def test_tasks_and_history_have_lists_of_their_own(store):
    task = backlog.create(store, "/p", a_person(), {"title": "Add login", "description": "PKCE"})
    old = lone_ask(store, "Which way?")
    answer(store, old, "left")

    async def act(played):
        await played.until("Nothing is waiting for you")
        await played.press("tab", "tab")
        await played.until(f"{task.id}", "P2  ○ open", "Add login", "│ PKCE")
        await played.press("enter")
        await played.until(f"╭─ {task.id} ─", "[Esc] Back", "│ PKCE")
        await played.press("l")
        await played.until(f"{task.id} does not belong to a run")
        await played.press("o")
        await played.until(f"no run has worked on {task.id} yet")
        await played.press("escape", "right")
        await played.until("left", "Which way?", "│ left")
        assert "0s left migrator Which way?" in re.sub(r"\d+s", "0s", "\n".join(played.lines()))
        await played.press("enter")
        await played.until(f"╭─ {old.id} ─", "Answered by person:ada")
        await played.press("a")
        await played.until(f"{old.id} was already answered by person:ada")

    play(store, act)


@pytest.mark.proves("TUI-6")
def test_mouse_opens_tabs_rows_and_presses_keys(store):
    run, ask = waiting_run(store)
    second = lone_ask(store, "Which database?")

    async def act(played):
        await played.until("Which database?")
        await played.pilot.click("#waiting", offset=(5, 4))
        await played.until(f"╭─ {second.id} ─")
        await played.pilot.click("#waiting", offset=(5, 4), times=2)
        await played.until(f"{second.id}: text")
        line = played.seen().splitlines()[-1]
        await played.pilot.click(offset=(line.index("[Esc]") + 2, 23))
        await played.until("Not answered")
        await played.pilot.click(TabLine, offset=(26, 0))
        await played.until("╭─ Runs ─", f"Run {run.id}: feature")
        assert store.asks.get(ask.id).pending

    play(store, act)


@pytest.mark.proves("TUI-10")
def test_ten_thousand_rows_are_drawn_only_where_visible():
    drawn = []

    def draw(number, width):
        drawn.append(number)
        return Text(f"{number:>{width}}")

    class Long(App):
        def compose(self):
            yield RowList("rows")

    async def act():
        app = Long()
        async with app.run_test(size=(80, 24)) as pilot:
            rows = app.query_one(RowList)
            rows.fill([Row(str(n), partial(draw, n)) for n in range(10_000)])
            rows.focus()
            await pilot.press("G", *["k"] * 20, "ctrl+u")
            assert rows.chosen == str(10_000 - 1 - 20 - 23)
            rows.fill([Row(str(n), partial(draw, n)) for n in range(5_000, 10_000)])
            assert rows.chosen == str(10_000 - 1 - 20 - 23), "it keeps the chosen row"
            await pilot.pause()

    asyncio.run(act())
    assert len(set(drawn)) < 200


@pytest.mark.proves("RUN-540")
def test_empty_lists_say_what_to_do(store):
    async def look(played):
        await played.until("Nothing is waiting for you", "gate ask")
        await played.press("tab")
        await played.until("There are no runs yet. To start one: gate run FLOW PROMPT")
        await played.press("enter", "c", "a", "y", "1", "slash", "s", "shift+tab")
        lone_ask(store, "Which database?")
        await played.until("Which database?")
        await played.press("c")
        await played.until("does not belong to a run: answer it with gate answer")

    play(store, look)


@pytest.mark.proves("TUI-19")
def test_message_is_gone_on_the_next_screen(store):
    ask = lone_ask(store, "Which database?")
    create_ask.cancel(store, ask.id, a_person("x"), "")

    async def act(played):
        await played.press("tab", "tab", "tab")
        await played.until("Which database?", "RESULT")
        await played.press("d")
        await played.until(f"{ask.id} does not belong to a run")
        await played.press("enter")
        await played.until("Cancelled by", "[Esc] Back", gone="does not belong")

    play(store, act)


@pytest.mark.proves("S2-57", "S2-58", "S2-59")
def test_detail_tells_why_a_run_waits_and_its_progress(store):
    waiting_run(store)

    async def look(played):
        await played.press("tab", "enter")
        seen = await played.until("Run 1: feature", "╭─ Calls ─")
        for line in (
            "Status: ‖ Waiting for human",
            "Agent: coder",
            "Reason: OAuth or API keys?",
            "Waiting: 10 minutes",
            "#1 architect ✓ 2m 15s",
            "#2 coder ‖ waiting (12m)",
            "[c] Continue (open Claude)  [s] Stop  [o] Open editor  [a] Answer",
        ):
            assert line in seen
        assert "setup" not in seen
        manage_runs.stop(store, 1, a_person(), "enough")
        await played.until("Status: ■ Stuck", "Reason: enough", "[r] Resume", gone="[s] Stop")

    play(store, look)


@pytest.mark.proves("TUI-11")
def test_calls_log_and_diff_of_a_run_open(store, monkeypatch):
    run, ask = waiting_run(store, activity=DIFF)
    log = RunLogFiles(store.local_path)
    log.write(run, "1", "architect", "A plan")
    log.write(run, "2", "coder", "\x1b[31mLooking")
    monkeypatch.setattr(runtime, "workspace", lambda _: None)
    compared = []
    monkeypatch.setattr(
        store_view, "read_changes", lambda *given: compared.append(given[3]) or DIFF
    )
    monkeypatch.setattr("os.path.isdir", lambda _: True)
    monkeypatch.setattr(manage_runs, "must_be_here", lambda *_: None)

    async def act(played):
        await played.press("l")
        seen = await played.until("Log of run 1", "␛[31mLooking")
        assert re.search(r" \d\d:\d\d:\d\d 1 architect  A plan", seen)
        await played.press("escape", "d")
        await played.until("Changes of run 1", "+import pkce")
        await played.press("escape", "tab", "enter", "down", "enter")
        await played.until("Run 1, call 2", "Turn 1 of coder", "│ You are coder.", ask.id)
        await played.press("l")
        await played.until("Log of run 1, call 2", "Looking", gone="A plan")
        await played.press("escape", "d")
        await played.until("Changes of run 1, call 2", "+import pkce")
        assert compared == ["", "2"]
        await played.press("escape", "a")
        await played.until(f"{ask.id}: text")

    play(store, act)


@pytest.mark.proves("TUI-12")
def test_ended_run_is_resumed(store):
    add_run(store, state="completed")
    run, _ = waiting_run(store)

    async def act(played):
        await played.press("tab", "r")
        await played.until(f"run {run.id} has not ended: there is nothing to resume")
        manage_runs.stop(store, run.id, a_person(), "enough")
        await played.until("■ stuck")
        await played.press("r")
        await played.until("no process drives runs now: start gate up", "○ ready")

    play(store, act)
    assert store.runs.get(run.id).state == RunState.READY


@pytest.mark.proves("TUI-16")
@pytest.mark.parametrize(
    ("state", "word"),
    [
        ("running", "at work"),
        ("waiting_human", "at work"),
        ("ready", "not at work"),
        ("stuck", "not at work"),
    ],
)
def test_call_works_only_in_a_driven_run(store, state, word):
    run = add_run(store, [call(store, "1", state="open", ago=60)], state=state)
    ((_, line),) = run_rows.list_calls(store, run, 80)
    assert f"▸\x1b[0m {word} (1m)" in line


@pytest.mark.proves("RUN-547", "S2-50")
def test_run_is_stopped_for_a_typed_reason_only(store):
    run, ask = waiting_run(store)

    async def act(played):
        await played.press("tab", "enter", "s")
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
    add_run(store, state="completed", folder=str(folder))
    opened = []
    monkeypatch.setattr(
        work_screen, "hand_over", lambda _, __, words, cwd: opened.append((words, cwd))
    )
    monkeypatch.setenv("VISUAL", "code --wait")

    async def act(played):
        await played.press("o")
        assert opened == []
        await played.press("tab", "enter", "o")
        await played.until("Run 1: feature")
        assert opened == [(["/bin/sh", "-c", 'code --wait "$1"', "gate", str(folder)], str(folder))]
        monkeypatch.delenv("VISUAL")
        monkeypatch.delenv("EDITOR", raising=False)
        with monkeypatch.context() as away:
            away.setenv("PATH", "/nowhere")
            await played.press("o")
            await played.until("set $VISUAL or $EDITOR")
        folder.rmdir()
        await played.press("o")
        await played.until("the folder of run 1 was removed")
        assert len(opened) == 1

    play(store, act)


@pytest.mark.proves("RUN-548", "LAW-8")
def test_text_of_agents_is_neither_markup_nor_a_command(store):
    _, ask = waiting_run(store, EVIL, activity=EVIL, context=EVIL)
    add_run(store, flow="[link]\x1b]0;x", state="failed", reason=EVIL, error=EVIL)
    choice = lone_ask(store, EVIL, "choice", options=(EVIL, "b"))
    inert = "[red]␛[31mOdd[/red] ‹U+202E›way?"

    async def act(played):
        seen = await played.until(inert, "Activity")
        assert seen.count(inert) == 5, "two rows; the question, context and activity"
        await played.press("a")
        seen = await played.until(f"{ask.id}: text")
        assert seen.count(f"│ {inert}") == 3
        await played.press("escape", "down", "1")
        await played.until(f"{choice.id}: choice", f"1. {inert}", f"Enter: {inert[:20]}")
        await played.press("escape", "tab", "enter")
        await played.until(f"Reason: {inert}")
        await played.press("escape", "down", "enter")
        seen = await played.until("Run 2: [link]␛]0;x", f"Reason: {inert}")
        assert "\x1b" not in seen and "\u202e" not in seen

    play(store, act, (120, 40))


@pytest.mark.proves("RUN-551")
def test_run_without_a_session_says_so(store):
    run = add_run(
        store, [call(store, "1", "pause", "Ship?", state="waiting")], state="waiting_human"
    )
    ask_of(store, run.id, "1", "Ship?", "approval")
    add_run(store, state="running", owner="boot/1/1")

    async def act(played):
        await played.press("tab", "c")
        await played.until("Run 2 has no open question.")
        await played.press("down", "c")
        await played.until("there is no session to open in run 1")
        await played.press("enter")
        await played.until("Agent: -", gone="[c] Continue")

    play(store, act)


@pytest.mark.proves("RUN-551")
def test_continue_is_offered_only_with_join(store, tmp_path):
    role = tmp_path / ".gate" / "agents" / "coder.md"
    role.parent.mkdir(parents=True)
    head = '---\ncli: command\ncommand: ["./agent"]\n'
    role.write_text(f"{head}---\nCode.\n", encoding="utf-8")
    run = add_run(
        store, [call(store, "1", label="coder", state="waiting")],
        [turn(store, "1", cli="command", signal={"status": "NEEDS_HUMAN"})],
        state="waiting_human", project=str(tmp_path),
    )  # fmt: skip
    ask_of(store, run.id, "1")

    async def act(played):
        await played.press("tab", "c")
        await played.until("coder has no session to join")
        await played.press("enter")
        await played.until("[a] Answer", "[Esc] Back", gone="[c] Continue")
        role.write_text(f'{head}join: ["./agent"]\n---\nCode.\n', encoding="utf-8")
        await played.press("escape", "enter")
        await played.until("[c] Continue (open session)")

    play(store, act)


@pytest.mark.proves("TUI-13")
def test_help_names_every_key(store):
    async def act(played):
        await played.press("question_mark")
        await played.until("╭─ Keys ─", "mark yes or no; Enter sends it")
        await played.press("escape")
        await played.pilot.resize_terminal(40, 12)
        await played.press("question_mark")
        await played.until("g G            the first ", f"│  {'':15}and the last")
        await played.press("escape")
        await played.until("Nothing is waiting for you", gone="╭─ Keys ─")

    play(store, act)


@pytest.mark.proves("RUN-552", "LAW-10")
def test_tui_names_a_missing_terminal(world):
    ran = world.plain.gate("tui")
    assert ran.code == 2 and "needs a terminal; use gate list and gate inbox" in ran.err


@pytest.mark.proves("RUN-553", "S2-P1")
def test_bare_gate_is_the_inbox_without_a_full_terminal(world, monkeypatch, capsys):
    add_run(world.store, state="running")
    assert "Nothing is waiting" in world.plain.gate().out, "through a pipe"
    monkeypatch.setenv("GATE_STORE", world.path)
    monkeypatch.setenv("TERM", "xterm")
    for stream in ("stdin", "stdout"):
        monkeypatch.setattr(f"sys.{stream}.isatty", lambda: True)
    monkeypatch.setenv("TERM", "dumb")
    assert main([]) == 0 and "Nothing is waiting" in capsys.readouterr().out


@pytest.mark.proves("RUN-554")
def test_duration_has_two_units():
    spoken = {0.4: "0s", 59: "59s", 60: "1m", 135: "2m 15s", 3600: "1h", 11100: "3h 5m"}
    assert {seconds: run_rows.describe_duration(seconds) for seconds in spoken} == spoken
    assert run_rows.describe_duration(90000) == "1d 1h"
