"""The composition root: the only holder of every key."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from humangate import settings, surroundings
from humangate.domain.asks import Origin
from humangate.domain.display import storable
from humangate.domain.principals import Sighting, person
from humangate.domain.steps import has_result
from humangate.errors import StoreTroubleError, UsageError
from humangate.store.sqlite.store import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from humangate.domain.backlog_terms import BacklogTerms
    from humangate.domain.calls import Call
    from humangate.domain.principals import Caller
    from humangate.domain.roads import Road
    from humangate.domain.roles import Role
    from humangate.domain.runs import Run
    from humangate.domain.steps import Step
    from humangate.domain.templates import Template
    from humangate.doors.channel import Channel
    from humangate.doors.clock import Clock
    from humangate.doors.dialog import Dialog, Found
    from humangate.doors.driver import Driver, Host
    from humangate.doors.store import Store
    from humangate.doors.workspace import Workspace
    from humangate.engines.local import Worker
    from humangate.service.driving import Driver as FlowDriver
    from humangate.service.journalling import Crew, Terms
    from humangate.service.notifying import Post
    from humangate.workspaces.flow_listing import Listed
    from humangate.workspaces.roles import Roles
    from humangate.workspaces.templates import Templates


_LOG_IS_LATE_SECONDS = 0.5
_MOST_PAPERS_BYTES = 50_000_000
_ENDS_WITHIN_SECONDS = 5.0
_COMMIT_LENGTH = 40


class SystemClock:
    """The machine's own clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()


def open_store(path: str | None = None, clock: Clock | None = None) -> Store:
    """The store of the settings, or the one at a path; made when it is not there yet."""
    path = path or settings.store_path(os.environ)
    if storable(path) != path:
        raise UsageError(
            f"the store {storable(path)} has a name that is no text in UTF-8: GATE_STORE=PATH "
            "names another"
        )
    folder = os.path.dirname(path)
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        return SqliteStore(path, clock or SystemClock(), _starter(path))
    except OSError as error:
        raise StoreTroubleError(
            f"the store {path} cannot be opened ({error.strerror}). If an agent's sandbox is "
            "the reason, allow it that folder, or name a store it may write: GATE_STORE=PATH"
        ) from None


def _starter(path: str) -> Callable[[], None] | None:
    """What starts a sender after news; without roads there is nobody to tell."""
    try:
        if not settings.roads(os.environ):
            return None
    except UsageError:
        # A road that cannot be read must not keep anybody from asking; gate doctor tells of it.
        return None
    # Imported here: most people have no roads.
    from humangate.senders import Starter

    return Starter(os.path.abspath(path))


def post(store: Store) -> Post:
    """The roads of the settings, and the channels at their beginnings."""
    # Imported here and below: only senders need them.
    from humangate.service.notifying import Post

    def open_channel(road: Road) -> Channel:
        return _channel(road, store)

    return Post(settings.roads(os.environ), open_channel, settings.inbox_url(os.environ))


def renewed_post(store: Store, url: str) -> Callable[[], Post | None]:
    """The post whenever the settings file has changed; what cannot be read changes nothing."""
    path, seen = (
        settings.settings_file(os.environ),
        [_changed_at(settings.settings_file(os.environ))],
    )

    def renewed() -> Post | None:
        if (now := _changed_at(path)) == seen[0]:
            return None
        seen[0] = now
        try:
            made = post(store)
        except UsageError:
            return None
        return made._replace(url=made.url or url)

    return renewed


def _changed_at(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0


def _channel(road: Road, store: Store) -> Channel:
    if road.via == "desktop":
        from humangate.channels.desktop import DesktopChannel

        return DesktopChannel()
    if road.via == "command":
        from humangate.channels.command import CommandChannel

        return CommandChannel(road.target)
    if road.via == "webhook":
        from humangate.channels.webhook import WebhookChannel

        return WebhookChannel(road.target, road.secret, store.now)
    from humangate.channels.apprise import AppriseChannel

    return AppriseChannel(road.target)


def dialog_tool() -> str:
    """The program that shows dialogs here, as the settings say; empty: none does, or none may.

    One that is named in the settings is not looked for: what is wrong with it, its reply tells.
    """
    # Imported here and below: only whoever shows dialogs needs them.
    from humangate.channels.dialogs import finding

    named = settings.dialog(os.environ)
    if named == "off":
        return ""
    return finding.first(os.environ) if named == "auto" else named


def dialog(tool: str = "") -> Dialog | None:
    """A window for one ask, by this program or the one of the settings; None when there is none."""
    from humangate.channels.dialogs import finding

    chosen = tool or dialog_tool()
    return finding.dialog(chosen, os.environ) if chosen else None


def dialog_tools() -> list[Found]:
    """Every program that could show dialogs, best first, and why it cannot here."""
    from humangate.channels.dialogs import finding

    return finding.found(os.environ)


def open_throwaway_store(path: str, clock: Clock | None = None) -> Store:
    """A new store for a demo or a test, to which people may be added from anywhere."""
    store = SqliteStore(path, clock or SystemClock())
    store.mark_throwaway()
    return store


def caller(store: Store, via: str, token: str = "", name: str = "") -> Caller:
    """Whoever calls: the OS user as claimed, or a person proven by their token."""
    plain = surroundings.caller(os.environ, via)
    if not token and (name or not plain.agent):
        # An agent inherits its person's variables: there a token counts only with a name.
        token = os.environ.get("GATE_TOKEN", "")
    if not token:
        return plain
    # Imported here: without a token, nobody needs to be looked up.
    from humangate.service.enrolling import whose

    found = whose(store, token, name)
    return plain._replace(principal=person(found.person), verified=True, token_id=found.id)


def agent_caller(cli: str, session: str, via: str, because: str) -> Caller:
    """The agent that a door of its own belongs to, whatever stands around this process."""
    plain = surroundings.caller(os.environ, via)
    return plain._replace(agent=Sighting(cli, storable(session), because))


def session_steps(cli: str, log: str) -> list[Step]:
    """What a session's log tells."""
    # Imported here and below: only agents' doors look at logs and repositories.
    from humangate.drivers import logs

    return logs.read(cli, log)


def call_is_over(origin: Origin, call_id: str) -> bool:
    """Whether the session's own log has a result for this call."""
    from humangate.drivers import logs

    cli, _, session = origin.session.partition("/")
    return has_result(logs.read(cli, logs.find(cli, session, os.environ)), call_id)


def call(tool: str, given: object, cwd: str) -> Call:
    """A tool call, with what only this machine can tell about it."""
    from humangate.domain.calls import make_call
    from humangate.workspaces import git

    made = make_call(tool, given, cwd, git.branch(cwd))
    if not made.path:
        return made
    return made._replace(
        real_path=os.path.realpath(os.path.join(cwd, os.path.expanduser(made.path)))
    )


def going_on(origin: Origin, log: str = "") -> str:
    """What the asking agent was doing, from its session log and the repository."""
    from humangate.domain.explaining import explain
    from humangate.drivers import logs
    from humangate.workspaces import git

    cli, _, session = origin.session.partition("/")
    steps = logs.read(cli, log or logs.find(cli, session, os.environ))
    until = time.monotonic() + _LOG_IS_LATE_SECONDS
    # The host may call first and write afterwards.
    while origin.tool_use_id and not any(s.call_id == origin.tool_use_id for s in steps):
        if time.monotonic() > until:
            break
        time.sleep(0.02)
        steps = logs.read(cli, log or logs.find(cli, session, os.environ))
    began = next((step.at for step in steps if step.at), "")
    return explain(steps, git.changes(origin.cwd, began))


def origin(caller: Caller, asker: str = "", owner: str = "", folder: str | None = None) -> Origin:
    """Where an ask of this process comes from."""
    if folder is None:
        try:
            folder = os.getcwd()
        except FileNotFoundError:
            folder = ""
    agent = caller.agent
    return Origin(
        project=surroundings.project(folder),
        cwd=folder,
        agent=asker or surroundings.asker_name(agent),
        session=f"{agent.cli}/{agent.session}" if agent else "",
        tool_use_id=os.environ.get("CODEX_TOOL_CALL_ID", ""),
        sponsor=caller.principal,
        owner=owner,
    )


def data_folder(store_path: str) -> str:
    """Where the folders and papers of a store's runs are kept: beside it."""
    return f"{os.path.abspath(store_path)}-runs"


def workspace(store: Store) -> Workspace:
    # Imported here and below: only whoever works with runs needs them.
    from humangate.workspaces.worktrees import GitWorkspace

    return GitWorkspace(data_folder(store.path))


def flow_driver(
    store: Store, load: Callable[[Run], tuple[Callable[[str], Any], Terms, str]] | None = None
) -> FlowDriver:
    """Drives the runs of a store in this process; `load` has their code, otherwise it is in files."""
    from humangate.service.driving import Driver as FlowDriver

    made = crew(store)
    return FlowDriver(store, made._replace(load=load) if load else made)


def seen(project: str, source: str) -> dict[str, str]:
    """The digests of a flow file and of the roles of its project, as they are now."""
    from humangate.service import trusting
    from humangate.workspaces import flow_files, roles

    found = {trusting.role(role.name): role.digest for role in roles.all(project).roles}
    return {trusting.FLOW: flow_files.read(source)[1], **found}


def crew(store: Store) -> Crew:
    """What drives need from outside."""
    from humangate.domain.runs import DRIVER
    from humangate.service.journalling import Crew
    from humangate.workspaces import roles

    def role(run: Run, name: str) -> Role:
        found = _with_model(roles.find(run.project, name))
        if not run.task:
            return found
        preamble = roles.preamble(run.project)
        return found._replace(instructions=f"{preamble}\n\n{found.instructions}")

    return Crew(
        load=lambda run: _load_work(store, run) if run.task else _load_flow(run),
        role=role,
        driver=_driver,
        workspace=workspace(store),
        tool_call=call,
        going_on=going_on,
        caller=surroundings.caller(os.environ, "flow")._replace(principal=DRIVER, agent=None),
        backlog=_backlog_here,
        # A store in memory has no folder beside it.
        said=Papers(store.path).write if store.path else lambda *_: None,
    )


def _load_flow(run: Run) -> tuple[Callable[[str], Any], Terms, str]:
    from humangate.workspaces import flow_files

    source, digest = flow_files.read(run.source)
    _, found = flow_files.choose(flow_files.load(run.source, source, digest), run.flow)
    return found.work, found.terms, digest


def _load_work(store: Store, run: Run) -> tuple[Callable[[str], Any], Terms, str]:
    from humangate.service import backlog, working

    terms = working.terms(backlog_terms(run.project), backlog.get(store, run.task))
    return working.work_task, terms, work_digest()


def work_digest() -> str:
    """Of the flow that works on tasks, as runs record it."""
    from humangate.service import working
    from humangate.workspaces import flow_files

    return flow_files.read(working.__file__)[1]


def _backlog_here(project: str) -> BacklogTerms:
    """How its tasks are worked on, with the branch they start from."""
    from humangate.workspaces import git

    terms, here = backlog_terms(project), git.branch(project)
    # Where none is checked out, git names the commit.
    is_commit = len(here) >= _COMMIT_LENGTH and not here.strip("0123456789abcdef")
    return terms if terms.base or is_commit else terms._replace(base=here)


def _driver(role: Role, work: Callable[..., Any] | None) -> Driver:
    if work:
        from humangate.drivers.python import PythonDriver

        return PythonDriver(work)
    if role.cli == "command":
        from humangate.drivers.command import CommandDriver

        return CommandDriver()
    if role.cli == "codex":
        from humangate.drivers.codex import CodexDriver

        return CodexDriver()
    from humangate.drivers.claude import ClaudeDriver

    return ClaudeDriver()


def host(cli: str) -> Host:
    """The program in which a person and an agent talk."""
    from humangate.drivers import hosts

    if cli == "command":
        if not (words := settings.session_command(os.environ)):
            raise UsageError(
                "session_command is not set: name the command that is opened in "
                f"{settings.settings_file(os.environ)}, or in GATE_SESSION_COMMAND"
            )
        return hosts.CommandHost(words)
    if cli not in settings.SESSION_CLIS:
        raise UsageError(f"no session can be opened in {cli}: gate answer takes the answer, too")
    return hosts.CodexHost() if cli == "codex" else hosts.ClaudeHost()


def session_papers(store_path: str, ask_id: str) -> str:
    """Where the files of a session ask are kept: beside the store, for the user alone."""
    return os.path.join(f"{os.path.abspath(store_path)}-sessions", ask_id)


def agent_environ(told: Mapping[str, str]) -> dict[str, str]:
    """What stands around an agent that a person talks to: no token of theirs, nothing of others."""
    from humangate.drivers import launching

    return launching.around(told)


class Papers:
    """What the agents of a run say, in a file of its own for people who look on."""

    def __init__(self, store_path: str) -> None:
        self._folder = os.path.join(data_folder(store_path), "papers")

    def path(self, run: Run) -> str:
        # With its time: a store that is made anew begins with run 1 again.
        return os.path.join(self._folder, f"run-{run.id}-{run.created_at:%Y%m%dT%H%M%S}.log")

    def write(self, run: Run, path: str, role: str, text: str) -> None:
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        at = f"{datetime.now(UTC):%H:%M:%S}"
        lines = "".join(f"{at} {path} {role}  {line}\n" for line in text.splitlines())
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


def find_flow(project: str, named: str) -> tuple[str, str, str]:
    """The flow that is meant by a name or path: what it is called, its file, and that one's digest."""
    from humangate.workspaces import flow_files

    path = flow_files.find(project, named)
    source, digest = flow_files.read(path)
    flow, _ = flow_files.choose(flow_files.load(path, source, digest), flow_files.parted(named)[1])
    return flow, path, digest


def flows(project: str) -> list[Listed]:
    """The flow files of a project and the user, with what they say of themselves."""
    from humangate.workspaces import flow_listing

    return flow_listing.listed(project)


def flow_object(project: str, named: str) -> Any:
    """The flow that is meant by a name or path, loaded."""
    from humangate.workspaces import flow_files

    path = flow_files.find(project, named)
    module = flow_files.load(path, *flow_files.read(path))
    return flow_files.choose(module, flow_files.parted(named)[1])[1]


def leans_on_package(path: str) -> bool:
    """Whether a flow file can be loaded only as a part of its package."""
    from humangate.workspaces import flow_files

    return flow_files.leans_on_package(flow_files.read(path)[0])


def flow_digest(path: str) -> str:
    """Of a flow file, as runs record it."""
    from humangate.workspaces import flow_files

    return flow_files.read(path)[1]


def flow_source(project: str, named: str) -> tuple[str, str]:
    """Path and text of a flow file."""
    from humangate.workspaces import flow_files

    path = flow_files.find(project, named)
    return path, flow_files.read(path)[0]


def roles(project: str) -> Roles:
    """The roles of a project and the user, and what is wrong with those that cannot be read."""
    from humangate.workspaces import roles as role_files

    found = role_files.all(project)
    return found._replace(roles=[_with_model(role) for role in found.roles])


def _with_model(role: Role) -> Role:
    """The role with the model that heavy, medium or light means to its program."""
    # Models that are set wrongly hold up only the roles that need them.
    if role.model not in settings.MODEL_WORDS:
        return role
    meant = settings.models(os.environ).get(role.cli, {})
    return role._replace(model=meant.get(role.model, role.model))


def backlog_terms(project: str) -> BacklogTerms:
    """How the tasks of a project are worked on."""
    from humangate.workspaces import backlog_file

    return backlog_file.read(project)


def template(project: str, name: str) -> Template:
    """An answer written beforehand: of the project, the user, or the settings file."""
    from humangate.workspaces import templates as template_files

    return template_files.find(project, name)


def templates(project: str) -> Templates:
    """All answers written beforehand, and what is wrong with those that cannot be read."""
    from humangate.workspaces import templates as template_files

    return template_files.all(project)


def template_path(project: str, name: str) -> str:
    """The file for a project's template; without a project, for the user's."""
    from humangate.workspaces import templates as template_files

    return template_files.path_for(project, name)


def first_files(project: str) -> dict[str, str]:
    """What a project starts with, to be changed as its people like: texts by path."""
    from humangate.domain.backlog_terms import first_file
    from humangate.workspaces import backlog_file, roles as role_files, texts

    folder = os.path.join(project, ".gate", "agents")
    found = {os.path.join(folder, name): text for name, text in role_files.built_in().items()}
    found[backlog_file.path_of(project)] = first_file()
    for path in found:
        texts.refuse_outside(path, project)
        texts.refuse_worktree(path)
    return found


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
    from humangate.engines.local import Worker
    from humangate.service.claiming import Abandoned
    from humangate.service.sweeping import sweep
    from humangate.service.taking import Taking

    def telling(run: Run) -> Run:
        if told is None:
            return taking.heed(driver.drive(run))
        told(store, run, False)
        driven = taking.heed(driver.drive(run))
        told(store, driven, True)
        return driven

    taking = Taking(store, projects, work_digest())
    abandoned = Abandoned(store, driver.is_driving).find
    return Worker(store, telling, abandoned, lambda: sweep(store), slots, taking.take_up)


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

    from humangate import upkeep

    # Commands do without it, but a worker lives long and flows are anybody's code.
    gc.enable()
    store = open_store()
    driver = flow_driver(store)
    made = worker(store, driver, slots, told, projects)
    lock = upkeep.work_at(store.path)
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
