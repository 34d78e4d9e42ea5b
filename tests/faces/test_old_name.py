"""Homes, flow files and settings from the time when the product was called humangate."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tests.faces.old_home import OldHome
from tests.support.shells import Ran, said_in
from tests.support.waiting import eventually
from tests.support.web_inbox import Inbox

from gatebell.adapters.agents import claude
from gatebell.app import settings
from gatebell.app.wiring import open_store
from gatebell.domain.text.redaction import hide_secrets
from gatebell.install import plans, settings_files
from gatebell.install.default_gates import Rules
from gatebell.install.places import Place
from gatebell.web.context import COOKIE

ROOT = Path(__file__).parents[2]
# Files that handle the old name, describe it, or are texts from that time.
DEALS_WITH_IT = {
    "CHANGELOG.md",
    "docs/index.md",
    "docs/install.md",
    "src/gatebell/adapters/system/folders.py",
    "src/gatebell/domain/text/secret_formats.py",
    "tests/domain/plain_logs.txt",
    "tests/faces/old_home/__init__.py",
    "tests/faces/old_home/make_home.py",
    "tests/faces/test_old_name.py",
    "tests/service/test_old_imports.py",
}
_PLACES = (".ci", "bench", "docs", "examples", "src", "tests")
_BINARY = {".gif", ".gz", ".png", ".pyc"}
CLIS = ("claude", "codex", "gemini", "opencode")
GATE = str(Path(sys.executable).parent / "gate")
KEPT = "has the old name and is used as before"


@pytest.fixture
def old(tmp_path):
    home = OldHome(tmp_path)
    home.move_in()
    return home


def gate(home, *words, code=0):
    ran = home.shell.gate(*words)
    assert ran.code == code, ran
    return ran


def install(home, cli, *words):
    return gate(home, "install", cli, "--yes", "--as", "ada", *words)


def uninstall(home, cli):
    return gate(home, "uninstall", cli, "--yes", "--as", "ada")


def ids(home):
    """Return the asks by their prompts."""
    return {ask["prompt"]: ask["id"] for ask in json.loads(gate(home, "inbox", "--json").out)}


def settings_texts(home):
    """Return every file and folder of the four CLIs; a folder has no content."""
    return content_of(home.folder, (".claude", ".claude.json", ".codex", ".gemini", ".config"))


def content_of(folder, names):
    paths = [path for name in names for path in ((folder / name), *(folder / name).rglob("*"))]
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b""
        for path in paths
        if path.exists()
    }


def work(home, done):
    """Let a worker drive runs until a condition holds; return its output."""
    worker = home.shell.start("worker")
    try:
        eventually(done, what="the work")
    finally:
        worker.terminate()
        out, err = worker.communicate(timeout=60)
    return Ran(worker.returncode, out, err)


def in_terminal(home, *words):
    """Return the output of a command in a terminal."""
    above, below = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "gatebell", *words],
        env=home.shell.environ, cwd=home.project, stdin=subprocess.DEVNULL, stdout=below, stderr=below,
    )  # fmt: skip
    os.close(below)
    said = said_in(above).decode()
    process.wait(60)
    return said


@pytest.mark.proves("NAME-1", "LAW-6")
def test_pending_asks_of_an_old_home_are_answered(old):
    asks = ids(old)
    assert set(asks) == {"Which colour?", "Push it?", "Which name?", "Deploy it?", "Which login?"}
    for prompt, answer in (("Which colour?", "blue"), ("Push it?", "yes"), ("Which name?", "Eve")):
        gate(old, "answer", asks[prompt], answer)
    assert gate(old, "wait", asks["Which colour?"]).out == "blue\n"
    assert gate(old, "wait", asks["Push it?"]).code == 0
    assert gate(old, "wait", asks["Which name?"]).out == "Eve\n"
    assert not (old.data.parent / "gatebell").exists()


@pytest.mark.proves("NAME-2", "NAME-6", "LAW-5", "LAW-7")
def test_waiting_run_of_an_old_home_ends(old):
    gate(old, "answer", ids(old)["Deploy it?"], "yes")
    store = open_store(old.store)
    said = work(old, lambda: store.runs.get(1).state == "completed")
    result = store.runs.get(1).result
    assert (result["first"], result["end"]) == ("built", "GateError")
    file = old.project / ".gate" / "flows" / "deploy.py"
    sentence = f"{file} imports humangate, which is called gatebell now: change the name"
    assert said.err.count(sentence) == 1
    store.close()


@pytest.mark.proves("NAME-2", "LAW-5", "LAW-7")
def test_waiting_task_of_an_old_home_ends(old):
    (task,) = json.loads(gate(old, "task", "list", "--json").out)
    gate(old, "respond", task["id"], "By mail", "--as", "ada")
    store = open_store(old.store)
    work(old, lambda: store.tasks.get(task["id"]).state == "closed")
    store.close()


@pytest.mark.proves("NAME-3", "LAW-9")
def test_audit_trail_of_an_old_home_verifies(tmp_path):
    home = OldHome(tmp_path)
    assert "nothing was changed" in gate(home, "audit", "verify").out


@pytest.mark.proves("NAME-7", "AGT-41")
def test_install_leaves_no_old_name(old):
    for cli in CLIS:
        install(old, cli)
    texts = settings_texts(old)
    assert [path for path, text in texts.items() if b"humangate" in text] == []
    settings_file = json.loads(texts[".claude/settings.json"])
    assert "mcp__gatebell__approve" in settings_file["permissions"]["allow"]
    (own,) = settings_file["hooks"]["Notification"]
    assert own["matcher"] == "mcp__gatebell__.*"
    assert "--permission-prompt-tool mcp__gatebell__approve" in own["hooks"][0]["command"]
    local = json.loads(texts[".claude/settings.local.json"])
    assert local["permissions"]["allow"] == ["mcp__gatebell__ask_human", "Bash(make *)"]
    assert list(json.loads(texts[".claude.json"])["mcpServers"]) == ["gatebell"]
    codex = tomllib.loads(texts[".codex/config.toml"].decode())
    (server,) = codex["mcp_servers"].values()
    assert server["args"] == ["mcp"]
    assert server["tools"] == {"notify_human": {"approval_mode": "approve"}}
    assert ".codex/rules/gatebell.rules" in texts
    for cli in CLIS:
        assert "nothing was changed" in install(old, cli).out


@pytest.mark.proves("NAME-8", "AGT-42")
@pytest.mark.parametrize("upgraded", [False, True])
def test_uninstall_restores_the_state_before_the_old_name(old, upgraded):
    # Not one of the files that gate wrote: made after the installation, and it names our tools.
    local = ".claude/settings.local.json"
    expected = {local: (old.folder / local).read_bytes()}
    expected |= content_of(old.folder / "before", (".claude", ".codex", ".config"))
    for cli in CLIS if upgraded else ():
        install(old, cli)
        install(old, cli)
    for cli in CLIS:
        uninstall(old, cli)
    assert settings_texts(old) == expected


@pytest.mark.proves("NAME-8", "AGT-43")
def test_our_tools_are_removed_from_a_changed_file(old):
    install(old, "claude")
    path = old.folder / ".claude" / "settings.json"
    path.write_text(path.read_text().replace('"opus"', '"sonnet"'))
    uninstall(old, "claude")
    left = json.loads(path.read_text())
    assert left["model"] == "sonnet"
    assert left["permissions"] == {"allow": ["mcp__gatebell__approve", "Bash(ls *)"], "deny": []}


@pytest.mark.proves("NAME-12")
@pytest.mark.parametrize(
    ("cli", "number"),
    [(cli, n) for cli, last in (("claude", 7), ("codex", 6)) for n in range(1, last)],
)
def test_next_install_finishes_a_killed_one(old, monkeypatch, cli, number):
    for name, value in old.shell.environ.items():
        monkeypatch.setenv(name, value)
    left = iter(range(1, number))
    write = settings_files.write

    def write_until_killed(*words, **more):
        next(left)
        write(*words, **more)

    monkeypatch.delenv("GATE_STORE")
    monkeypatch.delenv("XDG_CONFIG_HOME")
    plan = plans.install(cli, Place("", os.environ), GATE, Rules(("Bash(x)",)))
    monkeypatch.setattr(settings_files, "write", write_until_killed)
    with pytest.raises(StopIteration):
        plans.carry_out(plan)
    install(old, cli)
    ours = (".claude", ".claude.json") if cli == "claude" else (".codex",)
    named = [path for path, text in content_of(old.folder, ours).items() if b"humangate" in text]
    assert named == []
    uninstall(old, cli)
    left = content_of(old.folder, ours)
    left.pop(".claude/settings.local.json", None)
    assert left == content_of(old.folder / "before", ours)


@pytest.mark.proves("NAME-7", "NAME-8")
def test_agent_files_name_the_new_tools_until_uninstalled(old):
    folder = old.folder / ".claude" / "agents"
    (folder / "deep").mkdir(parents=True)
    agent, other = folder / "deep" / "asker.md", old.folder / "other.md"
    for path in (agent, other):
        path.write_bytes(b"---\ntools: Read, mcp__humangate__ask_human\n---\n\xff humangate\n")
    before = agent.read_bytes()
    (folder / "link.md").symlink_to(other)
    assert f"changed: {agent}" in install(old, "claude").out
    assert agent.read_bytes() == before.replace(b"mcp__humangate__", b"mcp__gatebell__")
    assert other.read_bytes() == before
    assert "claude: it was installed under the old name" not in gate(old, "doctor", code=1).out
    agent.write_bytes(agent.read_bytes() + b"More.\n")
    uninstall(old, "claude")
    assert (
        agent.read_bytes() == before.replace(b"mcp__humangate__", b"mcp__gatebell__") + b"More.\n"
    )


@pytest.mark.proves("NAME-7")
def test_names_of_a_persons_own_paths_stay(old):
    path = old.folder / ".claude" / "settings.json"
    text = path.read_text().replace('"opus"', '"opus", "statusLine": "/opt/humangate/bin/status"')
    path.write_text(text)
    install(old, "claude")
    assert "/opt/humangate/bin/status" in path.read_text()


@pytest.mark.proves("NAME-7")
def test_server_of_another_program_stays(old):
    home = old
    for cli in CLIS:
        uninstall(home, cli)
    servers = {"mcpServers": {"humangate": {"command": "human-gate"}}}
    (home.folder / ".claude.json").write_text(json.dumps(servers))
    path = home.folder / ".codex" / "config.toml"
    path.write_text('[mcp_servers.humangate]\ncommand = "human-gate"\n')
    install(home, "claude")
    install(home, "codex")
    found = json.loads((home.folder / ".claude.json").read_text())["mcpServers"]
    assert found["humangate"] == {"command": "human-gate"}
    assert tomllib.loads(path.read_text())["mcp_servers"]["humangate"] == {"command": "human-gate"}


@pytest.mark.proves("NAME-9", "AGT-55")
def test_doctor_names_an_old_install(old):
    said = gate(old, "doctor", code=1).out
    for cli in CLIS:
        assert f"{cli}: it was installed under the old name" in said
        assert f"gate install {cli} writes it under the new one" in said
    assert f"{old.data} has the old name and is used as before" in said
    install(old, "gemini")
    assert "gemini: it was installed under the old name" not in gate(old, "doctor", code=1).out


@pytest.mark.proves("NAME-7")
def test_init_rewrites_its_old_lines(old):
    (old.project / ".gate" / "agents" / "pm.md").write_text("You are mine.\n")
    gate(old, "init", "--yes", "--as", "ada")
    for name in ("AGENTS.md", ".worktreeinclude"):
        text = (old.project / name).read_text(encoding="utf-8")
        assert "humangate" not in text
        assert text.count("gatebell") == 2
    assert "nothing was changed" in gate(old, "init", "--yes", "--as", "ada").out


@pytest.mark.proves("NAME-4")
def test_old_folder_is_mentioned_in_a_terminal_only(old):
    link = old.data.with_name("gatebell")
    sentence = f"gate: {old.data} {KEPT}; to stop this message: ln -s humangate {link}"
    assert in_terminal(old, "inbox").count(sentence) == 1
    for words in (("inbox", "--json"), ("hook", "claude"), ("completion", "bash")):
        assert KEPT not in in_terminal(old, *words)
    ran = gate(old, "inbox")
    assert KEPT not in ran.out + ran.err


@pytest.mark.proves("NAME-4")
def test_old_settings_folder_is_used_and_mentioned(old):
    folder = old.folder / ".config" / "humangate"
    folder.mkdir()
    (folder / "config.toml").write_text("agent_wait_seconds = 7\n")
    said = in_terminal(old, "config")
    assert str(folder / "config.toml") in said
    assert f"gate: {old.data} and {folder} {KEPT}" in said


@pytest.mark.proves("NAME-4", "NAME-1")
def test_link_ends_the_sentence_and_keeps_the_work(old):
    (old.data.with_name("gatebell")).symlink_to("humangate")
    assert KEPT not in in_terminal(old, "inbox")
    gate(old, "answer", ids(old)["Deploy it?"], "yes")
    store = open_store(old.store)
    work(old, lambda: store.runs.get(1).state == "completed")
    store.close()
    uninstall(old, "claude")


@pytest.mark.proves("NAME-5")
def test_folder_of_another_program_is_left_alone(tmp_path):
    data, config = tmp_path / "data", tmp_path / "config"
    environ = {"XDG_DATA_HOME": str(data), "XDG_CONFIG_HOME": str(config)}
    for base in (data, config):
        (base / "humangate").mkdir(parents=True)
        (base / "humangate" / "other.json").write_text("{}")
    assert settings.data_folder(environ) == str(data / "gatebell")
    assert settings.settings_file(environ) == str(config / "gatebell" / "config.toml")
    assert settings.old_folders(environ) == settings.ignored_folders(environ) == []


@pytest.mark.proves("NAME-5")
def test_new_folder_wins_and_doctor_names_the_other(old):
    (old.data.with_name("gatebell")).mkdir(mode=0o700)
    assert ids(old) == {}
    said = gate(old, "doctor").out
    assert (
        f"{old.data} has the old name and is not used; {old.data.with_name('gatebell')} is used"
        in said
    )


class Stopwatch:
    """Count how often the clock of an agent stops and starts again."""

    def __init__(self):
        self.seen = []

    def pause(self):
        self.seen.append("pause")

    def go_on(self):
        self.seen.append("go on")


@pytest.mark.proves("NAME-13")
@pytest.mark.parametrize("server", ["gatebell", "humangate"])
def test_question_through_an_old_server_stops_the_time(server):
    watch, questions = Stopwatch(), set()
    asked = {"type": "tool_use", "name": f"mcp__{server}__ask_human", "id": "1"}
    for block in (asked, {"type": "tool_result", "tool_use_id": "1"}):
        claude._keep_time({"message": {"content": [block]}}, questions, watch)
    assert watch.seen == ["pause", "go on"]


@pytest.mark.proves("NAME-10")
def test_login_under_the_old_name_signs_in_again(tmp_path):
    inbox = Inbox(tmp_path)
    browser = inbox.browser()
    assert browser.get("/").status_code == 200
    browser.cookies.set("humangate", browser.cookies[COOKIE])
    browser.cookies.delete(COOKIE)
    assert browser.get("/").status_code == 401
    assert "gate link" in browser.get("/?tried=1").text


@pytest.mark.proves("NAME-10", "RED-1")
@pytest.mark.parametrize("name", ["gatebell", "humangate"])
def test_value_of_a_login_cookie_is_hidden(name):
    secret = "0123456789abcdef" * 4
    assert secret not in hide_secrets(f"sent {name}={secret}, then left")


@pytest.mark.proves("NAME-11")
def test_old_name_appears_only_where_it_is_handled():
    files = [file for place in _PLACES for file in (ROOT / place).rglob("*")] + list(ROOT.iterdir())
    texts = [file for file in files if file.is_file() and file.suffix not in _BINARY]
    old = re.compile(rb"human[-_]?gate", re.IGNORECASE)
    named = {str(file.relative_to(ROOT)) for file in texts if old.search(file.read_bytes())}
    assert named == DEALS_WITH_IT
