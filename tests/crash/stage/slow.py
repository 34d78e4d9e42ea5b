"""A flow whose agent is in a tool for seconds, alone or beside another branch."""

from __future__ import annotations

from chaos import effect

from gatebell.api.flows import ask, flow, parallel, run, step


def side() -> list[object]:
    return [ask("Which side?").value, step(effect, "side", "measure")["did"]]


@flow
def slow(prompt: str) -> object:
    return run("planner", "use-a-tool").summary


@flow
def beside(prompt: str) -> list[object]:
    return parallel(lambda: run("planner", "use-a-tool").summary, side)
