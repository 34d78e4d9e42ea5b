"""The script of the file protocol in real shells, with few tools around it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from importlib.resources import files
from pathlib import Path

import pytest

SCRIPT = Path(str(files("humangate") / "scripts" / "ask-human.sh"))
COMMON = (
    *("bash", "chmod", "date", "ls", "mkdir", "mkfifo", "mv", "od", "ps", "readlink", "rm"),
    *("sleep", "tr", "tty"),
)
AWKS = [name for name in ("mawk", "gawk", "original-awk", "busybox") if shutil.which(name)]
WAYS = ("jq", "python3", *(AWKS or ("awk",)))
NASTY = [
    'say "hi" to café\nline2\t\\n \\u0041 \\',
    "$(touch /tmp/never) `id` $HOME %s %n %b \\c ${x} !! & ; | > <",
    '", "agent_name": "forged", "content": "',
    "👩‍💻 naïve 漢字 \u200f\u202e \ufeff\ufffd \U0010ffff \u007f\u0080\u07ff\u0800",
    "".join(map(chr, range(1, 32))),
    "- begins with a dash",
    "  blanks around it\n\n",
    "'single' \"double\" \\\"both\\\" \\/ / //",
    "-n",
    "answered\nanswered.",
    "null",
]


class Project:
    """A project with the script in it, and what stands around whoever runs it."""

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
        self.listen()
        if not self.bin.exists():
            self.bin.mkdir()
            for name in (*COMMON, *tools):
                self.link(name)

    def link(self, name):
        target = os.path.realpath(sys.executable) if name == "python3" else shutil.which(name)
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
        return subprocess.Popen(
            [*shell, script or self.script, *words],
            env=environ, cwd=cwd or self.folder, stderr=subprocess.PIPE, **options,
        )  # fmt: skip

    def run(self, *words, **more):
        return ended(self.start(*words, **more))

    def names(self, folder="questions"):
        return sorted(name for name in os.listdir(self.helpers / folder))

    def questions(self, number=1):
        """What was asked, once there are so many questions."""
        until(lambda: sum(name.startswith("q_") for name in self.names()) >= number)
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
        temporary.rename(path)


def until(happened, seconds=20):
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline, "it did not happen"
        threading.Event().wait(0.01)


def ended(process, seconds=30):
    out, err = process.communicate(timeout=seconds)
    return process.returncode, out, err.decode("utf-8", "replace")


def heard(process, words):
    """Read its stderr until these words were said."""
    said = b""
    while words not in said:
        some = os.read(process.stderr.fileno(), 4096)
        assert some, said
        said += some
    return said


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path / "project")


@pytest.fixture(params=WAYS)
def each_way(request, tmp_path):
    return Project(tmp_path / "project", (request.param,))


@pytest.mark.proves(
    "S4-8", "S4-9", "S4-15", "S4-16", "S4-17", "S4-18", "S4-19", "S4-20", "S4-21", "S4-24",
    "S4-25", "S4-52", "S4-58", "S4-59", "S4-64", "S4-65", "S4-66", "S4-B6",
)  # fmt: skip
def test_a_text_question_is_a_file_and_its_answer_all_that_is_printed(project):
    asking = project.start("Should I use PostgreSQL or MySQL?")
    question = project.question()
    (name,) = [name for name in project.names() if name.startswith("q_")]
    assert name == "q_{agent_id}_{timestamp}_{id}.json".format(**question)
    path = project.helpers / "questions" / name
    assert path.stat().st_mode & 0o777 == 0o600
    assert abs(question["timestamp"] - time.time()) < 20
    assert {key: question[key] for key in question if key not in ("id", "timestamp")} == {
        "agent_id": question["agent_id"],
        "agent_name": question["agent_name"],
        "working_dir": str(project.folder),
        "type": "text",
        "content": "Should I use PostgreSQL or MySQL?",
        "priority": "normal",
        "answered": False,
        "timeout": 300,
    }
    project.answer(question, "PostgreSQL")
    code, out, err = ended(asking)
    assert (code, out) == (0, b"PostgreSQL\n")
    assert err == f"[HIL:{question['agent_name']}] Question sent, waiting for response...\n"
    assert project.names() == project.names("answers") == []


@pytest.mark.proves("S4-22", "S4-23", "S4-57", "S4-67", "S4-68", "S4-B21", "S4-B24", "FILE-1")
def test_yes_no_and_options_are_asked_as_such(each_way):
    yesno = each_way.start("Deploy?", "yesno", "--priority", "urgent", "--timeout=7")
    question = each_way.question()
    assert (question["type"], question["priority"], question["timeout"]) == ("yesno", "urgent", 7)
    assert "options" not in question
    each_way.answer(question, "yes")
    assert ended(yesno)[:2] == (0, b"yes\n")
    select = each_way.start("Which?", "select", 'Express, Fastify ,, "Koa"\n')
    question = each_way.question()
    assert (question["type"], question["options"]) == ("select", ["Express", "Fastify", '"Koa"'])
    each_way.answer(question, '"Koa"')
    assert ended(select)[:2] == (0, b'"Koa"\n')
    commas = each_way.start("Which?", "-o", "A, or not\nA", "--option", " -B ", "--option=-C=")
    question = each_way.question()
    assert (question["type"], question["options"]) == ("select", ["A, or not\nA", " -B ", "-C="])
    commas.kill()
    ended(commas)


@pytest.mark.proves("S4-63", "S4-74", "S4-79", "S4-B2", "S4-B3", "S4-B14", "FILE-2", "FILE-3")
@pytest.mark.parametrize("ascii_only", [True, False])
def test_any_text_goes_and_comes_back_exactly(each_way, ascii_only):
    asking = [each_way.start("--", text, "select", "-o", text) for text in NASTY]
    questions = each_way.questions(len(NASTY))
    assert sorted(one["content"] for one in questions) == sorted(NASTY)
    assert {one["agent_name"] for one in questions} == {questions[0]["agent_name"]}
    for question in questions:
        assert question["options"] == [question["content"]]
        each_way.answer(question, question["content"], ascii_only)
    for text, process in zip(NASTY, asking, strict=True):
        code, out, err = ended(process)
        assert (code, out) == (0, f"{text}\n".encode()), err


@pytest.mark.proves("FILE-2")
def test_what_is_no_text_is_replaced_not_passed_on(each_way):
    data = b"caf\xe9 \xf0\x9f\x98 \xc3"
    asking = each_way.start(data)
    question = each_way.question()
    assert question["content"] == data.decode("utf-8", "replace")
    each_way.answer(question, "\ud83d \ude00 a\0b")
    code, out, _ = ended(asking)
    assert (code, out) == (0, "\ufffd \ufffd a\0b\n".encode())


@pytest.mark.proves("FILE-4")
def test_a_hundred_kilobytes_go_and_come_back(each_way):
    text = ('say "caf\u00e9" \\ \U0001f600\n' * 6000)[:60_000] + "x" * 40_000
    began = time.monotonic()
    asking = each_way.start(text)
    question = each_way.question()
    assert question["content"] == text
    each_way.answer(question, text)
    assert ended(asking)[:2] == (0, f"{text}\n".encode())
    assert time.monotonic() - began < 10
