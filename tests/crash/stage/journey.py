"""A flow that travels: each step leaves a file in the folder, and a line in a ledger outside."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from gatebell.api.flows import context, flow, pause, step
from gatebell.services.runs.run_journal import current


def visit(ledgers: str, name: str) -> dict[str, object]:
    """Return the files of the folder after this step."""
    claim = current.get().drive.run.claim
    threading.Event().wait(float(os.environ.get("CHAOS_SLOW", "0")))
    folder = Path(context().folder)
    (folder / f"{name}.txt").write_text(f"{name}\n", encoding="utf-8")
    for ledger, words in (("ledger", f"main {name} {claim}"), ("hosts", os.environ["GATE_HOST"])):
        with open(f"{ledgers}/{ledger}", "a", encoding="utf-8") as file:
            file.write(f"{words}\n")
    return {"did": name, "claim": claim, "seen": sorted(one.stem for one in folder.glob("*.txt"))}


@flow
def journey(prompt: str) -> object:
    step(visit, prompt, "leave")
    pause("Go on?")
    step(visit, prompt, "stay")
    pause("Go on?")
    return step(visit, prompt, "arrive")["seen"]
