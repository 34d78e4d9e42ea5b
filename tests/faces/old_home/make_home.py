"""Makes `home.tar.gz`: a home that the last version under the old name has used.

    git archive a13169a | tar x -C OLD
    python tests/faces/old_home/make_home.py OLD     # a Python with the packages of that version

Everything is made by that version's own commands. Two files are added in the way Codex and a person
would write them; the comments say which.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path("/tmp/ada")
HERE = Path(__file__).parent
PROJECT = ROOT / "project"
RUNS = 2

FLOW = """from humangate import flow, pause, run, step
import humangate.testing
from words import EXCITED


@flow
def deploy(prompt):
    first = step(lambda: "built", name="build")
    gate = pause("Deploy it?", expires_seconds=900_000_000)
    if not gate:
        return "left"
    run("code", "Write the notes")
    return {"first": first, "end": EXCITED, "old": humangate.testing.__name__}
"""
BESIDE = "from humangate import errors\n\nEXCITED = errors.GateError.__name__\n"
AGENT = """#!/bin/sh
text=$(cat)
case $text in
*"Write the notes"*) echo notes >notes.txt; say='{"status": "completed", "summary": "Notes"}' ;;
*"Human's answer"*) echo login >login.txt; say='{"status": "completed", "summary": "Login"}' ;;
*) say='{"status": "needs_input", "summary": "Not clear", "question": "Which login?"}' ;;
esac
echo "$say"
"""
ROLE = '---\ncommand: ["./agent.sh"]\n---\nYou write the code of this project.\n'
SETTINGS = {
    "model": "opus",
    "permissions": {"allow": ["mcp__humangate__approve", "Bash(ls *)"], "deny": []},
    "hooks": {
        "Notification": [
            {
                "matcher": "mcp__humangate__.*",
                "hooks": [
                    {
                        "type": "command",
                        "command": "claude -p hi --permission-prompt-tool mcp__humangate__approve",
                    }
                ],
            }
        ]
    },
}
# As Codex writes it when a person chooses not to be asked about a tool again.
CODEX_TOOL = '\n[mcp_servers.humangate.tools.notify_human]\napproval_mode = "approve"\n'


def environ() -> dict[str, str]:
    kept = {"PATH": f"{ROOT}/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "TERM": "dumb"}
    token = ROOT / "token"
    mine = {"GATE_TOKEN": token.read_text().strip()} if token.exists() else {}
    return kept | mine | {"HOME": str(ROOT), "GIT_CONFIG_GLOBAL": os.devnull}


def gate(*words: str) -> str:
    who = ("--as", "ada") if (ROOT / "token").exists() and words[0] in _NAMED else ()
    return called(str(ROOT / "bin" / "gate"), *words, *who)


_NAMED = ("install", "run", "init", "gates")


def called(*words: str) -> str:
    ran = subprocess.run(
        words, cwd=PROJECT, env=environ(), capture_output=True, text=True, check=False
    )
    if ran.returncode:
        raise SystemExit(f"{words}: {ran.returncode}\n{ran.stdout}{ran.stderr}")
    return ran.stdout.strip()


def write(path: Path, text: str, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)


def make(source: Path) -> None:
    PROJECT.mkdir(parents=True)
    program = (
        f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(source / 'src')!r})\n"
        "from humangate.cli.main import program\nsys.exit(program())\n"
    )
    write(ROOT / "bin" / "gate", program, 0o755)
    added = gate("person", "add", "ada").split()
    write(ROOT / "token", next(word for word in added if word.startswith("gate_")), 0o600)
    write(PROJECT / ".gate" / "flows" / "deploy.py", FLOW)
    write(PROJECT / ".gate" / "flows" / "words.py", BESIDE)
    write(PROJECT / ".gate" / "agents" / "code.md", ROLE)
    write(PROJECT / "agent.sh", AGENT, 0o755)
    gate("init")
    called("git", "init", "-q", "-b", "main")
    called("git", "add", "-A")
    who = ("-c", "user.name=ada", "-c", "user.email=ada@example.org")
    called("git", *who, "commit", "-qm", "begin")
    install()
    for words in (
        ("Which colour?", "--option", "red", "--option", "blue"),
        ("--kind", "approval", "Push it?"),
        ("--kind", "text", "Which name?"),
    ):
        gate("ask", "--no-wait", *words)
    gate("run", "deploy", "--detach", "Ship it")
    gate("task", "create", "Add login")
    work_until_all_wait()


def install() -> None:
    write(ROOT / ".claude" / "settings.json", json.dumps(SETTINGS, indent=4))
    write(ROOT / ".claude" / "CLAUDE.md", "Mine, without an end")
    write(ROOT / ".codex" / "config.toml", 'model = "x"\n')
    write(ROOT / ".config" / "opencode" / "opencode.json", "{}\n")
    shutil.copytree(ROOT, ROOT / "before", ignore=shutil.ignore_patterns(*_OURS))
    for cli in ("claude", "codex", "gemini", "opencode"):
        gate("install", cli, "--yes")
    with (ROOT / ".codex" / "config.toml").open("a") as file:
        file.write(CODEX_TOOL)
    # As a person and Claude Code write it, in a file that gate never wrote.
    local = {"permissions": {"allow": ["mcp__humangate__ask_human", "Bash(make *)"]}}
    write(ROOT / ".claude" / "settings.local.json", json.dumps(local))


_OURS = ("bin", "token", "project", ".local")


def work_until_all_wait() -> None:
    worker = subprocess.Popen(
        [ROOT / "bin" / "gate", "worker"], cwd=PROJECT, env=environ(), stdout=subprocess.DEVNULL
    )
    try:
        for _ in range(100):
            if gate("list").count("waiting_human") == RUNS:
                return
        raise SystemExit(f"they never came to wait:\n{gate('list')}")
    finally:
        worker.send_signal(signal.SIGTERM)
        worker.wait()


def pack() -> None:
    # A test has another program there, and the example hooks of git are of no use.
    (ROOT / "bin" / "gate").unlink()
    shutil.rmtree(PROJECT / ".git" / "hooks", ignore_errors=True)
    with tarfile.open(HERE / "home.tar.gz", "w:gz") as archive:
        archive.add(ROOT, "ada", filter=plain)


def plain(info: tarfile.TarInfo) -> tarfile.TarInfo:
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    return info


if __name__ == "__main__":
    make(Path(sys.argv[1]).resolve())
    pack()
