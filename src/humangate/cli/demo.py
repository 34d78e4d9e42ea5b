"""See it work: three scripted agents in a throwaway project stop and ask, you answer.

Without a terminal a scripted person answers. Nothing outside a temporary folder is touched.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING, NamedTuple

from humangate import surroundings, wiring
from humangate.cli.screen import coloured
from humangate.domain.display import age
from humangate.service import asking, auditing, enrolling

if TYPE_CHECKING:
    import argparse

    from humangate.domain.asks import Ask
    from humangate.domain.principals import Caller
    from humangate.doors.store import Store

_PERSON = "demo"


class Agent(NamedTuple):
    """A scripted agent: what it asks, what it makes of the answer, what a script replies."""

    name: str
    words: tuple[str, ...]
    makes: str
    reply: tuple[str, ...]


AGENTS = (
    Agent(
        "deployer",
        ("Deploy build 42 to production?", "--kind", "approval"),
        "deployed.txt",
        ("yes", "--note", "tests are green"),
    ),
    Agent(
        "architect",
        ("Which database?", "--option", "PostgreSQL", "--option", "SQLite", "--option", "Other…"),
        "database.txt",
        ("SQLite",),
    ),
    Agent("writer", ("What should the release be called?",), "release.txt", ("Open Gate",)),
)


def configure(parser: argparse.ArgumentParser) -> None:
    """There is nothing to choose."""


def run(_: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory(prefix="gate-demo-") as folder:
        path = os.path.join(folder, "gate.db")
        store = wiring.open_throwaway_store(path)
        # Not through wiring: a token in the environment belongs to another store.
        token = enrolling.add(store, surroundings.caller(os.environ, "cli"), _PERSON)
        person = wiring.caller(store, "cli", token)
        print(coloured("Three agents work in a throwaway project; each will stop and ask.", "bold"))
        agents = [(agent, _start(agent, folder, path)) for agent in AGENTS]
        try:
            _wait_until_asked(store, len(agents))
            if sys.stdin.isatty() and sys.stdout.isatty():
                _answer_here(store, person, path)
            else:
                _answer_by_script(store, path, token)
        finally:
            for ask in store.asks.pending(100):
                asking.cancel(store, ask.id, person, "the demo ended")
            results = [(agent, *_resume(agent, process, folder)) for agent, process in agents]
        return _summary(store, results)


def _gate(path: str, *words: str, token: str = "") -> subprocess.Popen[str]:
    environ = os.environ | {"GATE_STORE": path, "GATE_TOKEN": token}
    command = [sys.executable, "-m", "humangate", *words]
    # Each agent works in the project, which is the folder of the store.
    return subprocess.Popen(
        command,
        env=environ,
        cwd=os.path.dirname(path),
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def _start(agent: Agent, folder: str, path: str) -> subprocess.Popen[str]:
    print(f"  {agent.name} started in {folder}")
    return _gate(path, "ask", *agent.words, "--from", agent.name)


def _wait_until_asked(store: Store, asks: int) -> None:
    bell = store.bell()
    until = store.monotonic() + 15
    while len(store.asks.pending(asks)) < asks and store.monotonic() < until:
        bell.wait(until - store.monotonic())
    bell.close()


def _answer_here(store: Store, person: Caller, path: str) -> None:
    from humangate.cli.prompts import prompt_for

    print("\nAnswer here. Or in a second terminal:")
    print(f"  {coloured(f'GATE_STORE={path} {_program()} inbox --answer', 'cyan')}")
    try:
        for ask in store.asks.pending(100):
            print()
            current = asking.get(store, ask.id)
            if current.pending:
                prompt_for(store, person, current)
            else:
                print(f"{ask.id} was answered elsewhere, by {current.settled_by}.")
    except KeyboardInterrupt:
        print("The demo ends here.")
    if store.asks.pending(1):
        print("The demo withdraws what you left; in real work it would wait for you.")


def _program() -> str:
    """How to call gate from another terminal, wherever that one stands."""
    called = os.path.abspath(sys.argv[0])
    return called if os.access(called, os.X_OK) else f"{sys.executable} -m humangate"


def _answer_by_script(store: Store, path: str, token: str) -> None:
    print("\nThere is no terminal here, so a scripted person answers.")
    replies = {agent.name: agent.reply for agent in AGENTS}
    for ask in store.asks.pending(100):
        words = replies[ask.origin.agent]
        print(f"  gate {shlex.join(['answer', ask.id, *words, '--as', _PERSON])}")
        _gate(path, "answer", ask.id, *words, "--as", _PERSON, token=token).communicate()


def _resume(agent: Agent, process: subprocess.Popen[str], folder: str) -> tuple[str, int]:
    """The agent goes on with the answer it got; without one it makes nothing."""
    answer, _ = process.communicate(timeout=60)
    if process.returncode == 0:
        with open(os.path.join(folder, agent.makes), "w", encoding="utf-8") as file:
            file.write(answer)
    return answer.strip().replace("\n", "; "), process.returncode


def _summary(store: Store, results: list[tuple[Agent, str, int]]) -> int:
    print(coloured("\nWhat happened", "bold"))
    settled = {ask.origin.agent: ask for ask in store.asks.settled(100)}
    for agent, answer, code in results:
        waited = _waited(settled.get(agent.name))
        went_on = f"went on and wrote {agent.makes}" if code == 0 else f"stopped (exit code {code})"
        print(f"  {agent.name:10} got {answer or 'no answer'!r} after {waited}, {went_on}")
    faults = list(auditing.verify(store))
    print(f"  The audit trail: {store.audit.head().seq} events, {len(faults)} faults")
    print(f"\nNow your own: {_program()} ask 'Shall I?' --kind approval")
    return 1 if faults else 0


def _waited(ask: Ask | None) -> str:
    if ask is None or ask.settled_at is None:
        return "no time"
    return age((ask.settled_at - ask.opened_at).total_seconds())
