"""A run of the flow in stage/, driven by processes that are struck, and its outcome.

The scripted person answers by the text of the question. For a dangerous step they read the
ledger, once the process that began the step is gone.
"""

from __future__ import annotations

import fcntl
import json
import select
import shutil
import signal
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from nursery import Child, Nursery
from operation import ADA
from points import faults, picture

from gatebell.adapters.system import processes
from gatebell.app import runtime, wiring
from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.asks import Ask
from gatebell.domain.digests import text_digest
from gatebell.domain.runs.identities import parse_identity
from gatebell.domain.runs.runs import FlowCall, Run
from gatebell.errors import AlreadySettledError
from gatebell.ports.store import Store
from gatebell.services.asks import answer_ask
from gatebell.services.runs import manage_runs
from gatebell.services.runs.manage_runs import RunRequest

STAGE = Path(__file__).parent / "stage"
KILL, STOP = "SIGKILL", "SIGSTOP"
BEGINS, WORKS, WAITS, STANDS = "begins", "works", "waits", "stands"
"""What the successor does when a stopped process wakes up.

It works while its agent does. It stands if it was stopped at a point of its own.
"""
MOST = 0.9
"""The part of the points that must be struck, see `find_unstruck`."""
DANGEROUS = "deploy"
SHORT_LEASE_SECONDS = 0.3
RESULT = [
    "second-answer is done", "prepare", "at 3, time 1",
    [["measure", "side-1", "build-left is done"], ["build-right is done", "paint"]],
    DANGEROUS, "at 7, time 1", "finish-it is done",
]  # fmt: skip
LEDGER = {"main": ["prepare", DANGEROUS], "left": ["measure"], "right": ["paint"]}
NOTES = ["finish-it is done", "write", "publish"]
ANSWERS = [["research", "yes", "at 3, time 1"], ["write", "yes", "at 6, time 1"]]
_ROLE = '---\ncommand: ["./agent.sh"]\n---\nYou are the {role}.\n'
_POLL_SECONDS = 0.005
_PATIENCE_SECONDS = 60.0


class Piece(NamedTuple):
    """A flow to perform, and its required outcome."""

    file: str
    result: Any
    ledger: dict[str, list[str]]


CHAOS = Piece("chaos", RESULT, LEDGER)
ARTICLE = Piece("article", ["publish", NOTES, "publish", ANSWERS], {"main": ["write", "publish"]})


class Point(NamedTuple):
    """The point at which a process is struck, counted from 1; 0: nowhere."""

    number: int = 0
    fault: str = KILL
    where: str = ""
    """Only points of this name count; flow_jobs.py names them."""
    wakes: str = BEGINS
    """A stopped process wakes up while its successor does this."""


def find_unstruck(points: Sequence[Point], struck: int, passed: int) -> str:
    """What is wrong if the last process passed the point at which it had to be struck.

    The number of points differs a little each time: the branches of a run race, and a task is
    closed before the last points. So a process may end before it comes to its point.
    """
    due = points[struck].number if struck < len(points) else 0
    return f"{passed} points passed, and not struck at {due}" if 0 < due < passed else ""


class Effect(NamedTuple):
    """A line of the ledger."""

    line: str
    name: str
    claim: int


class Stage:
    """A project with the flow and its agents, a ledger beside it, and runs in a store."""

    def __init__(
        self, folder: Path, path: str, file: str = "chaos", agent: str = "agent.sh"
    ) -> None:
        self.folder, self.path, self._file = folder, path, file
        self.project = folder / "project"
        (folder / "sessions").mkdir(parents=True)
        for name in ("agents", "flows"):
            (self.project / ".gate" / name).mkdir(parents=True)
        for role in ("planner", "builder"):
            (self.project / ".gate" / "agents" / f"{role}.md").write_text(_ROLE.format(role=role))
        shutil.copytree(STAGE, self.project / ".gate" / "flows", dirs_exist_ok=True)
        shutil.copy(STAGE / agent, self.project / "agent.sh")

    def start(self, store: Store, flow: str = "") -> int:
        source = self.project / ".gate" / "flows" / f"{self._file}.py"
        digest = text_digest(source.read_text(encoding="utf-8"))
        name = flow or self._file
        wish = RunRequest(name, str(source), digest, "Add login", str(self.project), in_place=True)
        return manage_runs.start(store, runtime.workspace(store), wish, ADA)[0].id

    def effects(self) -> list[Effect]:
        return [Effect(*line.split()[:2], int(line.split()[2])) for line in self._lines("ledger")]

    @contextmanager
    def hold_agents(self) -> Iterator[None]:
        """Agents that start meanwhile do not go on before this ends."""
        with (self.folder / "held").open("w") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            yield

    def starts(self) -> list[list[str]]:
        """Return the lines of the agents: start or signalled, their task, their session."""
        return [line.split() for line in self._lines("starts")]

    def hosts(self) -> set[str]:
        """Return the hosts on which steps and agents worked, as they wrote themselves."""
        return {line.partition(" ")[0] for line in self._lines("hosts")}

    def violations(self) -> list[str]:
        return self._lines("violations")

    def _lines(self, name: str) -> list[str]:
        file = self.folder / name
        return file.read_text(encoding="utf-8").splitlines() if file.exists() else []

    def tree(self) -> dict[str, str]:
        """Return the run's folder; session files of turns have random names."""
        files = [path for path in self.project.rglob("*") if path.is_file()]
        return {
            str(path.relative_to(self.project)): "".join(
                sorted(path.read_text(encoding="utf-8").splitlines(keepends=True))
            )
            for path in files
            if path.parent.name != "signals"
        }


class Person:
    """Answers every question of a run."""

    def __init__(self, store: Store, stage: Stage, run_id: int) -> None:
        self._store, self._stage, self._run_id = store, stage, run_id
        self._said: Counter[str] = Counter()

    def answer_all(self) -> int:
        asks = self._store.asks.pending_of_run(self._run_id)
        return sum(self._answer(ask) for ask in asks)

    def _answer(self, ask: Ask) -> bool:
        given = self._words(ask)
        try:
            answer_ask.answer(self._store, ask.id, ADA, given)
        except AlreadySettledError:
            return False
        self._said[f"{ask.origin.owner} {ask.question.prompt}"] += 1
        return True

    def _words(self, ask: Ask) -> Given:
        prompt, path = ask.question.prompt, ask.origin.owner.partition("/")[2]
        time_asked = self._said[f"{ask.origin.owner} {prompt}"] + 1
        if prompt == "Go on?":
            return Given("yes", f"at {path}, time {time_asked}")
        if prompt == "Which way?":
            return Given(f"way-{time_asked}")
        if prompt == "Which side?":
            return Given(f"side-{time_asked}")
        assert is_doubt(ask), prompt
        self._end_whoever_began(path)
        done = [one for one in self._stage.effects() if one.name == DANGEROUS]
        if not done:
            return Given({"what": "It did not happen: run it"})
        result = json.dumps({"did": DANGEROUS, "claim": done[-1].claim})
        return Given({"what": "It happened", "result": result})

    def _end_whoever_began(self, path: str) -> None:
        calls = self._store.runs.calls(self._run_id)
        owner = next(call.owner for call in calls if call.path == path)
        assert processes.end(parse_identity(owner), None)


def is_doubt(ask: Ask) -> bool:
    return ask.question.prompt.startswith("Did step(")


class Play:
    """One run, driven by a process until it is struck, and then by the next process."""

    def __init__(self, nursery: Nursery, folder: Path, piece: Piece = CHAOS) -> None:
        self._nursery, self._piece = nursery, piece
        self.stage = Stage(folder, str(folder / "store" / "gate.db"), piece.file)
        self._overtaken: list[Child] = []
        self.struck: list[str] = []
        self.passed = 0

    def perform(self, *points: Point) -> dict[str, Any]:
        """Strike a process at each of these points, one by one; return the outcome."""
        with closing(wiring.open_store(self.stage.path)) as store:
            run_id = self.stage.start(store)
            self._drive(store, run_id, list(points))
            self._await_overtaken()
            return self._outcome(store, run_id)

    def _drive(self, store: Store, run_id: int, points: list[Point]) -> None:
        person = Person(store, self.stage, run_id)
        lease = SHORT_LEASE_SECONDS if any(one.fault == STOP for one in points) else 0
        wakes = next((one.wakes for one in points if one.fault == STOP), BEGINS)
        child: Child | None = None
        while True:
            if child is None:
                point, left = (points.pop(0) if points else Point()), get_run(store, run_id)
                if self._overtaken and wakes == WORKS:
                    child = self._start_beside_overtaken(store, left, lease)
                else:
                    child = self._start(run_id, point, lease)
                if wakes == BEGINS:
                    self._let_overtaken_go_on(store, left)
            word, *told = json.loads(child.line() or '["gone"]')
            if word in ("ended", "parked") and wakes == WAITS:
                self._let_overtaken_go_on(store, left)
                self._await_overtaken()
            if word == "ended":
                self.passed = told[0]
                child.close()
                return
            if word == "parked":
                assert person.answer_all(), "it waits, and nobody is asked"
                # The process is gone if it had begun a dangerous step that is in doubt now.
                with suppress(BrokenPipeError):
                    child.go()
            elif word == "struck":
                self.struck += told
                if point.fault == STOP:
                    _until_stopped(child.pid)
                    child = self._leave_stopped(store, left, child, wakes)
            else:
                assert word == "gone" and self.struck, "it broke down by itself"
                child.close()
                child = None

    def _leave_stopped(self, store: Store, left: Run, child: Child, wakes: str) -> Child | None:
        """Leave a stopped process to its successor; that one goes on after it."""
        if self._overtaken and wakes == STANDS:
            self._let_overtaken_go_on(store, left)
            self._await_overtaken()
            child.send(signal.SIGCONT)
            return child
        self._overtaken.append(child)
        return None

    def _start(self, run_id: int, point: Point, lease: float) -> Child:
        child = self._nursery.start(
            "drive", path=self.stage.path, run_id=run_id, point=point[:3], lease=lease
        )
        child.go()
        return child

    def _start_beside_overtaken(self, store: Store, left: Run, lease: float) -> Child:
        """Start a successor whose agent is at work until the stopped processes have ended."""
        with self.stage.hold_agents():
            child = self._start(left.id, Point(), lease)
            until(self.stage.starts)
            self._let_overtaken_go_on(store, left)
            self._await_overtaken()
        return child

    def _let_overtaken_go_on(self, store: Store, left: Run) -> None:
        """Continue the stopped processes, which find that another one drives their run."""
        if self._overtaken:
            until(lambda: left.state != "running" or get_run(store, left.id).claim > left.claim)
        for child in self._overtaken:
            child.send(signal.SIGCONT)

    def _await_overtaken(self) -> None:
        for child in self._overtaken:
            child.close()
        self._overtaken.clear()

    def _outcome(self, store: Store, run_id: int) -> dict[str, Any]:
        run = get_run(store, run_id)
        calls = {call.path: call for call in store.runs.calls(run_id)}
        wrong = [*violations(store, self.stage, run_id, self._piece), *damage(self.stage.path)]
        return {
            "run": [run.state, run.reason, run.error, _result(run)],
            "calls": {path: _steady(store, call) for path, call in calls.items()},
            "asks": sorted(str(_describe_ask(ask)) for ask in all_asks(store) if not is_doubt(ask)),
            "ledger": _count_effects(self.stage, calls),
            "tree": self.stage.tree(),
            "wrong": wrong,
        }


def _result(run: Run) -> Any:
    """Return the result of a run; of a workflow without ids, times and claims."""
    told = run.result
    if not isinstance(told, dict):
        return told
    answers = [[one["phase"], one["value"], one["reason"]] for one in told["history"]]
    return [told["phase"], told["state"]["notes"], told["output"]["did"], answers]


def get_run(store: Store, run_id: int) -> Run:
    run = store.runs.get(run_id)
    assert run
    return run


def all_asks(store: Store) -> Iterator[Ask]:
    for ask_id in store.asks.matching("a-", 1_000_000):
        ask = store.asks.get(ask_id)
        assert ask
        yield ask


def _describe_ask(ask: Ask) -> tuple[Any, ...]:
    return (
        ask.origin.owner, ask.question.prompt, ask.status, ask.decision, ask.value, ask.note,
        ask.settled_by, "taken" if ask.delivered_at else "not taken",
    )  # fmt: skip


def _steady(store: Store, call: FlowCall) -> list[Any]:
    """Return a call without its random parts: times, ids, claims."""
    value = call.value
    if isinstance(value, dict) and "ask" in value:
        ask = store.asks.get(value["ask"])
        value = ask and _describe_ask(ask)
    elif isinstance(value, dict):
        value = {name: part for name, part in value.items() if name != "claim"}
    elif call.name == "sleep":
        value = "a time"
    return [call.name, call.label, call.digest, call.state, value, call.error, call.attempt]


def _step_name(call: FlowCall) -> str:
    return str(call.value["did"]) if call.name == "step" and call.value else ""


def damage(path: str) -> list[str]:
    """Return the faults of the store itself, and of its audit trail."""
    seen = picture(path)
    return [*seen["damage"], *map(str, seen["orphans"]), *faults(path)]


def _count_effects(stage: Stage, calls: dict[str, FlowCall]) -> dict[str, list[str]]:
    """Return the recorded effects of the ledger, in their order on each line."""
    counted = {_step_name(call): call.value["claim"] for call in calls.values() if _step_name(call)}
    lines = defaultdict(list)
    for one in stage.effects():
        if counted.get(one.name) == one.claim:
            lines[one.line].append(one.name)
    return dict(lines)


def violations(store: Store, stage: Stage, run_id: int, piece: Piece = CHAOS) -> Iterator[str]:
    """Return the broken rules that hold however often a run was interrupted."""
    yield from stage.violations()
    run, calls = get_run(store, run_id), {call.path: call for call in store.runs.calls(run_id)}
    if (run.state, _result(run)) != ("completed", piece.result):
        yield f"it is {run.state} ({run.reason}) with {run.result}"
    if _count_effects(stage, calls) != piece.ledger:
        yield f"the ledger is {stage.effects()}"
    yield from (f"it asks {ask.id} and has ended" for ask in store.asks.pending_of_run(run_id))
    yield from (f"turn {turn.id} is open" for turn in store.runs.turns(run_id) if not turn.ended_at)
    yield from _steps(store, stage, run)
    yield from _agents(stage)


def _steps(store: Store, stage: Stage, run: Run) -> Iterator[str]:
    events = [entry.event for entry in store.audit.of_subject(run.name)]
    recorded = Counter(e.content["call"] for e in events if e.kind == "call.recorded")
    yield from (f"{path} was recorded {n} times" for path, n in recorded.items() if n > 1)
    done: dict[str, list[int]] = defaultdict(list)
    for one in stage.effects():
        done[one.name].append(one.claim)
    if len(done[DANGEROUS]) > 1:
        yield f"the dangerous step happened {len(done[DANGEROUS])} times"
    for call in store.runs.calls(run.id):
        claims = done.get(_step_name(call), [])
        if _step_name(call) and (not claims or call.value["claim"] != max(claims)):
            yield f"{call.label} at {call.path} is {call.value}, but happened under claims {claims}"
    for name, claims in done.items():
        if len(claims) != len(set(claims)):
            yield f"{name} happened twice under one claim: {claims}"


def _agents(stage: Stage) -> Iterator[str]:
    signalled = set()
    sessions = defaultdict(set)
    for word, task, session in stage.starts():
        role = "planner" if task in ("make-a-plan", "finish-it") or "answer" in task else task
        sessions[role].add(session)
        if word == "signalled":
            signalled.add(task)
        elif task in signalled:
            yield f"{task} was sent again after it had been signalled"
    yield from (
        f"{who} worked in {len(all_)} sessions" for who, all_ in sessions.items() if len(all_) > 1
    )


def _until_stopped(pid: int) -> None:
    stat = Path(f"/proc/{pid}/stat")
    until(lambda: stat.read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "T")


def until(is_so: Any) -> None:
    until = time.monotonic() + _PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < until, "it takes too long"
        select.select([], [], [], _POLL_SECONDS)
