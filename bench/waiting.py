"""The flows of the benchmark, as a user would write them; started by `our_flow.py`."""

import time

from gatebell import flow, pause
from gatebell.api.flows import step


def append(word: str, number: int) -> int:
    with open("ledger", "a", encoding="utf-8") as ledger:
        ledger.write(f"{word} {number} {time.monotonic()}\n")
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
def many(prompt: str) -> bool:
    for number in range(int(prompt)):
        step(count, number)
    return bool(pause("Go on?"))
