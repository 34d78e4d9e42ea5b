"""Take out of an agent CLI what gate install wrote; what was there before comes back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.cli.setup.install import (
    add_place,
    check_gatekeeper,
    in_force,
    place_of,
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
    place = place_of(args)
    if not args.dry_run:
        check_gatekeeper(args, place)
    plan = plans.uninstall(args.cli, place)
    if args.dry_run and not args.json:
        show(plan)
    if not args.dry_run:
        brought = _brought(args.cli, place)
        plans.carry_out(plan)
        set_gates(args, place, [one for one in in_force(place).gates if one not in brought])
    return report(args, plan, (), "Nothing of gate's is left there; nothing was changed.")


def _brought(cli: str, place: Place) -> set[str]:
    """The gates that came with this installation and are held by no other."""
    found = plans.read_installed(cli, place)
    others = [plans.read_installed(name, place) for name in plans.HOSTS if name != cli]
    held = [one.held for one in others if one]
    return set(found.gates if found else ()).difference(*held)
