"""Opening the agent programs on their own screens, and reading their logs."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gatebell.adapters.agents.hosts import (
    ClaudeHost,
    CodexHost,
    CommandHost,
)
from gatebell.app import wiring
from gatebell.domain.sessions.proposals import AGENT, PERSON, Said
from gatebell.errors import MissingAgentError, UsageError
from gatebell.ports.agents import Opening, Talk

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)
SESSION = "5b1c1f2e-0000-4000-8000-000000000001"


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Set up a home with logs of agents, and programs on the path."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("claude", "codex", "talk"):
        (programs / name).write_text("#!/bin/sh\n", encoding="utf-8")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    return tmp_path


def opening(home, **more):
    made = Opening(
        mark="t-1",
        session=SESSION,
        fresh=True,
        prompt="-x: read it",
        prompt_file="/p/a-1/prompt.md",
        system_file="",
        files_folder="/p/a-1",
        model="",
        cwd=str(home),
        mcp_config="",
        environ={"GATE_TURN": "t-1", "GATE_ASK": "a-1"},
        project=str(home),
    )
    return made._replace(**more)


def write_log(path, records):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
    return path


def claude_log(home, *records):
    return write_log(home / "claude" / "projects" / "p" / f"{SESSION}.jsonl", records)


def build_line(kind, content, minutes=1, **more):
    at = (NOON + timedelta(minutes=minutes)).isoformat().replace("+00:00", "Z")
    return {"type": kind, "timestamp": at, "message": {"content": content}, **more}


def codex_log(home, session, prompt, at="2026-11-16T12-00-00"):
    item = {"type": "message", "role": "user", "content": [{"text": prompt}]}
    said = {"type": "message", "role": "assistant", "content": [{"text": "Aye."}]}
    records = [{"type": "session_meta", "payload": {"id": session}}]
    records += [
        {"type": "response_item", "timestamp": "2026-11-16T12:01:00Z", "payload": one}
        for one in (item, said)
    ]
    day = home / "codex" / "sessions" / "2026" / "11" / "16"
    return write_log(day / f"rollout-{at}-{session}.jsonl", records)


@pytest.mark.proves("SES-83", "S0-59", "S0-68", "S0-B30")
def test_claude_is_opened_with_its_settings_only(home):
    plain = ClaudeHost().open_session(opening(home))
    assert plain[0] == str(home / "bin" / "claude") and plain[-2:] == ["--", "-x: read it"]
    assert plain[1:3] == ["--session-id", SESSION] and "--add-dir" not in plain
    assert "--allowedTools Read(//p/a-1/**)" in " ".join(plain)
    # The last entry counts.
    modes = [plain[at + 1] for at, word in enumerate(plain) if word == "--permission-mode"]
    assert modes[-1] == "default"
    for word in ("-p", "--print", "--model", "--append-system-prompt-file"):
        assert word not in plain
    servers = json.loads(plain[plain.index("--mcp-config") + 1])["mcpServers"]
    assert servers["gatebell"]["env"] == dict(opening(home).environ)
    more = opening(home, system_file="/p/system.md", model="opus", mcp_config="/m.json")
    words = ClaudeHost().open_session(more)
    for pair in (
        ["--append-system-prompt-file", "/p/system.md"],
        ["--model", "opus"],
        ["--mcp-config", "/m.json"],
    ):
        assert any(words[at : at + 2] == pair for at in range(len(words)))
    assert "--" not in ClaudeHost().open_session(opening(home, prompt=""))


@pytest.mark.proves("SES-84", "S0-117")
def test_started_conversation_is_resumed_and_a_lost_one_reported(home):
    claude, codex = ClaudeHost(), CodexHost()
    for host in (claude, codex):
        with pytest.raises(MissingAgentError, match="on this machine: it was begun elsewhere"):
            host.open_session(opening(home, fresh=False))
    assert codex.new_session() == "" and len(claude.new_session()) == 36
    claude_log(home, build_line("user", "Please read /p/a-1/prompt.md first"))
    assert claude.open_session(opening(home, fresh=False))[1:3] == ["--resume", SESSION]
    assert claude.was_told(SESSION, "a-1/prompt.md") and not claude.was_told(
        SESSION, "a-2/prompt.md"
    )
    assert claude.found_session("a-1/prompt.md", NOON) == "", "its id is ours from the beginning"


@pytest.mark.proves("SES-85", "S0-68")
def test_codex_conversation_is_found_by_its_first_words(home):
    codex = CodexHost()
    fresh = opening(home, session="", model="sonnet", system_file="/p/system.md")
    words = codex.open_session(fresh)
    assert words[0] == str(home / "bin" / "codex") and words[-2:] == ["--", "-x: read it"]
    assert "resume" not in words and "--model" not in words, "sonnet is claude's"
    told_so = 'developer_instructions="Follow /p/system.md: read it before anything else."'
    assert told_so in words
    assert codex.open_session(opening(home, session="", model="o9"))[-4:-2] == ["--model", "o9"]
    with pytest.raises(UsageError, match="codex takes no mcp_config"):
        codex.open_session(opening(home, session="", mcp_config="/m.json"))
    assert codex.found_session("a-1/prompt.md", NOON) == ""
    codex_log(home, "one", "read /p/a-1/prompt.md", "2026-11-16T12-00-00")
    codex_log(home, "two", "something else", "2026-11-16T13-00-00")
    write_log(home / "codex/sessions/2026/11/16/rollout-2026-11-16T14-torn.jsonl", ["torn"])
    hour = timedelta(hours=1)
    assert codex.found_session("a-1/prompt.md", datetime.now(UTC) - hour) == "one"
    later = datetime.now(UTC) + hour
    assert codex.found_session("a-1/prompt.md", later) == "", "nothing was begun since then"
    resumed = codex.open_session(opening(home, session="one", prompt=""))
    assert resumed[1] == "resume" and resumed[-1] == "one"
    assert codex.talk("one", NOON).said == [
        Said(PERSON, "read /p/a-1/prompt.md"),
        Said(AGENT, "Aye."),
    ]


@pytest.mark.proves("SES-86", "S0-B14")
def test_talk_holds_both_sides_since_the_start(home):
    claude_log(
        home,
        build_line("user", "before", minutes=-1),
        build_line("user", "take 8080"),
        build_line("user", "<bash-stdout>APPROVED</bash-stdout>"),
        build_line("user", [{"type": "text", "text": "[Request interrupted by user]"}]),
        build_line("user", [{"type": "tool_result", "tool_use_id": "c1", "content": "APPROVED"}]),
        build_line("assistant", [{"type": "text", "text": "I do."}]),
        build_line("assistant", [{"type": "text", "text": "aside"}], isSidechain=True),
        {"type": "last-prompt", "lastPrompt": "take 8080"},
        build_line("user", "no time", minutes=2) | {"timestamp": "soon"},
    )
    said = [Said(PERSON, "take 8080"), Said(AGENT, "I do.")]
    assert ClaudeHost().talk(SESSION, NOON) == Talk(said, "")
    assert ClaudeHost().talk("", NOON) == Talk([], "")


@pytest.mark.proves("SES-86", "S0-B25")
def test_service_refusal_is_reported_until_the_agent_speaks(home):
    refused = build_line(
        "assistant", [{"type": "text", "text": "Not logged in"}], isApiErrorMessage=True
    )
    claude_log(home, build_line("user", "hello"), refused)
    assert ClaudeHost().talk(SESSION, NOON) == Talk([Said(PERSON, "hello")], "Not logged in")
    claude_log(home, refused, build_line("assistant", [{"type": "text", "text": "Hi."}]))
    assert ClaudeHost().talk(SESSION, NOON) == Talk([Said(AGENT, "Hi.")], "")


@pytest.mark.proves("SES-87")
def test_any_command_is_opened_with_the_question_file(home, monkeypatch):
    host = CommandHost(["talk", "--file={prompt_file}"])
    words = host.open_session(opening(home, system_file="/p/system.md"))
    assert words == [
        "/usr/bin/env",
        f"AI_AGENT={SESSION}",
        f"GATE_SESSION={SESSION}",
        "GATE_PROMPT_FILE=/p/a-1/prompt.md",
        "GATE_SYSTEM_FILE=/p/system.md",
        str(home / "bin" / "talk"),
        "--file=/p/a-1/prompt.md",
    ]
    assert host.new_session() and host.found_session("m", NOON) == ""
    assert host.was_told(SESSION, "m") is False and host.talk(SESSION, NOON) is None
    with pytest.raises(MissingAgentError, match="session_command of your settings"):
        CommandHost(["elsewhere"]).open_session(opening(home))
    monkeypatch.setenv("GATE_SESSION_COMMAND", "talk 'a b'")
    assert isinstance(wiring.host("command"), CommandHost)
    assert isinstance(wiring.host("codex"), CodexHost) and isinstance(
        wiring.host("claude"), ClaudeHost
    )
    assert Path(wiring.session_folder("gate.db", "a-1")).parts[-2:] == ("gate.db-sessions", "a-1")
    assert os.path.isabs(wiring.session_folder("gate.db", "a-1"))
