"""The composition root: the only holder of every key."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gatebell.adapters.sqlite.store import SqliteStore
from gatebell.adapters.system.clock import SystemClock
from gatebell.adapters.system.notifier_process import Starter
from gatebell.app import environment, settings
from gatebell.domain.asks.asks import Origin
from gatebell.domain.people.principals import Sighting, person
from gatebell.domain.text.display import storable
from gatebell.errors import StoreTroubleError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gatebell.domain.people.principals import Caller
    from gatebell.domain.permissions.calls import Call
    from gatebell.domain.runs.session_log import Step
    from gatebell.ports.agents import Activity, Host, Hosts
    from gatebell.ports.channels import Post, PostSource
    from gatebell.ports.clock import Clock
    from gatebell.ports.dialogs import Dialog, Found
    from gatebell.ports.store import Store
    from gatebell.ports.terminal import Terminal
    from gatebell.ports.waiting_calls import CallHost


_FIND_GATES = "Set GATE_STORE to the store with your gates, or make gates: gate install"


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
        return SqliteStore(path, clock or SystemClock(), Starter(os.path.abspath(path)))
    except OSError as error:
        raise StoreTroubleError(
            f"the store {path} cannot be opened ({error.strerror}). If an agent's sandbox is "
            "the reason, allow it that folder, or name a store it may write: GATE_STORE=PATH"
        ) from None


def open_gates() -> Store:
    """The store of the settings, if it is there and has, or had, a gate or a denial.

    A hook that holds calls by the gates of a store needs this: a new store would hold none.

    Raises:
        StoreTroubleError: It is missing, empty, or another one.
    """
    path = settings.store_path(os.environ)
    if not os.path.isfile(path) or not os.path.getsize(path):
        raise StoreTroubleError(f"there is no store at {storable(path)}. {_FIND_GATES}")
    store = open_store(path)
    if not store.rules.had_gates():
        raise StoreTroubleError(f"the store {path} never had a gate. {_FIND_GATES}")
    return store


def post(store: Store) -> Post:
    """The routes of the settings, and the channels at their beginnings."""
    # Imported here and below: only senders need them.
    from gatebell.adapters.files.post_settings import read_post

    return read_post(store)


def post_source(store: Store, url: str) -> PostSource:
    """The post whenever the settings file has changed; `url` is that of the inbox."""
    from gatebell.adapters.files.post_settings import ChangedPost

    return ChangedPost(store, url)


def dialog_tool() -> str:
    """The program that shows dialogs here, as the settings say; empty: none does, or none may.

    One that is named in the settings is not looked for: what is wrong with it, its reply tells.
    """
    # Imported here and below: only whoever shows dialogs needs them.
    from gatebell.adapters.dialogs import discovery

    named = settings.dialog(os.environ)
    if named == "off":
        return ""
    return discovery.first(os.environ) if named == "auto" else named


def dialog(tool: str = "") -> Dialog | None:
    """A window for one ask, by this program or the one of the settings; None when there is none."""
    from gatebell.adapters.dialogs import discovery

    chosen = tool or dialog_tool()
    return discovery.dialog(chosen, os.environ) if chosen else None


def terminal() -> Terminal:
    """The terminal of this process."""
    from gatebell.adapters.dialogs.own_terminal import OwnTerminal

    return OwnTerminal()


def dialog_tools() -> list[Found]:
    """Every program that could show dialogs, best first, and why it cannot here."""
    from gatebell.adapters.dialogs import discovery

    return discovery.find_tools(os.environ)


def open_throwaway_store(path: str, clock: Clock | None = None) -> Store:
    """A new store for a demo or a test, to which people may be added from anywhere."""
    store = SqliteStore(path, clock or SystemClock())
    store.mark_throwaway()
    return store


def caller(store: Store, via: str, token: str = "", name: str = "") -> Caller:
    """Whoever calls: the OS user as claimed, or a person proven by their token."""
    plain = _by_its_turn(store, environment.caller(os.environ, via))
    if not token and (name or not plain.agent):
        # An agent inherits its person's variables: there a token counts only with a name.
        token = os.environ.get("GATE_TOKEN", "")
    if not token:
        return plain
    # Imported here: without a token, nobody needs to be looked up.
    from gatebell.services.people.manage_people import whose

    found = whose(store, token, name)
    return plain._replace(principal=person(found.person), verified=True, token_id=found.id)


def _by_its_turn(store: Store, caller: Caller) -> Caller:
    """The same, known by every name of the agent whose turn leaves its mark around this process."""
    mark = storable(os.environ.get("GATE_TURN", ""))
    turn = store.runs.turn(mark) if mark else None
    if turn is None or caller.agent is None:
        return caller
    # Imported here: most callers work in no turn.
    from gatebell.domain.sessions.joined_sessions import names_of

    names = names_of(turn, store.runs.turns(turn.run))
    return caller._replace(agent=caller.agent._replace(names=names))


def agent_caller(cli: str, session: str, via: str, because: str) -> Caller:
    """The agent that a door of its own belongs to, whatever stands around this process."""
    plain = environment.caller(os.environ, via)
    return plain._replace(agent=Sighting(cli, storable(session), because))


def session_steps(cli: str, log: str) -> list[Step]:
    """What a session's log tells."""
    # Imported here and below: only agents' doors look at logs and repositories.
    from gatebell.adapters.agents import session_logs

    return session_logs.read(cli, log)


def hook_host(call: Call, origin: Origin, log: str, *, of_helper: bool) -> CallHost:
    """The host of a call that a hook asks about; `log` is its session log."""
    from gatebell.adapters.agents.hook_host import HookHost

    return HookHost(call, origin, log, of_helper=of_helper)


def client_host(origin: Origin, asks: list[str], cancelled: Sequence[str]) -> CallHost:
    """The host of a call of an MCP client; `cancelled` says why, once the client gave it up."""
    from gatebell.adapters.agents.client_host import ClientHost

    return ClientHost(origin, asks, cancelled)


def activity() -> Activity:
    """What agents on this machine do."""
    from gatebell.adapters.agents.activity import AgentActivity

    return AgentActivity()


def call(tool: str, given: object, cwd: str) -> Call:
    """A tool call, with what only this machine can tell about it."""
    return activity().tool_call(tool, given, cwd)


def summarise_activity(origin: Origin, log: str = "") -> str:
    """Describe the work of the asking agent, from its session log and the repository."""
    return activity().summary(origin, log)


def origin(caller: Caller, asker: str = "", owner: str = "", folder: str | None = None) -> Origin:
    """Where an ask of this process comes from."""
    if folder is None:
        try:
            folder = os.getcwd()
        except FileNotFoundError:
            folder = ""
    agent = caller.agent
    return Origin(
        project=environment.project(folder),
        cwd=folder,
        agent=asker or environment.asker_name(agent),
        session=f"{agent.cli}/{agent.session}" if agent else "",
        tool_use_id=os.environ.get("CODEX_TOOL_CALL_ID", ""),
        started_by=caller.principal,
        owner=owner,
    )


def in_its_project(origin: Origin) -> Origin:
    """The same for a question: people look for those of a worktree where its project's are."""
    if not os.path.isfile(os.path.join(origin.project, ".git")):
        return origin
    return origin._replace(project=environment.set_up_above(origin.project) or origin.project)


def hosts() -> Hosts:
    """The programs in which people and agents talk."""
    from gatebell.adapters.agents.open_hosts import SessionHosts

    return SessionHosts()


def host(cli: str) -> Host:
    """The program in which a person and an agent talk."""
    return hosts().open(cli)


def session_folder(store_path: str, ask_id: str) -> str:
    from gatebell.services.sessions import visits

    return visits.files_folder(store_path, ask_id)


def agent_environ(told: Mapping[str, str]) -> dict[str, str]:
    """What stands around an agent that a person talks to: no token of theirs, nothing of others."""
    from gatebell.adapters.agents import agent_process

    return agent_process.around(told)
