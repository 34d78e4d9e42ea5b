"""The store is out of reach once, at every access of a run: no outage is the result of a run."""

from __future__ import annotations

import threading
from collections import Counter
from itertools import count
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from tests.support import postgres_server
from tests.support.flow_harness import Harness, done, house, needs
from tests.support.people import a_person
from tests.support.store_faults import Fault, break_postgres, break_sqlite

from gatebell import flow
from gatebell.api.phase_plan import call_user
from gatebell.app.wiring import open_throwaway_store
from gatebell.errors import StoreError
from gatebell.services.runs import claims
from gatebell.services.tasks import backlog, task_flow
from gatebell.testing import FakeClock

__all__ = ["house"]

ANSWERS = {"Deploy?": "yes", "Which name?": "ada", "Which colour?": "blue", "Inside?": "in"}
RESULT = [1, "sent", True, "ada", "painted", [2, "in"]]
DOUBT = "Did step("
MOST_DRIVES = 40
REFUSED, REPLY_LOST = False, True
WAYS = [pytest.param(REFUSED, id="refused"), pytest.param(REPLY_LOST, id="reply lost")]


class SilentBell:
    """Rings all the time: the bell of a store in memory reads the store."""

    def wait(self, _seconds):
        threading.Event().wait(0.001)

    def close(self):
        pass


class Scene:
    """One run of a flow with calls of most kinds, and the effects of its steps."""

    answers = ANSWERS

    def __init__(self, house, **wish):
        self.house, self._wish = house, wish
        self.did = []
        self._knows = False
        house.agent("painter", self._paint)
        house.store.bell = SilentBell

    def _paint(self, order, _events):
        self._knows = self._knows or "blue" in order.text
        return done("painted") if self._knows else needs("Which colour?")

    def _do(self, name, value):
        self.did.append(name)
        return value

    def _work(self, _prompt):
        one = flow.step(lambda: self._do("one", 1), name="one")
        sent = flow.step(lambda: self._do("send", "sent"), name="send", dangerous=True)
        flow.log("half of it")
        deploys = bool(flow.approve("Deploy?"))
        flow.sleep(5)
        name = flow.ask("Which name?").value
        painted = flow.run("painter", "Paint it.").summary
        branches = (
            lambda: flow.step(lambda: self._do("two", 2), name="two"),
            lambda: flow.ask("Inside?").value,
        )
        inside = flow.parallel(*branches, limit=1)
        return [one, sent, deploys, name, painted, inside]

    def _start(self):
        self.house.start(self._work, **self._wish)

    def perform(self, fault):
        """Drive until the run has ended, also after an outage; return all that is wrong then."""
        self._start()
        for _ in range(MOST_DRIVES):
            try:
                with fault.armed():
                    self.house.drive()
            except StoreError:
                pass
            if self.house.run().has_ended:
                break
            # Until a sleep is over, or the lease of the driver that lost the store.
            self.house.clock.advance(60)
            for ask in self.house.pending():
                self.house.answer(self._find_answer(ask), part=ask.question.prompt)
        return [*self._find_faults(self.house.run()), *self._find_wrong_asks()]

    def _find_answer(self, ask):
        prompt = ask.question.prompt
        if not prompt.startswith(DOUBT):
            return self.answers[prompt]
        if "send" in self.did:
            return {"what": "It happened", "result": '"sent"'}
        return {"what": "It did not happen: run it"}

    def _find_faults(self, run):
        if (run.state, run.result) != ("completed", RESULT):
            yield f"it is {run.state} ({run.reason}) with {run.result}"
        if self.did.count("send") != 1:
            yield f"the dangerous step happened {self.did.count('send')} times"
        yield from self._find_wrong_calls(run)

    def _find_wrong_calls(self, run):
        events = [entry.event for entry in self.house.store.audit.of_subject(run.name)]
        yield from (f"it has {e.kind}" for e in events if e.kind in ("run.failed", "call.failed"))
        recorded = Counter(e.content["call"] for e in events if e.kind == "call.recorded")
        yield from (f"{path} was recorded {n} times" for path, n in recorded.items() if n > 1)

    def _find_wrong_asks(self):
        store = self.house.store
        asks = [store.asks.get(ask_id) for ask_id in store.asks.matching("a-", 1000)]
        prompts = Counter(ask.question.prompt for ask in asks)
        for prompt in self.answers:
            if prompts[prompt] != 1:
                yield f"{prompt} was asked {prompts[prompt]} times"
        for ask in asks:
            kinds = Counter(entry.event.kind for entry in store.audit.of_subject(ask.id))
            if (ask.status, kinds["ask.answered"]) != ("answered", 1):
                yield f"{ask.question.prompt} is {ask.status}: {dict(kinds)}"
            # The answer to a doubt is used by the driver itself.
            if kinds["ask.taken"] != (ask.question.prompt in self.answers):
                yield f"{ask.question.prompt} was taken {kinds['ask.taken']} times"


class TaskScene(Scene):
    """One run of the flow that works on tasks; its agent asks once."""

    answers = {"Which colour?": "blue"}  # noqa: RUF012

    def _paint(self, order, events):
        said = super()._paint(order, events)
        return said if said["status"] != "DONE" else {"status": "completed", "summary": "painted"}

    def _start(self):
        self.house.backlog = self.house.backlog._replace(role="painter", test="make test")
        store, project, ada = self.house.store, self.house.folder, a_person("ada")
        wall = backlog.create(store, project, ada, {"title": "Build the wall"})
        backlog.close(store, wall.id, ada)
        fields = {"title": "Paint it", "needs": [wall.id]}
        self._task = backlog.create(store, project, ada, fields)
        terms = task_flow.terms(self.house.backlog, self._task)
        self.house.flow = SimpleNamespace(work=task_flow.work_task, terms=terms)
        self.house.run_id = backlog.take_up(store, project, self.house.source).id

    def _find_faults(self, run):
        task = backlog.get(self.house.store, self._task.id)
        if (run.state, task.state) != ("completed", "closed"):
            yield f"the run is {run.state} ({run.reason}), and the task {task.state}: {task.status}"
        if len(self.house.folders.commits) != 1:
            yield f"the commits are {self.house.folders.commits}"
        yield from self._find_wrong_calls(run)


def find_all_faults(perform, *, late, step=1, most=1000):
    """Break each access, or each few, until a run has no more of them."""
    found = []
    for number in count(1, step):
        fault = Fault(number, late=late)
        found += [f"at {number}: {one}" for one in perform(fault)]
        if not fault.struck or number >= most:
            return number, found
    raise AssertionError


def perform_in_memory(folder, make_scene):
    def perform(fault):
        house = Harness(folder)
        with pytest.MonkeyPatch.context() as patched:
            break_sqlite(house.store, fault, patched)
            found = make_scene(house).perform(fault)
        house.close()
        return found

    return perform


@pytest.mark.proves("RUN-558", "LAW-5")
@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.matrix)])
@pytest.mark.parametrize("late", WAYS)
def test_outage_does_not_end_a_run(tmp_path, late, step):
    perform = perform_in_memory(tmp_path, Scene)
    points, faults = find_all_faults(perform, late=late, step=1 if late else step)
    assert points > (40 if late else 200) and faults == []


@pytest.mark.proves("RUN-558")
@pytest.mark.parametrize("late", WAYS)
def test_outage_during_setup_does_not_end_a_run(tmp_path, late):
    perform = perform_in_memory(tmp_path, lambda house: Scene(house, in_place=False))
    assert find_all_faults(perform, late=late, most=12)[1] == []


@pytest.mark.proves("RUN-558", "TASK-176")
@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.matrix)])
@pytest.mark.parametrize("late", WAYS)
def test_outage_does_not_end_a_task(tmp_path, late, step):
    perform = perform_in_memory(tmp_path, TaskScene)
    points, faults = find_all_faults(perform, late=late, step=1 if late else step)
    assert points > (15 if late else 100) and faults == []


@pytest.mark.proves("RUN-558", "PG-6")
@pytest.mark.parametrize("few", [True, pytest.param(False, marks=pytest.mark.matrix)])
@pytest.mark.parametrize("late", WAYS)
def test_outage_of_postgres_does_not_end_a_run(tmp_path, monkeypatch, late, few):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))

    def perform(fault):
        store = open_throwaway_store(postgres_server.empty_database(), clock := FakeClock())
        store.clock = clock
        house = Harness(tmp_path, store)
        with pytest.MonkeyPatch.context() as patched:
            break_postgres(fault, patched)
            found = Scene(house).perform(fault)
        house.close()
        store.close()
        return found

    step = (7 if late else 51) if few else (1 if late else 5)
    points, faults = find_all_faults(perform, late=late, step=step)
    assert points > (40 if late else 200) and faults == []


@pytest.mark.proves("RUN-558", "PY-19")
@pytest.mark.parametrize("call", [flow.step, lambda work: flow.run(lambda _: [work()]).value[0]])
def test_outage_in_a_step_is_not_recorded(house, call):
    tries = []

    def look():
        tries.append(1)
        if len(tries) == 1:
            raise StoreError("the store of a Gate is out of reach")
        return "there"

    house.start(lambda _: call(look))
    with pytest.raises(StoreError):
        house.drive()
    house.clock.advance(60)
    assert house.drive().result == "there"


@pytest.mark.proves("RUN-560", "RUN-478")
def test_outage_is_not_counted_as_a_crash(house):
    outages = [StoreError("the store is gone") for _ in range(12)]

    def look():
        if outages:
            raise outages.pop()
        return "there"

    house.start(lambda _: flow.step(look))
    for _ in range(12):
        with pytest.raises(StoreError):
            house.drive()
        house.driver.put_off_interrupted()
        assert (house.run().state, house.run().reason) == ("ready", "the store is gone")
        assert house.store.runs.ready(1) == []
        house.clock.advance(5)
        assert house.store.runs.ready(1) == [house.run_id]
    assert house.drive().result == "there"


@pytest.mark.proves("RUN-560")
def test_run_is_put_off_when_its_store_is_back(house, monkeypatch):
    lost = StoreError("the store is gone")
    house.start(lambda _: flow.step(lambda: "done"))
    with monkeypatch.context() as patched:
        patched.setattr(house.store.runs, "calls", Mock(side_effect=lost))
        with pytest.raises(StoreError):
            house.drive()
        patched.setattr(house.store.runs, "get", Mock(side_effect=lost))
        with pytest.raises(StoreError):
            house.driver.put_off_interrupted()
    assert house.run().state == "running"
    house.driver.put_off_interrupted()
    assert house.run().state == "ready"
    house.clock.advance(5)
    assert house.drive().state == "completed"
    house.driver.put_off_interrupted()
    assert house.run().state == "completed"


@pytest.mark.proves("RUN-560")
def test_claim_whose_reply_was_lost_is_put_off(house, monkeypatch):
    change = house.store.runs.change
    house.start(lambda _: "done")

    def lose_reply(*arguments):
        assert change(*arguments)
        raise StoreError("the store is gone")

    with monkeypatch.context() as patched:
        patched.setattr(house.store.runs, "change", lose_reply)
        with pytest.raises(StoreError):
            house.drive()
    assert house.run().state == "running"
    house.driver.put_off_interrupted()
    assert (house.run().state, house.run().owner) == ("ready", "")
    house.clock.advance(5)
    driven = house.drive()
    assert (driven.state, driven.crash_count) == ("completed", 0)


@pytest.mark.proves("RUN-560")
def test_claim_that_was_refused_puts_nothing_off(house, monkeypatch):
    """The run is claimed at the second try; the first one is forgotten then."""
    house.start(lambda _: house.driver.put_off_interrupted())
    with monkeypatch.context() as patched:
        patched.setattr(house.store.runs, "change", Mock(side_effect=StoreError("gone")))
        with pytest.raises(StoreError):
            house.drive()
    assert house.drive().state == "completed"


@pytest.mark.proves("RUN-560", "RUN-502")
def test_run_that_was_taken_is_not_put_off(house):
    house.start(lambda _: flow.step(Mock(side_effect=StoreError("the store is gone"))))
    with pytest.raises(StoreError):
        house.drive()
    house.clock.advance(60)
    taken = claims.claim(house.store, house.run())
    house.driver.put_off_interrupted()
    assert house.run() == taken


@pytest.mark.proves("RUN-558", "LAW-5")
def test_signal_of_a_turn_outlives_an_outage(house):
    def signal_and_fail(order, _events):
        house.store.runs.offer(order.turn_id, done("it is painted"))
        raise StoreError("the store was lost during the turn")

    painter = house.agent("painter", signal_and_fail)
    house.start(lambda _: flow.run("painter").summary)
    with pytest.raises(StoreError):
        house.drive()
    house.clock.advance(60)
    assert house.drive().result == "it is painted" and len(painter.orders) == 1


@pytest.mark.proves("RUN-558")
def test_outage_in_a_phase_is_not_its_error():
    def fail():
        raise StoreError

    with pytest.raises(StoreError):
        call_user("the phase 'draft': prompt", fail)


@pytest.mark.proves("RUN-559", "LAW-1")
@pytest.mark.parametrize("surround", [lambda work: work(), lambda work: flow.parallel(work)[0]])
def test_error_while_a_flow_waits_is_ignored(house, surround):
    def ask():
        answer = None
        try:
            answer = flow.ask("Why?").value
        finally:
            # Fails while there is no answer.
            length = len(answer)
        return length

    assert house.go(lambda _: surround(ask)).state == "waiting_human"
    assert house.answer_and_drive("so").result == 2


@pytest.mark.proves("RUN-558", "LAW-5")
def test_branch_that_outlives_its_drive_begins_nothing(house, monkeypatch):
    did, threads, goes_on = [], [], threading.Event()
    get = house.store.asks.get

    def work_slowly():
        threads.append(threading.current_thread())
        flow.step(lambda: goes_on.wait(60), name="slow")
        flow.step(lambda: did.append("next"), name="next")

    def fail(ask_id):
        # The branch that asks is on its own thread.
        if threading.current_thread() is threading.main_thread():
            raise StoreError("the store cannot be read")
        return get(ask_id)

    house.store.bell = SilentBell
    house.start(lambda _: flow.parallel(work_slowly, lambda: flow.ask("Why?").value))
    monkeypatch.setattr(house.store.asks, "get", fail)
    with pytest.raises(StoreError):
        house.drive()
    goes_on.set()
    threads[0].join(60)
    assert did == []
