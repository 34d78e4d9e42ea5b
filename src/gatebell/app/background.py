"""Hand the answers of background asks to the agents that went on.

An answer goes to the session that asked. If that session has ended, it goes to the next session of
the same program in the same project: then its process is gone, or Claude Code has begun another
session in it.
"""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from gatebell.adapters.files import background_asks
from gatebell.adapters.files.background_asks import Recipient
from gatebell.app import environment, settings
from gatebell.domain.asks.outcomes import MAX_QUOTED_CHARACTERS, quote_answer
from gatebell.domain.enums import AgentCli, ProcessState
from gatebell.domain.people.principals import SIGNS
from gatebell.domain.records import NamedTuple
from gatebell.errors import GateError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from gatebell.adapters.files.background_asks import Lock
    from gatebell.domain.asks.asks import Ask, Origin
    from gatebell.domain.people.principals import Caller
    from gatebell.ports.backends.backend import Backend


class Handover(NamedTuple):
    """The text for the agent, and the function to call once it was passed on.

    No other process hands these answers over until then, or while this object exists.
    """

    text: str
    done: Callable[[], object]


def folder(environ: Mapping[str, str] = os.environ) -> str:
    """Return the folder with a file for each background ask that is not handed over.

    It is beside the data folder, which may have the old name: the hosts' settings name this one.
    """
    return os.path.join(os.path.dirname(settings.data_folder(environ)), "gatebell-background")


def expect(backend: Backend, ask: Ask, origin: Origin, process: int = 0) -> None:
    """Note who gets the answer; `process`: the agent's program, if it is not above this one."""
    cli = origin.session.partition("/")[0]
    pid = process or _find_program(cli)
    identity = environment.identify(pid) if pid else None
    project = environment.project(origin.cwd)
    recipient = Recipient(ask.id, cli, origin.session, project, str(identity or ""))
    # In a sandbox that forbids it, the agent gets its answer by `gate wait`.
    with suppress(OSError):
        background_asks.keep(folder(), backend.name, recipient)


def _find_program(cli: str) -> int:
    names = [name for sign in SIGNS if sign.cli == cli for name in sign.processes]
    above = environment.ancestors()
    found = (one.pid for one in above if one.name in names or one.command in names)
    return next(found, 0)


def collect(backend: Backend, origin: Origin, caller: Caller) -> Handover | None:
    """Return the answers that came for this session; None without any.

    Those that a process waits for, this one included, are left to it.
    """
    texts: list[str] = []
    locks: list[tuple[Ask, Lock]] = []
    for recipient in background_asks.list_all(folder(), backend.name):
        if not _is_for(recipient, origin):
            continue
        held = background_asks.lock(folder(), backend.name, recipient.ask_id)
        if held is None:
            continue
        found = _read(backend, recipient.ask_id)
        if found and len("\n\n".join([*texts, found[1]])) <= MAX_QUOTED_CHARACTERS:
            locks.append((found[0], held))
            texts.append(found[1])
        else:
            held.close()
    if not texts:
        return None

    def done() -> None:
        for ask, held in locks:
            backend.take(ask, caller.actor)
            background_asks.remove(folder(), backend.name, ask.id)
            held.close()

    return Handover("\n\n".join(texts), done)


def _read(backend: Backend, ask_id: str) -> tuple[Ask, str] | None:
    """Return an ask that is over, with the text for its agent; None if there is nothing to say."""
    try:
        ask = backend.get(ask_id)
        if ask.pending:
            return None
        if ask.delivered_at is None:
            ask, value = backend.reveal(ask, "")
            return ask, quote_answer(ask, value)
    except GateError:
        # Without a server the answer waits. An ask that this store does not have has none.
        return None
    background_asks.remove(folder(), backend.name, ask_id)
    return None


def _is_for(recipient: Recipient, origin: Origin) -> bool:
    if recipient.session == origin.session:
        return True
    cli = origin.session.partition("/")[0]
    here = environment.project(origin.cwd)
    if recipient.cli != cli or not recipient.process or recipient.project != here:
        return False
    # Imported here and below: most sessions get only their own answers.
    from gatebell.adapters.system import processes
    from gatebell.domain.runs.identities import parse_identity

    asker = parse_identity(recipient.process)
    if processes.find_state(asker) == ProcessState.GONE:
        return True
    # Codex serves several sessions in one process, Claude Code one after the other. Only the nearest
    # one counts: an agent may start claude in its shell.
    is_here = cli == AgentCli.CLAUDE and _find_program(cli) == asker.pid
    return is_here and processes.identify(asker.pid) == asker


@contextmanager
def waiting(backend: Backend, ask_id: str) -> Iterator[None]:
    """Let this process alone hand over the answer of an ask that it waits for after all."""
    held = background_asks.lock(folder(), backend.name, ask_id, patient=True)
    try:
        yield
    finally:
        if held is not None:
            held.close()


@contextmanager
def watching(session: str) -> Iterator[bool]:
    """Tell whether this process alone watches for the answers of a session, during the block."""
    held = background_asks.watch(f"{folder()}-watches", session)
    try:
        yield held is not None
    finally:
        if held is not None:
            held.close()


def list_own(backend: Backend, origin: Origin) -> list[str]:
    """Return the ids of the background asks whose answers come to this session."""
    every = background_asks.list_all(folder(), backend.name)
    return [one.ask_id for one in every if _is_for(one, origin)]
