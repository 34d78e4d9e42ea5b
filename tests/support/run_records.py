"""Runs written directly into a store, for tests that only read them."""

from __future__ import annotations

from datetime import timedelta

from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.asks import Origin
from gatebell.domain.asks.owners import owner_of
from gatebell.domain.runs.journals import Carried
from gatebell.domain.runs.runs import FlowCall, Run, RunChange, Turn, build_started_event
from gatebell.services.asks import answer_ask, create_ask
from gatebell.services.asks.create_ask import Request
from tests.support.people import a_person

DIFF = """diff --git a/login.py b/login.py
--- a/login.py
+++ b/login.py
@@ -1 +1,2 @@
-pass
+import pkce
+pkce.start()
"""


def add_run(store, calls=(), turns=(), **more):
    """Add a run with these records, made from `calls` and `turns`."""
    given = {"flow": "feature", "prompt": "Add login", "state": "running", **more}
    new = Run(
        **{
            "id": 0,
            "source": "/p/.gate/flows/feature.py",
            "source_digest": "d" * 64,
            "project": "/p",
            "folder": "/p",
            "root": "/p",
            "started_by": "person:ada",
            "created_at": store.now(),
            **given,
        }
    )
    run = store.runs.add(new, [build_started_event(new, a_person())], Carried())
    records = RunChange(run, tuple(c(run.id) for c in calls), tuple(t(run.id) for t in turns))
    assert store.runs.change(records, run)
    return run


def call(store, path, name="run", label="coder", state="recorded", ago=0, took=60, **more):
    """Return a call that started this number of seconds ago."""
    at = store.now() - timedelta(seconds=ago)
    ended = at + timedelta(seconds=took) if state in ("recorded", "failed") else None
    return lambda run: FlowCall(run, path, name, label, "", at, state, ended_at=ended, **more)


def turn(store, path, number=1, role="coder", ago=0, took=60, **more):
    at = store.now() - timedelta(seconds=ago)
    given = {"cli": "claude", "session": "532ec6c2-9c1f", "sent": f"You are {role}.", **more}
    over = at + timedelta(seconds=took) if given.get("signal") else None
    given = {"ended_at": over} | given
    name = f"t-{path}-{number}-{store.now().timestamp()}"
    return lambda run: Turn(
        id=f"{name}-{run}", run=run, path=path, number=number, role=role, started_at=at, **given
    )


def ask_of(store, run_id, path, prompt="Which way?", kind="text", **more):
    """Add an ask that a call of a run waits for."""
    origin = Origin("/p", "/p", "coder", "claude/1", owner=owner_of(run_id, path))
    return create_ask.ask(store, Request(prompt, kind, **more), origin, a_person("gate")).ask


def answer(store, ask, value, note="", who="ada"):
    return answer_ask.answer(store, ask.id, a_person(who)._replace(via="web"), Given(value, note))[
        1
    ]
