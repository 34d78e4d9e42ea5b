"""The actions of a person in a real terminal."""

from __future__ import annotations

import json

import pytest
from tests.support.people import an_agent

from gatebell.domain.asks.asks import Origin
from gatebell.domain.permissions.calls import make_call
from gatebell.services.asks import create_ask
from gatebell.services.asks.create_ask import Request


@pytest.mark.proves("CLI-9", "LAW-3", "ASK-1")
def test_answering_one_after_the_other_with_skip(world, terminal):
    skipped = world.ask("Skip me?", "--priority", "urgent")
    approval = world.ask("Deploy?", "--kind", "approval", "--priority", "high")
    choice = world.ask("Which?", "--option", "Red", "--option", "Blue", "--option", "Other…")
    form = world.ask(
        "Who?", "--priority", "low", "--schema",
        '{"type":"object","properties":{"age":{"type":"integer"},"ok":{"type":"boolean"},"name":{"type":"string"}},"required":["age"]}',
    )  # fmt: skip
    terminal.run("inbox", "--answer")
    terminal.until("Your answer (Enter: not yet; q: stop):")
    terminal.type("", "Enter")
    terminal.until(f"{skipped} is still waiting")
    terminal.until("yes or no (Enter: not yet; q: stop):")
    terminal.type("maybe", "Enter")
    terminal.until("Refused, but kept: expected yes or no")
    terminal.type("no", "Enter")
    terminal.until("Reason (optional):")
    terminal.type("not on a Friday", "Enter")
    terminal.until(f"Recorded: {approval} is rejected")
    terminal.until("Your choice, a number or a name")
    terminal.type("3", "Enter")
    terminal.until("Other, in your words:")
    terminal.type("green", "Enter")
    terminal.until(f"Recorded: {choice} is answered")
    for field, value in (
        ("age (whole number)", "x"),
        ("ok (yes or no, optional)", "yes"),
        ("name (text, optional)", "Ada"),
    ):
        terminal.until(field)
        terminal.type(value, "Enter")
    terminal.until("Refused, but kept: the answer does not fit the form: age")
    terminal.until("age (whole number): x")
    terminal.type("", "C-u", "3", "6", "Enter", "Enter", "Enter")
    terminal.until("3 answered, 1 still waiting.")
    terminal.until("exit code 0")
    assert (world.get(approval).decision, world.get(approval).note) == (
        "rejected",
        "not on a Friday",
    )
    assert world.get(choice).value == {"other": "green"}
    assert world.get(form).value == {"age": 36, "ok": True, "name": "Ada"}
    assert world.get(skipped).pending


@pytest.mark.proves("CLI-6", "LAW-6")
@pytest.mark.parametrize("end", ["C-c", "kill"])
def test_half_typed_answer_is_offered_again(world, terminal, end):
    ask_id = world.ask("Why?", "--timeout", "60")
    before = world.get(ask_id).deadlines.expires_at
    terminal.run("answer", ask_id)
    terminal.until("Your answer (Enter: not yet):")
    terminal.type("because the döor")
    terminal.until("because the döor")
    bell = world.store.bell()
    while end == "kill" and not world.store.asks.draft(ask_id, "person:ada"):
        bell.wait(1)
    if end == "kill":
        terminal.kill()
    else:
        terminal.type("", "C-c")
        terminal.until("exit code 11")
    assert world.store.asks.draft(ask_id, "person:ada") == "because the döor"
    assert world.get(ask_id).deadlines.expires_at > before
    terminal.kill()
    terminal.run("answer", ask_id)
    terminal.until("Your last draft is filled in.")
    terminal.until("(Enter: send; empty: not yet): because the döor")
    terminal.type(" is open", "Enter")
    terminal.until(f"Recorded: {ask_id} is answered")
    assert world.get(ask_id).value == "because the döor is open"


@pytest.mark.proves("LAW-3", "LAW-6")
def test_pasted_lines_are_one_answer_and_approve_nothing(world, terminal):
    text = world.ask("What first?", "--priority", "urgent")
    approval = world.ask("Delete production?", "--kind", "approval")
    terminal.run("inbox", "--answer")
    terminal.until("Your answer (Enter: not yet; q: stop):")
    terminal.tmux("set-buffer", "Start with a question:\nyes\n\n")
    terminal.tmux("paste-buffer", "-p")
    terminal.type("", "Enter")
    terminal.until(f"Recorded: {text} is answered")
    terminal.until("yes or no (Enter: not yet; q: stop):")
    assert world.get(approval).pending and world.store.asks.answers(approval) == []
    assert world.get(text).value.startswith("Start with a question:\nyes")


@pytest.mark.proves("LAW-3")
def test_input_typed_ahead_approves_nothing(world, terminal):
    text = world.ask("What first?", "--priority", "urgent")
    approval = world.ask("Delete production?", "--kind", "approval")
    terminal.run("inbox", "--answer")
    terminal.until("Your answer (Enter: not yet; q: stop):")
    terminal.type("words\ryes\r\r")
    terminal.until(f"Recorded: {text} is answered")
    terminal.until("yes or no (Enter: not yet; q: stop):")
    assert world.get(approval).pending and world.store.asks.answers(approval) == []


@pytest.mark.proves("CLI-9")
def test_ctrl_c_stops_going_through_the_inbox(world, terminal):
    ids = [world.ask(f"{number}?") for number in range(3)]
    terminal.run("inbox", "--answer")
    terminal.until("1 of 3")
    terminal.until("Your answer (Enter: not yet; q: stop):")
    # Ctrl+C drops unread input in the terminal itself.
    terminal.type("half")
    terminal.until("(Enter: not yet; q: stop): half")
    terminal.type("", "C-c")
    terminal.until("Your text is kept as a draft.")
    terminal.until("Stopped.")
    assert all(world.get(ask_id).pending for ask_id in ids)


@pytest.mark.proves("CLI-10", "LAW-6")
def test_nested_form_is_edited_or_left_by_writing_nothing(world, terminal):
    ask_id = world.ask("F?", "--schema", '{"type":"array"}')
    terminal.environ = terminal.environ | {"EDITOR": "true"}
    terminal.run("answer", ask_id)
    terminal.until("Enter opens the form in your editor")
    terminal.type("", "Enter")
    terminal.until("exit code 11")
    assert world.get(ask_id).pending


@pytest.mark.proves("CLI-9", "LAW-3")
def test_enter_is_not_yet(world, terminal):
    ask_id = world.ask("Deploy?", "--kind", "approval")
    terminal.run("answer", ask_id)
    terminal.until("yes or no (Enter: not yet):")
    terminal.type("", "Enter")
    terminal.until("exit code 11")
    assert world.get(ask_id).pending and world.store.asks.answers(ask_id) == []


@pytest.mark.proves("ASK-23", "LAW-6")
def test_answer_typed_too_late_is_kept(world, terminal):
    ask_id = world.ask("Which?")
    terminal.run("answer", ask_id)
    terminal.until("Your answer")
    world.bob.gate("answer", ask_id, "mine")
    terminal.type("yours", "Enter")
    terminal.until("already answered by person:bob")
    terminal.until("your answer is kept beside it")
    assert [one.value for one in world.store.asks.answers(ask_id)] == ["mine", "yours"]


@pytest.mark.proves("ASK-30", "CLI-18")
def test_secret_is_not_shown_while_it_is_typed(world, terminal):
    ask_id = json.loads(world.plain.gate("ask", "Token?", "--secret", "--no-wait", "--json").out)[
        "id"
    ]
    terminal.run("answer", ask_id)
    terminal.until("Secret answer, not shown")
    terminal.type("hunter2", "Enter")
    terminal.until(f"Recorded: {ask_id} is answered")
    assert "hunter2" not in terminal.screen() and world.store.asks.secret(ask_id) == "hunter2"


@pytest.mark.proves("CLI-15", "CLI-13")
def test_demo_runs_in_a_terminal(terminal, tmp_path):
    opener = tmp_path / "bin" / "xdg-open"
    opener.parent.mkdir()
    opener.write_text(f'#!/bin/sh\necho "$1" > {tmp_path}/opened\n', encoding="utf-8")
    opener.chmod(0o755)
    path = f"{opener.parent}:{terminal.environ['PATH']}"
    terminal.environ = terminal.environ | {"PATH": path, "DISPLAY": ":99"}
    terminal.run("demo")
    terminal.until("deployer   runs the tests: 12 passed")
    terminal.until("or press Enter to answer here.")
    terminal.type("", "Enter")
    for answered in range(3):
        # The agents start at the same time, so any of the three may ask first.
        last = terminal.prompt(after=answered)
        if "yes or no" in last:
            terminal.type("yes", "Enter", "Enter")
        else:
            terminal.type("SQLite" if "choice" in last else "Nova", "Enter")
    for made in ("deployed.txt", "database.txt", "release.txt"):
        terminal.until(f"went on and wrote {made}")
    terminal.until("What next:")
    assert "/link/" in (tmp_path / "opened").read_text(encoding="utf-8")
    terminal.until("Enter ends the demo.")
    terminal.type("", "Enter")
    terminal.until("exit code 0")


def a_call(world, command):
    """An ask about a tool call, as a host's hook opens it."""
    origin = Origin(str(world.folder), str(world.folder), "claude", "claude/s1", "t1", "person:ada")
    call = make_call("Bash", {"command": command}, str(world.folder), "main")
    request = Request(f"Run this command? {command}", "approval", call=call)
    return create_ask.ask(world.store, request, origin, an_agent()).ask.id


@pytest.mark.proves("AGT-2", "AGT-6")
def test_call_is_edited_or_allowed_for_longer(world, terminal):
    edited, _, kept = (a_call(world, f"git push {name}") for name in ("one", "two", "three"))
    terminal.run("inbox", "--answer")
    terminal.until("yes or no (Enter: not yet; q: stop):")
    terminal.type("edit", "Enter")
    terminal.until("Run this instead: git push one")
    terminal.type(" -n", "Enter")
    # Input typed before its question does not count.
    terminal.prompt(after=1)
    terminal.type("yes for ever", "Enter")
    terminal.until("Not understood: expected a scope")
    terminal.type("yes for this session", "Enter")
    terminal.prompt(after=2)
    terminal.type("edit", "Enter")
    terminal.until("Run this instead: git push three")
    terminal.type("", "Enter")
    terminal.until(f"{kept} is still waiting")
    assert world.get(edited).value == {"input": {"command": "git push one -n"}}
    assert [rule.session for rule in world.store.rules.in_force()] == ["claude/s1"]
    assert world.get(kept).pending


@pytest.mark.proves("AGT-2", "LAW-8")
def test_control_characters_are_edited_in_plain_letters(world, terminal):
    ask_id = a_call(world, "ls \x9b2J\u202e x\nrm y")
    terminal.run("answer", ask_id)
    terminal.until("yes or no (Enter: not yet):")
    terminal.type("edit", "Enter")
    seen = terminal.until("Run this instead:")
    assert '"ls \\u009b2J\\u202e x\\nrm y"' in seen
    assert "Run this command?" in seen, "the screen was not cleared"
