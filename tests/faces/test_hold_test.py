"""`gate holdtest` with a small host program; docs/hold-test.md has the real ones."""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path

import pytest

from gatebell.app import wiring
from gatebell.cli.server import retry_gates
from gatebell.cli.setup.rehearsal import ScriptedPerson
from gatebell.errors import UsageError
from gatebell.install.hold_test import adapter_file
from gatebell.install.hold_test.gates import OwnGate
from gatebell.install.hold_test.hosts import HOSTS
from gatebell.install.hold_test.rows import Cell, Outcome, Row, Seen, judge
from gatebell.install.hold_test.table import Table, build_document, build_lines, build_page
from gatebell.install.hold_test.trial import Trial, plan_trials, try_cell
from gatebell.install.host_versions import try_changed
from gatebell.install.records import Installed

HOST = shlex.join([sys.executable, "-S", str(Path(__file__).parents[1] / "support/fake_host.py")])
GATE = str(Path(sys.executable).parent / "gate")
ROWS = ("no-gate", "missing", "killed", "silent", "torn-json", "parallel", "slow")
# The hook of the other gate: it always says no.
OTHER_GATE = '#!/bin/sh\ncat >/dev/null\necho \'{"decision": "deny"}\'\n'
ADAPTER = """
name = "other-gate"
program = "other-gate"
version = "echo 3.2.1"
install = '''
mkdir {{home}}/.gemini
printf '{{"hooks": {{"BeforeTool": [{{"hooks": [{{"command": "%s"}}]}}]}}}}' {{program}} > {{home}}/.gemini/settings.json
'''

[host.{kind}]
start = "{host} {kind} {{model}} {{prompt}}"
version = "echo 1.0"
tool = "run_shell_command"

[host.{kind}.modes]
yolo = "--yolo"
"""


def write_program(path, text):
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


@pytest.fixture
def programs(tmp_path, monkeypatch):
    folder = tmp_path / "programs"
    write_program(folder / "other-gate", OTHER_GATE)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder


def write_adapter(tmp_path, kind, more=""):
    path = tmp_path / "adapter.toml"
    path.write_text(more + ADAPTER.format(kind=kind, host=HOST), encoding="utf-8")
    return str(path)


def run(world, *words):
    ran = world.plain.gate("holdtest", *words, PATH=os.environ["PATH"])
    return ran.code, ran.out + ran.err


@pytest.mark.proves("HOLD-1", "HOLD-3")
def test_gate_of_another_project_is_tried(world, tmp_path, programs):
    adapter = write_adapter(tmp_path, "fragile")
    rows = [word for row in (*ROWS, "mode") for word in ("--row", row)]
    code, out = run(world, "--adapter", adapter, *rows, "--json")
    found = json.loads(out)
    outcomes = {cell["row"]: cell["outcome"] for cell in found["cells"]}
    assert code == 1 and not found["passed"]
    assert found["gate"] == "other-gate 3.2.1" and found["hosts"] == {"fragile": "1.0"}
    assert outcomes == {
        "no-gate": "ran",
        **dict.fromkeys(("missing", "killed", "silent", "torn-json"), "ran"),
        "parallel": "held",
        "mode": "held",
        "slow": "not-tried",
    }


@pytest.mark.proves("HOLD-1", "HOLD-2")
def test_table_of_a_strict_host_is_written(world, tmp_path, programs):
    page = tmp_path / "page.md"
    words = ("--row", "no-gate", "--row", "killed", "--output", str(page))
    code, out = run(world, "--adapter", write_adapter(tmp_path, "strict"), *words)
    assert code == 0, out
    assert "| hook killed | held, " in out and "| | strict 1.0 |" in out
    assert page.read_text(encoding="utf-8").endswith(out)


@pytest.mark.proves("HOLD-1")
def test_cell_that_is_not_promised_may_run(world, tmp_path, programs):
    adapter = write_adapter(tmp_path, "fragile", 'not_enforced = ["killed"]\n')
    code, out = run(world, "--adapter", adapter, "--row", "killed")
    assert code == 0 and "**ran**" in out and "the adapter file says so" in out


@pytest.mark.proves("HOLD-1")
@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (Row.ANSWER_YES, Outcome.RAN),
        (Row.ANSWER_NO, Outcome.HELD),
        (Row.KILLED, Outcome.HELD),
        (Row.SERVER_DEAD, Outcome.HELD),
    ],
)
def test_own_gate_is_installed_and_asked(tmp_path, programs, monkeypatch, row, expected):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    # As gemini itself: any failure of a hook but exit code 2 lets the call run.
    lines = (
        f'#!/bin/sh\nfor last; do :; done\nexec {HOST} fragile $GOOGLE_GEMINI_BASE_URL "$last"\n'
    )
    write_program(programs / "gemini", lines)
    gate = OwnGate("gatebell", GATE, ScriptedPerson, wiring.lock_store)
    cell = try_cell(gate, Trial(HOSTS["gemini"], row), os.environ)
    assert (cell.outcome, cell.passed) == (expected, True), cell
    assert not (tmp_path / "home").exists(), "the person's own records were written"


@pytest.mark.proves("HOLD-2")
def test_outcome_says_who_held_the_call():
    assert judge(Row.KILLED, Seen(ran=True, called=True, hooked=True)) == Outcome.RAN
    assert judge(Row.KILLED, Seen(ran=False, called=False, hooked=False)) == Outcome.NO_CALL
    assert judge(Row.KILLED, Seen(ran=False, called=True, hooked=False)) == Outcome.BY_HOST
    assert judge(Row.MISSING, Seen(ran=False, called=True, hooked=False)) == Outcome.HELD
    assert not Cell("h", Row.NO_GATE, Outcome.HELD).passed
    assert Cell("h", Row.NO_GATE, Outcome.NOT_TRIED).passed


@pytest.mark.proves("HOLD-2")
def test_table_has_a_row_for_each_mode():
    cells = [
        Cell("claude", Row.KILLED, Outcome.RAN, seconds=1.25),
        Cell("claude", Row.MODE, Outcome.HELD, "plan", 2.0),
        Cell("codex", Row.SUB_AGENT, Outcome.NOT_TRIED, reason="unknown"),
    ]
    table = Table("g 1", "2026-01-02", {"claude": "2", "codex": "3"}, cells)
    lines = build_lines(table)
    assert "| hook killed | **ran**, 1.2 s | not tried |" in lines
    assert "| claude | plan | held, 2.0 s |" in lines
    assert "- codex, call of a sub-agent: unknown." in lines
    assert "- **claude, hook killed: not as promised (ran).**" in lines
    assert build_document(table)["passed"] is False
    assert "`gate holdtest --adapter x.toml`" in build_page(table, "x.toml")


@pytest.mark.proves("HOLD-1")
def test_every_mode_of_a_host_is_planned():
    tasks = list(plan_trials([HOSTS["claude"]], [Row.KILLED, Row.MODE]))
    assert [task.row for task in tasks][:2] == [Row.KILLED, Row.MODE]
    assert "bypassPermissions" in [task.mode for task in tasks]


@pytest.mark.proves("HOLD-3")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name = 1", "wrong type"),
        ("nmae = 'x'", "unknown key 'nmae'"),
        ("name = 'x'", "has no program"),
        ("= ", "cannot be read as TOML"),
        ("name = 'x'\nprogram = 'sh'\ninstall = ''\nnot_enforced = ['x']", "expected one of"),
        ("name = 'x'\nprogram = 'none-such'\ninstall = ''", "not on the PATH"),
        ("name = 'x'\nprogram = 'sh'\ninstall = ''\n[host.a]\ntool = 'x'", "needs a line"),
    ],
)
def test_wrong_adapter_is_refused(tmp_path, text, message):
    path = tmp_path / "adapter.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=message):
        adapter_file.read(str(path), os.environ)


@pytest.mark.proves("HOLD-3")
def test_failed_installation_is_not_called_held(tmp_path, programs):
    adapter = adapter_file.read(write_adapter(tmp_path, "strict"), os.environ)
    gate = adapter.gate._replace(install_line="echo broken >&2; exit 3")
    cell = try_cell(gate, Trial(adapter.own_hosts["strict"], Row.KILLED), os.environ)
    assert cell.outcome == Outcome.NOT_TRIED and "exit code 3: broken" in cell.reason


@pytest.mark.proves("HOLD-1")
def test_unknown_host_is_refused(world):
    code, out = run(world, "emacs")
    assert code == 2 and "expected one of claude" in out


def record(cli):
    return Installed(cli, "", GATE, (), (), ())


@pytest.mark.proves("HOLD-4")
def test_changed_host_is_tried_again(tmp_path, programs, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    tried = []

    def try_gate(installed):
        tried.append(installed.cli)
        return [(True, "fine"), (None, "open"), (False, "the tool ran")]

    def look(version):
        write_program(programs / "gemini", f"#!/bin/sh\necho {version}\n")
        return list(try_changed([record("gemini")], os.environ, try_gate))

    assert look("1.0") == look("1.0") == [] and not tried
    assert look("1.1") == ["gemini changed from version 1.0 to 1.1. the tool ran"]
    assert look("1.1") == [] and tried == ["gemini"]


@pytest.mark.proves("HOLD-4")
def test_gate_that_no_longer_holds_leaves_a_note(world, programs, monkeypatch, capsys):
    # A host that asks no hook any more.
    lines = f'#!/bin/sh\nfor last; do :; done\nHOME=/ exec {HOST} fragile $GOOGLE_GEMINI_BASE_URL "$last"\n'
    write_program(programs / "gemini", lines)
    monkeypatch.setenv("GATE_STORE", str(world.path))
    failed = [what for ok, what in retry_gates.try_gate(record("gemini")) if not ok]
    assert failed[0] == "gemini: whole gate, answered no: ran"
    retry_gates.tell(failed[0])
    (note,) = world.store.notes.newest(9)
    assert "A gate no longer holds. gemini" in note.text
    assert "gate: A gate no longer holds." in capsys.readouterr().err
