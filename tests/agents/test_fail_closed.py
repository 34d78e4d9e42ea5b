"""Whatever is broken in gate, no call runs without permission: which hooks hold, and where."""

from __future__ import annotations

import sys
import time
from contextlib import closing
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import pytest
from tests.support.agent_house import PERMISSION_TOOL
from tests.support.shown_hooks import SHOWN

from gatebell.install.scripted_model import text, tool

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "fail-closed.md"
DOORS = ("PermissionRequest", "permission tool", "guarded PreToolUse", "PreToolUse with --defer")
FAULTS = (
    "missing binary",
    "killed",
    "exit 1",
    "empty",
    "torn JSON",
    "two JSON",
    "no exec bit",
    "past the host's limit",
    "store locked",
    "disk full",
    "store of a newer version",
)
USUAL_DOORS = {
    "missing binary": "PermissionRequest",
    "killed": "permission tool",
    "exit 1": "PreToolUse with --defer",
    "empty": "permission tool",
    "torn JSON": "guarded PreToolUse",
    "two JSON": "PermissionRequest",
    "no exec bit": "guarded PreToolUse",
    "disk full": "PreToolUse with --defer",
    "store of a newer version": "PermissionRequest",
}
"""The cases of the usual run: every way of holding with several faults."""


def pytest_generate_tests(metafunc):
    if "fault" in metafunc.fixturenames:
        whole = metafunc.config.option.whole
        cells = list(product(FAULTS, DOORS) if whole else USUAL_DOORS.items())
        metafunc.parametrize(("fault", "door"), cells)


@pytest.fixture(scope="module")
def table(pytestconfig):
    """The cells in which the tool ran, and the time until claude was done."""
    made = {}
    yield made
    if len(made) == len(FAULTS) * len(DOORS):
        page = _page(made)
        pytestconfig.pluginmanager.get_plugin("terminalreporter").write_line(f"\n{page}")
        PAGE.write_text(page, encoding="utf-8")


def _page(cells):
    words = {True: "**ran**", False: "held"}
    lines = [
        "# What happens when gate is broken",
        "",
        "With this page you check that a gated call does not run when gate fails. In each cell Claude Code",
        "2.1.325 wants to run a command that a gate matches ([held.md](held.md) lists them). No person says",
        'yes, and gate is broken in one way. "held" means that the command did not run.',
        "",
        "Try the gates on your machine:",
        "",
        "```sh",
        "$ gate install claude",
        "$ gate doctor       # tries the gates with the installed Claude Code",
        "```",
        "",
        "The columns are four ways to hold a call. `gate install` sets up the PermissionRequest hook and, for",
        "writes of file tools outside the project, the guarded PreToolUse hook. [agents.md](agents.md)",
        "describes the permission tool and `--defer`. `make slow` writes this page.",
        "",
        "| fault | " + " | ".join(DOORS) + " |",
        "|---" * (len(DOORS) + 1) + "|",
    ]
    for fault in FAULTS:
        found = [cells[fault, door] for door in DOORS]
        told = [f"{words[ran]}, {seconds:.1f} s" for ran, seconds in found]
        lines.append(f"| {fault} | " + " | ".join(told) + " |")
    # The part about other hosts is written by hand.
    others = PAGE.read_text(encoding="utf-8").partition("\n## Other hosts\n")
    return "\n".join([*lines, "".join(others[1:])])


class Cell(NamedTuple):
    """A call of claude that only one way of holding stops."""

    steps: list[Any]
    effect: Path
    words: tuple[str, ...] = ()


def cell(house, door):
    touch = [tool("Bash", command="touch gated", description="make a file"), text("done")]
    if door == "permission tool":
        return Cell(touch, house.project / "gated", house.only_permission_tool())
    if door == "PreToolUse with --defer":
        (settings,) = SHOWN.values()
        house.write_settings(permissions={"allow": ["Bash"]}, **settings)
        return Cell(touch, house.project / "gated")
    house.install("claude")
    if door == "PermissionRequest":
        return Cell(touch, house.project / "gated")
    outside = house.folder / "outside"
    return Cell([tool("Write", file_path=str(outside), content="x"), text("done")], outside)


def break_gate(house, fault):
    """Break the program in place; the settings name this path."""
    gate = house.bin / "gate"
    if fault == "store of a newer version":
        with closing(apsw.Connection(str(house.path))) as store:
            store.execute("PRAGMA user_version = 999")
    elif fault == "store locked":
        house.lock_store()
    elif fault == "missing binary":
        gate.unlink()
    elif fault == "no exec bit":
        house.replace_gate('exec {real} "$@"')
        gate.chmod(0o644)
    else:
        house.replace_gate(f'exec {sys.executable} {HERE / "faulty.py"} "{fault}" {{real}} "$@"')
    if fault == "past the host's limit":
        house.shorten_limits(2)


@pytest.mark.proves("AGT-78", "LAW-3", "HOOK-7")
def test_broken_gate_holds(house, table, fault, door):
    steps, effect, words = cell(house, door)
    break_gate(house, fault)
    began = time.monotonic()
    house.run_claude(steps, *words).process.communicate(timeout=120)
    table[fault, door] = (effect.exists(), time.monotonic() - began)
    assert not effect.exists()


@pytest.mark.proves("AGT-78")
@pytest.mark.parametrize(
    "door", [*(pytest.param(door, marks=pytest.mark.matrix) for door in DOORS[:2]), DOORS[2]]
)
@pytest.mark.parametrize("answer", ["yes", "no"])
def test_whole_gate_decides(house, door, answer):
    """Without this, a table full of `held` would prove nothing.

    test_permission.py has the first two ways in the usual run, and test_shown_hooks.py --defer.
    """
    steps, effect, words = cell(house, door)
    if door == "guarded PreToolUse":
        # Its answer is that the host must ask, which in print mode only the tool gets.
        words = PERMISSION_TOOL
    agent = house.run_claude(steps, *words)
    (ask,) = house.wait_for_asks()
    house.answer(ask, answer)
    agent.result()
    assert effect.exists() == (answer == "yes")
