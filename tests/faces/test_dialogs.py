"""Dialogs on a real screen: only an explicit action of a person is an answer."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import threading

import pytest
from hypothesis import given, settings as hypothesis_settings, strategies as st
from tests.support.programs import find_program
from tests.support.waiting import eventually
from tests.support.web_context import desk, display

from gatebell.adapters.dialogs import discovery, texts
from gatebell.adapters.dialogs.dialog_process import Ended
from gatebell.app import settings, wiring
from gatebell.cli.main import main
from gatebell.cli.setup import doctor
from gatebell.errors import UsageError
from gatebell.ports.dialogs import LATER, NOTHING, TERMINAL, VALUE, Reply, Showing

_ = (desk, display)
HOSTILE = (
    "<b>bold</b> &amp; \\n $(touch x) `id` \"'; --title=ours \x1b[31m \u202eevil\u202c\n--help"
)
YES_NO = Showing("choice", "Go on?", ("yes", "no"), agent="claude", project="/p/shop", digest="d1")
TEXT = YES_NO._replace(kind="text", prompt="Which name?", options=())
APPROVAL = TEXT._replace(kind="approval", prompt="Delete build/?")
NAMES = [tool.name for tool in discovery.TOOLS]
# Positions in zenity's window.
ROW_2, ANSWER, LATER_BUTTON = (27, 87), (-300, -26), (-206, -26)


@pytest.mark.proves("FILE-30", "LAW-4", "S4-83")
def test_option_button_answers_with_the_text_shown(desk):
    asked = desk.ask(YES_NO)
    desk.appear().be_still()
    assert desk.hands("getwindowname", desk.window).stdout.strip() == "gate: claude in shop"
    desk.click(-60, -30)
    assert asked.reply() == Reply(VALUE, "no", digest="d1")


@pytest.mark.proves("FILE-31")
def test_options_too_long_for_buttons_become_a_list(desk):
    asked = desk.ask(YES_NO._replace(options=tuple(f"the long option {n}" for n in range(9))))
    desk.appear().be_still()
    # Nothing is chosen: the button is disabled.
    desk.click(-60, -30)
    # Down the options to the third.
    desk.keys("Tab", "Tab", "Tab", "space")
    assert asked.is_open
    desk.click(-60, -30)
    assert asked.reply().value == "the long option 2"


@pytest.mark.proves("FILE-150")
def test_option_named_like_our_button_is_not_a_button():
    tk_window = pytest.importorskip(
        "gatebell.adapters.dialogs.tk_window",
        reason="tkinter is not installed: no window was tried",
    )
    window = tk_window.Window.__new__(tk_window.Window)
    for options, is_short in ((("yes", "no"), True), (("Now", "later "), False)):
        window._showing = YES_NO._replace(options=options)
        assert window._is_short() is is_short


@pytest.mark.proves("FILE-32")
def test_typed_text_is_sent_by_enter_or_the_button(desk):
    asked = desk.ask(TEXT)
    desk.appear().be_still()
    desk.type("cart & co")
    desk.keys("shift+Return")
    desk.type("second")
    desk.keys("Return")
    assert asked.reply() == Reply(VALUE, "cart & co\nsecond", digest="d1")
    asked = desk.ask(TEXT._replace(typed="a draft"))
    desk.appear().be_still()
    # It was not typed here: Enter does not send it, the button does.
    desk.keys("Return")
    assert asked.is_open
    desk.click(-60, -30)
    assert asked.reply().value == "a draft"


@pytest.mark.proves("FILE-33", "FILE-34", "LAW-6", "S4-B13")
@pytest.mark.parametrize("leave", ["escape", "window", "later", "terminal"])
def test_leaving_a_window_keeps_the_text_and_answers_nothing(desk, leave):
    asked = desk.ask(TEXT)
    desk.appear().be_still()
    desk.keys("Return")
    desk.click(-60, -30)
    desk.type("half a tho")
    assert asked.is_open
    if leave == "escape":
        desk.keys("Escape")
    elif leave == "window":
        desk.close_window()
    else:
        desk.click(*{"later": (-180, -30), "terminal": (-300, -30)}[leave])
    reply = asked.reply()
    assert reply.outcome == {"later": LATER, "terminal": TERMINAL}.get(leave, NOTHING)
    assert (reply.value, reply.typed) == ("", "half a tho")


@pytest.mark.proves("FILE-35", "LAW-3")
@pytest.mark.parametrize("showing", [TEXT, YES_NO], ids=["text", "choice"])
def test_keys_typed_for_another_window_answer_nothing(desk, showing):
    # The keyboard follows the mouse, which is in the middle, where the window opens.
    desk.hands("mousemove", "640", "330")
    with desk.busy("type", "--delay", "70", "yes and no yes no yes"):
        asked = desk.ask(showing)
        desk.appear()
    desk.keys("Return", "space", "Tab", "Escape", "space", "Return")
    assert asked.is_open
    desk.be_still()
    if showing is TEXT:
        desk.type("meant")
        desk.keys("Return")
    else:
        desk.click(-60, -30)
    assert asked.reply().value == ("meant" if showing is TEXT else "no")


@pytest.mark.proves("FILE-35")
@pytest.mark.parametrize("place", [(-60, -30), (-285, -30)], ids=["no", "Later"])
def test_clicks_that_were_meant_for_another_window_do_nothing(desk, place):
    before = desk.ask(YES_NO)
    # The later position of its button.
    desk.appear().point(*place)
    before.dialog.close()
    before.reply()
    with desk.busy("click", "--repeat", "24", "--delay", "70", "1"):
        asked = desk.ask(YES_NO)
        desk.appear()
    assert asked.is_open
    desk.be_still()
    desk.click(*place)
    assert asked.reply().outcome == (VALUE if place[0] == -60 else LATER)


@pytest.mark.proves("FILE-36", "LAW-3")
def test_approval_is_decided_only_by_typed_yes_or_no(desk):
    asked = desk.ask(APPROVAL._replace(typed="yes"))
    desk.appear().be_still()
    desk.keys("Return")
    desk.type("ok")
    desk.keys("Return")
    desk.click(-60, -30)
    assert asked.is_open
    desk.keys("BackSpace", "BackSpace")
    desk.type("yes")
    desk.keys("Return")
    assert asked.reply() == Reply(VALUE, "yes", digest="d1")


@pytest.mark.proves("FILE-36")
def test_approval_that_cannot_be_shown_whole_is_not_offered(desk):
    asked = desk.ask(APPROVAL._replace(prompt="rm " + "x" * 20_001))
    desk.appear().be_still()
    desk.type("yes")
    desk.keys("Return")
    desk.click(-60, -30)
    assert asked.is_open
    asked.dialog.close()
    asked.reply()
    reply = discovery.build_dialog("zenity", desk.environ).ask(APPROVAL._replace(prompt="a\n" * 50))
    assert reply.outcome == NOTHING and "too long" in reply.why


@pytest.mark.proves("FILE-37", "LAW-8", "S4-38")
@pytest.mark.parametrize("tool", ["tkinter", "zenity"])
def test_long_and_hostile_texts_stay_inside_the_window(desk, tool):
    find_program("zenity", "its windows were not tried")
    long = HOSTILE + "word " * 2_000 + "x" * 10_000
    asked = desk.ask(
        Showing("choice", long, (HOSTILE, long), long, long, HOSTILE, f"/p/{HOSTILE}", "2/5", 600.0),
        tool,
    )  # fmt: skip
    desk.appear()
    title = desk.hands("getwindowname", desk.window).stdout.strip()
    assert title.startswith("gate: <b>bold</b> &amp; \\n") and "\x1b" not in title
    x, y, width, height = desk.size()
    assert x >= 0 and y >= 0 and x + width <= 1280 and y + height <= 800
    asked.dialog.close()
    assert asked.reply().outcome == NOTHING


@pytest.mark.proves("FILE-38", "LAW-6", "S4-B31")
def test_window_closes_only_when_no_asker_waits(desk):
    asked = desk.ask(TEXT._replace(left_seconds=2.0))
    desk.appear().be_still()
    desk.type("hal")
    assert asked.reply() == Reply(NOTHING, why="the time is over", typed="hal")


@pytest.mark.proves("FILE-39")
@pytest.mark.parametrize("tool", ["tkinter", "zenity"])
def test_window_that_dies_or_cannot_open_answers_nothing(desk, tool):
    find_program("zenity", "its windows were not tried")
    asked = desk.ask(YES_NO, tool)
    desk.appear()
    os.kill(asked.pid, signal.SIGKILL)
    assert asked.reply() == Reply(NOTHING, why="the window was ended by signal 9")
    # Like a hostile program: zenity then ends with 0, as if it had been answered.
    asked = desk.ask(YES_NO, tool)
    desk.appear().be_still().be_still().hands("windowclose", desk.window)
    asked.dialog.close() if tool == "tkinter" and asked.is_open else None
    assert asked.reply().outcome == NOTHING
    blind = desk.ask(YES_NO, tool, DISPLAY=":9999").reply()
    assert blind.outcome == NOTHING and ":9999" in blind.why


@pytest.mark.proves("FILE-40", "FILE-34", "LAW-6")
@pytest.mark.parametrize("tool", ["tkinter", "zenity"])
def test_window_can_be_closed_even_before_it_opens(desk, tool):
    find_program("zenity", "its windows were not tried")
    asked = desk.ask(TEXT, tool)
    desk.appear().be_still()
    desk.type("hal")
    desk.be_still()
    threading.Thread(target=asked.dialog.close).start()
    reply = asked.reply()
    assert reply.outcome == NOTHING and "no longer needed" in reply.why
    # zenity does not pass it on.
    assert reply.typed == ("hal" if tool == "tkinter" else "")
    dialog = discovery.build_dialog(tool, desk.environ)
    dialog.close()
    assert dialog.ask(TEXT).outcome == NOTHING


@pytest.mark.proves("FILE-41")
@pytest.mark.parametrize("tool", ["tkinter", "zenity"])
def test_window_ends_with_its_asker(desk, tool):
    find_program("zenity", "its windows were not tried")
    code = (
        "import os; from gatebell.adapters.dialogs import discovery as finding\n"
        "from gatebell.ports.dialogs import Showing\n"
        f"finding.build_dialog('{tool}', os.environ).ask(Showing('text', 'x'))"
    )
    process = subprocess.Popen([sys.executable, "-c", code], env=desk.environ)
    desk.appear()
    process.kill()
    process.wait()
    eventually(lambda: not desk.windows(), what="the window's end")


@pytest.mark.proves("FILE-42")
def test_zenity_answers_only_by_its_rows_and_fields(desk):
    find_program("zenity", "its windows were not tried")
    asked = desk.ask(YES_NO, "zenity")
    desk.appear().be_still()
    desk.type("no")
    desk.keys("Return", "Return")
    assert asked.is_open
    desk.keys("Escape")
    assert asked.reply().outcome == NOTHING

    asked = desk.ask(YES_NO, "zenity")
    desk.appear().be_still().be_still()
    desk.click(*ROW_2)
    desk.click(*ANSWER)
    assert asked.reply() == Reply(VALUE, "no", digest="d1")

    asked = desk.ask(YES_NO, "zenity")
    desk.appear().be_still()
    desk.click(*LATER_BUTTON)
    assert asked.reply().outcome == LATER

    asked = desk.ask(TEXT, "zenity")
    desk.appear().be_still().be_still()
    desk.type("<cart>")
    desk.keys("Return")
    assert asked.is_open
    desk.click(*ANSWER)
    assert asked.reply() == Reply(VALUE, "<cart>", digest="d1")

    asked = desk.ask(TEXT, "zenity")
    desk.appear()
    desk.close_window()
    assert asked.reply().outcome == NOTHING


@pytest.mark.proves("FILE-43", "LAW-3")
@given(
    tool=st.sampled_from(discovery.TOOLS),
    showing=st.sampled_from([YES_NO, TEXT, APPROVAL]),
    code=st.sampled_from([0, 1, 2, 3, 5, 20, 22, 24, 70, 252, 255, -9]),
    out=st.one_of(
        st.text(max_size=20),
        st.sampled_from(["", "\n", "yes\n", "1", "1. yes\n", "0", "3", "TRUE", "null", "{}", "later"]),
        st.builds(
            lambda nonce, outcome, typed: json.dumps({"nonce": nonce, "outcome": outcome, "typed": typed}),
            st.sampled_from(["right", "wrong", None]),
            st.sampled_from(["value", "nothing", "later", 1, None, [], True]),
            st.sampled_from(["", "yes", "maybe", 1, None, True, {}]),
        ),
    ),
)  # fmt: skip
@hypothesis_settings(max_examples=400, deadline=None)
def test_garbage_from_a_program_is_never_an_answer(tool, showing, code, out):
    reply = tool.read(showing, Ended(code, out), "right")
    assert reply.outcome in (VALUE, LATER, TERMINAL, NOTHING)
    if reply.outcome == VALUE:
        answers = {"choice": ("yes", "no"), "approval": ("yes", "no")}.get(showing.kind)
        assert code in (0, 20) and reply.digest == "d1"
        assert reply.value in answers if answers else reply.value.strip()
    else:
        assert (reply.value, reply.digest) == ("", "")
    if code < 0:
        assert reply.outcome == NOTHING


@pytest.mark.proves("FILE-43")
def test_our_window_needs_its_nonce_and_a_whole_reply():
    said = {"nonce": "right", "outcome": "value", "number": 2, "typed": "cart"}
    read = discovery.TKINTER.read
    assert read(TEXT, Ended(0, json.dumps(said)), "right").value == "cart"
    assert read(YES_NO, Ended(0, json.dumps(said)), "right").value == "no"
    for changed in ({"nonce": "wrong"}, {"typed": None}, {"outcome": "yes"}, {"number": True}):
        told = json.dumps(said | changed)
        assert read(YES_NO, Ended(0, told), "right").outcome == NOTHING
    for code, out in ((1, json.dumps(said)), (0, json.dumps([said])), (0, json.dumps(said)[:-1])):
        assert read(TEXT, Ended(code, out), "right").outcome == NOTHING


@pytest.mark.proves("FILE-40", "LAW-6")
def test_answer_given_before_the_window_closed_is_reported(tmp_path):
    home = fakes(tmp_path, yad="trap 'echo cart; exit 20' TERM; while :; do sleep 0.1; done")
    dialog = discovery.build_dialog("yad", home)
    threading.Timer(1.1, dialog.close).start()
    assert dialog.ask(TEXT) == Reply(VALUE, "cart", digest="d1")


@pytest.mark.proves("FILE-37")
def test_too_many_options_are_not_shown(tmp_path):
    many = YES_NO._replace(options=tuple(map(str, range(201))))
    reply = discovery.build_dialog("zenity", fakes(tmp_path, zenity="exit 1")).ask(many)
    assert "201 options are too many" in reply.why and not (tmp_path / "zenity.argv").exists()


@pytest.mark.proves("FILE-43")
def test_reply_too_early_to_be_read_does_not_count(tmp_path):
    home = fakes(tmp_path, zenity="echo '1. yes'", yad="echo cart; exit 20")
    reply = discovery.build_dialog("zenity", home).ask(YES_NO)
    assert reply.outcome == NOTHING and "too fast" in reply.why
    reply = discovery.build_dialog("yad", home).ask(TEXT)
    assert (reply.outcome, reply.typed) == (NOTHING, "cart")


def fakes(folder, **scripts):
    """Return an environment with these programs, which write their arguments beside them."""
    for name, script in scripts.items():
        path = folder / name
        path.write_text(
            f"#!/bin/sh\nprintf '%s\\0' \"$@\" > {folder}/{name}.argv\n{script}\n", encoding="utf-8"
        )
        path.chmod(0o755)
    found = f"{folder}:{os.environ['PATH']}"
    return {"PATH": found, "HOME": str(folder), "DISPLAY": "", "WAYLAND_DISPLAY": "wayland-9"}


def words_of(folder, name):
    return (folder / f"{name}.argv").read_bytes().decode().split("\0")[:-1]


@pytest.mark.proves("FILE-44", "LAW-8", "S4-B32")
@pytest.mark.parametrize("name", ["zenity", "yad", "osascript", "dialog"])
@pytest.mark.parametrize("kind", ["text", "choice", "approval"])
def test_text_never_becomes_an_option_or_markup(tmp_path, name, kind):
    home = fakes(tmp_path, **{name: "exit 1"})
    options = (HOSTILE, "--help") if kind == "choice" else ()
    drafted = "--version" if kind == "text" else ""
    showing = Showing(kind, HOSTILE, options, HOSTILE, "", HOSTILE, HOSTILE, "2/5", 60.0, "d", drafted)  # fmt: skip
    reply = discovery.build_dialog(name, home).ask(showing)
    assert reply.outcome in (NOTHING, LATER)
    words = words_of(tmp_path, name)
    told = "\n".join(words)
    assert "\x1b" not in told and "\u202e" not in told and "‹U+202E›" in told
    if name == "osascript":
        # The script is always the same, and the agent's text comes after it.
        assert words[0] == "-e" and "bold" not in words[1] and words[2] == "--"
        return
    if name == "zenity":
        shown = [word for word in words if "asks in" in word]
        assert all("<b>" not in word and "&lt;b&gt;" in word for word in shown) and shown
    if name != "dialog":
        # In a text that could become a line end, only a backslash and an n are shown.
        assert "\\\\n" in told
    ours = words[: words.index("--")] if "--" in words else words
    begin = [word for word in ours if word.startswith("-")]
    assert not [word for word in begin if word in ("--help", "--version", HOSTILE)]
    rows = [word for word in words if word.startswith(("1. ", "2. "))]
    assert len(rows) == len(options)


@pytest.mark.proves("FILE-45")
def test_osascript_replies_by_its_nonce_alone():
    tool = discovery.OSASCRIPT
    for out, reply in (
        ("n Answer cart\nsecond\n", Reply(VALUE, "cart\nsecond", digest="d1")),
        ("n Answer \n", Reply(NOTHING, why="nothing was typed")),
        ("n Later half\n", Reply(LATER, typed="half")),
        ("n Open in terminal half\n", Reply(TERMINAL, typed="half")),
        ("n late half\n", Reply(NOTHING, why="the time is over", typed="half")),
        ("n closed\n", Reply(NOTHING, why="the window was closed")),
    ):
        assert tool.read(TEXT, Ended(0, out), "n") == reply
    assert tool.read(TEXT, Ended(0, "m Answer cart\n"), "n").outcome == NOTHING
    for row, outcome in (("2. no", VALUE), ("Later", LATER), ("Open in terminal", TERMINAL)):
        assert tool.read(YES_NO, Ended(0, f"n chosen {row}\n"), "n").outcome == outcome
    assert tool.read(YES_NO, Ended(0, "n closed\n"), "n").outcome == NOTHING


@pytest.mark.proves("FILE-46")
def test_draft_comes_up_again_in_every_program(tmp_path):
    showing = TEXT._replace(typed="half\na thought")
    for tool in discovery.TOOLS:
        told = tool.feed(showing, "n") + "\n".join(tool.command(showing, "n"))
        assert "half" in told and "a thought" in told, tool.name
        decided = showing._replace(kind="approval")
        if tool.name != "tkinter":
            assert "half" not in "\n".join(tool.command(decided, "n"))


@pytest.mark.proves("FILE-47")
def test_terminal_dialog_begins_with_a_row_that_answers_nothing():
    tool = discovery.DIALOG
    rows = tool.command(YES_NO, "n")[-6:]
    assert rows == ["-", "not answered yet", "1", "1. yes", "2", "2. no"]
    assert tool.read(YES_NO, Ended(0, "-"), "n").outcome == NOTHING
    assert tool.read(YES_NO, Ended(0, "2"), "n").value == "no"
    # Both its buttons print the typed text.
    assert tool.read(TEXT, Ended(3, "half a tho"), "n") == Reply(LATER, typed="half a tho")
    assert tool.read(TEXT, Ended(2, "half a tho"), "n") == Reply(TERMINAL, typed="half a tho")


@pytest.mark.proves("FILE-197", "LAW-3")
def test_one_enter_does_not_send_a_terminal_draft():
    words = discovery.DIALOG.command(TEXT._replace(typed="half a thought"), "n")
    assert "half a thought" in words[-4] and words[-1] == ""


@pytest.mark.proves("FILE-198")
@pytest.mark.parametrize(
    ("seconds", "words"),
    [(8, "8 s"), (248, "4 min 8 s"), (3_608, "1 h 0 min 8 s"), (-1, "0 s")],
)
def test_time_left_has_units(seconds, words):
    assert texts.format_time_left(seconds) == f"{words} left to answer"
    assert f"\n{words} left to answer" in texts.build_body(TEXT._replace(left_seconds=seconds)).text


@pytest.mark.proves("FILE-199")
def test_tab_goes_to_the_first_option_first(desk):
    asked = desk.ask(YES_NO)
    desk.appear().be_still()
    desk.keys("Tab", "space")
    assert asked.reply().value == "yes"


@pytest.mark.proves("FILE-200")
def test_question_is_larger_than_its_heading(display):
    read_fonts = """
import tkinter as tk
from tkinter import font, ttk
from gatebell.adapters.dialogs.tk_window import Window
from gatebell.domain.enums import AskKind
from gatebell.ports.dialogs import Showing
root = tk.Tk()
Window(root, "n", Showing(AskKind.TEXT, "Which name?", agent="claude"))
found = [root]
for one in found:
    found += one.winfo_children()
heading = next(one for one in found if isinstance(one, ttk.Label) and "claude" in one["text"])
prompt = next(one for one in found if isinstance(one, tk.Text) and "name?" in one.get("1.0", "end"))
for name in (prompt["font"], heading["font"] or ttk.Style(root).lookup("TLabel", "font")):
    print(font.Font(root, font=str(name)).metrics("linespace"))
"""
    ran = subprocess.run(
        [sys.executable, "-c", read_fonts],
        env={**os.environ, "DISPLAY": display}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    prompt, heading = map(int, ran.stdout.split())
    assert prompt > heading, ran.stderr


@pytest.mark.proves("FILE-181")
def test_every_window_offers_later_and_terminal():
    assert "Select the circle" in "\n".join(discovery.YAD.command(YES_NO, "n"))
    for tool in (discovery.ZENITY, discovery.YAD, discovery.OSASCRIPT, discovery.DIALOG):
        told = "\n".join(tool.command(TEXT, "n"))
        assert "Later" in told and "Open in terminal" in told
    assert tool.read(YES_NO, Ended(255, ""), "n").outcome == NOTHING


@pytest.mark.proves("FILE-47")
def test_terminal_dialog_owns_the_terminal_and_can_be_closed(tmp_path):
    home = fakes(tmp_path, dialog='test -t 0 && test -t 1 && read line && printf "$line" >&2')
    code = (
        "import os, sys, threading; from gatebell.adapters.dialogs import discovery as finding\n"
        "from gatebell.ports.dialogs import Showing\n"
        "made = finding.build_dialog('dialog', os.environ)\n"
        "if sys.argv[1:]: threading.Timer(0.5, made.close).start()\n"
        "print('said', finding.find_problem(finding.DIALOG, os.environ), made.ask(Showing('text', 'x')))"
    )
    for more, expected in (((), "value='cart'"), (("close",), "no longer needed")):
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-c", code, *more], env=os.environ | home, stdin=theirs, stdout=theirs,
            start_new_session=True,
        )  # fmt: skip
        os.close(theirs)
        if not more:
            eventually((tmp_path / "dialog.argv").exists, what="the dialog")
            # Keys that come too early answer nothing.
            threading.Event().wait(1.1)
            os.write(ours, b"cart\n")
        process.wait(15)
        assert expected in os.read(ours, 65536).decode()
        os.close(ours)


@pytest.mark.proves("FILE-48", "FILE-184", "S4-P4")
def test_best_working_program_is_used_and_the_setting_wins(tmp_path, monkeypatch, desk):
    # Without a display, only a program that needs none is used.
    bare = {"PATH": str(tmp_path), "HOME": str(tmp_path)}
    bare["PYTHONPATH"] = os.environ.get("PYTHONPATH", "")
    assert discovery.find_first(bare) == ""
    why = {found.tool: found.problem for found in discovery.find_tools(bare)}
    assert list(why) == NAMES and "not installed" in why["yad"]
    assert "no display" in why["tkinter"]
    home = fakes(tmp_path, zenity="", osascript="")
    bare = home | {"WAYLAND_DISPLAY": ""}
    assert "is not set to one" in discovery.find_problem(discovery.ZENITY, bare)
    assert discovery.find_first(home) == "zenity"
    assert discovery.find_first(bare) == "osascript"
    # As in a terminal that has outlived its desktop: a missing display is not used.
    for gone in (":9999", "unix:9999.0", "127.0.0.1:1", "a..b:0", ":99999", "127.0.0.1:99999"):
        assert "cannot be reached" in discovery.find_problem(
            discovery.ZENITY, bare | {"DISPLAY": gone}
        )
    for there in (desk.environ["DISPLAY"], f"{desk.environ['DISPLAY']}.0", "/of/xquartz:0"):
        assert discovery.find_problem(discovery.ZENITY, bare | {"DISPLAY": there}) == ""
    assert discovery.find_first(desk.environ) == "tkinter"
    monkeypatch.setenv("GATE_DIALOG", "off")
    assert wiring.dialog_tool() == "" and wiring.dialog() is None
    monkeypatch.setenv("GATE_DIALOG", "yad")
    assert wiring.dialog().tool == "yad"
    monkeypatch.setenv("GATE_DIALOG", "zenith")
    with pytest.raises(UsageError, match="GATE_DIALOG"):
        settings.dialog(os.environ)
    assert doctor._check_dialogs().ok is False


@pytest.mark.proves("FILE-49")
def test_command_lists_the_programs_and_tries_one(tmp_path, monkeypatch, capsys):
    slow = "trap '' TERM; read line < /dev/null; exec python3 -c \"import time; time.sleep(1.1); print('1. yes')\""
    for name, value in fakes(tmp_path, zenity=slow, yad="exit 1").items():
        monkeypatch.setenv(name, value)
    assert main(["dialog"]) == 0
    assert "zenity     works  (used)" in capsys.readouterr().out
    assert main(["dialog", "test", "--list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert listed["chosen"] == "zenity" and [one["tool"] for one in listed["tools"]] == NAMES
    assert main(["dialog", "test"]) == 0
    assert "Answered: yes" in capsys.readouterr().out
    assert main(["dialog", "test", "--tool", "yad", "--kind", "text"]) == 1
    assert "No answer: nothing (the window was closed" in capsys.readouterr().out
    assert main(["dialog", "test", "--tool", "yad", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["outcome"] == "nothing"
    assert main(["dialog", "test", "--tool", "lamp"]) == 2
    assert main(["dialog", "--tool", "zenity"]) == 2
    assert (
        doctor._check_dialogs().what
        == "zenity shows questions in windows; to test it: gate dialog test"
    )
    monkeypatch.setenv("GATE_DIALOG", "off")
    assert main(["dialog", "test"]) == 5
    assert main(["dialog"]) == 0
    assert "dialog is off" in capsys.readouterr().out
    assert "no program shows questions in windows" in doctor._check_dialogs().what


@pytest.mark.proves("FILE-37")
def test_page_of_text_says_how_much_it_omits():
    body = texts.build_body(
        TEXT._replace(prompt="line\n" * 40, context="word " * 500, position="2/5")
    )
    assert not body.whole and body.text.count("the text goes on: Open in terminal") == 2
    assert body.text.startswith("[2/5] claude asks in /p/shop:\n│ line\n")
    assert texts.build_body(TEXT).whole
    # No line of an agent begins like one of ours.
    forged = texts.build_body(TEXT._replace(prompt="a\nNobody waits for the answer after 0:01."))
    assert "\n│ Nobody" in forged.text and "\nNobody" not in forged.text
