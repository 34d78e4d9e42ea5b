"""Which spellings of a gated call the hosts ask about: docs/held.md must match these results."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.agents.spellings import PROGRAMS, SPELLINGS
from tests.support.agent_programs import PACKAGES
from tests.support.answering_person import AnsweringPerson
from tests.support.lines import read_lines

from gatebell.app import wiring
from gatebell.domain.permissions.rules import list_triggers
from gatebell.hooks.events import Hook, pre_tool_use
from gatebell.install.scripted_model import text, tool, tool_results

PAGE = Path(__file__).parents[2] / "docs" / "held.md"
LINES = [line for lines in SPELLINGS.values() for line in lines]
NO = "A person said no to this"
SECONDS = 600
BATCH = 60
STUB = "nothing was done"
ASKED, PUT_OFF, RUNS = "asked", "put off", "**runs unasked**"
SAME_MODES = ("bypassPermissions", "manual", "acceptEdits")
CHECKED_MODES = ("auto", "plan")
"""In this mode claude's own check decides about other calls; no scripted model can answer it."""
_INTRODUCTION = """\
# Commands that the default gates hold

With this page you check whether a person is asked about a command. `gate gates test` answers for
any command line, and runs nothing:

```sh
$ gate gates add 'Bash(make ship *)'      # a rule of your own, by its text
$ gate install claude                     # so that Claude Code learns of it
$ gate gates test 'sudo -u me git push'   # exit code 11: asked
$ gate gates test 'git stash push'        # exit code 0: passes
```

`gate install claude` gives Claude Code wide rules, such as `Bash(*push*)`. For a line that matches
one of them, Claude Code asks our hook. The hook reads the line as a shell would. It looks into
`sudo`, `env`, `npx`, `uv run`, `xargs`, `find -exec`, `bash -c` and the like, and over options
before a subcommand. A person is asked if

- a command in it pushes, publishes, deploys, or deletes a tree;
- it runs a script, a make target or a program that we do not know, and its words name such an act;
- it cannot be parsed, or only the shell knows its program or subcommand: `$g push`, `git $x`;
- a shell reads its commands from elsewhere: `cat script | sh`, `eval "$x"`.

All other lines pass at once, if Claude Code would run them without our rules: in the mode
bypassPermissions, if your settings allow all commands in the line, or if it only reads in the
project. Then each word is an option that we know to be harmless, a text, or a path, and no link
leads out of the project. A line with an assignment or with a redirection of a file passes by
neither. If your settings have other rules that ask about it, or other PreToolUse hooks, a person is
asked as before. The hook does not see rules of the command line (`--allowedTools`, `--settings`) or
of plugins.

Claude Code compares text. So it does not notice these lines, and they run unasked:

- a script, a target, an alias or a program with another name: `sh ship.sh`, `make ship`, `git p`
- a file that does it later, such as a hook of git that the line writes
- a word that is put together while it runs, if the line has none of the words: `git pu*`
- a name in capitals: `./Deploy.ps1`
- a here-document for ssh or an interpreter, backticks in a here-document, and what follows `;` in
  its first line; a text that a loop reads

`gate gates test` judges such a line too, and then says which host does not notice it.

Some acts are not gated by default: copies to another machine (`scp`, `rsync` without `--delete`),
containers on another machine, deleting single files, dropping changes in git (`git reset --hard`),
deleting containers, databases and packages. The lists below are examples. Do not rely on a gate
for a spelling that is not listed as asked.

The tests also judge {gated} spellings of gated commands, and all are held. They are in
`tests/support/lines`; `make slow` tries them all with Claude Code. As a measure of false alarms: of
{ordinary} ordinary lines, {noticed} match a wide rule, and of those {alarms} are asked about although they are
harmless, such as `./run_tests.sh push`. The authors of gatebell wrote these lines.

Lines of others, from 421 packages of PyPI, tried on 2026-11-19, with at most 20 of a kind from one
package. 37 lines that may contain a password were left out. We read the lines that are asked about:

| lines of others | lines | match a wide rule | asked | of these wrongly |
|---|---|---|---|---|
| steps of GitHub workflows | 1384 | 212 | 92 | 3 |
| recipes of makefiles | 1444 | 246 | 145 | 3 |
| `RUN` in Dockerfiles | 328 | 83 | 61 | 0 |
| commands in documentation | 3146 | 252 | 118 | 13 |
| together | 6302 | 793 | 416 | 19 |

So 3 of 1000 lines are asked about wrongly, such as `semantic-release version --patch --print`.
There were 53 before we removed the causes that these lines showed. Of the 416 lines, 200 delete
files: `rm -rf`, `find -delete`, or a list for `rm`. How often an agent is held in an hour was not
measured. Measure your own history:

```sh
$ echo 'git push' > commands.txt
$ gate gates test --history commands.txt   # or ~/.bash_history, or a session of Claude Code (.jsonl)
```

Codex has rules for the first words of a command only. So it asks about fewer spellings.

The tests try every line with Claude Code {claude} and Codex {codex}, and fail if this page differs.
In these tests all of Bash is allowed and Codex has no sandbox, so that only the gates hold a line.

| where | what happens |
|---|---|
| Claude Code in the modes default, manual, acceptEdits and bypassPermissions | as listed |
| Claude Code in auto and plan | the same lines are asked, and lines that match a wide rule unless they only read; its own check decides about the others |
| Claude Code in dontAsk | lines that match a wide rule are denied, also harmless ones |
| `codex exec` | lines that would be asked are rejected |
| "with `--defer`" | lines that the hook of [agents.md](agents.md) puts off in `claude -p`, without other rules in the settings |

In all these modes Claude Code's own file tools (Edit, Write, MultiEdit, NotebookEdit) are held when
they write a file outside the project. A command that writes such a file is not held.
"""


def pytest_generate_tests(metafunc):
    """The first mode of each kind; `make slow` tries all."""
    count = None if metafunc.config.option.whole else 1
    kinds = {"same_mode": SAME_MODES[:count], "checked_mode": CHECKED_MODES[:count]}
    kinds["mode"] = ("default", *SAME_MODES, *CHECKED_MODES, "dontAsk")[: count and 2]
    for name in kinds.keys() & set(metafunc.fixturenames):
        metafunc.parametrize(name, kinds[name])


@pytest.fixture
def stage(house):
    """Put programs that do nothing before the real ones, in a login shell too."""
    for name in PROGRAMS:
        (house.bin / name).write_text(f"#!/bin/sh\necho {STUB}\n", encoding="utf-8")
        (house.bin / name).chmod(0o755)
    (house.home / ".profile").write_text(f"PATH={house.bin}:$PATH\n", encoding="utf-8")
    (house.project / "push.sh").write_text("git push\n", encoding="utf-8")
    (house.project / "build").mkdir()
    return house


def in_claude(house, *words, lines=LINES):
    """Return the lines about which a person is asked, each denied, and the results of its tools."""
    house.install("claude")
    steps = [tool("Bash", command=line, description="try") for line in lines]
    with AnsweringPerson(str(house.path), {"Run": "no"}):
        house.run_claude([*steps, text("done")], *words, IS_SANDBOX="1").result(SECONDS)
    asks = house.store.asks.list_settled(10_000)
    return {ask.question.call.command for ask in asks}, results_of(house, lines)


def in_codex(house, lines):
    """Return the lines that `codex exec` rejects, and the results of its tools."""
    house.install("codex")
    steps = [tool("exec_command", cmd=line) for line in lines]
    house.run_codex([*steps, text("done")]).process.communicate(timeout=120)
    results = results_of(house, lines)
    return {line for line, result in results.items() if "Rejected(" in result}, results


def put_off(house, monkeypatch):
    """Return the lines that the hook with --defer holds, by the gates of `gate install`."""
    monkeypatch.setenv("GATE_STORE", house.environ["GATE_STORE"])
    monkeypatch.delenv("CLAUDE_CODE_SESSION_ATTENDED", raising=False)
    event = {"session_id": "s", "cwd": str(house.project), "tool_name": "Bash"}
    hooks = {line: Hook("claude", event | {"tool_input": {"command": line}}, 60.0, defer=True)
             for line in LINES}  # fmt: skip
    return {line for line, hook in hooks.items() if pre_tool_use(hook).json}


def results_of(house, lines):
    results = tool_results(house.model.requests[-1])
    assert len(results) == len(lines), results[-1]
    return dict(zip(lines, results, strict=True))


def check_run(asked, results):
    """Check that the other lines ran, and that they ran only harmless programs."""
    for act in ("push", "publish", "deploy"):
        for line in results.keys() & set(SPELLINGS[act]):
            assert (STUB in results[line]) == (line not in asked), (line, results[line])


def page_of(claude, deferred, codex):
    versions = dict(zip(("claude", "codex"), PACKAGES.values(), strict=True))
    rows = []
    for act, lines in SPELLINGS.items():
        rows += [
            "",
            f"## {act.capitalize()}",
            "",
            "| command | Claude Code | with `--defer` | Codex |",
            "|---|---|---|---|",
        ]
        for line in lines:
            words = ((ASKED, claude), (PUT_OFF, deferred), (ASKED, codex))
            cells = [word if line in held else RUNS for word, held in words]
            rows.append(f"| `{escape(line)}` | {' | '.join(cells)} |")
    return _INTRODUCTION.format(**versions, **counts()) + "\n".join([*rows, ""])


def counts():
    """Return the numbers of the lists of lines."""
    ordinary = [line for lines in read_lines("harmless").values() for line in lines]
    noticed = [line for line in ordinary if list_triggers(line)]
    alarms = [line for line in noticed if wiring.judge_command(line).finding]
    gated = sum(map(len, read_lines("gated").values()))
    return {
        "gated": gated,
        "ordinary": len(ordinary),
        "noticed": len(noticed),
        "alarms": len(alarms),
    }


def escape(line):
    return line.replace("\n", "⏎").replace("|", "\\|")


def on_page(host):
    """Return the lines that this host asks about according to the page."""
    rows = re.findall(
        r"^\| `(.+)` \| (\S.*?) \| (\S.*?) \| (\S.*?) \|$",
        PAGE.read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    assert [row[0] for row in rows] == [escape(line) for line in LINES]
    column = {"claude": 1, "codex": 3}[host]
    return {line for line, row in zip(LINES, rows, strict=True) if row[column] == ASKED}


def select_lines(lines, whole):
    """Return all lines in the long run; otherwise two of each call that is held, and two others."""
    asked = on_page("claude")
    groups = [
        [line for line in lines if line in act and (line in asked) == is_asked]
        for act in SPELLINGS.values()
        for is_asked in (True, False)
    ]
    selected = {line for group in groups for line in group[: None if whole else 2]}
    return [line for line in lines if line in selected]


@pytest.mark.proves("HOOK-8")
def test_page_matches_the_behaviour_of_the_hosts(stage, whole, monkeypatch):
    """The usual run tries some lines and relies on the page for the others."""
    lines = LINES if whole else select_lines(LINES, whole)
    claude, results = in_claude(stage, lines=lines)
    check_run(claude, results)
    deferred = put_off(stage, monkeypatch)
    stage.forget()
    codex, results = in_codex(stage, lines)
    check_run(codex, results)
    if not whole:
        claude |= on_page("claude") - set(lines)
        codex |= on_page("codex") - set(lines)
    page = page_of(claude, deferred, codex)
    if whole:
        PAGE.write_text(page, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page, "make slow writes it anew"


@pytest.mark.proves("HOOK-8")
def test_mode_asks_about_the_same(stage, same_mode, whole):
    lines = select_lines(LINES, whole)
    asked, results = in_claude(stage, "--permission-mode", same_mode, lines=lines)
    check_run(asked, results)
    assert asked == on_page("claude") & set(lines)


@pytest.mark.proves("HOOK-8")
def test_checking_mode_asks_about_the_same(stage, checked_mode, whole):
    lines = select_lines([line for line in LINES if line in on_page("claude")], whole)
    asked, results = in_claude(stage, "--permission-mode", checked_mode, lines=lines)
    assert asked == set(lines) and all(NO in result for result in results.values())


@pytest.mark.proves("HOOK-8")
def test_mode_without_questions_runs_nothing(stage, whole):
    lines = select_lines(sorted(on_page("claude")), whole)
    asked, results = in_claude(stage, "--permission-mode", "dontAsk", lines=lines)
    assert asked == set() and not any(STUB in result for result in results.values())
    assert (stage.project / "build").exists()


@pytest.mark.proves("HOOK-8", "AGT-28")
def test_file_outside_the_project_is_held(house, mode):
    house.install("claude")
    outside = house.folder / "outside"
    steps = [tool("Write", file_path=str(outside), content="x"), text("{{result}}")]
    result = house.run_claude(steps, "--permission-mode", mode, IS_SANDBOX="1").result()
    assert not outside.exists() and result["permission_denials"]


@pytest.mark.proves("HOOK-50")
def test_claude_asks_about_each_gated_line(stage, whole):
    """The usual run tries a sample of the list."""
    lines = [line for lines in read_lines("gated").values() for line in lines]
    lines = lines if whole else lines[::160]
    unasked = []
    for some in (lines[at : at + BATCH] for at in range(0, len(lines), BATCH)):
        asked, results = in_claude(stage, "--permission-mode", "bypassPermissions", lines=some)
        unasked += [line for line in results if line not in asked]
        stage.forget()
    assert unasked == []
