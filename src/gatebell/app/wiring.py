"""The composition root: it connects the services to the adapters."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from gatebell.app import environment, settings
from gatebell.domain.asks.asks import Origin
from gatebell.domain.people.principals import Sighting, person
from gatebell.domain.text.display import storable
from gatebell.errors import NotFoundError, StoreError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from gatebell.adapters.postgres.store import PostgresStore
    from gatebell.domain.audit.events import Head
    from gatebell.domain.people.principals import Caller
    from gatebell.domain.permissions.calls import Call
    from gatebell.domain.permissions.judgement import Verdict
    from gatebell.domain.runs.session_log import Step
    from gatebell.ports.agents import Activity, Host, Hosts
    from gatebell.ports.backends.backend import Backend
    from gatebell.ports.backends.server_watcher import ServerWatcher
    from gatebell.ports.calls.waiting_calls import CallHost
    from gatebell.ports.channels import Post, PostSource
    from gatebell.ports.clock import Clock
    from gatebell.ports.dialogs import Dialog, Found
    from gatebell.ports.phone import Probe, Tunnels
    from gatebell.ports.store import Store
    from gatebell.ports.terminal import Terminal


FIND_GATES = "Set GATE_STORE to the store with your gates, or make gates: gate install"


def open_store(
    path: str | None = None, clock: Clock | None = None, *, starts_sender: bool = True
) -> Store:
    """Open the store of the settings, or the one at a path; create it if it is missing.

    A process that sends notifications itself starts no sender for new ones.
    """
    # Imported here and below: a command that speaks to a server opens no store.
    from gatebell.adapters.sqlite.store import SqliteStore
    from gatebell.adapters.system.clock import SystemClock
    from gatebell.adapters.system.notifier_process import Starter

    if path is None:
        _must_have_store()
    path = path or settings.store_place(os.environ)
    if path.startswith(settings.ADDRESSES):
        return open_postgres(path, clock)
    if storable(path) != path:
        raise UsageError(
            f"the path of the store {storable(path)} is not valid UTF-8: "
            "set GATE_STORE to another path"
        )
    folder = os.path.dirname(path)
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        starter = Starter(os.path.abspath(path)) if starts_sender else None
        return SqliteStore(path, clock or SystemClock(), starter)
    except OSError as error:
        raise StoreError(
            f"the store {path} cannot be opened ({error.strerror}). If an agent's sandbox is "
            "the reason, allow it that folder, or name a store it may write: GATE_STORE=PATH"
        ) from None


def _must_have_store() -> None:
    """Refuse to work on a store of this machine if the settings only name a server."""
    if server := settings.server_alone(os.environ):
        raise UsageError(
            f"this works on a store of this machine, and your asks are kept by {server}: run it "
            "on the server, or name a store of your own: GATE_STORE=PATH"
        )


def open_backend(token: str = "", watch: Callable[[str], ServerWatcher] | None = None) -> Backend:
    """Return the side that keeps the asks: the server of the settings, else the store.

    Args:
        token: speak to the server with this token, not with that of the settings
        watch: makes, of the server's address, what learns that it is slow, away or back
    """
    if server := settings.server(os.environ):
        # Imported here and below: each side loads only its own code.
        from gatebell.app.server_access import open_server

        backend = open_server(server, token)
        if watch:
            backend.watch(watch(server))
        return backend
    return local_backend(open_store())


def local_backend(store: Store) -> Backend:
    """Return the backend of a store that is open."""
    from gatebell.app.local_backend import LocalBackend

    return LocalBackend(store)


def _must_have_postgres() -> None:
    """Raise StoreError if the extra `postgres` is not installed."""
    from importlib.util import find_spec

    if find_spec("psycopg") is None:
        raise StoreError(
            "a PostgreSQL store needs the extra postgres: pip install 'gatebell[postgres]'"
        )


def open_postgres(address: str, clock: Clock | None = None) -> PostgresStore:
    """Connect to a PostgreSQL store.

    Raises:
        StoreError: The extra `postgres` is missing, the server is out of reach, or the schema is
            not the one of this version.
    """
    _must_have_postgres()
    # Imported here: only servers and workers use such a store, and the library loads slowly.
    from gatebell.adapters.postgres.store import PostgresStore

    path = settings.address_path(address, os.environ)
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    return PostgresStore(address, path, clock, key_file=settings.key_file(os.environ))


def migrate_store(address: str) -> list[str]:
    """Create or update the tables of a PostgreSQL store and of its engine; return what ran."""
    _must_have_postgres()
    # Imported here and below: only `gate store` needs them.
    from gatebell.adapters.postgres import migrations
    from gatebell.adapters.postgres.connection import Connection
    from gatebell.app.engines import install_tables

    connection = Connection(address)
    try:
        done = migrations.migrate(connection)
    finally:
        connection.close()
    return [*done, *install_tables(address)]


def copy_store(
    path: str, address: str, report: Callable[[str, int], None]
) -> tuple[int, Store, Head]:
    """Copy a SQLite store into a PostgreSQL store without rows.

    Args:
        path: the file of the SQLite store
        address: the address of the other one, whose tables exist
        report: called with each table and the number of its rows so far

    Returns:
        The number of copied rows, the copy, and the head of the chain that it must have.
    """
    if not os.path.isfile(path):
        raise NotFoundError(
            f"there is no store at {storable(path)}: gate config store shows the path of yours"
        )
    target = open_postgres(address)
    from gatebell.adapters.postgres.copying import copy_attachments, copy_rows
    from gatebell.adapters.sqlite.store import SqliteStore
    from gatebell.adapters.system.clock import SystemClock

    source = SqliteStore(path, SystemClock())
    with source.audit.snapshot():
        # The bytes first: a copy that is interrupted can begin again.
        copy_attachments(source.attachments, target, report)
        rows = copy_rows(source.connection, target, report)
        head = source.audit.head()
    source.close()
    return rows, target, head


def open_gates() -> Backend:
    """Return the backend of the settings, if it has, or had, a gate or a denial.

    For hooks that hold calls by the gates of a store: a new store has no gates.

    Raises:
        StoreError: The store is missing or empty, or it never had a gate.
    """
    if settings.server(os.environ):
        backend = open_backend()
    else:
        place = settings.store_place(os.environ)
        is_file = not place.startswith(settings.ADDRESSES)
        if is_file and (not os.path.isfile(place) or not os.path.getsize(place)):
            raise StoreError(f"there is no store at {storable(place)}. {FIND_GATES}")
        backend = local_backend(open_store(place))
    backend.must_have_gates()
    return backend


def post(store: Store) -> Post:
    """Return the routes of the settings, with their channels."""
    # Imported here and below: only senders need them.
    from gatebell.adapters.files.post_settings import read_post

    return read_post(store, environment.user_name())


def post_source(store: Store, url: str) -> PostSource:
    """Return a source that reads the settings file again after each change; `url`: of the inbox."""
    from gatebell.adapters.files.post_settings import ChangedPost

    return ChangedPost(store, url, environment.user_name())


def tunnels() -> Tunnels:
    """Return the programs that give the web inbox an address for phones."""
    # Imported here and below: only the setup of a phone needs them.
    from gatebell.adapters.system.tunnels import ProgramTunnels

    return ProgramTunnels(f"{settings.local_path(os.environ)}-tunnel.log")


def probe() -> Probe:
    """Return how this machine opens an address of the web inbox."""
    from gatebell.adapters.remote.probe import InboxProbe

    return InboxProbe(settings.ca_file(os.environ))


def dialog_tool() -> str:
    """Return the program for dialogs that the settings choose, or "" for none.

    A program that the settings name is not checked here; its reply reports errors.
    """
    # Imported here and below: only commands that show dialogs need them.
    from gatebell.adapters.dialogs import discovery

    named = settings.dialog(os.environ)
    if named == "off":
        return ""
    return discovery.find_first(os.environ) if named == "auto" else named


def dialog(tool: str = "") -> Dialog | None:
    """Return a window for one ask, by this program or the one of the settings, if there is one."""
    from gatebell.adapters.dialogs import discovery

    chosen = tool or dialog_tool()
    return discovery.build_dialog(chosen, os.environ) if chosen else None


def terminal() -> Terminal:
    from gatebell.adapters.dialogs.own_terminal import OwnTerminal

    return OwnTerminal()


def dialog_tools() -> list[Found]:
    """Return every program that can show dialogs, best first, or why it cannot here."""
    from gatebell.adapters.dialogs import discovery

    return discovery.find_tools(os.environ)


def open_throwaway_store(path: str, clock: Clock | None = None) -> Store:
    """Create a store for a demo or a test, to which people may be added from anywhere."""
    from gatebell.adapters.sqlite.store import SqliteStore
    from gatebell.adapters.system.clock import SystemClock

    store: SqliteStore | PostgresStore
    if path.startswith(settings.ADDRESSES):
        store = open_postgres(path, clock)
    else:
        store = SqliteStore(path, clock or SystemClock())
    store.mark_throwaway()
    return store


def lock_store(path: str) -> AbstractContextManager[object]:
    """Let no other process write into the SQLite store at this path, while the block runs."""
    from gatebell.adapters.sqlite.store import SqliteStore
    from gatebell.adapters.system.clock import SystemClock

    return SqliteStore(path, SystemClock()).quiet_transaction()


def caller(store: Store, via: str, token: str = "", name: str = "") -> Caller:
    """Return the caller: the OS user, not verified, or the person of the token."""
    plain = _add_turn_names(store, environment.caller(os.environ, via))
    if not token and (name or not plain.agent):
        # An agent inherits the variables of its person: for it, a token needs a name.
        token = os.environ.get("GATE_TOKEN", "")
    if not token:
        return plain
    # Imported here: only a token needs a lookup.
    from gatebell.services.people.manage_people import whose

    found = whose(store, token, name)
    return plain._replace(principal=person(found.person), verified=True, token_id=found.id)


def _add_turn_names(store: Store, caller: Caller) -> Caller:
    """Add the other names of the caller's agent, if GATE_TURN names its turn."""
    mark = storable(os.environ.get("GATE_TURN", ""))
    turn = store.runs.turn(mark) if mark else None
    if turn is None or caller.agent is None:
        return caller
    # Imported here: most callers are not in a turn.
    from gatebell.domain.sessions.joined_sessions import names_of

    names = names_of(turn, store.runs.turns(turn.run))
    return caller._replace(agent=caller.agent._replace(names=names))


def agent_caller(cli: str, session: str, via: str, because: str) -> Caller:
    """Return the caller of a face that only this agent uses; ignore the signs of other agents."""
    plain = environment.caller(os.environ, via)
    return plain._replace(agent=Sighting(cli, storable(session), because))


def session_steps(cli: str, log: str) -> list[Step]:
    """Return the steps of a session log."""
    # Imported here and below: only the faces of agents read logs and repositories.
    from gatebell.adapters.agents import session_logs

    return session_logs.read(cli, log)


def hook_host(call: Call, origin: Origin, log: str, *, of_helper: bool, pid: int = 0) -> CallHost:
    """Return the host of a call that a hook asks about; `log` is its session log."""
    from gatebell.adapters.agents.hook_host import HookHost

    return HookHost(call, origin, log, of_helper=of_helper, pid=pid)


def client_host(origin: Origin, asks: list[str], cancelled: Sequence[str]) -> CallHost:
    """Return the host of a call of an MCP client; `cancelled` gets the reason of a cancellation."""
    from gatebell.adapters.agents.client_host import ClientHost

    return ClientHost(origin, asks, cancelled)


def activity() -> Activity:
    """Return the reader of the agents' activity on this machine."""
    from gatebell.adapters.agents.activity import AgentActivity

    return AgentActivity()


def call(tool: str, given: object, cwd: str) -> Call:
    """Return a tool call, with the details that only this machine knows."""
    return activity().tool_call(tool, given, cwd)


def judge_command(line: str) -> Verdict:
    """Return whether a command line does a gated act, as a shell would run it."""
    # Imported here: only lines that match a wide pattern are parsed.
    from gatebell.adapters.shell.bash_parser import parse
    from gatebell.services.permissions.judge_line import judge_line

    return judge_line(line, parse)


def find_noticing_hosts(line: str, prefixes: Sequence[Sequence[Any]]) -> tuple[bool, bool]:
    """Return whether Claude Code, and Codex with these rules, notice a command line."""
    # Imported here: only gate gates test needs it.
    from gatebell.adapters.shell.bash_parser import parse
    from gatebell.services.permissions import notice_line

    return notice_line.claude_notices(line, parse), notice_line.codex_asks(line, prefixes, parse)


def summarise_activity(origin: Origin, log: str = "") -> str:
    """Describe the work of the asking agent, from its session log and the repository."""
    return activity().summary(origin, log)


def origin(caller: Caller, asker: str = "", owner: str = "", folder: str | None = None) -> Origin:
    """Return the origin of an ask of this process."""
    if folder is None:
        try:
            folder = os.getcwd()
        except FileNotFoundError:
            folder = ""
    agent, project = caller.agent, environment.project(folder)
    return Origin(
        project=project,
        cwd=folder,
        agent=asker or environment.choose_asker_name(agent),
        session=f"{agent.cli}/{agent.session}" if agent else "",
        tool_use_id=os.environ.get("CODEX_TOOL_CALL_ID", ""),
        started_by=caller.principal,
        owner=owner,
        project_key=environment.project_key(project),
    )


def move_to_project(origin: Origin) -> Origin:
    """Return the origin with a worktree's main project: people look for questions there."""
    if not os.path.isfile(os.path.join(origin.project, ".git")):
        return origin
    project = environment.find_set_up_project(origin.project) or origin.project
    return origin._replace(project=project, project_key=environment.project_key(project))


def hosts() -> Hosts:
    """Return the programs in which people and agents talk."""
    from gatebell.adapters.agents.open_hosts import SessionHosts

    return SessionHosts()


def host(cli: str) -> Host:
    """Return the program in which a person and an agent talk."""
    return hosts().open(cli)


def session_folder(store_path: str, ask_id: str) -> str:
    from gatebell.services.sessions import visits

    return visits.files_folder(store_path, ask_id)


def build_agent_environ(told: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of an agent that a person talks to, without tokens and marks."""
    from gatebell.adapters.agents import agent_process

    return agent_process.filter_environ(told)
