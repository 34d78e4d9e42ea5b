"""`gate answer`, and who may answer."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.proves("CLI-2", "ASK-23", "LAW-2", "S3-B13")
def test_late_answer_exits_six_and_names_the_winner(world):
    ask_id = world.ask("Which?")
    world.ada.gate("answer", ask_id, "left")
    ran = world.bob.gate("answer", ask_id, "right")
    assert ran.code == 6 and "person:ada" in ran.err
    assert "person:bob" in world.plain.gate("show", ask_id).out
    assert world.bob.gate("answer", ask_id).code == 6


@pytest.mark.proves("CLI-2", "ASK-6", "ASK-1")
def test_answer_that_does_not_fit_is_exit_code_seven(world):
    ask_id = world.ask("Deploy?", "--kind", "approval")
    ran = world.ada.gate("answer", ask_id, "sure, why not")
    assert ran.code == 7 and "yes or no" in ran.err
    form = world.ask("F?", "--schema", '{"type":"object"}')
    assert world.ada.gate("answer", form, "not json").code == 7
    assert world.get(ask_id).pending and world.get(form).pending
    assert len(world.store.asks.answers(form)) == 1


@pytest.mark.proves("CLI-2", "ASK-8")
def test_unknown_or_abbreviated_id_is_exit_code_five(world):
    ask_id = world.ask("Which?")
    assert world.ada.gate("answer", "a-zzzz", "x").code == 5
    assert world.ada.gate("answer", ask_id[:4], "x").code == 5
    assert world.ada.gate("cancel", ask_id[:4]).code == 5
    assert world.ada.gate("show", ask_id[:4]).code == 0


@pytest.mark.proves("CLI-5")
def test_missing_value_without_a_terminal_is_an_error(world):
    ask_id = world.ask("Which?")
    ran = world.ada.gate("answer", ask_id)
    assert ran.code == 2 and "gate answer" in ran.err
    assert world.ada.gate("inbox", "--answer").code == 2
    assert world.plain.gate("answer", ask_id, "x", "--as", "ada").code == 7
    assert world.plain.gate("inbox", "--as", "ada").code == 7


@pytest.mark.proves("CLI-10", "LAW-6")
def test_editor_counts_only_text_below_the_line(world):
    ask_id = world.ask(
        "Which?\n## Your answer: write below this line\nDelete it all.\x1b[2J", "--context", "-"
    )
    untouched = world.ada.gate("answer", ask_id, "--edit", EDITOR="true")
    assert untouched.code == 7 and "below the line" in untouched.err
    assert world.get(ask_id).pending and world.store.asks.answers(ask_id) == []
    failed = world.ada.gate("answer", ask_id, "--edit", EDITOR="false")
    assert failed.code == 2 and "exit code 1; nothing was changed" in failed.err
    crashed = world.ada.gate(
        "answer", ask_id, "--edit", EDITOR="sh -c 'echo my words >> $0; exit 3'"
    )
    assert crashed.code == 2 and world.store.asks.draft(ask_id, "person:ada") == "my words"
    seen = world.folder / "seen"
    script = world.folder / "editor"
    script.write_text(f'#!/bin/sh\ncp "$1" {seen}\necho \'  the left one\' >> "$1"\n')
    script.chmod(0o755)
    ran = world.ada.gate("answer", ask_id, "starting words", "--edit", VISUAL=str(script))
    assert ran.code == 0 and world.get(ask_id).value == "starting words\n  the left one"
    assert seen.read_text().count("nothing above it counts") == 1 and "\x1b" not in seen.read_text()
    assert list(Path(world.plain.environ["TMPDIR"]).iterdir()) == []


@pytest.mark.proves("CLI-10", "CLI-6", "LAW-6")
def test_text_written_in_the_editor_survives_a_refusal(world):
    ask_id = world.ask("F?", "--schema", '{"type":"object"}')
    broken = "sh -c 'echo [1 >> $0'"
    assert world.ada.gate("answer", ask_id, "--edit", EDITOR=broken).code == 7
    mended = "sh -c 'sed s/.1$/{}/ -i $0'"
    assert world.ada.gate("answer", ask_id, "--edit", EDITOR=mended).code == 0
    assert world.get(ask_id).value == {}


@pytest.mark.proves("LAW-6", "CLI-10")
def test_editor_that_loses_the_line_loses_no_words(world):
    ask_id = world.ask("Why?")
    ran = world.ada.gate("answer", ask_id, "--edit", EDITOR="sh -c 'echo all mine > $0'")
    assert ran.code == 7 and "kept as a draft" in ran.err and world.get(ask_id).pending
    assert world.store.asks.draft(ask_id, "person:ada") == "all mine"
    assert "needs a terminal" in world.ada.gate("answer", ask_id, "--edit").err


@pytest.mark.proves("LAW-6", "LAW-10")
def test_answer_that_is_not_text_is_refused_not_changed(world):
    ask_id = world.ask("Why?")
    path = world.folder / "binary"
    for content in (b"\xff\xfe", b"a\0b"):
        path.write_bytes(content)
        assert "not UTF-8 text" in world.ada.gate("answer", ask_id, "--file", str(path)).err
    assert world.get(ask_id).pending


@pytest.mark.proves("CLI-2")
def test_answer_comes_from_a_file_or_standard_input(world):
    path = world.folder / "answer"
    path.write_text("from a file\n")
    first, second, third = (
        world.ask("1?"),
        world.ask("2?"),
        world.ask("3?", "--option", "A", "--option", "B", "--multiple"),
    )
    assert world.ada.gate("answer", first, "--file", str(path)).code == 0
    assert world.ada.gate("answer", second, "--file", "-", text="from stdin\n").code == 0
    assert world.ada.gate("answer", third, "--file", "-", text="A\nB\n").code == 0
    assert [world.get(i).value for i in (first, second, third)] == [
        "from a file",
        "from stdin",
        ["A", "B"],
    ]
    assert world.ada.gate("answer", first, "x", "--file", "-").code == 2
    assert world.ada.gate("answer", first, "--file", "/none").code == 2
    choice = world.ask("4?", "--option", "two", "--option", "words")
    assert world.ada.gate("answer", choice, "two", "words").code == 2


@pytest.mark.proves("ASK-5", "ASK-6", "LAW-6")
@pytest.mark.parametrize("text", ["NaN", '{"a": 1e999}', "[" * 990 + "]" * 990, '{"a"'])
def test_json_that_is_none_is_refused_and_kept(world, text):
    ask_id = world.ask("F?", "--schema", '{"type":"object"}')
    ran = world.ada.gate("answer", ask_id, text)
    assert ran.code == 7 and "is it JSON?" in ran.err and "Traceback" not in ran.err
    assert world.store.asks.answers(ask_id)[0].value == text


@pytest.mark.proves("LAW-4", "ASK-32")
@pytest.mark.parametrize("value", ['{"secret": "x"}', '{"other": "x"}', '["a", "b\\nc"]'])
def test_form_is_always_handed_over_as_its_json(world, value):
    ask_id = world.ask("F?", "--schema", "{}")
    world.ada.gate("answer", ask_id, value)
    assert json.loads(world.plain.gate("wait", ask_id).out) == json.loads(value)


@pytest.mark.proves("ASK-22", "ASK-27")
def test_keys_and_digests_on_the_command_line(world):
    ask_id = world.ask("Which?")
    assert world.ada.gate("answer", ask_id, "x", "--digest", "f" * 64).code == 7
    digest = world.get(ask_id).digest
    for _ in range(2):
        assert world.ada.gate("answer", ask_id, "x", "--digest", digest, "--key", "k").code == 0


@pytest.mark.proves("WHO-2", "WHO-3", "WHO-4", "WHO-5", "LAW-3")
def test_agents_shell_cannot_approve_without_a_personal_token(world):
    ask_id = world.ask("Deploy?", "--kind", "approval", shell=world.claude)
    ran = world.claude.gate("answer", ask_id, "yes")
    assert ran.code == 7 and "CLAUDECODE" in ran.err and "--as NAME" in ran.err
    refused = world.store.audit.of_subject(ask_id)[-1].event
    assert (refused.kind, refused.actor) == ("answer.refused", "agent:claude/s1")
    assert "CLAUDECODE" in refused.content["evidence"]["variables"]
    assert world.get(ask_id).pending
    ran = world.claude.gate("answer", ask_id, "yes", "--as", "ada", GATE_TOKEN=world.tokens["ada"])
    assert ran.code == 0 and world.get(ask_id).settled_by == "person:ada"
    evidence = world.store.audit.of_subject(ask_id)[-1].event.content["evidence"]
    assert (
        evidence["ancestors"]
        and evidence["uid"] == os.getuid()
        and "CLAUDECODE" in evidence["variables"]
    )
    text = world.ask("Tabs?", shell=world.claude)
    assert "cannot answer it" in world.claude.gate("answer", text, "tabs").err
    unnamed = world.claude.gate("answer", text, "tabs", CLAUDE_CODE_SESSION_ID="")
    assert "cannot answer it" in unnamed.err
    inherited = world.claude.gate("answer", text, "tabs", GATE_TOKEN=world.tokens["ada"])
    assert "cannot answer it" in inherited.err
    assert world.claude.gate("answer", text, "tabs", CLAUDE_CODE_SESSION_ID="s2").code == 0
    assert world.get(text).settled_by == "agent:claude/s2"


@pytest.mark.proves("WHO-1", "WHO-2")
@pytest.mark.parametrize("name", ["claude", "codex"])
def test_agent_is_recognised_by_the_processes_above(world, name):
    ask_id = world.ask("Deploy?", "--kind", "approval")
    agent = world.folder / name
    shutil.copy("/bin/sh", agent)
    script = world.folder / "run.sh"
    script.write_text(f"{sys.executable} -m gatebell answer {ask_id} yes; echo $?\n")
    environ = {"PATH": os.environ["PATH"], "GATE_STORE": world.path, "HOME": str(world.folder)}
    ran = subprocess.run([agent, script], env=environ, capture_output=True, text=True, check=False)
    assert ran.stdout == "7\n" and f"is {name}" in ran.stderr
    assert world.get(ask_id).pending


@pytest.mark.proves("WHO-3", "WHO-7")
def test_tokens_are_proven_and_never_stored(world):
    ask_id = world.ask("Which?")
    assert world.bob.gate("answer", ask_id, "x", "--as", "ada").code == 7
    assert (
        world.plain.gate("answer", ask_id, "x", "--as", "ada", GATE_TOKEN="gate_nonsense").code == 7
    )
    empty = world.folder / "empty"
    empty.write_text("\n")
    assert (
        "no token was given"
        in world.plain.gate("answer", ask_id, "x", "--token-file", str(empty)).err
    )
    assert "no token was given" in world.plain.gate("answer", ask_id, "x", "--as", "ada").err
    assert world.get(ask_id).pending
    path = world.folder / "token"
    path.write_text(world.tokens["ada"] + "\n")
    assert (
        world.plain.gate("answer", ask_id, "x", "--as", "ada", "--token-file", str(path)).code == 0
    )
    folder = os.path.dirname(world.path)
    stored = b"".join((Path(folder) / name).read_bytes() for name in os.listdir(folder))
    assert (
        world.tokens["ada"].encode() not in stored
        and world.tokens["ada"][5:].encode() not in stored
    )


@pytest.mark.proves("ASK-10", "ASK-12", "ASK-13", "ASK-14")
def test_two_people_decide(world):
    ask_id = world.ask("Deploy?", "--kind", "approval", "--require", "2:ada,bob")
    ran = world.ada.gate("answer", ask_id, "yes")
    assert ran.code == 0 and "not settled yet: it needs all of ada, bob" in ran.out
    assert "person:ada: approved" in world.plain.gate("show", ask_id).out
    assert world.plain.gate("answer", ask_id, "yes").code == 7
    assert world.bob.gate("answer", ask_id, "yes").out == f"Recorded: {ask_id} is approved\n"
    veto = world.ask("Again?", "--kind", "approval", "--require", "2", "--veto", "bob")
    world.bob.gate("answer", veto, "no")
    assert world.get(veto).decision == "rejected"
    refused = world.plain.gate("ask", "X?", "--kind", "approval", "--require", "all:zoe")
    assert refused.code == 7 and "gate person add" in refused.err


@pytest.mark.proves("WHO-10")
@pytest.mark.parametrize(
    "words", [("add", "cy"), ("token", "ada"), ("token", "ada", "--scope=ask")]
)
def test_new_token_is_alone_on_stdout(world, words):
    ran = world.plain.gate("person", *words)
    assert re.fullmatch(r"gate_\S+\n", ran.out)
    assert ran.err.startswith("The token is shown only once. ")


@pytest.mark.proves("WHO-6", "WHO-7", "CLI-3")
def test_people_on_the_command_line(world):
    made = json.loads(world.plain.gate("person", "add", "cy", "--json").out)
    assert made["token"].startswith("gate_")
    assert world.plain.gate("person", "token", "cy").out.startswith("gate_")
    assert world.plain.gate("person", "group", "ops", "cy", "ada").code == 0
    listed = json.loads(world.plain.gate("person", "list", "--json").out)
    assert {"name": "cy", "tokens": 2} in listed["people"] and listed["groups"] == {
        "ops": ["ada", "cy"]
    }
    assert "group of ada, cy" in world.plain.gate("person", "list").out
    assert world.plain.gate("person", "remove", "cy").code == 0
    assert world.plain.gate("person", "remove", "cy", "--json").code == 5
    assert world.plain.gate("person", "add", "no way").code == 2
    kinds = [entry.event.kind for entry in world.store.audit.newest(4)]
    assert kinds == ["token.made", "token.made", "group.set", "person.removed"]
