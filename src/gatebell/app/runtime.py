"""Whoever drives runs, with all that takes: code, roles, agents' programs, folders and papers."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from gatebell.app import environment, locks, project_files, wiring
from gatebell.errors import GateError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gatebell.adapters.engines.local import Worker
    from gatebell.domain.runs.roles import Role
    from gatebell.domain.runs.runs import Run
    from gatebell.domain.tasks.backlog_settings import BacklogTerms
    from gatebell.ports.agents import Driver
    from gatebell.ports.store import Store
    from gatebell.ports.workspaces import Workspace
    from gatebell.services.runs.drive_run import Driver as FlowDriver
    from gatebell.services.runs.run_journal import Crew, Terms

_MOST_PAPERS_BYTES = 50_000_000
_ENDS_WITHIN_SECONDS = 5.0
_COMMIT_LENGTH = 40


def data_folder(store_path: str) -> str:
    """Where the folders and papers of a store's runs are kept: beside it."""
    return f"{os.path.abspath(store_path)}-runs"


def workspace(store: Store) -> Workspace:
    # Imported here and below: only whoever works with runs needs them.
    from gatebell.adapters.git.worktrees import GitWorkspace

    return GitWorkspace(data_folder(store.path))


def flow_driver(
    store: Store, load: Callable[[Run], tuple[Callable[[str], Any], Terms, str]] | None = None
) -> FlowDriver:
    """Drives the runs of a store in this process; `load` has their code, otherwise it is in files."""
    from gatebell.services.runs.drive_run import Driver as FlowDriver

    made = crew(store)
    return FlowDriver(store, made._replace(load=load) if load else made)


def crew(store: Store) -> Crew:
    """What drives need from outside."""
    from gatebell.adapters.files import role_files
    from gatebell.domain.runs.runs import DRIVER
    from gatebell.services.runs.run_journal import Crew

    def role(run: Run, name: str) -> Role:
        found = project_files.with_model(role_files.find(run.project, name))
        if not run.task:
            return found
        preamble = role_files.preamble(run.project)
        return found._replace(instructions=f"{preamble}\n\n{found.instructions}")

    return Crew(
        load=lambda run: _load_work(store, run) if run.task else _load_flow(run),
        role=role,
        driver=_driver,
        workspace=workspace(store),
        tool_call=wiring.call,
        going_on=wiring.going_on,
        caller=environment.caller(os.environ, "flow")._replace(principal=DRIVER, agent=None),
        backlog=_backlog_here,
        # A store in memory has no folder beside it.
        said=Papers(store.path).write if store.path else lambda *_: None,
        host=wiring.host,
    )


def _load_flow(run: Run) -> tuple[Callable[[str], Any], Terms, str]:
    from gatebell.adapters.files import flow_files

    source, digest = flow_files.read(run.source)
    _, found = flow_files.choose(flow_files.load(run.source, source, digest), run.flow)
    return found.work, found.terms, digest


def _load_work(store: Store, run: Run) -> tuple[Callable[[str], Any], Terms, str]:
    from gatebell.domain.tasks.backlog_settings import BacklogTerms
    from gatebell.services.tasks import backlog, task_flow

    try:
        given = project_files.backlog_terms(run.project)
    except GateError:
        # What has begun has a plan of its own, and goes on by it while the file is mended.
        given = BacklogTerms()
    return task_flow.work_task, task_flow.terms(given, backlog.get(store, run.task)), work_digest()


def _backlog_trouble(project: str) -> str:
    """Why the tasks of a project cannot be worked on, or nothing."""
    try:
        project_files.backlog_terms(project)
    except GateError as error:
        return str(error)
    return ""


def work_digest() -> str:
    """Of the flow that works on tasks, as runs record it."""
    from gatebell.adapters.files import flow_files
    from gatebell.services.tasks import task_flow

    return flow_files.read(task_flow.__file__)[1]


def _backlog_here(project: str) -> BacklogTerms:
    """How its tasks are worked on, with the branch they start from."""
    from gatebell.adapters.git import changes

    terms, here = project_files.backlog_terms(project), changes.branch(project)
    # Where none is checked out, git names the commit.
    is_commit = len(here) >= _COMMIT_LENGTH and not here.strip("0123456789abcdef")
    return terms if terms.base or is_commit else terms._replace(base=here)


def _driver(role: Role, work: Callable[..., Any] | None) -> Driver:
    if work:
        from gatebell.adapters.agents.python_function import PythonDriver

        return PythonDriver(work)
    if role.cli == "command":
        from gatebell.adapters.agents.command import CommandDriver

        return CommandDriver()
    if role.cli == "codex":
        from gatebell.adapters.agents.codex import CodexDriver

        return CodexDriver()
    from gatebell.adapters.agents.claude import ClaudeDriver

    return ClaudeDriver()


class Papers:
    """What the agents of a run say, in a file of its own for people who look on."""

    def __init__(self, store_path: str) -> None:
        self._folder = os.path.join(data_folder(store_path), "papers")

    def path(self, run: Run) -> str:
        # With its time: a store that is made anew begins with run 1 again.
        return os.path.join(self._folder, f"run-{run.id}-{run.created_at:%Y%m%dT%H%M%S}.log")

    def write(self, run: Run, path: str, role: str, text: str) -> None:
        # Imported here: it is needed once agents speak.
        from gatebell.domain.text.redaction import hide_secrets

        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        at = f"{datetime.now(UTC):%H:%M:%S}"
        shown = hide_secrets(text).splitlines()
        lines = "".join(f"{at} {path} {role}  {line}\n" for line in shown)
        with open(self.path(run), "a", encoding="utf-8", errors="replace") as file:
            left = _MOST_PAPERS_BYTES - file.tell()
            if left > 0:
                file.write(lines[:left])
            if 0 < left <= len(lines):
                file.write(f"\n{at} {path} gate  it is too much: no more is kept\n")


def worker_log(store_path: str) -> str:
    """The log of this worker: a file of its own, beside the store."""
    folder = os.path.join(data_folder(store_path), "logs")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    return os.path.join(folder, f"worker-{datetime.now(UTC):%Y%m%dT%H%M%S}-{os.getpid()}.md")


def append_line(path: str, line: str) -> None:
    with open(path, "a", encoding="utf-8", errors="replace") as file:
        file.write(f"- {datetime.now(UTC):%H:%M:%S} {line.strip()}\n")


def worker(
    store: Store,
    driver: FlowDriver,
    slots: int,
    told: Callable[[Store, Run, bool], None] | None = None,
    projects: Callable[[Store], list[str]] = lambda _: [],
) -> Worker:
    """Drives whatever run of a store is ready, on this machine; tells of each before and after.

    With a slot free, it takes up tasks of these projects.
    """
    from gatebell.adapters.engines.local import Worker
    from gatebell.services.asks.apply_deadlines import sweep
    from gatebell.services.runs.claims import Abandoned
    from gatebell.services.tasks.scheduler import Taking

    def telling(run: Run) -> Run:
        mine: list[Run] = []

        def begun() -> None:
            mine.append(run)
            if told:
                told(store, run, False)

        driven = driver.drive(run, begun)
        # Of several workers one was the fastest; the others have nothing to say of it.
        if mine and told:
            told(store, driven, True)
        return taking.heed(driven) if mine else driven

    taking = Taking(store, projects, work_digest(), _backlog_trouble)
    abandoned = Abandoned(store, driver.is_driving)
    return Worker(
        store,
        telling,
        abandoned.find,
        lambda: sweep(store),
        slots,
        taking.take_up,
        abandoned.find_ready,
    )


def work_beside(
    slots: int,
    told: Callable[[Store, Run, bool], None] | None = None,
    projects: Callable[[Store], list[str]] = lambda _: [],
) -> Callable[[], list[int]]:
    """Drive runs on threads of this process, with a store of their own; returns what ends that.

    Ending tells which runs were not let go of in time: their flows' code does not come back.
    """
    import gc
    import threading

    # Commands do without it, but a worker lives long and flows are anybody's code.
    gc.enable()
    store = wiring.open_store()
    driver = flow_driver(store)
    made = worker(store, driver, slots, told, projects)
    lock = locks.work_at(store.path)
    thread = threading.Thread(target=made.work, name="worker", daemon=True)
    thread.start()

    def end() -> list[int]:
        until = time.monotonic() + _ENDS_WITHIN_SECONDS
        made.stop()
        # On a thread of its own: an agent may be hard to end, and the store hard to write.
        closing = threading.Thread(target=driver.close, name="closing", daemon=True)
        closing.start()
        for one in (closing, thread):
            one.join(max(0.0, until - time.monotonic()))
        made.wait_idle(until - time.monotonic())
        os.close(lock)
        return made.busy()

    return end
