"""A flow whose steps and agent record the host on which they work."""

from __future__ import annotations

import os

from chaos import effect

from gatebell.api.flows import context, flow, pause, run, step


def visit(name: str) -> dict[str, object]:
    with open(f"{context().repo}/../hosts", "a", encoding="utf-8") as hosts:
        hosts.write(f"{os.environ.get('GATE_HOST', '')} {name}\n")
    return effect("main", name)


@flow
def errand(prompt: str) -> list[object]:
    prepared = step(visit, "prepare")["did"]
    built = run("planner", "finish-it").summary
    answer = pause("Go on?").message
    return [prepared, built, answer, step(visit, "deliver")["did"]]
