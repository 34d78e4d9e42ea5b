"""A flow that only asks: it parks at each question and goes on after its answer."""

from __future__ import annotations

from gatebell.api.flows import ask, flow


@flow
def questions(prompt: str) -> list[object]:
    return [ask(f"Question {number}?").value for number in range(3)]
