"""Show gatebell at work: three scripted agents in a throwaway project ask, and you answer.

Answer in the browser, which opens by itself if there is one, or here. Without a terminal, a
scripted person answers over HTTP. It changes nothing outside of a temporary folder.

Example: gate demo
Example: gate demo < /dev/null
"""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager, suppress
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
_STEP_SECONDS = 0.6
_HOW = "Answer in the browser, or press Enter to answer here. Ctrl+C ends the demo."
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
    """A scripted agent: its work, its question, the file for the answer, and a scripted reply."""

    name: str
    works: tuple[str, ...]
    words: tuple[str, ...]
    makes: str
    reply: dict[str, str]
    context: str = ""


AGENTS = (
    Agent(
        "deployer",
        (
            "reads shop/prices.py",
            "changes the tax to that of the customer's country",
            "runs the tests: 12 passed",
        ),
        ("Deploy build 42 to production?", "--kind", "approval"),
        "deployed.txt",
        {"value": "yes", "note": "tests are green"},
        _CHANGE,
    ),
    Agent(
        "architect",
        ("compares two databases for the orders",),
        ("Which database?", "--option", "PostgreSQL", "--option", "SQLite", "--option", "Other…"),
        "database.txt",
        {"value": "SQLite"},
    ),
    Agent(
        "writer",
        ("writes the notes of the release",),
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
        print(add_colour(f"Three agents work in {folder}; each will stop and ask.", "bold"))
        agents: list[tuple[Agent, subprocess.Popen[str]]] = []
        stays = False
        with _run_inbox(path) as link:
            try:
                _show_inbox(link)
                agents += [(agent, _start(agent, folder, path)) for agent in AGENTS]
                _wait_until_asked(store, len(agents))
                if can_prompt():
                    stays = _let_person_answer(store, person, agents, folder)
                else:
                    _answer_by_script(store, link, token)
            finally:
                _end_asks(store, person)
                for agent, process in agents:
                    _go_on(store, agent, process, folder)
            code = _print_summary(store)
            if stays:
                _keep_inbox(path, link)
                _end_asks(store, person)
        return code


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
    """Run a web inbox for the demo; yield its link."""
    process = _start_gate(path, "up", "--port=0")
    try:
        assert process.stdout
        link = process.stdout.readline().removeprefix("Inbox").strip()
        if not link:
            raise UsageError(f"the web inbox did not start; to see why, run: {_find_program()} up")
        yield link
    finally:
        process.terminate()
        process.communicate()


def _show_inbox(link: str) -> None:
    """Open the inbox in a browser, if a person is here and has one."""
    if can_prompt():
        how = "opened" if _open_browser(link) else "open it"
        print(f"\nThe inbox, {how} in your browser:\n  {add_colour(link, 'cyan')}\n")


def _open_browser(link: str) -> bool:
    """Open a page in the browser of the desktop; return whether one was started."""
    has_desktop = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    program = shutil.which("open" if sys.platform == "darwin" else "xdg-open")
    if program is None or not (has_desktop or sys.platform == "darwin"):
        return False
    nowhere = subprocess.DEVNULL
    # A session of its own: Ctrl+C here must not end the browser.
    subprocess.Popen(
        [program, link], stdin=nowhere, stdout=nowhere, stderr=nowhere, start_new_session=True
    )
    return True


def _start(agent: Agent, folder: str, path: str) -> subprocess.Popen[str]:
    for work in (*agent.works, f"asks: {agent.words[0]}"):
        print(f"  {agent.name:10} {work}", flush=True)
        # A person can follow only if it takes a moment.
        time.sleep(_STEP_SECONDS if can_prompt() else 0)
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
) -> bool:
    """Let the person answer in the browser or in the terminal; return whether all is answered."""
    print(f"\n{_HOW}")
    left = {process.stdout: (agent, process) for agent, process in agents if process.stdout}
    try:
        while left:
            ready, _, _ = select.select([sys.stdin, *left], [], [])
            for stream in ready:
                if stream in left:
                    _go_on(store, *left.pop(stream), folder)
                elif not sys.stdin.readline():
                    return False
                elif left:
                    _answer_here(store, person)
                    if store.asks.pending(1):
                        print(f"\n{_HOW}")
    except KeyboardInterrupt:
        print("\nThe demo ends and cancels its open asks; real asks would stay pending.")
        return False
    return True


def _end_asks(store: Store, person: Caller) -> None:
    for ask in store.asks.pending(100):
        create_ask.cancel(store, ask.id, person, "the demo ended")


def _keep_inbox(path: str, link: str) -> None:
    """Keep the inbox of the demo until the person has seen enough."""
    print(f"\nThe inbox of the demo stays at {link.partition('/link/')[0]}. Ask there yourself:")
    gate = _find_program()
    print(f"  export GATE_STORE={path}\n  {gate} ask 'Tea?' --option Yes --option No")
    print("Enter ends the demo.")
    with suppress(KeyboardInterrupt):
        sys.stdin.readline()


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
    if shutil.which("gate") == called:
        return "gate"
    return called if os.access(called, os.X_OK) else f"{sys.executable} -m gatebell"


def _answer_by_script(store: Store, link: str, token: str) -> None:
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
    gate = _find_program()
    print("What next:")
    # Imported here: only the end of the demo needs it.
    from gatebell.cli.setup.install import is_in_cache

    if is_in_cache(sys.argv[0]):
        print(
            "- install it, because this copy is only for the demo:\n  uv tool install gatebell   (or: pipx install gatebell)"
        )
        gate = "gate"
    # The command has its own line, because its path may be long.
    print(f"- Claude Code asks you (or codex, gemini, opencode, copilot):\n  {gate} install claude")
    print(f"- your own inbox, in the browser:\n  {gate} up")
    print(f"- all of this, and your phone:\n  {gate} setup")
    return 1 if faults else 0
