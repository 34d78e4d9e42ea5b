"""The script of the file protocol in real shells, with few tools around it."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
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
WAYS = ("jq", "python3", "awk")
NASTY = [
    'say "hi" to café\nline2\t\\n \\u0041 \\',
    "$(touch /tmp/never) `id` $HOME %s %n %b \\c ${x} !! & ; | > <",
    '", "agent_name": "forged", "content": "',
    "👩‍💻 naïve 漢字 \u200f\u202e \ufeff\ufffd \U0010ffff \u007f\u0080\u07ff\u0800",
    "".join(map(chr, range(1, 32))),
    "- begins with a dash",
    "  blanks around it\n\n",
    '\'single\' "double" \\"both\\" \\/ / //',
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
        self.started = []
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
        process = subprocess.Popen(
            [*shell, script or self.script, *words],
            env=environ, cwd=cwd or self.folder, stderr=subprocess.PIPE, **options,
        )  # fmt: skip
        self.started.append(process)
        return process

    def end(self):
        # Whoever still waits behind a shell of its own ends when its question is gone.
        shutil.rmtree(self.helpers, ignore_errors=True)
        for process in self.started:
            process.kill()
            process.communicate()

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
        owner = self.helpers.stat()
        os.chown(temporary, owner.st_uid, owner.st_gid)
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
    made = Project(tmp_path / "project")
    yield made
    made.end()


@pytest.fixture(params=WAYS)
def each_way(request, tmp_path):
    made = Project(tmp_path / "project", (request.param,))
    yield made
    made.end()


@pytest.fixture(params=AWKS)
def each_awk(request, tmp_path):
    made = Project(tmp_path / "project", (request.param,))
    yield made
    made.end()


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
    each_way.answer(question, "-C=")
    assert ended(commas)[:2] == (0, b"-C=\n")


@pytest.mark.proves("S4-63", "S4-74", "S4-79", "S4-B2", "S4-B3", "S4-B14", "FILE-2", "FILE-3")
@pytest.mark.parametrize("ascii_only", [True, False])
def test_any_text_goes_and_comes_back_exactly(each_way, ascii_only):
    go_and_come_back(each_way, ascii_only)


@pytest.mark.proves("S4-88", "FILE-3")
def test_any_awk_will_do(each_awk):
    go_and_come_back(each_awk, ascii_only=True)


def go_and_come_back(project, ascii_only):
    asking = [project.start("-o", text, "--", text, "select") for text in NASTY]
    questions = project.questions(len(NASTY))
    assert sorted(one["content"] for one in questions) == sorted(NASTY)
    assert {one["agent_name"] for one in questions} == {questions[0]["agent_name"]}
    for question in questions:
        assert question["options"] == [question["content"]]
        project.answer(question, question["content"], ascii_only)
    for text, process in zip(NASTY, asking, strict=True):
        code, out, err = ended(process)
        assert (code, out) == (0, f"{text}\n".encode()), err


@pytest.mark.proves("FILE-2")
def test_what_is_no_text_is_replaced_not_passed_on(each_way):
    data = b"caf\xe9 \xf0\x9f\x98 \xed\xa0\x80 \xf4\x90\x80\x80 \xc0\xaf \xc3"
    asking = each_way.start(data)
    question = each_way.question()
    # For how many bytes one mark stands is the decoder's own choice.
    marks = re.sub("\ufffd+", "?", question["content"])
    assert marks == "caf? ? ? ? ? ?" and json.dumps(question["content"]).count("\\ud") == 0
    if not (each_way.bin / "awk").exists():
        each_way.link("awk")  # jq 1.6 refuses half a pair, and leaves it to the next way
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


@pytest.mark.proves("S4-B12", "S4-B13", "FILE-5")
def test_nothing_but_the_whole_answer_to_this_question_is_printed(each_way):
    asking = each_way.start("Which?", "--timeout", "20")
    question = each_way.question()
    whole = {"id": question["id"], "type": "answer", "status": "answered", "content": "no"}
    text = json.dumps(whole)
    foreign = [
        *(text[:-1], text[:-3], "", "{", text + text, text + "x", f"[{text}]", '"answered"'),
        *(text.replace(":", ""), text.replace('"no"', '"no\n"'), text.replace('"no"', '"\\x"')),
        *(text.replace('"no"', "01"), text.replace('"no"', '"\\u12g4"'), "[" * 5000),
        *(
            json.dumps(whole | other)
            for other in (
                *({"id": "other-id-1"}, {"type": "question"}, {"status": "pending"}, {"id": None}),
                *(
                    {"content": None},
                    {"content": ""},
                    {"content": ["no"]},
                    {"status": ["answered"]},
                ),
                *({"content": {"content": "no"}}, {"status": "answered\nno"}, {"type": "answer "}),
            )
        ),
    ]
    calls = "\n".join(
        f"answer_file=foreign{number}; take_answer && echo TAKEN" for number in range(len(foreign))
    )
    for number, data in enumerate(foreign):
        (each_way.folder / f"foreign{number}").write_text(data, encoding="utf-8")
    functions = each_way.script.read_text(encoding="utf-8").removesuffix('main "$@"\n')
    tried = each_way.folder / "tried.sh"
    (each_way.folder / "whole").write_text(text.replace('"no"', '"whole"'), encoding="utf-8")
    calls = f"id={question['id']}\n{calls}\nanswer_file=whole; take_answer"
    tried.write_text(f"{functions}\n{calls}\n", encoding="utf-8")
    assert each_way.run(shell=("bash",), script=tried)[:2] == (0, b"whole\n")
    each_way.put(question, foreign[0].encode())
    assert b"is not (or not yet) the answer" in heard(asking, b"this question\n")
    each_way.answer(question, "yes")
    assert ended(asking)[:2] == (0, b"yes\n")


@pytest.mark.proves("FILE-5")
@pytest.mark.parametrize("kind", ["link", "folder", "pipe"])
def test_an_answer_that_is_no_file_is_left_alone(project, kind):
    asking = project.start("Which?")
    question = project.question()
    path = project.answer_path(question)
    elsewhere = project.folder / "elsewhere"
    project.answer(question, "forged")
    path.rename(elsewhere)
    make = {"link": lambda: path.symlink_to(elsewhere), "folder": path.mkdir}
    make.get(kind, lambda: os.mkfifo(path))()
    heard(asking, b"this question\n")
    path.rmdir() if kind == "folder" else path.unlink()
    project.answer(question, "mine")
    assert ended(asking)[:2] == (0, b"mine\n")
    assert elsewhere.exists()


@pytest.mark.proves("S4-B13", "S4-P6", "FILE-6")
def test_what_was_not_answered_has_its_exit_code_and_prints_nothing(each_way):
    for status, code in (("timed_out", 3), ("cancelled", 4), ("refused", 7)):
        asking = each_way.start("Which?")
        question = each_way.question()
        each_way.answer(question, "never", status=status, reason="not \x1b[31mnow\n")
        got, out, err = ended(asking)
        assert (got, out) == (code, b"")
        assert err.endswith(": not [31mnow\n")
        assert each_way.names() == each_way.names("answers") == []


@pytest.mark.proves("S4-62", "S4-73", "S4-B4", "S4-B18", "S4-B22", "S4-P6", "FILE-7")
@pytest.mark.parametrize("variable", [True, False])
def test_a_question_times_out_when_it_said_so(project, variable):
    began = time.monotonic()
    words = () if variable else ("--timeout", "1")
    environ = {"GATE_TIMEOUT": "1" if variable else "77"}
    code, out, err = project.run("Which?", *words, environ=environ)
    assert (code, out) == (3, b"")
    assert 1 <= time.monotonic() - began < 4
    assert "timeout waiting for response (1s)" in err
    assert project.names() == project.names("answers") == []


@pytest.mark.proves("S4-60", "S4-61", "S4-B4", "S4-B5")
def test_progress_is_told_every_minute_of_real_time(project):
    # Each pause of the script lets the shell's clock jump, as a test's clock would.
    faster = project.folder / "faster.sh"
    jump = "SECONDS=$((SECONDS + 17)); builtin read -t 0.01 -u 9 REPLY"
    faster.write_text(
        f'read() {{ if [ "$2" = -t ]; then {jump}; else builtin read "$@"; fi; }}', encoding="ascii"
    )
    code, out, err = project.run("Which?", environ={"BASH_ENV": str(faster)})
    assert (code, out) == (3, b"")
    told = [line.split("(")[1] for line in err.splitlines() if "Still waiting..." in line]
    seconds = [int(line.split("s ")[0]) for line in told]
    assert len(seconds) == 5
    assert all(60 * n <= told < 60 * n + 25 for n, told in enumerate(seconds, 1))
    assert "(300s)" in err


@pytest.mark.proves("FILE-8")
@pytest.mark.parametrize(("number", "code"), [("INT", 130), ("TERM", 143), ("HUP", 129)])
def test_an_interrupted_question_is_withdrawn(project, number, code):
    asking = project.start("Which?")
    heard(asking, b"waiting for response")
    asking.send_signal(getattr(signal, f"SIG{number}"))
    assert ended(asking)[:2] == (code, b"")
    assert project.names() == []


@pytest.mark.proves("S4-B30", "FILE-9", "FILE-10")
@pytest.mark.parametrize("sign", ["CLAUDECODE", "CODEX_THREAD_ID", "AI_AGENT", "GATE_TURN"])
def test_in_an_agents_shell_the_wait_ends_and_goes_on_later(project, sign):
    environ = {sign: "1", "GATE_AGENT_WAIT_SECONDS": "0.5"}
    code, out, _ = project.run("Which?", environ=environ)
    question = project.question()
    again = f"scripts/ask-human.sh --wait {question['id']}"
    assert (code, out.decode()) == (11, f"NOT ANSWERED YET: run: {again}\n")
    waiting = project.start("--wait", question["id"])
    project.answer(question, "yes")
    assert ended(waiting)[:2] == (0, b"yes\n")
    assert project.names() == project.names("answers") == []
    code, out, err = project.run("--wait", question["id"])
    assert (code, out) == (5, b"") and question["id"] in err


@pytest.mark.proves("FILE-10")
def test_a_wait_that_is_taken_up_keeps_the_questions_time(project):
    environ = {"CLAUDECODE": "1", "GATE_AGENT_WAIT_SECONDS": "0"}
    subfolder = project.folder / "a b"
    subfolder.mkdir()
    code, out, _ = project.run("Which?", "--timeout", "299", cwd=subfolder, environ=environ)
    assert code == 11 and out.decode().startswith(
        f"NOT ANSWERED YET: run: {project.script} --wait "
    )
    question = project.question()
    assert project.run("--wait", question["id"], "--timeout", "1")[0] == 11
    (name,) = project.names()
    older = name.replace(str(question["timestamp"]), str(int(time.time()) - 299))
    (project.helpers / "questions" / name).rename(project.helpers / "questions" / older)
    code, out, err = project.run("--wait", question["id"])
    assert (code, out) == (3, b"") and "(299s)" in err
    assert project.names() == []


@pytest.mark.proves("FILE-10")
def test_what_is_no_id_leads_nowhere(project):
    (project.helpers / "questions" / "q_agent_a_1_").mkdir()
    (project.helpers / "x.json").write_text("{}", encoding="ascii")
    for odd in ("/../../x", "../../x", "*", "q_1", "x" * 200):
        assert project.run("--wait", odd)[:2] == (5, b"")


@pytest.mark.proves("FILE-11")
def test_a_question_whose_file_is_gone_ends_as_cancelled(project):
    asking = project.start("Which?")
    heard(asking, b"waiting for response")
    (name,) = project.names()
    (project.helpers / "questions" / name).unlink()
    code, out, err = ended(asking)
    assert (code, out) == (4, b"") and "withdrawn" in err


@pytest.mark.proves("S4-53", "S4-70", "S4-B15", "S4-B28", "FILE-12")
def test_who_listens_is_told_from_who_once_did(project):
    gone = subprocess.Popen(["true"])
    gone.wait()
    pid_file = project.helpers / ".listener.pid"
    for content in (str(gone.pid), "", "0", "-1", "x; id", None):
        pid_file.write_text(content, encoding="ascii") if content is not None else pid_file.unlink()
        code, out, err = project.run("Which?", "--require-listener")
        assert (code, out) == (9, b"") and "gate listen" in err
        assert project.names() == []
    asking = project.start("Which?")
    assert b"gate listen" in heard(asking, b"waiting for response")
    project.answer(project.question(), "yes")
    assert ended(asking)[:2] == (0, b"yes\n")
    listener = subprocess.Popen(["sleep", "60"])
    project.listen(listener.pid)
    asking = project.start("Which?", "--require-listener", "--timeout", "2")
    assert b"gate listen" not in heard(asking, b"waiting for response")
    listener.kill()
    listener.wait()
    code, out, err = ended(asking)
    assert (code, out, err.count("gate listen")) == (3, b"", 1)


@pytest.mark.proves("S4-52", "S4-B25", "FILE-13")
@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "Exit codes"),
        (("",), "Exit codes"),
        ((" \n",), "Exit codes"),
        (("Which?", "select"), "needs options"),
        (("Which?", "select", " , "), "needs options"),
        (("Which?", "maybe"), "text, yesno or select"),
        (("Which?", "yesno", "A,B"), "options are for"),
        (("Which?", "text", "-o", "A"), "options are for"),
        (("Which?", "select", "A", "B"), "quotes"),
        (("Which?", "--urgent"), "no option --urgent"),
        (("Which?", "--timeout"), "needs a value"),
        (("Which?", "--timeout", "5m"), "whole number"),
        (("Which?", "--timeout", "0"), "whole number"),
        (("Which?", "--priority", "low"), "normal, high or urgent"),
        (("Which?", "--wait", "12345678"), "--wait"),
    ],
)
def test_wrong_usage_is_named_and_asks_nothing(project, words, told):
    code, out, err = project.run(*words)
    assert (code, out) == (2, b"")
    assert told in err
    assert project.names() == []


@pytest.mark.proves("FILE-13")
def test_help_is_printed_and_wrong_variables_are_named(project):
    code, out, err = project.run("--help")
    assert (code, err) == (0, "") and b"--require-listener" in out
    for variable in ("GATE_TIMEOUT", "GATE_AGENT_WAIT_SECONDS"):
        assert project.run("Which?", environ={variable: "soon"})[0] == 2


def asked_and_answered(project, *words, **more):
    """The question as it was asked; its answer must come back."""
    asking = project.start(*words, **more)
    question = project.question()
    project.answer(question, "yes")
    code, out, err = ended(asking)
    assert (code, out) == (0, b"yes\n"), err
    return question


@pytest.mark.proves("S4-B23", "FILE-14")
def test_the_project_is_found_from_anywhere(tmp_path):
    project = Project(tmp_path / 'it\'s a "project"\n with $HOME \n')
    deep = project.folder / "a b" / "c"
    deep.mkdir(parents=True)
    try:
        question = asked_and_answered(project, "Which?", cwd=deep)
        assert question["working_dir"] == str(deep)
        asked_and_answered(project, "Which?", cwd=tmp_path)
        links = tmp_path / "links"
        links.mkdir()
        (links / "one").symlink_to(os.path.relpath(project.script, links))
        (links / "two").symlink_to("one")
        asked_and_answered(project, "Which?", script=links / "two", cwd=tmp_path)
        asked_and_answered(project, "Which?", shell=("bash",), script="two", cwd=links)
        alone = tmp_path / "alone.sh"
        shutil.copy(SCRIPT, alone)
        asked_and_answered(project, "Which?", script=alone, cwd=deep)
        project.script.unlink()
        project.script.symlink_to(alone)
        asked_and_answered(project, "Which?", cwd=tmp_path)
    finally:
        project.end()


@pytest.mark.proves("S4-88", "FILE-15")
@pytest.mark.parametrize(
    "shell",
    [("bash",), ("bash", "--posix"), ("sh",), *([("busybox", "sh")] if "busybox" in AWKS else [])],
)
def test_any_shell_may_start_it(project, shell):
    for name in ("sh", *shell[:1]):
        if not (project.bin / name).exists():
            (project.bin / name).symlink_to(shutil.which(name))
    asked_and_answered(project, "Which?", shell=shell)


@pytest.mark.proves("S4-88", "S4-B7", "FILE-16")
def test_it_needs_neither_ps_nor_pipes_nor_nanoseconds(project):
    for name in ("ps", "mkfifo", "tty"):
        (project.bin / name).unlink()
    project.tool("date", f'case "$1" in +%s) {shutil.which("date")} +%s ;; *) echo 1N ;; esac')
    project.tool("sleep", f'echo "$@" >> slept; {shutil.which("sleep")} "$@"')
    asking = project.start("Which?")
    until((project.helpers / "slept").exists)
    question = project.question()
    assert isinstance(question["timestamp"], int)
    project.answer(question, "yes")
    assert ended(asking)[:2] == (0, b"yes\n")


@pytest.mark.proves("FILE-16")
def test_tools_that_do_not_work_are_passed_over(tmp_path):
    project = Project(tmp_path / "project", ("jq", "python3", "awk"))
    for name in ("jq", "python3"):
        project.tool(name, "echo broken; exit 1")
    assert asked_and_answered(project, 'Which "one"?')["content"] == 'Which "one"?'
    project.tool("od", "exit 1")
    code, out, err = project.run("Which?")
    assert (code, out) == (1, b"") and "neither jq" in err
    assert project.names() == []


@pytest.mark.proves("S4-56", "S4-B8", "S4-B11", "FILE-17")
def test_all_questions_of_a_session_are_of_one_agent(project):
    environ = {"CLAUDE_CODE_SESSION_ID": "3f2a9c1b-77aa-4e0c/../x y", "CLAUDECODE": "1"}
    asking = [
        project.start(f"Which {n}?", shell=("bash", "-c", '"$@"; exit $?', "-"), environ=environ)
        for n in range(10)
    ]
    questions = project.questions(10)
    assert {one["agent_id"] for one in questions} == {"agent_3f2a9c1b-77aa-4e0c-..-x-y"}
    assert {one["agent_name"] for one in questions} == {"Claude-3f2a9c1b"}
    assert len({one["id"] for one in questions}) == len(asking) == 10
    codex = {"CODEX_THREAD_ID": "t" * 90}
    project.start("Which?", environ=codex)
    (other,) = [one for one in project.questions(11) if one not in questions]
    assert other["agent_id"] == f"agent_{'t' * 64}"
    assert other["agent_name"] == "Agent-codex-tttttttt"


@pytest.mark.proves("S4-7", "S4-54", "S4-55", "S4-75", "S4-78", "S4-B11", "FILE-17")
def test_without_a_session_the_terminal_or_the_parent_tells_agents_apart(project):
    def agents(runner, **more):
        shell = (*runner, "bash", "-c", 'bash -c \'"$@"; exit $?\' - "$@"; exit $?', "-")
        both = [asked_and_answered(project, "Which?", shell=shell, **more) for _ in range(2)]
        assert both[0]["agent_id"] == both[1]["agent_id"]
        return both[0]["agent_id"], both[0]["agent_name"]

    me, name = agents((), start_new_session=True)
    assert me.endswith(f"-{os.getpid()}") and name.endswith(f"-{os.getpid()}")
    (project.bin / "claude").symlink_to(os.path.realpath(sys.executable))
    run = "import subprocess, sys; sys.exit(subprocess.run(sys.argv[1:]).returncode)"
    runner = (str(project.bin / "claude"), "-c", run)
    asking = project.start("Which?", shell=runner, start_new_session=True)
    question = project.question()
    assert question["agent_name"] == f"Claude-{asking.pid}"
    project.answer(question, "yes")
    ended(asking)
    terminal = "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)"
    typed = project.start("Which?", shell=(sys.executable, "-c", terminal))
    question = project.question()
    assert question["agent_id"].startswith("agent_pts-")
    project.answer(question, "y\x1b[31mes")
    code, out, _ = ended(typed)
    assert code == 0 and out.endswith(b"\ny[31mes\r\n")


@pytest.mark.proves("S4-71", "S4-87", "FILE-18")
def test_a_project_without_folders_is_told_to_be_set_up(project):
    shutil.rmtree(project.helpers)
    code, out, err = project.run("Which?")
    assert (code, out) == (2, b"") and "gate init" in err
    project.helpers.mkdir(mode=0o755)
    project.helpers.chmod(0o755)
    asking = project.start("Which?")
    told = f"{project.helpers} is now only yours (mode 0700)"
    assert told in heard(asking, b"waiting for response").decode()
    project.answer(project.question(), "yes")
    assert ended(asking)[:2] == (0, b"yes\n")
    assert project.helpers.stat().st_mode & 0o777 == 0o700
    assert (project.helpers / "answers").stat().st_mode & 0o777 == 0o700


@pytest.mark.proves("S4-72", "S4-87", "S4-B22", "FILE-19")
@pytest.mark.parametrize("name", ["", "questions", "answers"])
def test_folders_that_lead_elsewhere_are_refused(project, name):
    path = project.helpers / name
    elsewhere = project.folder.parent / "elsewhere"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)
    code, out, err = project.run("Which?")
    assert (code, out) == (8, b"") and "is a link" in err
    path.unlink()
    path.write_text("", encoding="ascii")
    code, out, err = project.run("Which?")
    assert (code, out) == (8, b"") and "is not a folder" in err


@pytest.fixture
def unprivileged():
    """A project of somebody for whom modes count, also where the tests are run by root."""
    with tempfile.TemporaryDirectory(prefix="gate-script-", ignore_cleanup_errors=True) as folder:
        os.chmod(folder, 0o755)
        made = Project(Path(folder) / "project")
        made.who = {}
        if os.getuid() == 0:
            made.who = {"user": 65534, "group": 65534, "extra_groups": []}
            for path in (made.folder, *made.folder.rglob("*")):
                os.chown(path, 65534, 65534)
        yield made
        made.end()


@pytest.mark.proves("S4-72", "S4-87", "S4-B22", "FILE-19")
def test_folders_that_cannot_be_written_are_repaired_or_named(unprivileged):
    questions = unprivileged.helpers / "questions"
    questions.chmod(0o500)
    asked_and_answered(unprivileged, "Which?", **unprivileged.who)
    assert questions.stat().st_mode & 0o777 == 0o700
    # As on a read-only file system, where no mode can be changed.
    unprivileged.tool("chmod", "exit 1")
    for path in (questions, unprivileged.helpers / "answers", unprivileged.helpers):
        path.chmod(0o500)
        code, out, err = unprivileged.run("Which?", **unprivileged.who)
        assert (code, out) == (8, b"") and f"{path} cannot be written" in err
        path.chmod(0o700)
    unprivileged.tool("mv", "exit 1")
    code, out, err = unprivileged.run("Which?", **unprivileged.who)
    assert (code, out) == (8, b"") and "cannot be written" in err
    assert unprivileged.names() == []
    if unprivileged.who:
        code, out, err = unprivileged.run("Which?")
        assert (code, out) == (8, b"") and "belongs to somebody else" in err


@pytest.mark.proves("FILE-20")
def test_an_answer_that_could_not_be_printed_stays(project):
    with open("/dev/full", "wb") as full:
        asking = project.start("Which?", stdout=full)
        question = project.question()
        project.answer(question, "yes")
        _, err = asking.communicate(timeout=20)
    assert asking.returncode == 1
    assert f"scripts/ask-human.sh --wait {question['id']}".encode() in err
    assert project.run("--wait", question["id"])[:2] == (0, b"yes\n")


GATE_STUB = """
for word; do printf '%s\\n' "[$word]"; done > {folder}/words
echo "from gate"
exit {code}
"""


@pytest.mark.proves("FILE-21")
@pytest.mark.parametrize(
    ("words", "given", "code"),
    [
        (("-n?", "yesno"), "--priority normal --option=yes --option=no -- -n?", 0),
        (("Q", "select", "A,-B"), "--priority normal --option=A --option=-B -- Q", 3),
        (("Q", "--timeout=9", "--priority=high"), "ask --timeout 9s --priority high -- Q", 4),
        (("--wait", "a-7k2"), "wait -- a-7k2", 11),
        (("--wait", "a-7k2", "--timeout", "5"), "wait --timeout 5s -- a-7k2", 10),
    ],
)
def test_where_gate_is_there_it_asks(project, words, given, code):
    project.tool("gate", GATE_STUB.format(folder=project.folder, code=code))
    words = ("--", *words) if words[0].startswith("-n") else words
    assert project.run(*words) == (code, b"from gate\n", "")
    said = (project.folder / "words").read_text(encoding="utf-8").splitlines()
    given = given if given[0] != "-" else f"ask --timeout 300s {given}"
    assert said == [f"[{word}]" for word in given.split()]


@pytest.mark.proves("FILE-22")
@pytest.mark.parametrize("code", [8, 126, 127])
def test_where_gate_cannot_reach_its_store_the_files_are_used(project, code):
    project.tool("gate", f"exit {code}")
    asked_and_answered(project, "Which?", "select", "yes,no")
    project.tool("gate", "exit 3")
    asked_and_answered(project, "Which?", environ={"GATE_ASK_FILES": "1"})
    project.tool("gate", f"exit {code}")
    shutil.rmtree(project.helpers)
    assert project.run("Which?")[0] == 8


@pytest.mark.proves("FILE-21")
def test_a_listener_can_be_required_of_gate_too(project):
    project.tool("gate", "echo from gate")
    assert project.run("Which?", "--require-listener")[:2] == (0, b"from gate\n")
    (project.helpers / ".listener.pid").unlink()
    assert project.run("Which?", "--require-listener")[0] == 9


@pytest.mark.proves("S4-67", "FILE-21")
def test_through_the_real_gate_a_yes_is_a_choice(tmp_path, world):
    project = Project(tmp_path / "with the script")
    project.tool("gate", f'exec {sys.executable} -m humangate "$@"')
    project.environ = world.plain.environ | project.environ | {"GATE_STORE": world.path}
    asking = project.start("Deploy it?", "yesno")
    words = heard(asking, b"\n").decode().split()
    ask = world.get(words[-1])
    assert (ask.question.kind, list(ask.question.options)) == ("choice", ["yes", "no"])
    assert world.ada.gate("answer", ask.id, "yes").code == 0
    assert ended(asking)[:2] == (0, b"yes\n")
    assert project.names() == []
