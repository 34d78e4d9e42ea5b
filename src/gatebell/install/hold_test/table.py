"""The table of the hold test, for people and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gatebell.install.hold_test.rows import NAMES, OUTCOME_NAMES, Outcome, Row

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gatebell.install.hold_test.rows import Cell


class Table(NamedTuple):
    """Every cell of one hold test, and what was tried."""

    gate: str
    """The gate and its version."""
    date: str
    hosts: Mapping[str, str]
    """The version of each host."""
    cells: Sequence[Cell]

    @property
    def passed(self) -> bool:
        return all(cell.passed for cell in self.cells)


def build_lines(table: Table) -> list[str]:
    """Return the tables in Markdown: one of the faults, one of the permission modes, the notes."""
    usual = [cell for cell in table.cells if cell.row != Row.MODE]
    found: dict[tuple[str, Row], Cell] = {(cell.host, cell.row): cell for cell in usual}
    rows = [row for row in NAMES if any(key[1] == row for key in found)]
    versions = [f"{host} {version}" for host, version in table.hosts.items()]
    lines = [f"Tried on {table.date} with {table.gate}.", ""]
    if rows:
        lines += [f"| | {' | '.join(versions)} |", "|---" * (len(versions) + 1) + "|"]
    for row in rows:
        cells = [_describe(found.get((host, row))) for host in table.hosts]
        lines.append(f"| {NAMES[row]} | {' | '.join(cells)} |")
    modes = [cell for cell in table.cells if cell.row == Row.MODE]
    if modes:
        lines += ["", "| host | permission mode | whole gate, answered no |", "|---|---|---|"]
        lines += [f"| {cell.host} | {cell.mode} | {_describe(cell)} |" for cell in modes]
    return [*lines, *_list_notes(table)]


def _describe(cell: Cell | None) -> str:
    if cell is None:
        return OUTCOME_NAMES[Outcome.NOT_TRIED]
    words = OUTCOME_NAMES[cell.outcome]
    return words if cell.outcome == Outcome.NOT_TRIED else f"{words}, {cell.seconds:.1f} s"


def _list_notes(table: Table) -> list[str]:
    notes = [f"- {_name(cell)}: {cell.reason}." for cell in table.cells if cell.reason]
    failed = [cell for cell in table.cells if not cell.passed]
    notes += [f"- **{_name(cell)}: not as promised ({cell.outcome}).**" for cell in failed]
    return ["", *notes] if notes else []


def _name(cell: Cell) -> str:
    return f"{cell.host}, {NAMES[cell.row]}{f' {cell.mode}' if cell.mode else ''}"


def build_document(table: Table) -> dict[str, Any]:
    """Return the table for --json."""
    cells = [
        cell._asdict() | {"passed": cell.passed, "seconds": round(cell.seconds, 1)}
        for cell in table.cells
    ]
    return {
        "gate": table.gate,
        "date": table.date,
        "hosts": dict(table.hosts),
        "cells": cells,
        "passed": table.passed,
    }


def build_page(table: Table, adapter: str = "") -> str:
    """Return the page that `gate holdtest --output FILE` writes."""
    again = f"gate holdtest --adapter {adapter}" if adapter else "gate holdtest"
    return "\n".join([*_BEFORE, "", f"Try it yourself: `{again}`.", "", *build_lines(table), ""])


_BEFORE = """\
# The hold test

In each cell a host wants to run a command that a gate must hold, and the gate is broken in one way.
The person says no, unless the row says yes. "held" means that the command did not run. The host has
a home folder of its own, and a scripted model on the same machine. It is started in the mode that
lets most calls run, with a prompt and without a terminal. Codex is started by its app server, which
asks hooks as its terminal does; in the row "headless" it is `codex exec`.

In the rows "without a gate" and "answered yes" the command must run: otherwise the other
rows prove nothing. "held before a call" means that the host ended before the model could call the
tool. "held by the host itself" means that the host refused the call and did not ask the hook.
""".splitlines()
