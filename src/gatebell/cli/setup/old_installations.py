"""Find installations for agents' programs that this version would write otherwise."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gatebell.app import settings
from gatebell.errors import GateError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gatebell.install.records import Installed


def find_old(folder: str) -> Iterator[str]:
    """Yield a sentence for each one; what cannot be compared is left to `gate doctor`."""
    # Imported here: gate up looks after it serves.
    from gatebell.install.checks import installations

    for installed in installations(os.environ, folder):
        try:
            if not isinstance(installed, str) and _is_old(installed):
                scope = " --project" if installed.project else ""
                again = f"gate install {installed.cli}{scope}"
                yield (
                    f"{installed.cli}: it was installed by an older version, or its settings were "
                    f"changed since then; run: {again}"
                )
        except (GateError, OSError):
            continue


def _is_old(installed: Installed) -> bool:
    from gatebell.cli.setup.install import read_rules
    from gatebell.install import plans
    from gatebell.install.default_gates import choose
    from gatebell.install.places import Place

    if settings.server_alone(os.environ):
        # The gates of its installation are on this machine only, so they cannot be compared.
        return False
    place = Place(installed.project, os.environ)
    rules = read_rules(place)
    if {*rules.gates, *rules.denials} != set(installed.held):
        # Other gates, which gate doctor names.
        return False
    rules = rules._replace(gates=choose(rules.gates, (), ()))
    return not plans.install(installed.cli, place, installed.gate, rules).changes_nothing
