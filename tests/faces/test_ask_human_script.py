"""The script of the file protocol in real shells: texts, answers, time."""

from __future__ import annotations

import fcntl
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import time

import pytest
from tests.support.original_programs import original_answer
from tests.support.script_project import (
    AWKS,
    Project,
    asked_and_answered,
    wait_for_end,
    wait_for_words,
)

from gatebell.adapters.system.processes import identify

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
def test_text_question_is_a_file_and_prints_only_answers(project):
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
        "pid": os.getpid(),
        "working_dir": str(project.folder),
        "type": "text",
        "content": "Should I use PostgreSQL or MySQL?",
        "priority": "normal",
        "answered": False,
        "timeout": 300,
    }
    project.answer(question, "PostgreSQL")
    code, out, err = wait_for_end(asking)
    assert (code, out) == (0, b"PostgreSQL\n")
    assert err == f"[HIL:{question['agent_name']}] Question sent, waiting for response...\n"
    assert project.names() == project.names("answers") == []


@pytest.mark.proves("S4-22", "S4-23", "S4-57", "S4-67", "S4-68", "S4-B24", "FILE-1")
def test_yes_no_and_options_are_asked_as_such(each_way):
    yesno = each_way.start("Deploy?", "yesno", "--priority", "urgent", "--timeout=7")
    question = each_way.question()
    assert (question["type"], question["priority"], question["timeout"]) == ("yesno", "urgent", 7)
    assert "options" not in question
    each_way.answer(question, "yes")
    assert wait_for_end(yesno)[:2] == (0, b"yes\n")
    select = each_way.start("Which?", "select", 'Express, Fastify ,, "Koa"\n')
    question = each_way.question()
    assert (question["type"], question["options"]) == ("select", ["Express", "Fastify", '"Koa"'])
    each_way.answer(question, '"Koa"')
    assert wait_for_end(select)[:2] == (0, b'"Koa"\n')
    commas = each_way.start("Which?", "-o", "A, or not\nA", "--option", " -B ", "--option=-C=")
    question = each_way.question()
    assert (question["type"], question["options"]) == ("select", ["A, or not\nA", " -B ", "-C="])
    each_way.answer(question, "-C=")
    assert wait_for_end(commas)[:2] == (0, b"-C=\n")


@pytest.mark.proves("S4-63", "S4-74", "S4-79", "S4-B2", "S4-B3", "S4-B14", "FILE-2", "FILE-3")
@pytest.mark.parametrize("ascii_only", [True, pytest.param(False, marks=pytest.mark.matrix)])
def test_any_text_round_trips_exactly(each_way, ascii_only):
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
        code, out, err = wait_for_end(process)
        assert (code, out) == (0, f"{text}\n".encode()), err


@pytest.mark.proves("FILE-2")
def test_bytes_that_are_not_text_are_replaced(each_way):
    data = b"caf\xe9 \xf0\x9f\x98 \xed\xa0\x80 \xf4\x90\x80\x80 \xc0\xaf \xc3"
    asking = each_way.start(data)
    question = each_way.question()
    # The number of bytes that one mark replaces is the decoder's choice.
    marks = re.sub("\ufffd+", "?", question["content"])
    assert marks == "caf? ? ? ? ? ?" and json.dumps(question["content"]).count("\\ud") == 0
    if not (each_way.bin / "awk").exists():
        each_way.link("awk")  # jq 1.6 refuses half a pair, and leaves it to the next tool
    each_way.answer(question, "\ud83d \ude00 a\0b")
    code, out, _ = wait_for_end(asking)
    assert (code, out) == (0, "\ufffd \ufffd a\0b\n".encode())


@pytest.mark.proves("FILE-4")
def test_hundred_kilobytes_round_trip(each_way):
    text = ('say "caf\u00e9" \\ \U0001f600\n' * 6000)[:60_000] + "x" * 40_000
    before = _count_seconds()
    asking = each_way.start(text, "-o", "A", "-o", 'B "x"')
    question = each_way.question()
    assert (question["content"], question["options"]) == (text, ["A", 'B "x"'])
    each_way.answer(question, text)
    assert wait_for_end(asking)[:2] == (0, f"{text}\n".encode())
    # Options after a long question once took bash many times as long.
    assert _count_seconds() - before < 3


def _count_seconds():
    """Return the processor seconds of programs that were started here."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.mark.proves("S4-B12", "S4-B13", "FILE-5")
def test_only_the_whole_answer_to_this_question_is_printed(each_way):
    asking = each_way.start("Which?", "--timeout", "120")
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
    assert b"is not (or not yet) the answer" in wait_for_words(asking, b"this question\n")
    each_way.answer(question, "yes")
    assert wait_for_end(asking)[:2] == (0, b"yes\n")


@pytest.mark.proves("FILE-193")
def test_answer_needs_exactly_five_fields(each_way):
    question = {"id": "0123456789", "agent_id": "agent_1"}
    whole = json.loads(original_answer(question, "yes"))
    foreign = [
        *({key: value for key, value in whole.items() if key != left_out} for left_out in whole),
        *(whole | other for other in ({"status": None}, {"ask": ""}, {"x" * 50: 1}, {"": 1})),
        *(
            whole | {"content": other}
            for other in (1, False, True, ["yes"], {}, {"content": "yes"})
        ),
        *(whole | other for other in ({"id": "other-id-1"}, {"type": "question"})),
    ]
    functions = each_way.script.read_text(encoding="utf-8").removesuffix('main "$@"\n')
    lines = [functions, f"id={question['id']}"]
    for number, one in enumerate(foreign):
        (each_way.folder / f"foreign{number}").write_text(json.dumps(one), encoding="utf-8")
        lines.append(f"answer_file=foreign{number}; take_answer && echo TAKEN {number}")
    tried = each_way.folder / "tried.sh"
    for content, ending in (("yes", (0, b"yes\n")), (None, (4, b"")), ("", (4, b""))):
        (each_way.folder / "whole").write_bytes(original_answer(question, content))
        tried.write_text("\n".join([*lines, "answer_file=whole; take_answer\n"]), encoding="utf-8")
        assert each_way.run(shell=("bash",), script=tried)[:2] == ending
        lines = lines[:2]  # none of the others was taken, which is tried once


@pytest.mark.proves("FILE-193", "FILE-5")
def test_our_own_answer_counts_before_the_original_one(each_way):
    asking = each_way.start("Which?", "--timeout", "120")
    question = each_way.question()
    original = each_way.answer_path(question | {"timestamp": "T"})
    original = original.with_name(original.name.replace("_T_", "_"))
    original.write_bytes(original_answer(question | {"id": "another-id"}, "forged"))
    wait_for_words(asking, f"{original.name} is not (or not yet) the answer".encode())
    each_way.answer(question, "mine")
    assert wait_for_end(asking)[:2] == (0, b"mine\n")
    assert original.exists()


@pytest.mark.proves("FILE-5")
@pytest.mark.parametrize("kind", ["link", "folder", "pipe"])
def test_answer_that_is_not_a_file_is_left_alone(project, kind):
    asking = project.start("Which?")
    question = project.question()
    path = project.answer_path(question)
    elsewhere = project.folder / "elsewhere"
    project.answer(question, "forged")
    path.rename(elsewhere)
    make = {"link": lambda: path.symlink_to(elsewhere), "folder": path.mkdir}
    make.get(kind, lambda: os.mkfifo(path))()
    wait_for_words(asking, b"this question\n")
    path.rmdir() if kind == "folder" else path.unlink()
    project.answer(question, "mine")
    assert wait_for_end(asking)[:2] == (0, b"mine\n")
    assert elsewhere.exists()


@pytest.mark.proves("S4-B13", "S4-P6", "FILE-6")
def test_missing_answer_has_its_exit_code_and_prints_nothing(each_way):
    for status, code in (("timed_out", 3), ("cancelled", 4), ("refused", 7)):
        asking = each_way.start("Which?")
        question = each_way.question()
        each_way.answer(question, "never", status=status, reason="not \x1b[31mnow\n")
        got, out, err = wait_for_end(asking)
        assert (got, out) == (code, b"")
        assert err.endswith(": not [31mnow\n")
        assert each_way.names() == each_way.names("answers") == []


@pytest.mark.proves("S4-62", "S4-73", "S4-B4", "S4-B22", "S4-P6", "FILE-7")
@pytest.mark.parametrize("variable", [True, False])
def test_question_times_out_when_it_said_so(project, variable):
    began = time.monotonic()
    words = () if variable else ("--timeout", "1")
    environ = {"GATE_TIMEOUT": "1" if variable else "77"}
    code, out, err = project.run("Which?", *words, environ=environ)
    assert (code, out) == (3, b"")
    assert 1 <= time.monotonic() - began < 10
    assert "timeout waiting for response (1s)" in err
    assert project.names() == project.names("answers") == []


@pytest.mark.proves("S4-60", "S4-61", "S4-B4", "S4-B5")
def test_progress_is_printed_every_minute_of_real_time(project):
    # Each pause of the script moves the shell's clock forward, as a test's clock would.
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
def test_interrupted_question_is_withdrawn(project, number, code):
    asking = project.start("Which?")
    wait_for_words(asking, b"waiting for response")
    asking.send_signal(getattr(signal, f"SIG{number}"))
    assert wait_for_end(asking)[:2] == (code, b"")
    assert project.names() == []


@pytest.mark.proves("S4-B30", "FILE-9", "FILE-10")
@pytest.mark.parametrize("sign", ["CLAUDECODE", "CODEX_THREAD_ID", "AI_AGENT", "GATE_TURN"])
def test_wait_in_an_agents_shell_ends_and_continues_later(project, sign):
    environ = {sign: "1", "GATE_AGENT_WAIT_SECONDS": "0.5"}
    code, out, _ = project.run("Which?", environ=environ)
    question = project.question()
    again = f"scripts/ask-human.sh --wait {question['id']}"
    assert (code, out.decode()) == (11, f"NOT ANSWERED YET: run: {again}\n")
    waiting = project.start("--wait", question["id"])
    project.answer(question, "yes")
    assert wait_for_end(waiting)[:2] == (0, b"yes\n")
    assert project.names() == project.names("answers") == []
    code, out, err = project.run("--wait", question["id"])
    assert (code, out) == (5, b"") and question["id"] in err


@pytest.mark.proves("FILE-10")
def test_continued_wait_keeps_the_questions_time(project):
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
def test_invalid_id_leads_nowhere(project):
    (project.helpers / "questions" / "q_agent_a_1_").mkdir()
    (project.helpers / "x.json").write_text("{}", encoding="ascii")
    for odd in ("/../../x", "../../x", "*", "q_1", "x" * 200):
        assert project.run("--wait", odd)[:2] == (5, b"")


@pytest.mark.proves("FILE-11")
def test_question_whose_file_is_gone_ends_as_cancelled(project):
    asking = project.start("Which?")
    wait_for_words(asking, b"waiting for response")
    (name,) = project.names()
    (project.helpers / "questions" / name).unlink()
    code, out, err = wait_for_end(asking)
    assert (code, out) == (4, b"") and "withdrawn" in err


@pytest.mark.proves("FLT-17")
@pytest.mark.parametrize("name", ["BASH_DEFAULT_TIMEOUT_MS", "BASH_MAX_TIMEOUT_MS"])
def test_script_waits_less_than_the_shell_limit(project, name):
    environ = {"CLAUDECODE": "1", "GATE_AGENT_WAIT_SECONDS": "540", name: "1000"}
    code, out, _ = project.run("Which?", environ=environ)
    assert code == 11 and out.startswith(b"NOT ANSWERED YET")


@pytest.mark.proves("FLT-13")
def test_reused_number_of_a_listener_is_noticed(project):
    me = identify(os.getpid())
    start_file = project.helpers / ".listener.start"
    start_file.write_text(f"{me.pid} {me.start}\n", encoding="ascii")
    asked_and_answered(project, "Which?", "--require-listener")
    start_file.write_text(f"{me.pid} 1{me.start}\n", encoding="ascii")
    code, out, err = project.run("Which?", "--require-listener")
    assert (code, out) == (9, b"") and "gate listen" in err
    # A start of an earlier listener says nothing about this one.
    start_file.write_text(f"1{me.pid} 1{me.start}\n", encoding="ascii")
    asked_and_answered(project, "Which?", "--require-listener")


@pytest.mark.proves("S4-53", "S4-70", "S4-B15", "FILE-12")
def test_live_listener_differs_from_a_former_one(project):
    gone = subprocess.Popen(["true"])
    gone.wait()
    pid_file = project.helpers / ".listener.pid"
    for content in (str(gone.pid), "", "0", "-1", "x; id", None):
        pid_file.write_text(content, encoding="ascii") if content is not None else pid_file.unlink()
        code, out, err = project.run("Which?", "--require-listener")
        assert (code, out) == (9, b"") and "gate listen" in err
        assert project.names() == []
    asking = project.start("Which?")
    assert b"gate listen" in wait_for_words(asking, b"waiting for response")
    project.answer(project.question(), "yes")
    assert wait_for_end(asking)[:2] == (0, b"yes\n")
    # As seen from a sandbox with its own process numbers: no visible process holds the lock.
    pid_file.write_text(str(gone.pid), encoding="ascii")
    with (project.helpers / ".listener.lock").open("w") as lock:
        if shutil.which("flock"):
            (project.bin / "flock").symlink_to(shutil.which("flock"))
            fcntl.flock(lock, fcntl.LOCK_EX)
            asked_and_answered(project, "Which?", "--require-listener")
    assert project.run("Which?", "--require-listener")[0] == 9
    listener = subprocess.Popen(["sleep", "60"])
    project.listen(listener.pid)
    asking = project.start("Which?", "--require-listener", "--timeout", "2")
    assert b"gate listen" not in wait_for_words(asking, b"waiting for response")
    listener.kill()
    listener.wait()
    code, out, err = wait_for_end(asking)
    assert (code, out, err.count("gate listen")) == (3, b"", 1)
