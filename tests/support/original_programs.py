"""The original script and listener of the file protocol, run as they are."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

from tests.support.programs import find_program
from tests.support.waiting import eventually

PROGRAMS = Path(__file__).parents[1] / "faces" / "original_file_protocol"
TOOLS = ("bash", "cat", "date", "grep", "ps", "rm", "sed", "sleep")
WAYS = ("jq", "python3", "grep")


class OriginalScript:
    """The original script in a project; it finds the project by the working directory."""

    def __init__(self, project, folder, way="jq"):
        self.project = project
        self.bin = folder / f"original-{way}"
        self.bin.mkdir()
        for name in {*TOOLS, way}:
            self.link(name)
        self.started = []

    def link(self, name):
        own = os.path.realpath(sys.executable)
        target = own if name == "python3" else find_program(name, "the script was not tried")
        (self.bin / name).symlink_to(target)

    def tool(self, name, text):
        (self.bin / name).unlink(missing_ok=True)
        (self.bin / name).write_text(f"#!/bin/bash\n{text}\n", encoding="utf-8")
        (self.bin / name).chmod(0o755)

    def hurry(self):
        """Shorten its 300 pauses of half a second."""
        self.tool("sleep", f"exec {shutil.which('sleep')} 0.01")

    def start(self, *words):
        process = subprocess.Popen(
            ["bash", PROGRAMS / "ask-human.sh", *words],
            env={"PATH": str(self.bin), "LANG": "C.UTF-8"}, cwd=self.project,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        self.started.append(process)
        return process

    def end(self):
        for process in self.started:
            process.kill()
            process.communicate()


class OriginalListener:
    """The original listener, with a person who types lines, and its output."""

    def __init__(self, project):
        self.questions = os.path.join(project, ".helpers", "questions")
        keep = {k: v for k, v in os.environ.items() if k in ("PATH", "LANG")}
        self.process = subprocess.Popen(
            [sys.executable, "-u", "-m", "claude_helpers"], cwd=project,
            env=keep | {"PYTHONPATH": str(PROGRAMS), "PYTHONDONTWRITEBYTECODE": "1"},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        self.said = ""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._probes = 0
        eventually(self._is_watching, what="the original listener")

    def _read(self):
        for line in self.process.stdout:
            self.said += line

    def _is_watching(self):
        """Try a question, since the listener reports too early that it watches."""
        probe = os.path.join(self.questions, f"q_probe_{self._probes}")
        self._probes += 1
        with open(probe, "wb"):
            pass
        threading.Event().wait(0.2)
        os.unlink(probe)
        return "q_probe_" in self.said

    def until(self, words):
        eventually(lambda: words in self.said, what=f"{words!r} in {self.said}")

    def type(self, line):
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def leave_the_keyboard(self):
        """Close the input: each later dialog ends without an answer."""
        self.process.stdin.close()

    def end(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self._reader.join()
        self.process.stdout.close()
        if not self.process.stdin.closed:
            self.process.stdin.close()


def original_answer(question, content):
    """An answer of exactly the five fields that the original listener writes."""
    answer = {
        "id": question["id"],
        "agent_id": question["agent_id"],
        "timestamp": 1738339250.25,
        "type": "answer",
        "content": content,
    }
    return json.dumps(answer, indent=2).encode()
