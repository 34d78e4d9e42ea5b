"""Tasks that wait for a person, made without a worker, for the command line."""

from __future__ import annotations

from datetime import timedelta

from gatebell.domain.asks.asks import Origin
from gatebell.domain.asks.owners import owner_of
from gatebell.domain.runs import runs
from gatebell.domain.runs.runs import RunChange, Turn
from gatebell.services.asks import create_ask
from gatebell.services.asks.create_ask import Request
from gatebell.services.tasks import backlog
from tests.support.people import a_person


def let_ask(store, project, question, **request):
    """Take the next task of a project and ask; return the task and the ask's id."""
    run = backlog.take_up(store, str(project), "d")
    change = runs.claim(run, "b/1/1", store.now() + timedelta(seconds=30))
    assert store.runs.change(change, run)
    run = change.run
    turn = Turn(
        *(f"t-{run.id}", run.id, "1", 1, "code", "claude", f"s-{run.id}", "Do it", store.now()),
        ended_at=store.now(),
    )
    ask_id = ask_for(store, run, "1", question, **request)
    waits = run._replace(state="waiting_human", waiting_since=store.now())
    assert store.runs.change(RunChange(waits, turns=(turn,)), run)
    return backlog.get(store, run.task), ask_id


def ask_for(store, run, path, question, **request):
    """An ask that a call of a task's run waits for."""
    origin = Origin(
        project=run.project, agent="code", owner=owner_of(run.id, path), task=run.task,
        session=f"claude/s-{run.id}-{path}",
    )  # fmt: skip
    return create_ask.ask(store, Request(question, **request), origin, a_person()).ask.id
