"""Layers at run time: they call downwards, and only faces print."""

from __future__ import annotations

import ast
import asyncio
import json
import logging
import os
import re
import signal
import threading
from argparse import Namespace
from contextlib import closing, contextmanager
from pathlib import Path
from queue import SimpleQueue

import pytest
from tests.support.people import a_person
from tests.support.sessions import desk
from tests.support.upward_calls import upward_calls

import gatebell
from gatebell import AsyncGate
from gatebell.adapters.engines.local import LocalEngine
from gatebell.app import runtime, settings, wiring
from gatebell.app.local_backend import LocalBackend
from gatebell.cli.asks.output_answer import NOT_ANSWERED_YET, Handing, wait_and_hand_over
from gatebell.cli.log_lines import show_log_lines
from gatebell.cli.setup import audit as audit_command
from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.asks import Origin
from gatebell.domain.notifications.routes import Route
from gatebell.domain.sessions.visits import Terms
from gatebell.hooks.events import Hook, permission_request
from gatebell.mcp.server import Progress
from gatebell.mcp.tools import Tools
from gatebell.services.asks import answer_ask, create_ask
from gatebell.services.notifications import send_notices
from gatebell.services.runs import agent_call
from gatebell.services.sessions import ask_session, run_session
from gatebell.testing import MemoryStore
from gatebell.web.live import Hub

__all__ = ["desk"]

SOURCE = Path(gatebell.__file__).parent
QUIET = ("domain", "ports", "services", "adapters", "app", "api", "install", "testing")
# These programs use a terminal, or print for their parent process.
TALKING = SOURCE / "adapters" / "dialogs"
PAGE = SOURCE / "services/runs/agent_call/README.md"
STREAMS = ("sys.stdout", "sys.stderr", "sys.__stdout__", "sys.__stderr__")
NEEDS = {"status": "NEEDS_HUMAN", "question": "Which way?"}
DONE = {"status": "DONE", "summary": "to the left"}
MOST_FILES = 25


def find_prints(code):
    """Return the lines that print or use the streams of this process."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Name) and node.id == "print":
            yield node.lineno
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "input":
            yield node.lineno
        if isinstance(node, ast.Attribute) and ast.unparse(node) in STREAMS:
            yield node.lineno
        if isinstance(node, ast.ImportFrom) and node.module == "sys":
            yield from (node.lineno for one in node.names if f"sys.{one.name}" in STREAMS)


@pytest.mark.proves("LAYER-2")
def test_inner_layers_print_nothing(uncounted):
    files = [path for name in QUIET for path in (SOURCE / name).rglob("*.py")]
    assert len(files) > 100
    found = [
        f"{path.relative_to(SOURCE)}:{line}"
        for path in files
        if TALKING not in path.parents
        for line in find_prints(path.read_text(encoding="utf-8"))
    ]
    assert found == []


@pytest.mark.proves("LAYER-2")
@pytest.mark.parametrize(
    "code",
    [
        "print('x')",
        "import sys\nsys.stdout.write('x')",
        "def say(file=sys.stderr): ...",
        "from sys import stderr",
        "list(map(print, 'x'))",
        "input('x')",
    ],
)
def test_planted_print_is_found(code):
    assert list(find_prints(code))


def find_bare_functions(code):
    """Return the lines on which a public name of a service takes an unnamed function."""
    for node in ast.walk(ast.parse(code)):
        taken = []
        if isinstance(node, ast.FunctionDef) and (
            not node.name.startswith("_") or node.name == "__init__"
        ):
            given = node.args
            taken = [*given.posonlyargs, *given.args, *given.kwonlyargs]
        if isinstance(node, ast.ClassDef):
            taken = [one for one in node.body if isinstance(one, ast.AnnAssign)]
        for one in taken:
            if one.annotation and "Callable" in ast.unparse(one.annotation):
                yield one.lineno


@pytest.mark.proves("LAYER-8")
def test_no_folder_is_crowded():
    crowded = {
        str(folder.relative_to(SOURCE)): count
        for folder in (SOURCE, *SOURCE.rglob("*"))
        if (count := sum(1 for _ in folder.glob("*.py"))) > MOST_FILES
    }
    assert not crowded, "group these by noun in folders of their own"
    deep = [str(one) for one in SOURCE.rglob("*.py") if len(one.relative_to(SOURCE).parts) > 4]
    assert not deep


@pytest.mark.proves("LAYER-7")
def test_services_take_no_bare_functions():
    files = list((SOURCE / "services").rglob("*.py"))
    assert len(files) > 40
    found = [
        f"{path.relative_to(SOURCE)}:{line}"
        for path in files
        for line in find_bare_functions(path.read_text(encoding="utf-8"))
    ]
    assert found == []


@pytest.mark.proves("LAYER-7")
@pytest.mark.parametrize(
    "code",
    [
        "def wait(store, visited: Callable[[Ask], None] | None = None): ...",
        "def verify(store, *, progress: Callable[[int], None]): ...",
        "class Sender:\n    def __init__(self, renewed: collections.abc.Callable[[], Post]): ...",
        "class Request(NamedTuple):\n    works: Sequence[Callable[[], Any]] = ()",
    ],
)
def test_planted_bare_function_is_found(code):
    assert list(find_bare_functions(code))


@pytest.mark.proves("LAYER-2")
def test_worker_shows_log_lines(capsys):
    logger = logging.getLogger("gatebell")
    before, propagates = list(logger.handlers), logger.propagate
    try:
        show_log_lines()
        logging.getLogger("gatebell.tasks").warning("no task is taken up: %s", "x")
    finally:
        logger.handlers[:], logger.propagate = before, propagates
    assert capsys.readouterr().err == "gate: no task is taken up: x\n"


@pytest.mark.proves("LAYER-1")
def test_run_calls_no_higher_layer(desk):
    """Drive a run by a worker from its first turn through an answer to its end."""
    reports = SimpleQueue()
    worker = LocalEngine(runtime.build_drives(desk.store, desk.driver, 1, reports=reports))
    with upward_calls() as found:
        run = desk.run(NEEDS, DONE)
        (ask,) = desk.store.asks.pending_of_run(run.id)
        answer_ask.answer(desk.store, ask.id, desk.caller(), Given("left"))
        worker._drives.look()
        worker._drives._drive(desk.store.runs.get(run.id))
    assert [reports.get_nowait().run.state for _ in range(2)] == ["running", "completed"]
    assert sorted(found) == []


@pytest.mark.proves("LAYER-1")
def test_visit_calls_no_higher_layer(desk):
    run = desk.run(NEEDS, DONE)
    (ask,) = desk.store.asks.pending_of_run(run.id)
    with upward_calls() as found:
        needs, who = runtime.build_dependencies(desk.store), desk.caller()
        visit = run_session.open_visit(desk.store, needs, ask.id, who)
        run_session.leave(desk.store, visit, who, wiring.hosts())
    assert sorted(found) == []


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Return the path of a store, in a process that no agent started."""
    path = str(tmp_path / "gate.db")
    for name in ("GATE_TURN", "CLAUDE_PROJECT_DIR", "CLAUDE_CODE_SESSION_ID", "AI_AGENT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GATE_STORE", path)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    before = signal.getsignal(signal.SIGTERM)
    yield path
    signal.signal(signal.SIGTERM, before)


def answer_first_ask(path, words, heard):
    if heard:
        heard.get(timeout=20)
    store = wiring.open_store(path)
    bell = store.bell()
    while not (pending := store.asks.pending(1)):
        bell.wait(20)
    bell.close()
    answer_ask.answer(store, pending[0].id, a_person(), Given(words))
    store.close()


@contextmanager
def answering(path, words, heard=None):
    """Answer the first ask from another thread, once an event arrived."""
    thread = threading.Thread(target=answer_first_ask, args=(path, words, heard), daemon=True)
    thread.start()
    yield
    thread.join(20)
    assert not thread.is_alive()


@pytest.mark.proves("LAYER-1")
def test_hook_calls_no_higher_layer(machine, tmp_path):
    log = tmp_path / "session.jsonl"
    block = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "git push"}}
    log.write_text(json.dumps({"type": "assistant", "message": {"content": [block]}}) + "\n")
    event = {
        "session_id": "s1", "transcript_path": str(log), "cwd": str(tmp_path), "tool_name": "Bash",
        "tool_input": {"command": "git push"},
    }  # fmt: skip
    with upward_calls() as found, answering(machine, "yes"):
        reply = permission_request(Hook("claude", event, 60.0, False))
        reply.handed_over()
    assert reply.json["hookSpecificOutput"]["decision"] == {"behavior": "allow"}
    assert sorted(found) == []


@pytest.mark.proves("LAYER-1")
@pytest.mark.parametrize(
    ("tool", "given", "words"),
    [
        ("ask_human", {"question": "Which way?"}, "left"),
        ("approve", {"tool_name": "Bash", "input": {"command": "git push"}}, "yes"),
    ],
)
def test_agents_tool_calls_no_higher_layer(machine, monkeypatch, tool, given, words):
    monkeypatch.setattr("gatebell.mcp.heartbeat._EVERY_SECONDS", 0.001)
    tools, heard = Tools(60.0), SimpleQueue()
    with upward_calls() as found, answering(machine, words, heard):
        work = tools.begin(1, tool, {}, Progress(7, heard.put))
        text, handed_over = tools.call(work, tool, given)
        handed_over()
    assert text in ("left", '{"behavior": "allow", "updatedInput": {"command": "git push"}}')
    assert sorted(found) == []


@pytest.mark.proves("LAYER-1")
def test_notification_calls_no_higher_layer(machine, tmp_path):
    store, heard = wiring.open_store(), tmp_path / "heard"
    with upward_calls() as found:
        (tried,) = send_notices.send_test(
            store, wiring.post(store), [Route("command", f"cat > {heard}")]
        )
    store.close()
    assert (tried.problem, heard.exists()) == ("", True)
    assert sorted(found) == []


@pytest.mark.proves("LAYER-1")
def test_renewed_settings_call_no_higher_layer(machine):
    store = wiring.open_store()
    sender = send_notices.Sender(store, wiring.post(store), wiring.post_source(store, ""))
    settings_file = Path(settings.settings_file(os.environ))
    settings_file.parent.mkdir(parents=True)
    settings_file.write_text('notify_cmd = "true"')
    with upward_calls() as found:
        sender.drain(0)
    store.close()
    assert [route.target for route in sender._post.routes] == ["true"]
    assert sorted(found) == []


@pytest.mark.proves("LAYER-1")
def test_audit_calls_no_higher_layer(machine, capsys):
    with closing(wiring.open_store()) as store:
        create_ask.ask(store, create_ask.Request("Why?"), Origin(), a_person())
    with upward_calls() as found:
        assert audit_command.run(Namespace(verb="verify", head=None, json=False)) == 0
    assert "1 events" in capsys.readouterr().out
    assert sorted(found) == []


@pytest.mark.proves("LAYER-1")
def test_wait_for_visit_calls_no_higher_layer(machine, capsys):
    store, ada = MemoryStore(), a_person()
    request = create_ask.Request("Talk?", "session", session=Terms())
    ask = create_ask.ask(store, request, Origin(), ada).ask
    ask_session.open_visit(store, ask.id, ada, "claude", "s1")
    with upward_calls() as found:
        code = wait_and_hand_over(LocalBackend(store), ada, ask.id, Handing(), 9)
    # The fakes replace adapters here.
    upward = [one for one in found if "-> gatebell.testing." not in one]
    assert (code, upward) == (NOT_ANSWERED_YET, [])


@pytest.mark.proves("LAYER-1")
def test_followers_of_store_are_called_by_no_service(machine):
    store, gate = wiring.open_throwaway_store(machine), AsyncGate(machine)
    hub = Hub(store)

    async def follow():
        hub.start()
        with hub.stream() as told:
            ask_id = await gate.open("Why?")
            waiting = asyncio.create_task(gate.wait(ask_id))
            heard = json.loads((await told.get()).data)
            answer_ask.answer(store, ask_id, a_person(), Given("so"))
            return heard["subject"] == ask_id, (await waiting).value

    async def follow_both():
        try:
            return await asyncio.wait_for(follow(), 20)
        finally:
            await gate.close()
            await asyncio.to_thread(hub.stop)

    with upward_calls() as found:
        assert asyncio.run(follow_both()) == (True, "so")
    store.close()
    assert sorted(found) == []


@pytest.mark.proves("LAYER-1")
def test_clock_calls_no_higher_layer(tmp_path):
    store = wiring.open_store(str(tmp_path / "gate.db"))
    with upward_calls() as found:
        assert store.now() and store.monotonic()
        with store.transaction():
            pass
    store.close()
    assert sorted(found) == []


@pytest.mark.proves("LAYER-1")
def test_planted_call_upwards_is_found():
    code = "def call(wiring):\n    return wiring.hosts()"
    planted = {"__name__": "gatebell.ports.planted"}
    exec(compile(code, "planted", "exec"), planted)
    with upward_calls() as found:
        planted["call"](wiring)
    assert found == {"gatebell.ports.planted -> gatebell.app.wiring.hosts"}


@pytest.mark.proves("LAYER-3")
def test_page_on_turns_names_existing_functions():
    """The page must not name a module, function or file that does not exist."""
    page, folder = PAGE.read_text(encoding="utf-8"), PAGE.parent
    code = "\n".join(path.read_text(encoding="utf-8") for path in folder.glob("*.py"))
    listed = set(re.findall(r"^\| `(\w+\.py)` \|", page, re.MULTILINE))
    assert listed == {path.name for path in folder.glob("*.py")} - {"__init__.py"}
    for path in re.findall(r"`((?:domain|ports|services)/[\w/]+\.py)`", page):
        assert (SOURCE / path).is_file(), path
    functions = "call_agent send_first send_next take_answer ask permit withdraw SessionGoneError"
    for name in functions.split():
        assert re.search(rf"\b{name}\b", page), name
        assert re.search(rf"(?:def|class) {name}\b", code), name
    assert "README.md" in agent_call.__doc__


@pytest.mark.proves("RUN-481")
def test_store_in_memory_keeps_no_log():
    needs = runtime.build_dependencies(MemoryStore())
    needs.log.write(None, "1", "coder", "hello")
