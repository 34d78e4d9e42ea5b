"""A project in a real git repository with scripted agents and a backlog."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from gatebell.services.tasks import backlog
from tests.support.people import a_person

AGENT = """#!/bin/sh
# Keeps what it is told, then does what stands in the script of its task.
cat >"{stage}/told/$GATE_TURN"
text=$(cat "{stage}/told/$GATE_TURN")
session={stage}/sessions/$GATE_SESSION
case $text in
*", in the words of agent:"*) title=${{text#*", in the words of agent:"}} && title=${{title#*"> "}} && echo "${{title%%
*}}" >"$session" ;;
*"# Task: "*) title=${{text#*"# Task: "}} && echo "${{title%%
*}}" >"$session" ;;
esac
read -r title <"$session"
echo "$title $GATE_SESSION $GATE_TURN" >>"{stage}/turns"
. "{stage}/scripts/$title"
"""
ROLE = '---\ncommand: ["./agent.sh"]\n{more}---\nYou write the code of this project.\n'
ANSWERED = '*"Human\'s answer"*'
"""A shell pattern of the text of a turn that carries a person's answer."""


def report(status, summary, **more):
    """Return the script line of an agent's last words."""
    return f"cat <<'END'\n{json.dumps({'status': status, 'summary': summary, **more})}\nEND\n"


def asks_first(question, before, after, summary="All of it is done", **more):
    """Return a script that does a part, asks, and does the rest with the answer."""
    needs = report("needs_input", "It is not clear", question=question, **more)
    done = report("completed", summary, details="As you said")
    return f"case $text in\n{ANSWERED})\n{after}\n{done};;\n*)\n{before}\n{needs};;\nesac\n"


class BacklogProject:
    """The project, the messages to its agents, and its branches."""

    def __init__(self, folder, stage, role="", terms="", files=None):
        self.folder, self.stage = Path(folder), Path(stage)
        for name in ("told", "sessions", "scripts"):
            (self.stage / name).mkdir(parents=True)
        (self.folder / ".gate" / "agents").mkdir(parents=True)
        self._write(".gate/agents/code.md", ROLE.format(more=role))
        self._write(".gate/backlog.toml", terms)
        self._write("agent.sh", AGENT.format(stage=self.stage))
        (self.folder / "agent.sh").chmod(0o755)
        for name, text in {"shared.txt": "begin\n", **(files or {})}.items():
            self._write(name, text)
        self.git("init", "-q", "-b", "main")
        self.commit("begin")

    def _write(self, name, text):
        (self.folder / name).write_text(text, encoding="utf-8")

    def git(self, *words, folder=None):
        who = ("-c", "user.name=ada", "-c", "user.email=ada@example.org")
        environ = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
        done = subprocess.run(
            ["git", "-C", folder or self.folder, *who, *words],
            env=environ, check=True, capture_output=True,
        )  # fmt: skip
        return done.stdout.decode().rstrip("\n")

    def commit(self, words):
        self.git("add", "-A")
        self.git("commit", "-qm", words)

    def script(self, title, text):
        """Set the script of each turn of a task's agent."""
        (self.stage / "scripts" / title).write_text(text, encoding="utf-8")

    def task(self, store, title, script, **fields):
        self.script(title, script)
        project = os.path.realpath(self.folder)
        return backlog.create(store, project, a_person("ada"), {"title": title, **fields})

    def turns(self, title):
        """Return the texts for the agent of a task, with the session of each."""
        lines = (self.stage / "turns").read_text(encoding="utf-8").splitlines()
        mine = [line.rsplit(" ", 2) for line in lines]
        return [
            (session, (self.stage / "told" / turn).read_text(encoding="utf-8"))
            for name, session, turn in mine
            if name == title
        ]

    def state(self):
        """Return the user's files, index, checkout and main branch."""
        return (
            self.git("status", "--porcelain"),
            self.git("rev-parse", "--abbrev-ref", "HEAD"),
            self.git("rev-parse", "main"),
        )

    def commits(self, branch, since="main"):
        """Return the commits of a branch, newest first, with the files that each changes."""
        listed = self.git("log", "--no-merges", "--format=%H %s", f"{since}..{branch}").splitlines()
        return [
            (line.partition(" ")[2], self.list_changed(line.partition(" ")[0])) for line in listed
        ]

    def list_changed(self, commit):
        words = ("diff-tree", "-r", "--no-commit-id", "--name-only", commit)
        return self.git(*words).split()

    def text(self, branch, name):
        return self.git("show", f"{branch}:{name}")
