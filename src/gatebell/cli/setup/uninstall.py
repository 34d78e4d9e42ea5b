"""Undo gate install for an agent CLI: remove its changes and restore the files as they were.

Example: gate uninstall claude
Example: gate uninstall codex --project --yes
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.cli.screen import can_prompt
from gatebell.cli.setup.install import (
    add_place,
    agree_to,
    build_place,
    check_gatekeeper,
    read_rules,
    report,
    set_gates,
    show,
)
from gatebell.errors import AskCancelledError, UsageError
from gatebell.install import plans

if TYPE_CHECKING:
    import argparse

    from gatebell.install.places import Place


def configure(parser: argparse.ArgumentParser) -> None:
    add_place(parser)
    parser.add_argument("--yes", action="store_true", help="remove without a question")


def run(args: argparse.Namespace) -> int:
    place = build_place(args)
    if not args.dry_run:
        check_gatekeeper(args, place)
        if not args.yes and (args.json or not can_prompt()):
            raise UsageError("cannot prompt without a terminal; check --dry-run, then add --yes")
    plan = plans.uninstall(args.cli, place)
    if not args.json and (args.dry_run or not args.yes):
        show(plan)
    if not args.dry_run:
        if not args.yes and not agree_to(plan, "Remove this?"):
            raise AskCancelledError("nothing was changed")
        brought = _list_own_gates(args.cli, place)
        plans.carry_out(plan)
        set_gates(args, place, [one for one in read_rules(place).gates if one not in brought])
    return report(args, plan, (), "gate is not installed there; nothing was changed.")


def _list_own_gates(cli: str, place: Place) -> set[str]:
    """Return the gates that only this installation added."""
    found = plans.read_installed(cli, place)
    others = [plans.read_installed(name, place) for name in plans.HOSTS if name != cli]
    held = [one.held for one in others if one]
    return set(found.gates if found else ()).difference(*held)
