"""An agent's session, as its host describes it to `gate hook`."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

import pytest

from tests.support.waiting import eventually


class Session:
    """An agent's session, as its host describes it to a hook."""

    def __init__(self, world, cli="claude"):
        self.world = world
        self.cli = cli
        self.log = world.folder / "session.jsonl"
        self.log.write_text("", encoding="utf-8")

    def writes(self, kind, *blocks):
        record = {"type": kind, "message": {"role": kind, "content": list(blocks)}}
        with self.log.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")

    def calls(self, command, call_id="t1"):
        block = {"type": "tool_use", "id": call_id, "name": "Bash", "input": {"command": command}}
        self.writes("assistant", block)

    def ends(self, call_id="t1"):
        self.writes("user", {"type": "tool_result", "tool_use_id": call_id, "content": "done"})

    def event(self, name, tool="Bash", tool_input=None, **more):
        return json.dumps(
            {
                "session_id": "s1", "transcript_path": str(self.log), "hook_event_name": name,
                "cwd": str(self.world.plain.folder), "tool_name": tool,
                "tool_input": {"command": "git push"} if tool_input is None else tool_input, **more,
            }
        )  # fmt: skip

    def start(self, text, *words):
        process = self.world.plain.start("hook", self.cli, *words, stdin=subprocess.PIPE)
        process.stdin.write(text)
        process.stdin.close()
        process.stdin = None
        return process

    def hook(self, text, *words):
        return self.world.plain.gate("hook", self.cli, *words, text=text)


def the_ask(world, count=1):
    """Wait for this number of pending asks, and return them."""
    until = time.monotonic() + 20
    while len(found := world.store.asks.pending(9)) < count:
        assert time.monotonic() < until, "no ask came"
        os.sched_yield()
    return found[0] if count == 1 else found


def wait_for_end(process):
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    return out


def decision(out):
    return json.loads(out)["hookSpecificOutput"]["decision"]


def until_it_waits(pid):
    """Wait until a process waits for an answer: it has a kernel watch open then."""
    folder = Path(f"/proc/{pid}/fd")
    if not folder.exists():
        pytest.skip("/proc is not mounted: a hook that waits cannot be seen")
    eventually(lambda: any("inotify" in link for link in links(folder)))


def links(folder):
    for name in os.listdir(folder):
        try:
            yield os.readlink(folder / name)
        except FileNotFoundError:
            continue
