"""Undo gate install for an agent CLI: remove its changes and restore the files as they were."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.cli.setup.install import (
    add_place,
    build_place,
    check_gatekeeper,
    read_rules,
    report,
    set_gates,
    show,
)
from gatebell.install import plans

if TYPE_CHECKING:
    import argparse

    from gatebell.install.places import Place


def configure(parser: argparse.ArgumentParser) -> None:
    add_place(parser)


def run(args: argparse.Namespace) -> int:
    place = build_place(args)
    if not args.dry_run:
        check_gatekeeper(args, place)
    plan = plans.uninstall(args.cli, place)
    if args.dry_run and not args.json:
        show(plan)
    if not args.dry_run:
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
