"""Measure how soon the script prints the answer of a file, and its use while it waits."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from importlib.resources import files
from pathlib import Path

from bench.figures import Figure
from bench.measured import cpu_seconds

AGENTS = 20
SETTLED_SECONDS = 12.0
"""After this time the script checks less often."""
IDLE_SECONDS = 10.0
COMMON = ("bash", "chmod", "date", "ls", "mkdir", "mv", "od", "rm", "sleep", "tr")
WAYS = {
    "jq": ("mkfifo", "jq"),
    "awk only": ("mkfifo", "awk"),
    "awk and sleep, as with bash 3.2": ("awk",),
}


def measure() -> list[Figure]:
    figures: list[Figure] = []
    for name, tools in WAYS.items():
        with tempfile.TemporaryDirectory(prefix="gate-bench-") as folder:
            figures += _measure(name, Path(folder), tools)
    return figures


def _measure(name: str, folder: Path, tools: tuple[str, ...]) -> list[Figure]:
    scripts = _start(folder, tools)
    time.sleep(SETTLED_SECONDS)
    before = sum(map(_used_seconds, scripts))
    time.sleep(IDLE_SECONDS)
    used = (sum(map(_used_seconds, scripts)) - before) / AGENTS / IDLE_SECONDS * 100
    seconds = [_answer(folder, script) for script in scripts.values()]
    return [
        Figure(
            f"answer file to stdout, {name}",
            statistics.median(seconds),
            "s",
            0.3,
            f"max {max(seconds):.2f} s of {AGENTS} answers",
        ),
        Figure(f"waiting script, {name}", used, "%", 1, f"one core, each of {AGENTS} scripts"),
    ]


def _start(folder: Path, tools: tuple[str, ...]) -> dict[int, subprocess.Popen[bytes]]:
    programs = folder / "bin"
    programs.mkdir()
    for tool in (*COMMON, *tools):
        (programs / tool).symlink_to(shutil.which(tool) or tool)
    for name in ("questions", "answers"):
        (folder / ".helpers" / name).mkdir(parents=True, mode=0o700)
    script = files("gatebell") / "install" / "scripts" / "ask-human.sh"
    environ = {"PATH": str(programs), "HOME": str(folder)}
    started = [
        subprocess.Popen(
            ["bash", str(script), f"Question {number}?"],
            env=environ, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        for number in range(AGENTS)
    ]  # fmt: skip
    return {process.pid: process for process in started}


def _used_seconds(pid: int) -> float:
    """Return the processor time, with that of its ended children."""
    stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return cpu_seconds(pid) + (int(stat[13]) + int(stat[14])) / os.sysconf("SC_CLK_TCK")


def _answer(folder: Path, script: subprocess.Popen[bytes]) -> float:
    number = script.args[-1].split()[-1]  # type: ignore[union-attr]
    for path in (folder / ".helpers" / "questions").glob("q_*"):
        question = json.loads(path.read_bytes())
        if question["content"].endswith(f" {number}"):
            break
    answer = {"id": question["id"], "type": "answer", "status": "answered", "content": number}
    temporary = folder / ".helpers" / "answers" / ".tmp"
    temporary.write_text(json.dumps(answer), encoding="utf-8")
    began = time.monotonic()
    temporary.rename(temporary.with_name(path.name.replace("q_", "a_", 1)))
    out, _ = script.communicate(timeout=60)
    assert out.decode() == f"{number}\n"
    return time.monotonic() - began
