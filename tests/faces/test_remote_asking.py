"""Asking and answering by commands on other machines: `GATE_SERVER` and `GATE_TOKEN`."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import httpx
import pytest
from tests.support.server_world import server_world
from tests.support.waiting import eventually

__all__ = ["server_world"]


@pytest.mark.proves("REMOTE-1")
def test_agent_asks_and_person_answers_elsewhere(server_world):
    waiting = server_world.agent.start("ask", "Which database?", "--option", "A", "--option", "B")
    (ask,) = eventually(lambda: server_world.store.asks.pending(10, None))
    assert ask.origin.session.startswith("http-") and ask.origin.session.endswith("/claude:s1")
    assert "Which database?" in server_world.ada.gate("inbox").out
    ran = server_world.ada.gate("answer", ask.id, "2")
    assert ran.code == 0, ran.err
    out, err = waiting.communicate(timeout=60)
    assert (waiting.returncode, out) == (0, "B\n"), err
    taken = eventually(lambda: server_world.get(ask.id).delivered_at and server_world.get(ask.id))
    assert taken.settled_by == "person:ada"
    assert taken.delivered_to == f"agent:{ask.origin.session}"
    assert server_world.agent.gate("wait", ask.id).out == "B\n"


@pytest.mark.proves("REMOTE-1")
def test_approval_has_the_exit_codes_of_a_store(server_world):
    for word, code in (("yes", 0), ("no", 10)):
        ask_id = server_world.ask("Deploy?", "--kind", "approval")
        answered = server_world.ada.gate("answer", ask_id, word, "--note", "because", "--json")
        assert json.loads(answered.out)["decision"] == ("approved" if code == 0 else "rejected")
        ran = server_world.agent.gate("wait", ask_id)
        assert ran.code == code and "note: because" in ran.out, ran.err


@pytest.mark.proves("REMOTE-1")
def test_person_asks_back_and_the_agent_replies(server_world):
    ask_id = server_world.ask("Delete it?")
    assert server_world.ada.gate("ask-back", ask_id, "Which", "one?").code == 0
    for _ in range(2):
        read = server_world.bob.gate("wait", ask_id)
        assert read.code == 11 and "Which one?" in read.out, "they stay new for the asker"
    ran = server_world.agent.gate("wait", ask_id)
    assert ran.code == 11 and "Which one?" in ran.out and f"gate reply {ask_id}" in ran.out
    assert server_world.agent.gate("wait", ask_id, "--timeout", "1").code == 11
    assert server_world.agent.gate("reply", ask_id, "the", "old", "one").code == 0
    shown = server_world.ada.gate("show", ask_id).out
    assert "the old one" in shown and "Which one?" in shown
    assert server_world.agent.gate("cancel", ask_id, "--reason", "found out").code == 0
    assert server_world.agent.gate("wait", ask_id).code == 4


@pytest.mark.proves("REMOTE-1")
def test_token_that_asked_cannot_ask_back(server_world):
    """The server would record the message as the asker's, and the asker would never hear it."""
    own = server_world.ask("Mine?", shell=server_world.ada)
    ran = server_world.ada.gate("ask-back", own, "why?")
    assert ran.code == 7 and "use another token" in ran.err and f"gate reply {own} TEXT" in ran.err
    assert server_world.store.asks.messages(own) == []
    assert server_world.bob.gate("ask-back", own, "why?").code == 0
    assert server_world.get(own).asked_back == 1


@pytest.mark.proves("REMOTE-16", "LAW-4")
def test_answer_that_was_not_printed_is_not_taken(server_world):
    ask_id = server_world.ask("Left or right?")
    assert server_world.ada.gate("answer", ask_id, "left").code == 0
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "gatebell", "wait", ask_id]
    ran = subprocess.run(
        command, env=server_world.agent.environ, stdout=writer, stderr=subprocess.PIPE, check=False
    )
    os.close(writer)
    assert ran.returncode == 1 and not server_world.get(ask_id).delivered_at
    assert server_world.agent.gate("wait", ask_id).out == "left\n"
    assert eventually(lambda: server_world.get(ask_id).delivered_at)


@pytest.mark.proves("REMOTE-1")
def test_secret_is_handed_over_once(server_world):
    opened = json.loads(
        server_world.agent.gate("ask", "Key?", "--secret", "--no-wait", "--json").out
    )
    token = server_world.folder / "token"
    token.write_text(opened["token"])
    assert server_world.ada.gate("answer", opened["id"], "--file", "-", text="hunter2").code == 0
    assert server_world.agent.gate("wait", opened["id"]).code == 7
    ran = server_world.agent.gate("wait", opened["id"], "--token-file", str(token))
    assert (ran.code, ran.out) == (0, "hunter2\n"), ran.err
    again = server_world.agent.gate("wait", opened["id"], "--token-file", str(token))
    assert again.code == 7 and "already taken" in again.err
    assert "hunter2" not in server_world.ada.gate("show", opened["id"], "--json").out


@pytest.mark.proves("REMOTE-1")
def test_errors_are_those_of_the_server(server_world):
    assert server_world.ada.gate("show", "a-zzzz").code == 5
    ask_id = server_world.ask("Which?", "--option", "A", "--option", "B")
    ran = server_world.ada.gate("answer", ask_id, "C")
    assert ran.code == 7 and "'A', 'B'" in ran.err
    assert server_world.ada.gate("answer", ask_id, "A").code == 0
    late = server_world.bob.gate("answer", ask_id, "B")
    assert late.code == 6 and "already answered by person:ada" in late.err
    assert server_world.ada.gate("history", "Which?", "--json").code == 0
    stranger = server_world.shell("gate_wrong").gate("inbox")
    assert stranger.code == 7 and "does not know that token" in stranger.err
    nobody = server_world.shell().gate("inbox")
    assert nobody.code == 7 and "gate login" in nobody.err


@pytest.mark.proves("REMOTE-2")
def test_token_that_may_only_ask_sees_its_own_asks(server_world):
    own, other = server_world.ask("Mine?"), server_world.ask("Hers?", shell=server_world.bob)
    assert "Mine?" in server_world.agent.gate("show", own).out
    for words in (["show", other], ["cancel", other], ["reply", other, "x"], ["wait", other]):
        ran = server_world.agent.gate(*words)
        assert ran.code == 5, (words, ran)
    for words in (["inbox"], ["history"], ["grants"], ["gates"]):
        ran = server_world.agent.gate(*words)
        assert ran.code == 7 and "scope" in ran.err, (words, ran)
    for words in (["answer", own, "x"], ["gates", "add", "Bash(rm *)"], ["ask-back", other, "x"]):
        assert server_world.agent.gate(*words).code in (5, 7), words
    assert server_world.get(own).pending and server_world.get(other).pending


@pytest.mark.proves("REMOTE-3")
def test_agent_with_its_persons_token_must_name_them(server_world):
    ask_id = server_world.ask("Deploy?", "--kind", "approval")
    found = server_world.shell("ada", CLAUDECODE="1")
    ran = found.gate("answer", ask_id, "yes")
    assert ran.code == 7 and "an agent seems to be at work here" in ran.err
    wrong = found.gate("answer", ask_id, "yes", "--as", "bob")
    assert wrong.code == 7 and "belongs to ada" in wrong.err
    assert server_world.get(ask_id).pending


@pytest.mark.proves("REMOTE-1", "CLI-34")
def test_asking_back_warns_that_programs_may_not_reply(server_world):
    for shell, warns in ((server_world.plain, True), (server_world.agent, False)):
        asked = server_world.ask("Which?", shell=shell)
        told = server_world.ada.gate("ask-back", asked, "why?").out
        assert (f"If no reply comes: gate answer {asked}" in told) is warns, told
        signed = {"authorization": f"Bearer {server_world.tokens['ada']}"}
        page = httpx.get(f"{server_world.web.url}/asks/{asked}", headers=signed).text
        assert ("may not be able to reply" in page) is warns


@pytest.mark.proves("REMOTE-4")
def test_command_that_needs_a_store_says_so(server_world):
    for words in (["worker"], ["task", "export"], ["task", "import", "-"]):
        ran = server_world.ada.gate(*words)
        assert ran.code == 2 and "works on a store of this machine" in ran.err, (words, ran)
