"""The step of `gate setup` that connects the agents' programs."""

from __future__ import annotations

import argparse
import os
import shutil
from typing import TYPE_CHECKING

from gatebell.cli.setup import install
from gatebell.domain.enums import AgentCli
from gatebell.install import plans
from gatebell.install.places import Place

if TYPE_CHECKING:
    from gatebell.cli.setup.setup_dialogue import Dialogue

_INSTALLED, _EXISTED, _SKIPPED = "installed", "existed", "skipped"


def find_agents() -> list[str]:
    """Return the agents' programs on the PATH."""
    return [cli.value for cli in plans.HOSTS if shutil.which(cli)]


def run(args: argparse.Namespace, dialogue: Dialogue) -> dict[str, str]:
    """Install the gates; return what was done for each program."""
    chosen = args.agent or find_agents()
    if not chosen:
        names = ", ".join(install.NAMES.values())
        dialogue.say(f"None of these programs is on the PATH: {names}.")
        dialogue.say("Later: gate setup, or gate install NAME.")
    told: set[str] = set()
    return {cli: _install(args, dialogue, cli, told) for cli in chosen}


def _install(args: argparse.Namespace, dialogue: Dialogue, cli: str, told: set[str]) -> str:
    place, name = Place("", os.environ), install.NAMES[AgentCli(cli)]
    wanted = argparse.Namespace(**vars(args) | {"cli": cli, "gate": [], "no_gate": []})
    install.check_gatekeeper(wanted, place)
    prepared = install.prepare(wanted, place)
    if prepared.plan.changes_nothing:
        dialogue.say(f"{name} is set up already.")
        return _EXISTED
    for line in install.describe(cli, prepared):
        dialogue.say(line)
    answer = dialogue.choose("Set it up? (d shows the diff)", "ynd", "y") if dialogue.asks else "y"
    if answer == "d":
        install.show(prepared.plan)
        answer = "y" if dialogue.confirm("Set it up?") else "n"
    if answer != "y":
        return _SKIPPED
    install.write(wanted, place, prepared)
    for note in prepared.plan.notes:
        if note not in told:
            dialogue.say(f"- {note}")
    told.update(prepared.plan.notes)
    return _INSTALLED
