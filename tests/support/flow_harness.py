"""Flows driven by hand, with a manual clock, scripted agents, and a folder in place."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from gatebell.adapters.agents.python_function import PythonDriver
from gatebell.api import flows
from gatebell.app.wiring import open_throwaway_store
from gatebell.domain.asks.answers import Given
from gatebell.domain.permissions.calls import Call
from gatebell.domain.runs.roles import Role
from gatebell.domain.tasks.backlog_settings import BacklogTerms
from gatebell.ports.flows import LoadedFlow
from gatebell.ports.workspaces import Place
from gatebell.services.asks import answer_ask
from gatebell.services.runs import manage_runs
from gatebell.services.runs.dependencies import RunDependencies
from gatebell.services.runs.drive_run import Driver
from gatebell.services.runs.run_journal import Drive, Overtaken
from gatebell.testing import FakeClock, MemoryStore, ScriptedAgent
from tests.support.people import a_person

if TYPE_CHECKING:
    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.runs.runs import FlowCall, Run, Turn


class Crash(Overtaken):
    """The process is dead: no later line runs."""


class Mortal(Driver):
    """A driver that can be killed."""

    crashed = False

    def _flow(self, drive: Drive) -> None:
        try:
            super()._flow(drive)
        except Crash:
            self.crashed = True
            raise


class Folders:
    """A workspace without git that records its calls."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self.set_up_times = 0
        self.made: list[dict[str, Any]] = []
        self.snapshots: list[str] = []
        self.commits: dict[str, str] = {}
        self.merges: dict[str, tuple[str, str, bool]] = {}
        self.restored: list[str] = []
        self.changed: list[str] = []
        self.checks: list[tuple[str, str]] = []
        self.failures: list[str] = []
        self.let_go_of: list[tuple[str, str]] = []
        self.lets_go = True
        self.branch = ""

    def make(
        self,
        project: str,
        run_id: int,
        *,
        with_changes: bool = False,
        snapshot: str = "",
        token: str = "",
        branch: str = "",
        **wish: Any,
    ) -> Place:
        self.made.append(
            {"run": run_id, "with_changes": with_changes, "snapshot": snapshot, "token": token}
            | ({"branch": branch} if branch else {})
            | wish
        )
        return Place(project, project, branch or f"gate/run-{run_id}", "base")

    def set_up(self, project: str, place: Place) -> str:
        self.set_up_times += 1
        return self.problems.pop(0) if self.problems else ""

    def snapshot(self, place: Place, run_id: int, path: str) -> str:
        self.snapshots.append(f"{run_id}:{path}")
        return f"snapshot-{run_id}-{path}" if place.branch else ""

    def restore(self, place: Place, run_id: int, path: str) -> list[str]:
        self.restored.append(f"{run_id}:{path}")
        os.makedirs(place.folder, exist_ok=True)
        return self.changed

    def diff(self, place: Place, since: str = "", until: str = "") -> str:
        return "+ a line"

    def commit(self, place: Place, words: str, key: str) -> str:
        self.commits.setdefault(key, words)
        return f"commit-{key}"

    def merge(self, place: Place, base: str, words: str, key: str, *, squash: bool = False) -> str:
        self.merges.setdefault(key, (base, words, squash))
        return f"merge-{key}"

    def let_go(self, place: Place, commit: str) -> bool:
        self.let_go_of.append((place.branch, commit))
        return self.lets_go

    def check(self, place: Place, command: str, key: str, limit_seconds: float) -> str:
        self.checks.append((command, key))
        return self.failures.pop(0) if self.failures else ""

    def find_project(self, place: Place) -> str:
        return ""

    def find_snapshot(self, place: Place, run_id: int, path: str) -> str:
        return f"snapshot-{run_id}-{path}" if f"{run_id}:{path}" in self.snapshots else ""

    def remove(self, place: Place, run_id: int) -> str:
        return ""


class Harness:
    """One store, one project, and runs in it."""

    def __init__(self, folder: Any, store: Any = None) -> None:
        self.clock = store.clock if store else FakeClock()
        self.store = store or MemoryStore(self.clock)
        self.folder = str(folder)
        self.folders = Folders()
        self.agents: dict[str, ScriptedAgent] = {}
        self.said: list[tuple[str, str]] = []
        self.hosts: dict[str, Any] = {}
        self.source = "source-1"
        self.backlog = BacklogTerms(base="main")
        self.flow: Any = None
        self.run_id = 0
        self._drivers: list[Mortal] = []
        self.driver = self.another_driver()

    def another_driver(self) -> Mortal:
        self._drivers.append(Mortal(self.store, self.dependencies()))
        return self._drivers[-1]

    def close(self) -> None:
        for driver in self._drivers:
            driver.close()

    def dependencies(self) -> RunDependencies:
        """Return the surroundings of a run as small objects."""

        def write(_: Run, path: str, speaker: str, text: str) -> None:
            self.said.append((path, f"{speaker}: {text}"))

        return RunDependencies(
            flows=SimpleNamespace(
                load=lambda _: LoadedFlow(self.flow.work, self.flow.terms, self.source)
            ),
            roles=SimpleNamespace(
                find=lambda _, name: Role(name, f"You are the {name}.", cli="scripted")
            ),
            agents=SimpleNamespace(
                driver=lambda role, work: PythonDriver(work) if work else self.agents[role.name]
            ),
            workspace=self.folders,
            activity=SimpleNamespace(tool_call=Call, summary=lambda _: "it was thinking"),
            backlogs=SimpleNamespace(
                terms=lambda _: self.backlog, problem=lambda _: "", key=lambda _: ""
            ),
            log=SimpleNamespace(write=write),
            hosts=SimpleNamespace(open=lambda cli: self.hosts[cli]),
            caller=a_person("gate")._replace(principal="gate", via="flow"),
        )

    # Agents and flows

    def agent(self, role: str, *script: Any) -> ScriptedAgent:
        """Add an agent for a role: the lines of its script, or one function for all."""
        one = script[0] if len(script) == 1 and callable(script[0]) else script
        self.agents[role] = ScriptedAgent(one)
        return self.agents[role]

    def start(self, work: Any, prompt: str = "Add login", **wish: Any) -> Run:
        self.flow = work if hasattr(work, "gatebell_flow") else flows.flow(work)
        named = {"in_place": True} | wish
        wanted = manage_runs.RunRequest(
            "feature", "feature.py", self.source, prompt, self.folder, **named
        )
        made, _ = manage_runs.start(self.store, self.folders, wanted, a_person("ada"))
        self.run_id = made.id
        return made

    def drive(self, run_id: int = 0) -> Run:
        self.driver.crashed = False
        driven = self.driver.drive(manage_runs.get(self.store, run_id or self.run_id))
        if self.driver.crashed:
            raise Crash
        return driven

    def go(self, work: Any, prompt: str = "Add login", **wish: Any) -> Run:
        """Start a flow and drive it until it waits or ends."""
        self.start(work, prompt, **wish)
        return self.drive()

    def crash(self, run_id: int = 0) -> None:
        """Drive until the process dies; the next driver finds an expired lease."""
        try:
            self.drive(run_id)
        except Crash:
            self.clock.advance(60)
        else:
            raise AssertionError("nothing crashed")

    # People

    def pending(self) -> list[Ask]:
        return self.store.asks.pending_of_run(self.run_id)

    def ask(self, part: str = "") -> Ask:
        (found,) = [ask for ask in self.pending() if part in ask.question.prompt]
        return found

    def answer(self, value: Any, note: str = "", part: str = "", who: Any = None) -> None:
        caller = who or a_person("ada")
        answer_ask.answer(self.store, self.ask(part).id, caller, Given(value, note))

    def answer_and_drive(self, value: Any, note: str = "", part: str = "") -> Run:
        """Answer, and continue to drive."""
        self.answer(value, note, part)
        return self.drive()

    def signal(self, status: str, message: str = "") -> Run:
        manage_runs.signal(self.store, self.run_id, status, message, a_person("ada"))
        return self.drive()

    def stop(self, reason: str = "enough") -> Run:
        return manage_runs.stop(self.store, self.run_id, a_person("ada"), reason)

    def resume(self, accept: str = "") -> Run:
        manage_runs.resume(self.store, self.run_id, a_person("ada"), accept)
        return self.drive()

    def fork(self, path: str) -> Run:
        made, _ = manage_runs.fork(self.store, self.folders, self.run_id, path, a_person("bob"))
        self.run_id = made.id
        return made

    # The journal

    def run(self) -> Run:
        return manage_runs.get(self.store, self.run_id)

    def calls(self) -> dict[str, FlowCall]:
        return {call.path: call for call in self.store.runs.calls(self.run_id)}

    def turns(self, path: str = "") -> list[Turn]:
        return [t for t in self.store.runs.turns(self.run_id) if path in ("", t.path)]

    def events(self) -> list[str]:
        found = self.store.audit.of_subject(self.run().name)
        return [entry.event.kind for entry in found]


@pytest.fixture
def house(tmp_path):
    """Flows on a store in memory."""
    folder = tmp_path / "project"
    folder.mkdir()
    made = Harness(folder)
    yield made
    made.close()


@pytest.fixture
def real_house(tmp_path):
    """Flows on SQLite, for tests that need notices or another process."""
    folder = tmp_path / "project"
    folder.mkdir()
    clock = FakeClock()
    store = open_throwaway_store(str(tmp_path / "gate.db"), clock)
    store.clock = clock
    made = Harness(folder, store)
    yield made
    made.close()
    store.close()


def done(summary: str = "") -> dict[str, str]:
    return {"status": "DONE", "summary": summary}


def needs(question: str, **more: Any) -> dict[str, Any]:
    return {"status": "NEEDS_HUMAN", "question": question, **more}
