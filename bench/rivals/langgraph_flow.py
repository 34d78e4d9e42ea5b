"""The flow of the benchmark on LangGraph, for its own interpreter: `langgraph_flow.py VERB FOLDER [NUMBER]`."""

import os
import sqlite3
import sys
import threading
import time
from statistics import median
from typing import Any, TypedDict

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

_REPEATED = 5

_folder = sys.argv[2]
_path = os.path.join(_folder, "langgraph.sqlite")


class State(TypedDict, total=False):
    number: int
    calls: int
    answer: str


def append(line: str) -> None:
    with open(os.path.join(_folder, "ledger"), "a", encoding="utf-8") as ledger:
        ledger.write(f"{line} {time.monotonic()}\n")


def first(state: State) -> State:
    append(f"first {state['number']}")
    return {"number": state["number"]}


def ask(state: State) -> State:
    return {"answer": interrupt("Go on?")}


def second(state: State) -> State:
    append(f"second {state['number']}")
    return {"number": state["number"]}


def count(state: State) -> State:
    return {"calls": state["calls"] - 1}


def graph() -> Any:
    """Return a graph of nodes and edges: tasks called by a function were half as fast."""
    builder = StateGraph(State)
    builder.add_sequence([("first", first), ("ask", ask), ("second", second)])
    builder.add_node("count", count)
    builder.add_conditional_edges(START, lambda state: "count" if state.get("calls") else "first")
    builder.add_conditional_edges("count", lambda state: "count" if state["calls"] else "ask")
    builder.add_edge("second", END)
    saver = SqliteSaver(sqlite3.connect(_path, check_same_thread=False))
    return builder.compile(checkpointer=saver)


def go(compiled: Any, run: str, given: Any) -> None:
    # A step is stored before the next one begins, as in the others.
    config = {"configurable": {"thread_id": run}, "recursion_limit": 10**9}
    compiled.invoke(given, config, durability="sync")


def fill(number: int) -> None:
    """Bring this many runs to the point where they wait."""
    compiled = graph()
    # Making them is not measured, and every engine does it like this.
    compiled.checkpointer.conn.execute("PRAGMA synchronous = OFF")
    for index in range(number):
        go(compiled, f"run-{index}", {"number": index})
    print("waiting", flush=True)
    threading.Event().wait()


def serve(number: int) -> None:
    """Resume the runs whose numbers arrive line by line: no other process can resume them."""
    compiled = graph()
    print("waiting", flush=True)
    for line in sys.stdin:
        go(compiled, f"run-{int(line)}", Command(resume="yes"))


def steps(number: int) -> None:
    """Record this many steps, one after another, and print the time."""
    compiled, began = graph(), time.monotonic()
    go(compiled, "long", {"number": -1, "calls": number})
    print(time.monotonic() - began, flush=True)
    threading.Event().wait()


def replay(number: int) -> None:
    """Print how much longer a run with this many steps takes to resume than one with one step."""
    compiled, seconds = graph(), {}
    for calls in (number, 1):
        for turn in range(_REPEATED):
            go(compiled, f"{calls}-{turn}", {"number": -1, "calls": calls})
        taken = []
        for turn in range(_REPEATED):
            began = time.monotonic()
            go(compiled, f"{calls}-{turn}", Command(resume="yes"))
            taken.append(time.monotonic() - began)
        seconds[calls] = median(taken)
    print(seconds[number] - seconds[1], flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    {"fill": fill, "serve": serve, "steps": steps, "replay": replay}[sys.argv[1]](
        *map(int, sys.argv[3:])
    )
