"""Calls of sub-agents of real hosts: held, and shown with their parent."""

from __future__ import annotations

import re

import pytest
from tests.support.answering_person import AnsweringPerson

from gatebell.install.hosts import codex_turn
from gatebell.install.scripted_model import script, text, tool

_ANY_ID = r"{{result:[0-9a-f]+-[0-9a-f-]+}}"


def run_claude(house, inner):
    outer = tool("Agent", description="make", prompt=inner, subagent_type="general-purpose")
    words = ("--permission-mode", "bypassPermissions")
    house.run_claude([outer, text("done")], *words, IS_SANDBOX="1").result(100)


def run_codex(house, inner):
    """By its app server: `codex exec` asks no hook."""
    program = house.bin / "codex"
    words = " ".join([*house.network.prefix, house.programs.codex])
    program.write_text(f'#!/bin/sh\nexec {words} "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    place = (str(program), house.environ, str(house.project))
    settings = house.home / ".codex" / "config.toml"
    trust = codex_turn.build_trust(*place)
    settings.write_text(settings.read_text(encoding="utf-8") + trust, encoding="utf-8")
    wait = tool("wait_agent", targets=[_ANY_ID], timeout_ms=60_000)
    codex_turn.run(*place, script([tool("spawn_agent", message=inner), wait, text("done")]))


RUNS = {"claude": (run_claude, "Bash", "command"), "codex": (run_codex, "exec_command", "cmd")}


@pytest.mark.proves("HOOK-56")
@pytest.mark.parametrize(("cli", "answer"), [("claude", "no"), ("codex", "no"), ("codex", "yes")])
def test_call_of_a_sub_agent_is_decided(house, cli, answer):
    house.install(cli)
    run, name, argument = RUNS[cli]
    with AnsweringPerson(str(house.path), {"Run": answer}):
        run(house, script([tool(name, **{argument: "touch gated"}), text("done")]))
    (ask,) = house.store.asks.list_settled(9)
    assert re.fullmatch(rf"{cli} sub-agent [\w-]+ [0-9a-f]{{6}}", ask.origin.agent)
    assert ask.origin.session.startswith(f"{cli}/")
    assert (house.project / "gated").exists() == (answer == "yes")
