"""`gate ask`, `gate wait`, `gate cancel`, `gate ask-back`, `gate reply`."""

from __future__ import annotations

import json
import os
import shlex
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from gatebell.app import settings
from gatebell.app.wiring import local_backend
from gatebell.cli import screen


def when_asked(world, number=1):
    """Wait for this many pending asks without sleeping; return their ids."""
    bell = world.store.bell()
    until = world.store.monotonic() + 30
    while len(found := world.store.asks.pending(99)) < number:
        assert world.store.monotonic() < until, "nobody asked"
        bell.wait(1)
    bell.close()
    return [ask.id for ask in found]


@pytest.mark.proves("CLI-1", "CLI-2", "LAW-1")
def test_approval_from_question_to_answer(world):
    asking = world.plain.start("ask", "Deploy to production?", "--kind", "approval")
    (ask_id,) = when_asked(world)
    assert (
        world.ada.gate("answer", ask_id, "yes", "--note", "go").out
        == f"Recorded: {ask_id} is approved\n"
    )
    out, err = asking.communicate(timeout=60)
    assert (asking.returncode, out) == (0, "approved\nnote: go\n")
    assert err == f"Waiting for a person: gate answer {ask_id}\n"
    assert world.get(ask_id).delivered_at


@pytest.mark.proves("CLI-2", "X-9")
def test_rejection_is_exit_code_ten(world):
    ask_id = world.ask("Deploy?", "--kind", "approval")
    world.ada.gate("answer", ask_id, "no", "--note", "not today")
    assert world.plain.gate("wait", ask_id)[:2] == (10, "rejected\nnote: not today\n")


@pytest.mark.proves("CLI-21")
def test_output_is_utf_8_in_every_locale(world):
    ask_id = world.ask("Größe, 好?", "--option", "😀", "--option", "☹")
    assert "好?" in world.ada.gate("inbox", PYTHONIOENCODING="latin-1").out
    world.ada.gate("answer", ask_id, "1")
    assert world.plain.gate("wait", ask_id, PYTHONIOENCODING="ascii")[:2] == (0, "😀\n")


@pytest.mark.proves("CLI-1", "CLI-19")
@pytest.mark.parametrize(
    ("words", "answer", "out"),
    [
        (["Which?", "--option", "A, B", "--option", "C"], ["A, B"], "A, B\n"),
        (["Which?", "--option", "A", "--option", "Other…"], ["--other", "mine"], "mine\n"),
        (["Which?", "--option", "A", "--option", "B", "--multiple"], ["B", "a"], "B\nA\n"),
        (["Why?"], ["because\nof \x1b[1m this"], "because\nof \x1b[1m this\n"),
        (["Size?", "--schema", '{"type":"object","required":["n"]}'], ['{"n": 3}'], '{"n": 3}\n'),
    ],
)
def test_every_kind_prints_just_its_answer(world, words, answer, out):
    ask_id = world.ask(*words)
    assert world.ada.gate("answer", ask_id, *answer).code == 0
    for _ in range(2):
        assert world.plain.gate("wait", ask_id)[:2] == (0, out)


@pytest.mark.proves("CLI-3")
def test_json_has_every_field(world):
    schema = world.folder / "schema.json"
    schema.write_text('{"type": "object"}')
    ran = world.plain.gate(
        "ask", "Size?", "--schema", str(schema), "--no-wait", "--json", "--priority", "urgent",
        "--confidence", "0.5", "--from", "coder", "--timeout", "2h", "--default", '{"n":1}', "--context", "-",
        text='{"diff": "+1"}',
    )  # fmt: skip
    opened = json.loads(ran.out)
    assert (opened["priority"], opened["confidence"], opened["agent"]) == (0, 0.5, "coder")
    assert (opened["default"], opened["context"], opened["deadline"]) == (
        {"n": 1},
        {"diff": "+1"},
        "soft",
    )
    assert opened["project"] == str(world.plain.folder)
    world.ada.gate("answer", opened["id"], '{"n": 2}', "--json")
    answered = json.loads(world.plain.gate("wait", opened["id"], "--json").out)
    assert answered["value"] == {"n": 2} and answered["settled_by"] == "person:ada"
    assert opened.keys() == answered.keys()


@pytest.mark.proves("CLI-2", "ASK-18", "X-11")
def test_timeout_exits_three_with_the_default_on_stdout(world):
    assert world.plain.gate("ask", "Colour?", "--timeout", "0.05s", "--default", "blue")[:2] == (
        3,
        "blue\n",
    )
    ran = world.plain.gate("ask", "Deploy?", "--kind", "approval", "--timeout", "0.05")
    assert (ran.code, ran.out) == (3, "") and "timed out" in ran.err


@pytest.mark.proves("CLI-2", "ASK-33", "X-26")
def test_cancelled_ask_tells_its_waiter_who_and_why(world):
    ask_id = world.ask("Deploy?", "--kind", "approval")
    assert world.ada.gate("cancel", ask_id, "--reason", "obsolete").out == f"Cancelled {ask_id}\n"
    ran = world.plain.gate("wait", ask_id)
    assert (
        ran.code == 4
        and ran.out == ""
        and "cancelled by person:ada" in ran.err
        and "obsolete" in ran.err
    )
    assert world.ada.gate("cancel", ask_id).code == 6
    assert (
        json.loads(world.ada.gate("cancel", world.ask("Q?"), "--json").out)["status"] == "cancelled"
    )


@pytest.mark.proves("CLI-4", "S4-B30")
def test_wait_in_an_agents_shell_ends_and_continues_later(world):
    ran = world.claude.gate("ask", "Which?", GATE_AGENT_WAIT_SECONDS="0.05")
    (ask_id,) = when_asked(world)
    assert ran[:2] == (11, f"NOT ANSWERED YET: run: gate wait {ask_id}\n")
    assert world.get(ask_id).pending
    again = world.claude.gate("ask", "Which?", "--json", GATE_AGENT_WAIT_SECONDS="0.05")
    assert json.loads(again.out)["next"] == f"gate wait {ask_id}" and again.code == 11
    world.ada.gate("answer", ask_id, "left")
    assert world.claude.gate("wait", ask_id)[:2] == (0, "left\n")
    assert world.get(ask_id).delivered_to == "agent:claude/s1"
    assert world.claude.gate("ask", "Which?", "--no-wait").out.strip() != ask_id


@pytest.mark.proves("ASK-24", "CLI-19")
def test_agent_that_asks_again_after_a_crash_is_answered(world):
    asking = world.claude.start("ask", "Which?")
    (ask_id,) = when_asked(world)
    asking.kill()
    asking.communicate()
    world.ada.gate("answer", ask_id, "left")
    assert world.claude.gate("ask", "Which?")[:2] == (0, "left\n")


@pytest.mark.proves("CLI-20", "LAW-1")
def test_interrupting_a_wait_leaves_the_ask_waiting(world):
    asking = world.plain.start("ask", "Which?")
    (ask_id,) = when_asked(world)
    assert "Waiting" in asking.stderr.readline()
    asking.send_signal(signal.SIGINT)
    out, _ = asking.communicate(timeout=60)
    assert (asking.returncode, out) == (11, f"NOT ANSWERED YET: run: gate wait {ask_id}\n")
    assert world.get(ask_id).pending
    assert world.plain.gate("wait", ask_id, "--timeout", "0.05").code == 11


@pytest.mark.proves("CLI-7", "ASK-21", "CLI-34")
def test_person_asks_back_and_the_asker_replies(world):
    asking = world.plain.start("ask", "Deploy?", "--kind", "approval")
    (ask_id,) = when_asked(world)
    told = world.ada.gate("ask-back", ask_id, "which build?").out
    assert "still waiting" in told and f"If no reply comes: gate answer {ask_id}" in told
    out, _ = asking.communicate(timeout=60)
    assert (asking.returncode, out) == (11, f"which build?\nreply: gate reply {ask_id} TEXT\n")
    assert world.get(ask_id).pending
    assert f"gate wait {ask_id}" in world.plain.gate("reply", ask_id, "build 42").out
    assert "build 42" in world.ada.gate("show", ask_id).out
    world.ada.gate("ask-back", ask_id, "sure?", "--json")
    heard = json.loads(world.plain.gate("wait", ask_id, "--json").out)
    assert [message["text"] for message in heard["messages"]] == ["sure?"]
    assert json.loads(world.plain.gate("reply", ask_id, "yes", "--json").out)["id"] == ask_id
    world.ada.gate("answer", ask_id, "yes")
    assert world.plain.gate("wait", ask_id).code == 0


@pytest.mark.proves("CLI-18", "ASK-30")
def test_secret_goes_to_a_private_file_or_a_command(world):
    opened = json.loads(world.plain.gate("ask", "Token?", "--secret", "--no-wait", "--json").out)
    token = world.folder / "token"
    token.write_text(opened["token"])
    world.ada.gate("answer", opened["id"], "hunter2")
    wait = ["wait", opened["id"], "--token-file", str(token)]
    assert world.plain.gate("wait", opened["id"]).code == 7
    target = world.folder / "secret"
    target.write_text("old")
    assert world.plain.gate(*wait, "--to-file", str(target)).code == 2
    assert target.read_text() == "old" and not world.get(opened["id"]).delivered_at
    nowhere = world.plain.gate(*wait, "--to-file", str(world.folder / "no" / "where"))
    assert nowhere.code == 1 and "not handed over; run: gate wait" in nowhere.err
    target.unlink()
    ran = world.plain.gate(*wait, "--to-file", str(target))
    assert ran.code == 0 and "hunter2" not in ran.out
    assert target.read_text() == "hunter2" and stat.S_IMODE(target.stat().st_mode) == 0o600
    assert "already taken" in world.plain.gate(*wait).err
    asking = world.plain.start("ask", "Token?", "--secret", "--exec", "tr a-z A-Z > got")
    (ask_id,) = when_asked(world)
    world.ada.gate("answer", ask_id, "hunter3")
    out, _ = asking.communicate(timeout=60)
    assert asking.returncode == 0 and "hunter3" not in out
    assert (world.plain.folder / "got").read_text() == "HUNTER3"


@pytest.mark.proves("CLI-18", "CLI-4", "ASK-30")
def test_interrupted_wait_for_a_secret_can_continue(world):
    target = str(world.folder / "secret")
    ran = world.claude.gate(
        "ask", "Token?", "--secret", "--to-file", target, GATE_AGENT_WAIT_SECONDS="0.05"
    )
    (ask_id,) = when_asked(world)
    assert ran.code == 11 and ran.out.startswith(
        f"NOT ANSWERED YET: run: gate wait {ask_id} --token-file "
    )
    words = shlex.split(ran.out)[4:]
    token_file = Path(words[words.index("--token-file") + 1])
    assert stat.S_IMODE(token_file.stat().st_mode) == 0o600
    world.ada.gate("answer", ask_id, "hunter2")
    assert world.claude.gate(*words[1:]).code == 0
    assert Path(target).read_text() == "hunter2" and not token_file.exists()


@pytest.mark.proves("CLI-1", "LAW-6")
def test_note_never_mixes_with_a_captured_value(world):
    ask_id = world.ask("Which?", "--option", "A", "--option", "B")
    world.ada.gate("answer", ask_id, "B", "--note", "but only today")
    assert world.plain.gate("wait", ask_id) == (0, "B\n", "note: but only today\n")


@pytest.mark.proves("LAW-10")
def test_lost_folder_and_broken_stdout_are_handled(world):
    lost = world.folder / "lost"
    lost.mkdir()
    command = f"cd {lost} && rmdir {lost} && {sys.executable} -m gatebell ask Q? --no-wait"
    ran = subprocess.run(
        ["sh", "-c", command], env=world.plain.environ, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    for redirect, code in ((">/dev/full", 1), (">&-", 2)):
        command = f"{sys.executable} -m gatebell inbox {redirect}"
        ran = subprocess.run(
            ["sh", "-c", command],
            env=world.plain.environ,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (
            ran.returncode == code
            and "Traceback" not in ran.stderr
            and ran.stderr.startswith("gate: ")
        )


@pytest.mark.proves("CLI-18", "LAW-6")
def test_secret_whose_command_fails_is_not_called_delivered(world):
    asking = world.plain.start("ask", "Token?", "--secret", "--exec", "cat >/dev/null; exit 3")
    (ask_id,) = when_asked(world)
    world.ada.gate("answer", ask_id, "hunter2")
    assert asking.wait(30) == 1
    asking.communicate()
    assert not world.get(ask_id).delivered_at and world.store.asks.secret(ask_id) == "hunter2"


@pytest.mark.proves("LAW-4", "CLI-2")
def test_answer_that_could_not_be_printed_is_not_taken(world):
    ask_id = world.ask("Which?")
    world.ada.gate("answer", ask_id, "left")
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "gatebell", "wait", ask_id]
    ran = subprocess.run(
        command, env=world.plain.environ, stdout=writer, stderr=subprocess.PIPE, check=False
    )
    os.close(writer)
    assert ran.returncode == 1 and not world.get(ask_id).delivered_at


@pytest.mark.proves("CLI-2", "LAW-10")
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["ask"], "gate ask needs QUESTION"),
        (["ask", "Q", "--kind", "poll"], "poll"),
        (["ask", "Q", "--kind", "choice"], "needs options"),
        (["ask", "Q", "--schema", "{no"], "not valid JSON"),
        (["ask", "Q", "--schema", "/none"], "cannot read"),
        (["ask", "Q", "--context", "a text"], "--context takes a file, or - for standard input"),
        (["ask", "Q", "--schema", "{}", "--default", "{"], "must be valid JSON"),
        (["ask", "Q", "--timeout", "soon"], "300, 90s"),
        (["ask", "Q", "--priority", "soon"], "urgent"),
        (["ask", "Q", "--kind", "approval", "--default", "yes"], "a timeout never decides"),
        (["ask", "Q", "--secret", "--no-wait", "--to-file", "x"], "gate wait"),
        (["ask", "Q", "--to-file", "x"], "add --secret"),
        (["ask", "Q", "--secret", "--no-wait"], "needs --json"),
        (["ask", "Q", "--timeout", ""], "300, 90s"),
        (["ask", "Q", "--default", "x"], "give it a timeout"),
        (["inbox", "--limit", "0"], "--limit: expected a number from 1 to"),
        (["wait", "a-zzzz", "--timeout", "x"], "300, 90s"),
        (["answer"], "gate answer ID VALUE"),
        (["flarp"], "gate --help"),
    ],
)
def test_bad_input_is_exit_code_two_with_a_sentence(world, words, sentence):
    ran = world.plain.gate(*words)
    assert ran.code == 2 and ran.out == "" and sentence in ran.err and "Traceback" not in ran.err
    assert world.store.asks.count() == 0


@pytest.mark.proves("AGT-30", "AGT-17")
def test_agents_question_explains_itself(world):
    folder = world.folder / "home" / ".claude" / "projects" / "-p"
    folder.mkdir(parents=True)
    says = {"type": "assistant", "message": {"content": [{"type": "text", "text": "Two ways."}]}}
    (folder / "s1.jsonl").write_text(json.dumps(says) + "\n", encoding="utf-8")
    ask_id = world.ask("Which way?", shell=world.claude)
    assert "It last said:\n│ Two ways." in world.plain.gate("show", ask_id).out
    assert world.get(world.ask("Which way?", shell=world.plain)).activity == ""


@pytest.mark.proves("CLI-8")
def test_wide_screen_shows_whole_agent_names(world, monkeypatch):
    asked = world.get(world.ask("Which?", "--from", "Agent-tmux-pts-3"))
    for columns, shown in ((100, " Agent-tmux-pt… "), (120, " Agent-tmux-pts-3 ")):
        monkeypatch.setattr(screen, "columns", lambda columns=columns: columns)
        (line,) = screen.inbox_lines(local_backend(world.store), [asked])
        assert shown in line and len(line) <= columns
        assert screen.inbox_head() == [], "programs get only the asks"
        with monkeypatch.context() as there:
            there.setattr("sys.stdout.isatty", lambda: True)
            there.setenv("NO_COLOR", "1")
            (head,) = screen.inbox_head()
        assert head.index("QUESTION") == line.index("Which?") and len(head) <= columns


@pytest.mark.proves("FLT-17")
@pytest.mark.parametrize(
    ("limits", "seconds"),
    [
        ({"BASH_DEFAULT_TIMEOUT_MS": "60000"}, 54),
        ({"BASH_DEFAULT_TIMEOUT_MS": "600000", "BASH_MAX_TIMEOUT_MS": "30000"}, 27),
        ({"BASH_DEFAULT_TIMEOUT_MS": "1200000"}, 540),
        ({"BASH_DEFAULT_TIMEOUT_MS": "soon", "BASH_MAX_TIMEOUT_MS": "0"}, 540),
    ],
)
def test_wait_is_shorter_than_the_shell_limit(tmp_path, limits, seconds):
    environ = {"HOME": str(tmp_path), "GATE_AGENT_WAIT_SECONDS": "540"} | limits
    assert settings.agent_wait_seconds(environ) == pytest.approx(seconds)
