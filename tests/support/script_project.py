"""A project with ask-human.sh and few tools, and answers as a listener writes them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

from tests.support.programs import find_program
from tests.support.waiting import eventually

SCRIPT = Path(str(files("gatebell") / "install" / "scripts" / "ask-human.sh"))
COMMON = (
    *("bash", "chmod", "date", "ln", "ls", "mkdir", "mkfifo", "mv", "od", "ps", "readlink", "rm"),
    *("sleep", "tr", "tty"),
)
AWKS = [name for name in ("mawk", "gawk", "original-awk", "busybox") if shutil.which(name)] or [
    "awk"
]


class Project:
    """A project with the script, and the environment of its processes."""

    def __init__(self, folder, tools=("jq",)):
        self.folder = folder
        self.helpers = folder / ".helpers"
        for name in ("questions", "answers", "agents", "queue"):
            (self.helpers / name).mkdir(parents=True, mode=0o700)
        self.helpers.chmod(0o700)
        self.script = folder / "scripts" / "ask-human.sh"
        self.script.parent.mkdir()
        shutil.copy(SCRIPT, self.script)
        self.script.chmod(0o755)
        self.bin = folder.parent / f"bin-{'-'.join(tools)}"
        self.environ = {"PATH": str(self.bin), "HOME": str(folder), "LANG": "C.UTF-8"}
        self.started = []
        self.listen()
        if not self.bin.exists():
            self.bin.mkdir()
            for name in (*COMMON, *tools):
                self.link(name)

    def link(self, name):
        own = os.path.realpath(sys.executable)
        target = own if name == "python3" else find_program(name, "the script was not tried")
        (self.bin / ("awk" if name in AWKS else name)).symlink_to(target)

    def tool(self, name, text):
        (self.bin / name).unlink(missing_ok=True)
        (self.bin / name).write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        (self.bin / name).chmod(0o755)

    def listen(self, pid=None):
        (self.helpers / ".listener.pid").write_text(f"{pid or os.getpid()}\n", encoding="ascii")

    def start(self, *words, shell=(), cwd=None, script=None, **more):
        environ = self.environ | more.pop("environ", {})
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE} | more
        process = subprocess.Popen(
            [*shell, script or self.script, *words],
            env=environ, cwd=cwd or self.folder, stderr=subprocess.PIPE, **options,
        )  # fmt: skip
        self.started.append(process)
        return process

    def end(self):
        # A script behind a shell of its own ends when its question is gone.
        shutil.rmtree(self.helpers, ignore_errors=True)
        for process in self.started:
            process.kill()
            process.communicate()

    def run(self, *words, **more):
        return wait_for_end(self.start(*words, **more))

    def names(self, folder="questions"):
        return sorted(name for name in os.listdir(self.helpers / folder))

    def questions(self, number=1):
        """Wait for this number of questions, and return them."""
        eventually(lambda: sum(name.startswith("q_") for name in self.names()) >= number)
        paths = [self.helpers / "questions" / name for name in self.names() if name[0] == "q"]
        return [json.loads(path.read_bytes()) for path in paths]

    def question(self):
        (question,) = self.questions()
        return question

    def answer_path(self, question):
        name = "a_{agent_id}_{timestamp}_{id}.json".format(**question)
        return self.helpers / "answers" / name

    def answer(self, question, content=None, ascii_only=True, **fields):
        answer = {
            "id": question["id"],
            "agent_id": question["agent_id"],
            "timestamp": question["timestamp"] + 1,
            "type": "answer",
            "status": "answered",
            "ask": "a-7k2",
        }
        answer |= ({} if content is None else {"content": content}) | fields
        text = json.dumps(answer, ensure_ascii=ascii_only, indent=None if ascii_only else 1)
        self.put(question, text.encode("utf-8", "surrogatepass"))

    def put(self, question, data):
        path = self.answer_path(question)
        temporary = path.with_name(f".tmp.{question['id']}")
        temporary.write_bytes(data)
        owner = self.helpers.stat()
        os.chown(temporary, owner.st_uid, owner.st_gid)
        temporary.rename(path)


def wait_for_end(process, seconds=30):
    out, err = process.communicate(timeout=seconds)
    return process.returncode, out, err.decode("utf-8", "replace")


def wait_for_words(process, words):
    """Read its stderr until these words."""
    said = b""
    while words not in said:
        some = os.read(process.stderr.fileno(), 4096)
        assert some, said
        said += some
    return said


def asked_and_answered(project, *words, **more):
    """Ask, and return the question; its answer must arrive."""
    asking = project.start(*words, **more)
    question = project.question()
    project.answer(question, "yes")
    code, out, err = wait_for_end(asking)
    assert (code, out) == (0, b"yes\n"), err
    return question
