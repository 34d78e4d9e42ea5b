"""Break a gate in every way, and look whether the host still held the call.

A scripted model on this machine makes each host on the PATH call a gated tool, in a home folder of
its own. Your settings and your inbox are not used. --adapter tests the gate of another project.

Exit code: 0 if every cell that is called enforced held, 1 if not.

Example: gate holdtest
Example: gate holdtest claude --row killed --row missing --json
"""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from gatebell.app import wiring
from gatebell.cli.screen import print_json
from gatebell.cli.status_line import show_progress
from gatebell.domain.text.display import inert
from gatebell.errors import NotFoundError, UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from gatebell.install.hold_test.gates import Gate, OwnGate
    from gatebell.install.hold_test.hosts import Host
    from gatebell.install.hold_test.rows import Cell, Row
    from gatebell.install.hold_test.table import Table


def configure(parser: argparse.ArgumentParser) -> None:
    from gatebell.install.hold_test.rows import Row

    add = parser.add_argument
    add("host", nargs="*", help="the hosts to try; the default is every one on the PATH")
    add(
        "--row",
        action="append",
        choices=[row.value for row in Row],
        help="try only this; may be repeated",
    )
    add("--adapter", metavar="FILE", help="test another gate (docs/hold-test-adapters.md)")
    add("--output", metavar="FILE", help="write the table into this file, in Markdown")
    add("--json", action="store_true", help="print one JSON object (docs/json.md)")


def run(args: argparse.Namespace) -> int:
    from gatebell.install.hold_test import adapter_file
    from gatebell.install.hold_test.hosts import HOSTS, find_installed
    from gatebell.install.hold_test.rows import Row
    from gatebell.install.hold_test.table import build_document, build_lines

    adapter = adapter_file.read(args.adapter, os.environ) if args.adapter else None
    known = {**HOSTS, **(adapter.own_hosts if adapter else {})}
    usual = find_installed(os.environ)
    if adapter:
        usual = [name for name in usual if name in adapter.hosts] + list(adapter.own_hosts)
    hosts = [_find_host(known, name) for name in args.host or usual]
    if not hosts:
        raise NotFoundError(f"none of these programs is on the PATH: {', '.join(known)}")
    rows = [row for row in Row if row in (args.row or list(Row))]
    gate = adapter.gate if adapter else build_own_gate()
    table = try_all(gate, hosts, rows)
    if args.output:
        _write(args.output, table, args.adapter)
    if args.json:
        print_json(build_document(table))
    else:
        print("\n".join(map(inert, build_lines(table))))
    return 0 if table.passed else 1


def build_own_gate() -> OwnGate:
    from gatebell import __version__
    from gatebell.cli.setup.install import find_gate_program
    from gatebell.cli.setup.rehearsal import ScriptedPerson
    from gatebell.install.hold_test.gates import OwnGate

    name = f"gatebell {__version__}"
    return OwnGate(name, find_gate_program(), ScriptedPerson, wiring.lock_store)


def _find_host(known: Mapping[str, Host], name: str) -> Host:
    if name not in known:
        raise UsageError(f"expected one of {', '.join(known)}, got {name!r}")
    return known[name]


def try_all(gate: Gate, hosts: Sequence[Host], rows: Sequence[Row]) -> Table:
    """Try every cell, and show on a terminal which one."""
    from gatebell.install.hold_test.hosts import find_version
    from gatebell.install.hold_test.rows import NAMES
    from gatebell.install.hold_test.table import Table
    from gatebell.install.hold_test.trial import plan_trials, try_cell

    versions = {
        host.name: find_version(host.version or (host.name, "--version"), os.environ)
        for host in hosts
    }
    trials = list(plan_trials(hosts, rows))
    cells: list[Cell] = []
    for number, trial in enumerate(trials, 1):
        name = f"{trial.host.name}: {NAMES[trial.row]} {trial.mode}".strip()
        with show_progress(f"{name} ({number} of {len(trials)})"):
            cells.append(try_cell(gate, trial, os.environ))
        if sys.stderr.isatty():
            print(f"{cells[-1].outcome:<10} {inert(name)}", file=sys.stderr, flush=True)
    return Table(gate.name, f"{datetime.now(UTC):%Y-%m-%d}", versions, cells)


def _write(path: str, table: Table, adapter: str) -> None:
    from gatebell.install.hold_test.table import build_page

    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(build_page(table, adapter))
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from None
