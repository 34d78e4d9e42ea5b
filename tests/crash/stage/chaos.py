"""A flow with every kind of call; its effects are appended to a ledger outside its folder."""

from __future__ import annotations

import os
import threading

from gatebell.api.flows import ask, context, flow, parallel, pause, run, sleep, step
from gatebell.services.runs.run_journal import current


def effect(line: str, name: str) -> dict[str, object]:
    """Append one line with the claim: a driver that was overtaken has an older one."""
    claim = current.get().drive.run.claim
    slow = float(os.environ.get("CHAOS_SLOW", "0"))
    threading.Event().wait(slow)
    with open(f"{context().repo}/../ledger", "a", encoding="utf-8") as ledger:
        ledger.write(f"{line} {name} {claim}\n")
    threading.Event().wait(slow)
    return {"did": name, "claim": claim}


def left() -> list[object]:
    measured = step(effect, "left", "measure")["did"]
    side = ask("Which side?").value
    return [measured, side, run("builder", "build-left").summary]


def right() -> list[object]:
    built = run("builder", "build-right").summary
    return [built, step(effect, "right", "paint")["did"]]


@flow
def chaos(prompt: str) -> list[object]:
    planned = run("planner", "make-a-plan").summary
    prepared = step(effect, "main", "prepare")["did"]
    before = pause("Go on?").message
    both = parallel(left, right)
    sleep(0.01)
    deployed = step(effect, "main", "deploy", dangerous=True)["did"]
    after = pause("Go on?").message
    ended = run("planner", "finish-it").summary
    return [planned, prepared, before, both, deployed, after, ended]
