"""Verbs on the same asks, runs and tasks, for tests that let two of them overlap."""

from __future__ import annotations

from datetime import timedelta

from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.asks import Origin
from gatebell.domain.enums import Priority
from gatebell.domain.runs import runs
from gatebell.domain.runs.runs import FlowCall, RunChange
from gatebell.domain.sessions.visits import Terms
from gatebell.services.asks import answer_ask, ask_messages, create_ask, wait_for_ask
from gatebell.services.asks.create_ask import Request
from gatebell.services.runs import manage_runs
from gatebell.services.sessions import ask_session
from gatebell.services.tasks import backlog
from tests.support.people import a_person
from tests.support.run_claims import an_ask, claim
from tests.support.run_records import add_run, turn
from tests.support.session_asks import open_ask
from tests.support.task_records import add_task, awaiting

ADA, BOB = a_person("ada", verified=True), a_person("bob", verified=True)


def list_verbs(scene):
    """Return the names of a scene's verbs."""
    named = [name for one in reversed(scene.__mro__) for name in vars(one)]
    found = dict.fromkeys(name for name in named if not name.startswith(("_", "find_")))
    return [name for name in found if callable(getattr(scene, name))]


class OneAsk:
    """An approval that waits; its answer is secret, if it is to be."""

    kind, secret = "approval", False

    def __init__(self, store) -> None:
        request = Request("Go?", self.kind, secret=self.secret)
        opened = create_ask.ask(store, request, Origin("/p"), a_person())
        self.id, self.token = opened.ask.id, opened.token

    def yes(self, store):
        return answer_ask.answer(store, self.id, ADA, Given("yes"))

    def no(self, store):
        return answer_ask.answer(store, self.id, BOB, Given("no"))

    def cancel(self, store):
        return create_ask.cancel(store, self.id, ADA, "not needed")

    def ask_back(self, store):
        return ask_messages.ask_back(store, self.id, BOB, "which build?")

    def draft(self, store):
        return answer_ask.save_draft(store, self.id, ADA, "ye")

    def take(self, store):
        return wait_for_ask.take(store, store.asks.get(self.id), "cli")


class SecretAsk(OneAsk):
    """A question with a secret answer."""

    kind, secret = "text", True


class AnsweredAsk(OneAsk):
    """A secret that is answered, and not yet taken."""

    kind, secret = "text", True

    def __init__(self, store) -> None:
        super().__init__(store)
        answer_ask.answer(store, self.id, ADA, Given("hunter2"))


class Opening:
    """The same question, asked by two processes: by its key, or by its session."""

    def by_key(self, store):
        return self._open(store, Origin("/p"), "k1")

    def by_session(self, store):
        return self._open(store, Origin("/p", session="claude/1"), "")

    def _open(self, store, origin, key):
        return create_ask.ask(store, Request("Go?"), origin, a_person(), key)

    def __init__(self, store) -> None:
        """Nothing is there yet."""


class OneRun:
    """A run with a turn, about to wait for its ask; its host may be lost."""

    def __init__(self, store) -> None:
        number = store.asks.count()
        begun = turn(store, "1", session=f"s-{number}")
        self.run = claim(store, store.runs.get(add_run(store, state="ready", turns=[begun]).id))
        self.ask = an_ask(store, self.run, ask_id=f"a-22{number}")
        [self.turn] = store.runs.turns(self.run.id)

    def park(self, store):
        call = FlowCall(
            self.run.id, "1", "run", "coder", "d", store.now(), state="waiting", ask_id=self.ask.id
        )
        parked = runs.park(self.run, [call], [self.ask]).run
        return store.runs.change(RunChange(parked, (call,)), self.run)

    def answer(self, store):
        return answer_ask.answer(store, self.ask.id, ADA, Given("this way"))

    def ask_back(self, store):
        return ask_messages.ask_back(store, self.ask.id, ADA, "which one?")

    def stop(self, store):
        return manage_runs.stop(store, self.run.id, ADA, "enough")

    def extend(self, store):
        return store.runs.extend([self.run], store.now() + timedelta(minutes=1))

    def finish(self, store):
        return store.runs.change(runs.complete(self.run, None, store.now()), self.run)

    def step(self, store):
        """Record a call that changes nothing else of the run."""
        call = FlowCall(self.run.id, "2", "run", "coder", "d", store.now(), state="recorded")
        return store.runs.change(RunChange(self.run, (call,)), self.run)

    def claim_it(self, store):
        return store.runs.change(runs.claim(self.run, "b/2/2", store.now()), self.run)

    def raise_claims(self, store):
        return store.runs.raise_claims(5)

    def offer(self, store):
        return store.runs.offer(self.turn.id, {"status": "done"})

    def begin_turn(self, store):
        return store.runs.change(RunChange(self.run, turns=(self.turn,)), self.run)

    def extend_alone(self, store):
        until = self.run.lease_until + timedelta(seconds=9)
        return store.runs.change(RunChange(self.run._replace(lease_until=until)), self.run)

    def reprioritise(self, store):
        with store.quiet_transaction():
            store.runs.set_priority(self.run.id, Priority.HIGH)

    def delete(self, store):
        return store.runs.delete(self.run, [])


class Session:
    """Two asks about one session of an agent, which only one person can open at a time."""

    def __init__(self, store) -> None:
        self.first = open_ask(store, Terms("text", resume_session="claude/s1"))
        self.second = open_ask(store, Terms("text", resume_session="claude/s1"))

    def open_first(self, store):
        return ask_session.open_visit(store, self.first.id, ADA, "claude", "s1")

    def open_first_as_bob(self, store):
        return ask_session.open_visit(store, self.first.id, BOB, "claude", "s1")

    def open_second(self, store):
        return ask_session.open_visit(store, self.second.id, BOB, "claude", "s1")

    def answer(self, store):
        return answer_ask.answer(store, self.first.id, ADA, Given("this way"))


class Needs:
    """A task that needs two others, and a fourth one."""

    def __init__(self, store) -> None:
        self.one, self.two, self.free = (add_task(store, name).id for name in "ABC")
        self.task = add_task(store, "D", needs=[self.one, self.two]).id

    def close_one(self, store):
        return backlog.close(store, self.one, ADA)

    def close_two(self, store):
        return backlog.close(store, self.two, ADA)

    def close_free(self, store):
        return backlog.close(store, self.free, ADA)

    def need_free(self, store):
        return backlog.depend(store, self.task, ADA, [self.free])

    def need_less(self, store):
        return backlog.free(store, self.task, ADA, [self.two])

    def rename(self, store):
        return backlog.update(store, self.task, ADA, {"title": "E"})

    def close_task(self, store):
        return backlog.close(store, self.task, ADA)

    def reopen_one(self, store):
        backlog.close(store, self.one, ADA)
        return backlog.reopen(store, self.one, ADA)

    def add(self, store):
        return backlog.create(store, "/p", ADA, {"title": "F", "needs": [self.one, self.free]})

    def find_fault(self, store):
        task = store.tasks.get(self.task)
        unmet = [one for one in task.needs if store.tasks.get(one).state != "closed"]
        return "" if task.unmet == len(unmet) else f"unmet is {task.unmet}, not {len(unmet)}"


class Working:
    """A task whose run waits for an answer."""

    def __init__(self, store) -> None:
        self.task, self.ask = awaiting(store)

    def answer(self, store):
        return answer_ask.answer(store, self.ask.id, ADA, Given("this way"))

    def close(self, store):
        return backlog.close(store, self.task.id, ADA)

    def stop(self, store):
        return manage_runs.stop(store, self.task.run, ADA, "enough")

    def update(self, store):
        return backlog.update(store, self.task.id, ADA, {"priority": 1})

    def ask_back(self, store):
        return ask_messages.ask_back(store, self.ask.id, ADA, "which one?")
