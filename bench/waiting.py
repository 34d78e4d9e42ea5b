"""The flows of the benchmark, as a user would write them; started by `our_flow.py`."""

import time

from gatebell import flow, pause
from gatebell.api.flows import step

WORK_SECONDS = 0.1
"""A step of `wait_then_work` waits for so long, as for the reply of an agent."""


def append(word: str, number: int) -> int:
    with open("ledger", "a", encoding="utf-8") as ledger:
        ledger.write(f"{word} {number} {time.monotonic()}\n")
    return number


def block_once(number: int) -> int:
    """Block for ever; if a process has begun this before, only append a line."""
    try:
        open(f"begun-{number}", "x", encoding="utf-8").close()
    except FileExistsError:
        return append("second", number)
    time.sleep(3600)
    return number


def work(number: int) -> int:
    append("second", number)
    time.sleep(WORK_SECONDS)
    return number


def count(number: int) -> int:
    return number


@flow
def wait(prompt: str) -> bool:
    number = int(prompt)
    step(append, "first", number)
    answer = pause("Go on?")
    step(append, "second", number)
    return bool(answer)


@flow
def wait_then_work(prompt: str) -> bool:
    number = int(prompt)
    step(append, "first", number)
    answer = pause("Go on?")
    step(work, number)
    return bool(answer)


@flow
def block(prompt: str) -> int:
    return step(block_once, int(prompt))


@flow
def many(prompt: str) -> bool:
    for number in range(int(prompt)):
        step(count, number)
    return bool(pause("Go on?"))
