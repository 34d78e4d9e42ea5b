"""The flow of the benchmark on gatebell: `python -m bench.our_flow VERB FOLDER [NUMBER]`."""

from __future__ import annotations

import os
import sys
import threading
import time
from statistics import median
from typing import TYPE_CHECKING

from bench.stores import CALLER

from gatebell.adapters.files import flow_files
from gatebell.app import runtime, wiring
from gatebell.domain.asks.answers import Given
from gatebell.services.asks import answer_ask
from gatebell.services.runs import manage_runs
from gatebell.services.runs.manage_runs import RunRequest

if TYPE_CHECKING:
    from gatebell.domain.runs.runs import Run
    from gatebell.ports.store import Store

_REPEATED = 5
_SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "waiting.py")

_folder = sys.argv[2]


def begin(store: Store, flow: str, number: int) -> Run:
    """Make a new run, as `gate run --detach` does."""
    _, digest = flow_files.read(_SOURCE)
    request = RunRequest(flow, _SOURCE, digest, str(number), _folder, in_place=True)
    return manage_runs.start(store, runtime.workspace(store), request, CALLER)[0]


def check_parked(run: Run) -> Run:
    """Return the run as it waits; any other state would make every figure wrong."""
    if run.state != "waiting_human":
        raise RuntimeError(f"run {run.id} is {run.state}: {run.reason}\n{run.error}")
    return run


def find_ask(store: Store, run: int) -> str:
    """Return the question that a run waits for."""
    return manage_runs.only_ask(store, run).id


def give(store: Store, ask_id: str) -> None:
    answer_ask.answer(store, ask_id, CALLER, Given("yes"))


def fill(number: int, first: int = 0, flow: str = "wait") -> None:
    """Bring this many runs of a flow to the point where they wait."""
    store = wiring.open_store()
    if not store.dispatches:
        # Making them is not measured, and every engine on SQLite does it like this.
        store.connection.rows("PRAGMA synchronous = OFF")
    driver = runtime.build_driver(store)
    for index in range(first, first + number):
        check_parked(driver.drive(begin(store, flow, index)))
    print("waiting", flush=True)
    threading.Event().wait()


def fill_working(number: int, first: int = 0) -> None:
    """Do the same with runs whose second step takes a while."""
    fill(number, first, "wait_then_work")


def answer(number: int = 0) -> None:
    """Answer the runs whose numbers arrive line by line.

    People answer an ask by its id, so those of the first runs are looked up before.
    """
    store = wiring.open_store()
    # Runs are numbered from 1.
    asks = {index: find_ask(store, index + 1) for index in range(number)}
    print("ready", flush=True)
    for line in sys.stdin:
        give(store, asks.get(int(line)) or find_ask(store, int(line) + 1))
        print(f"answered {int(line)}", flush=True)


def block(number: int) -> None:
    """Make this many runs whose step blocks the process that runs it first."""
    store = wiring.open_store()
    for index in range(number):
        begin(store, "block", index)
    print("ready", flush=True)
    threading.Event().wait()


def steps(number: int) -> None:
    """Record this many steps, one after another, and print the time."""
    store = wiring.open_store()
    driver, run = runtime.build_driver(store), begin(store, "many", number)
    began = time.monotonic()
    check_parked(driver.drive(run))
    print(time.monotonic() - began, flush=True)
    threading.Event().wait()


def replay(number: int) -> None:
    """Print how much longer a run with this many steps takes to resume than one with one step."""
    store = wiring.open_store()
    driver, seconds = runtime.build_driver(store), {}
    for calls in (number, 1):
        taken = []
        for _ in range(_REPEATED):
            run = check_parked(driver.drive(begin(store, "many", calls)))
            give(store, find_ask(store, run.id))
            began = time.monotonic()
            driver.drive(manage_runs.get(store, run.id))
            taken.append(time.monotonic() - began)
        seconds[calls] = median(taken)
    print(seconds[number] - seconds[1], flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    verbs = {
        "fill": fill, "fill-working": fill_working, "answer": answer, "block": block,
        "steps": steps, "replay": replay,
    }  # fmt: skip
    verbs[sys.argv[1]](*map(int, sys.argv[3:]))
