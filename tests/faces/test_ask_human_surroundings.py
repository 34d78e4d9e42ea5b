"""The script of the file protocol in real shells: usage, places, shells, agents, folders, gate."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
import tempfile
from pathlib import Path

import pytest
from tests.support.people import a_person
from tests.support.script_project import (
    AWKS,
    SCRIPT,
    Project,
    asked_and_answered,
    wait_for_end,
    wait_for_words,
)
from tests.support.waiting import eventually

from gatebell.app.local_backend import LocalBackend
from gatebell.cli.asks import output_answer
from gatebell.domain.asks.asks import Origin
from gatebell.services.asks import create_ask, wait_for_ask
from gatebell.services.asks.create_ask import Request
from gatebell.testing.store import MemoryStore


def restore_signals():
    """A background command of a shell ignores SIGINT, and bash keeps an inherited setting."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


@pytest.fixture
def project(tmp_path):
    made = Project(tmp_path / "project")
    yield made
    made.end()


@pytest.mark.proves("S4-52", "S4-B25", "FILE-13")
@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "Exit codes"),
        (("",), "Exit codes"),
        ((" \n",), "the question is missing"),
        (("Which?", "select"), "needs options"),
        (("Which?", "select", " , "), "needs options"),
        (("Which?", "maybe"), "text, yesno or select"),
        (("Which?", "yesno", "A,B"), "options are for"),
        (("Which?", "text", "-o", "A"), "options are for"),
        (("Which?", "select", "A", "B"), "quotes"),
        (("Which?", "--urgent"), "unknown option --urgent"),
        (("Which?", "--timeout"), "needs a value"),
        (("Which?", "--timeout", "5m"), "whole seconds"),
        (("Which?", "--timeout", "0"), "whole seconds"),
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


@pytest.mark.proves("S4-B23", "FILE-14")
def test_project_is_found_from_anywhere(tmp_path):
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


# Features that bash 3.2 or BSD's tools lack, each with a line that uses it.
NEWER = {
    r"\$\{\w+(\[[^]]*\])?[,^]": "${name,,}",
    r"\$\{[\w@*]+(\[[^]]*\])?@": "${name@Q}",
    r"\$\{\w+\[-": "${list[-1]}",
    r"\$\{\w+:\d+:-": "${name:0:-1}",
    r"\b(mapfile|readarray|coproc|shopt|BASHPID|SRANDOM|EPOCH\w+)\b": "mapfile -t lines",
    r"\b(declare|local|typeset) -\w*[Aglnu]": "local -A table",
    r"\|&|;;?&|&>>": "one |& two",
    r"\{\w+\}[<>]": "exec {fd}<file",
    r"printf [^\n]*%\(": "printf '%(%s)T'",
    r"\[\[? -v ": "[ -v name ]",
    r"\bwait -n": "wait -n",
    r"\bread [^\n]*-[Ni]\b": "read -N 1 key",
    r"\$'[^']*\\[uU]": "$'\\u00e9'",
    # With it, an empty list is an unset variable.
    r"\bset -\w*u|\bnounset\b": "set -eu",
    r"<<": "cat <<< text",
    r"%N|\b(stat|mktemp|timeout|tac|seq|realpath|nproc|setsid) -": "date +%s%N",
    r"\b(readlink -f|sed -[iEr]|grep -P|sort -V|head -c|xargs -r|date -d)": "readlink -f x",
}


@pytest.mark.proves("S4-88", "FILE-183")
def test_script_uses_only_old_bash_and_bsd_features():
    code = [line for line in SCRIPT.read_text().splitlines() if not line.lstrip().startswith("#")]
    for newer, sample in NEWER.items():
        assert re.search(newer, sample)
        assert [line for line in code if re.search(newer, line)] == []


@pytest.mark.proves("S4-88", "S4-B7", "FILE-16")
def test_script_needs_neither_ps_nor_pipes_nor_nanoseconds(project):
    for name in ("ps", "mkfifo", "tty"):
        (project.bin / name).unlink()
    project.tool("date", f'case "$1" in +%s) {shutil.which("date")} +%s ;; *) echo 1N ;; esac')
    project.tool("sleep", f'echo "$@" >> slept; {shutil.which("sleep")} "$@"')
    asking = project.start("Which?")
    eventually((project.helpers / "slept").exists)
    question = project.question()
    assert isinstance(question["timestamp"], int)
    project.answer(question, "yes")
    assert wait_for_end(asking)[:2] == (0, b"yes\n")


@pytest.mark.proves("FILE-16")
def test_tools_that_do_not_work_are_passed_over(tmp_path):
    project = Project(tmp_path / "project", ("jq", "python3", "awk"))
    for name in ("jq", "python3"):
        project.tool(name, "echo broken; exit 1")
    assert asked_and_answered(project, 'Which "one"?')["content"] == 'Which "one"?'
    project.tool("od", "exit 1")
    code, out, err = project.run("Which?")
    assert (code, out) == (1, b"") and "jq, python3 and awk all failed" in err
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


@pytest.mark.proves("S4-7", "S4-54", "S4-55", "S4-78", "S4-B11", "FILE-17")
def test_agents_without_a_session_differ_by_terminal_or_parent(project):
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
    wait_for_end(asking)
    terminal = "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)"
    typed = project.start("Which?", shell=(sys.executable, "-c", terminal))
    question = project.question()
    assert question["agent_id"].startswith("agent_pts-")
    project.answer(question, "y\x1b[31mes")
    code, out, _ = wait_for_end(typed)
    assert code == 0 and out.endswith(b"\ny[31mes\r\n")


@pytest.mark.proves("S4-54", "S4-75", "S4-78", "S4-88", "FILE-17")
def test_parent_comes_from_ps_where_proc_is_missing(project):
    blind = project.folder / "blind.sh"
    blind.write_text(
        '[() { case "$2" in /proc/*) return 1 ;; *) builtin [ "$@" ;; esac; }', encoding="ascii"
    )
    more = {"environ": {"BASH_ENV": str(blind)}, "start_new_session": True}
    mine = asked_and_answered(project, "Which?", start_new_session=True)["agent_id"]
    assert asked_and_answered(project, "Which?", **more)["agent_id"] == mine
    project.tool("ps", 'case "$*" in *comm*) echo "tmux: server" ;; *ppid*) echo 1 ;; esac')
    name = asked_and_answered(project, "Which?", **more)["agent_name"]
    assert re.fullmatch(r"Agent-tmux-\d+", name)
    (project.bin / "ps").unlink()
    assert (
        asked_and_answered(project, "Which?", **more)["agent_id"] == f"agent_unknown-{os.getpid()}"
    )


@pytest.mark.proves("S4-71", "S4-87", "FILE-18")
def test_project_without_folders_names_the_setup_command(project):
    shutil.rmtree(project.helpers)
    code, out, err = project.run("Which?")
    assert (code, out) == (2, b"") and "gate init" in err
    project.helpers.mkdir(mode=0o755)
    project.helpers.chmod(0o755)
    asking = project.start("Which?")
    told = f"{project.helpers} is now private (mode 0700)"
    assert told in wait_for_words(asking, b"waiting for response").decode()
    project.answer(project.question(), "yes")
    assert wait_for_end(asking)[:2] == (0, b"yes\n")
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
    """A project of a user for whom file modes count, even where root runs the tests."""
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
    for name in ("ln", "mv"):
        unprivileged.tool(name, "exit 1")
    code, out, err = unprivileged.run("Which?", **unprivileged.who)
    assert (code, out) == (8, b"") and "cannot be written" in err
    assert unprivileged.names() == []
    if unprivileged.who:
        code, out, err = unprivileged.run("Which?")
        assert (code, out) == (8, b"") and "belongs to another user" in err


@pytest.mark.proves("FILE-147")
def test_hostile_surroundings_do_not_mislead_the_script(project):
    victim = project.folder / "victim"
    victim.write_text("mine", encoding="utf-8")
    names = ("pipe", "draft", "question_file", "answer_file", "parent_pid", "gate_failed")
    names += ("own_answer", "original_answer")
    around = dict.fromkeys(names, str(victim)) | {"SHELLOPTS": "errexit:nounset:noglob"}
    question = asked_and_answered(project, "Which?", environ=around)
    assert question["content"] == "Which?"
    for name in ("ln", "mv"):
        project.tool(name, "exit 1")
    assert project.run("Which?", environ=around)[0] == 8
    assert victim.read_text(encoding="utf-8") == "mine"
    assert project.run("--wait", question["id"], environ=around)[0] == 5


@pytest.mark.proves("FILE-147")
def test_pipe_that_is_tidied_away_is_not_waited_at(project):
    project.tool("mkfifo", "exit 0")
    project.tool("sleep", f'echo "$@" >> slept; {shutil.which("sleep")} "$@"')
    asking = project.start("Which?")
    eventually((project.helpers / "slept").exists)
    project.answer(project.question(), "yes")
    assert wait_for_end(asking)[:2] == (0, b"yes\n")
    assert not [name for name in os.listdir(project.helpers) if name.startswith(".tmp")]


@pytest.mark.proves("FILE-20")
def test_answer_that_could_not_be_printed_stays(project):
    with open("/dev/full", "wb") as full:
        asking = project.start("Which?", stdout=full)
        question = project.question()
        project.answer(question, "yes")
        _, err = asking.communicate(timeout=60)
    assert asking.returncode == 1
    assert f"scripts/ask-human.sh --wait {question['id']}".encode() in err
    assert project.run("--wait", question["id"])[:2] == (0, b"yes\n")


GATE_STUB = """
for word; do printf '%s\\n' "[$word]"; done > {folder}/words
echo "$GATE_HIL_NAME" >&2
echo "from gate"
exit {code}
"""


@pytest.mark.proves("FILE-21")
@pytest.mark.parametrize(
    ("words", "given", "code"),
    [
        (("-n?", "yesno"), "--priority normal --option=yes --option=no -- -n?", 0),
        (("Q", "select", "A,-B"), "--priority normal --option=A --option=-B -- Q", 3),
        (
            ("Q", "--timeout=9", "--priority=high"),
            "ask --from Claude-one --timeout 9s --priority high -- Q",
            4,
        ),
        (("--wait", "a-7k2"), "wait -- a-7k2", 11),
        (("--wait", "a-7k2", "--timeout", "5"), "wait --timeout 5s -- a-7k2", 10),
    ],
)
def test_installed_gate_asks_instead(project, words, given, code):
    project.tool("gate", GATE_STUB.format(folder=project.folder, code=code))
    words = ("--", *words) if words[0].startswith("-n") else words
    environ = {"CLAUDE_CODE_SESSION_ID": "one"}
    assert project.run(*words, environ=environ) == (code, b"from gate\n", "Claude-one\n")
    said = (project.folder / "words").read_text(encoding="utf-8").splitlines()
    given = given if given[0] != "-" else f"ask --from Claude-one --timeout 300s {given}"
    assert said == [f"[{word}]" for word in given.split()]


@pytest.mark.proves("FILE-22")
@pytest.mark.parametrize("code", [8, 126, 127])
def test_files_are_used_where_gate_cannot_reach_its_store(project, code):
    project.tool("gate", f"exit {code}")
    asked_and_answered(project, "Which?", "select", "yes,no")
    project.tool("gate", "exit 3")
    asked_and_answered(project, "Which?", environ={"GATE_ASK_FILES": "1"})
    project.tool("gate", f"exit {code}")
    shutil.rmtree(project.helpers)
    assert project.run("Which?")[0] == 8


@pytest.mark.proves("FILE-21")
def test_listener_can_be_required_of_gate_too(project):
    project.tool("gate", "echo from gate")
    assert project.run("Which?", "--require-listener")[:2] == (0, b"from gate\n")
    (project.helpers / ".listener.pid").unlink()
    assert project.run("Which?", "--require-listener")[0] == 9


@pytest.mark.proves("FLT-9")
@pytest.mark.parametrize("inside", [False, True])
def test_gate_asks_for_the_project_of_the_script(project, inside):
    where = project.folder / "deep" if inside else project.folder.parent / "other"
    for folder in (where, project.folder):
        (folder / ".git").mkdir(parents=True)
    if inside:
        (where / ".git").rmdir()
    project.tool("gate", "pwd -P")
    asked_in = where if inside else project.folder
    assert project.run("Which?", cwd=where)[:2] == (0, f"{asked_in}\n".encode())


@pytest.mark.proves("FLT-9")
def test_nested_repository_does_not_take_the_question(project):
    nested = project.folder / "vendor"
    (nested / ".git").mkdir(parents=True)
    project.tool("gate", "pwd -P")
    assert project.run("Which?", cwd=nested)[:2] == (0, f"{project.folder}\n".encode())


@pytest.mark.proves("FLT-10")
@pytest.mark.parametrize(("number", "code"), [("TERM", 143), ("INT", 130), ("HUP", 129)])
def test_signal_ends_gate_with_its_script(project, number, code):
    project.tool("gate", "echo $$ >&2\nexec sleep 60")
    asking = project.start("Which?", preexec_fn=restore_signals)
    pid = int(wait_for_words(asking, b"\n"))
    asking.send_signal(getattr(signal, f"SIG{number}"))
    assert wait_for_end(asking)[0] == code
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.proves("S4-67", "FILE-21", "FLT-12", "S4-59")
def test_through_the_real_gate_a_yes_is_a_choice(tmp_path, world):
    project = Project(tmp_path / "with the script")
    project.tool("gate", f'exec {sys.executable} -m gatebell "$@"')
    project.environ = world.plain.environ | project.environ | {"GATE_STORE": world.path}
    asking = project.start("Deploy it?", "yesno")
    said = wait_for_words(asking, b"gate answer").decode()
    ask = world.get(said.split()[-1])
    sent = f"[HIL:{ask.origin.agent}] Question sent, waiting for response..."
    assert said.splitlines()[0] == sent
    assert (ask.question.kind, list(ask.question.options)) == ("choice", ["yes", "no"])
    assert world.ada.gate("answer", ask.id, "yes").code == 0
    assert wait_for_end(asking)[:2] == (0, b"yes\n")
    assert project.names() == []


@pytest.mark.proves("FLT-10")
@pytest.mark.parametrize(("number", "code"), [("INT", 11), ("TERM", 143)])
def test_interrupted_gate_says_how_to_continue(tmp_path, world, number, code):
    project = Project(tmp_path / "with the script")
    project.tool("gate", f'exec {sys.executable} -m gatebell "$@"')
    project.environ = world.plain.environ | project.environ | {"GATE_STORE": world.path}
    asking = project.start("Deploy it?", preexec_fn=restore_signals)
    ask_id = wait_for_words(asking, b"gate answer").decode().split()[-1]
    # Until it waits, gate has no handler of its own.
    eventually(lambda: catches_term(only_child(asking.pid)))
    asking.send_signal(getattr(signal, f"SIG{number}"))
    assert wait_for_end(asking)[:2] == (
        code,
        f"NOT ANSWERED YET: run: gate wait {ask_id}\n".encode(),
    )
    assert world.get(ask_id).pending


def only_child(pid):
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii"))


def catches_term(pid):
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    caught = int(re.search(r"SigCgt:\s*(\w+)", status)[1], 16)
    return bool(caught & 1 << signal.SIGTERM - 1)


@pytest.mark.proves("FLT-12", "S4-61")
@pytest.mark.parametrize(("seconds", "reports"), [(None, 3), (150.0, 2), (60.0, 0)])
def test_gate_reports_each_minute_for_the_script(monkeypatch, capsys, seconds, reports):
    store, waits = MemoryStore(), []

    def follow(_store, _ask_id, patience, *_):
        waits.append(patience)
        answered = len(waits) == 4
        store.clock.advance(0 if answered or patience is None else patience)
        yield ask

    ask = create_ask.ask(store, Request("Why?"), Origin(), a_person()).ask
    monkeypatch.setattr(wait_for_ask, "follow", follow)
    monkeypatch.setenv("GATE_HIL_NAME", "Claude-one")
    assert output_answer._wait(LocalBackend(store), ask.id, seconds) == ask
    lines = [f"[HIL:Claude-one] Still waiting... ({60 * n}s elapsed)" for n in (1, 2, 3)]
    assert capsys.readouterr().err.splitlines() == lines[:reports]
    assert seconds is None or sum(waits) == seconds
    monkeypatch.delenv("GATE_HIL_NAME")
    waits.clear()
    output_answer._wait(LocalBackend(store), ask.id, seconds)
    assert waits == [seconds]
