"""Take out of an agent CLI what gate install wrote; what was there before comes back."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from humangate.cli.install import add_place, check_person, place_of, report, set_gates, show
from humangate.integrations import plans

if TYPE_CHECKING:
    import argparse

    from humangate.integrations.places import Place


def configure(parser: argparse.ArgumentParser) -> None:
    add_place(parser)


def run(args: argparse.Namespace) -> int:
    place = place_of(args)
    if not args.dry_run:
        check_person(args)
    plan = plans.uninstall(args.cli, place)
    if args.dry_run and not args.json:
        show(plan)
    if not args.dry_run:
        plans.carry_out(plan)
        if not _gated_elsewhere(place):
            set_gates(args, place, ())
    return report(args, plan, (), "Nothing of gate's is left there; nothing was changed.")


def _gated_elsewhere(place: Place) -> bool:
    """Whether another CLI still holds gates for the same place."""
    clis = [cli for cli in plans.HOSTS if plans.host(cli).HAS_GATES]
    return any(os.path.exists(plans.record_path(cli, place)) for cli in clis)
