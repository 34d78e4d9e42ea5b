"""Show gatebell at work: three scripted agents in a throwaway project ask, and you answer.

Answer in the browser or here. Without a terminal, a scripted person answers over HTTP.
It changes nothing outside of a temporary folder.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from gatebell.app import environment, wiring
from gatebell.cli.screen import add_colour, can_prompt
from gatebell.domain.people.logins import SCOPES
from gatebell.domain.text.display import age
from gatebell.errors import UsageError
from gatebell.services import audit
from gatebell.services.asks import create_ask
from gatebell.services.people import manage_people

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from gatebell.domain.people.principals import Caller
    from gatebell.ports.store import Store

_PERSON = "demo"
_CHANGE = """The change to be deployed, all tests green:

```diff
--- a/shop/prices.py
+++ b/shop/prices.py
@@ -8,5 +8,5 @@ def total(basket):
     net = sum(item.price for item in basket)
-    tax = net * 0.19
+    tax = net * rate_of(basket.country)
     return net + tax
```
"""


class Agent(NamedTuple):
    """A scripted agent: its question, the file for the answer, and a scripted reply."""

    name: str
    words: tuple[str, ...]
    makes: str
    reply: dict[str, str]
    context: str = ""


AGENTS = (
    Agent(
        "deployer",
        ("Deploy build 42 to production?", "--kind", "approval"),
        "deployed.txt",
        {"value": "yes", "note": "tests are green"},
        _CHANGE,
    ),
    Agent(
        "architect",
        ("Which database?", "--option", "PostgreSQL", "--option", "SQLite", "--option", "Other…"),
        "database.txt",
        {"value": "SQLite"},
    ),
    Agent(
        "writer",
        ("What should the release be called?",),
        "release.txt",
        {"value": "Open Gate"},
    ),
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add no options."""


def run(_: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory(prefix="gate-demo-") as folder:
        path = os.path.join(folder, "gate.db")
        store = wiring.open_throwaway_store(path)
        # Not through wiring: a token in the environment belongs to another store.
        me = environment.caller(os.environ, "cli")
        token = manage_people.add(store, me, _PERSON, SCOPES)
        person = wiring.caller(store, "cli", token)
        print(
            add_colour("Three agents work in a throwaway project; each will stop and ask.", "bold")
        )
        agents = [(agent, _start(agent, folder, path)) for agent in AGENTS]
        with _run_inbox(path) as link:
            try:
                _wait_until_asked(store, len(agents))
                if can_prompt():
                    _let_person_answer(store, person, agents, folder, link)
                else:
                    _answer_by_script(store, link, token)
            finally:
                for ask in store.asks.pending(100):
                    create_ask.cancel(store, ask.id, person, "the demo ended")
                for agent, process in agents:
                    _go_on(store, agent, process, folder)
        return _print_summary(store)


def _start_gate(path: str, *words: str) -> subprocess.Popen[str]:
    environ = os.environ | {"GATE_STORE": path, "GATE_TOKEN": ""}
    command = [sys.executable, "-m", "gatebell", *words]
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


@contextmanager
def _run_inbox(path: str) -> Iterator[str]:
    """Run a web inbox for the demo; yield its link, or '' if it cannot run."""
    process = _start_gate(path, "up", "--port=0")
    try:
        assert process.stdout
        yield process.stdout.readline().removeprefix("Inbox").strip()
    finally:
        process.terminate()
        process.communicate()


def _start(agent: Agent, folder: str, path: str) -> subprocess.Popen[str]:
    print(f"  {agent.name} started in {folder}")
    context = os.path.join(folder, f"{agent.name}.md")
    with open(context, "w", encoding="utf-8") as file:
        file.write(agent.context)
    shown = ("--context", context) if agent.context else ()
    return _start_gate(path, "ask", *agent.words, *shown, "--from", agent.name)


def _wait_until_asked(store: Store, asks: int) -> None:
    bell = store.bell()
    until = store.monotonic() + 15
    while len(store.asks.pending(asks)) < asks and store.monotonic() < until:
        bell.wait(until - store.monotonic())
    bell.close()


def _let_person_answer(
    store: Store,
    person: Caller,
    agents: list[tuple[Agent, subprocess.Popen[str]]],
    folder: str,
    link: str,
) -> None:
    """Let the person answer in the browser, or press Enter and answer in the terminal."""
    if link:
        print(f"\nThe inbox in your browser:\n  {add_colour(link, 'cyan')}")
        print("Answer there, or press Enter to answer here. Ctrl+C ends the demo.")
    else:
        print("\nThe web inbox needs more packages (pip install 'gatebell[web]'). Answer here.")
        _answer_here(store, person)
    left = {process.stdout: (agent, process) for agent, process in agents if process.stdout}
    try:
        while left:
            ready, _, _ = select.select([sys.stdin, *left], [], [])
            for stream in ready:
                if stream in left:
                    _go_on(store, *left.pop(stream), folder)
                elif not sys.stdin.readline():
                    return
                elif left:
                    _answer_here(store, person)
    except KeyboardInterrupt:
        print("\nThe demo ends and cancels its open asks; real asks would stay pending.")


def _answer_here(store: Store, person: Caller) -> None:
    from gatebell.cli.asks.prompts import prompt_for

    for ask in store.asks.pending(100):
        print()
        current = create_ask.get(store, ask.id)
        if current.pending:
            prompt_for(wiring.local_backend(store), person, current)
        else:
            print(f"{ask.id} was answered elsewhere, by {current.settled_by}.")


def _find_program() -> str:
    """Return the command that starts gate from any folder."""
    called = os.path.abspath(sys.argv[0])
    return called if os.access(called, os.X_OK) else f"{sys.executable} -m gatebell"


def _answer_by_script(store: Store, link: str, token: str) -> None:
    if not link:
        raise UsageError(f"the web inbox did not start; to see why, run: {_find_program()} up")
    url = link.partition("/link/")[0]
    print(f"\nWithout a terminal, a scripted person answers through the API at {url}.")
    replies = {agent.name: agent.reply for agent in AGENTS}
    for ask in store.asks.pending(100):
        reply = replies[ask.origin.agent]
        print(f"  POST /api/asks/{ask.id}/answers {json.dumps(reply)}")
        _post(f"{url}/api/asks/{ask.id}/answers", token, reply | {"digest": ask.digest})


def _post(url: str, token: str, body: Any) -> None:
    # Imported here: only the scripted person uses HTTP.
    from urllib.request import ProxyHandler, Request, build_opener

    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    request = Request(url, json.dumps(body).encode(), headers)  # noqa: S310 - our own inbox
    # The inbox is on this machine, so no proxy is used.
    build_opener(ProxyHandler({})).open(request, timeout=30).close()


def _go_on(store: Store, agent: Agent, process: subprocess.Popen[str], folder: str) -> None:
    """Let the agent use its answer; without an answer it writes nothing."""
    if process.stdout is None or process.stdout.closed:
        return
    answer = process.communicate(timeout=60)[0].strip().replace("\n", "; ")
    if process.returncode == 0:
        with open(os.path.join(folder, agent.makes), "w", encoding="utf-8") as file:
            file.write(answer)
        went_on = f"went on and wrote {agent.makes}"
    else:
        went_on = f"stopped (exit code {process.returncode})"
    print(
        f"  {agent.name:10} got {answer or 'no answer'!r} {_describe_wait(store, agent)}, {went_on}"
    )


def _describe_wait(store: Store, agent: Agent) -> str:
    for ask in store.asks.list_settled(100):
        if ask.origin.agent == agent.name and ask.settled_at:
            return f"after {age((ask.settled_at - ask.opened_at).total_seconds())}"
    return "at once"


def _print_summary(store: Store) -> int:
    faults = list(audit.verify(store))
    print(f"\nThe audit trail: {store.audit.head().seq} events, {len(faults)} faults")
    print(
        f"Try it yourself: {_find_program()} up, and {_find_program()} ask 'Deploy?' --kind approval"
    )
    return 1 if faults else 0
