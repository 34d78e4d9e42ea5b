"""What layers do at run time: they call downwards, and only faces print."""

from __future__ import annotations

import ast
import json
import logging
import re
import signal
import threading
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue

import pytest
from tests.support.people import a_person
from tests.support.sessions import desk
from tests.support.upward_calls import upward_calls

import gatebell
from gatebell.app import runtime, wiring
from gatebell.cli.log_lines import show_log_lines
from gatebell.domain.asks.answers import Given
from gatebell.domain.notifications.routes import Road
from gatebell.hooks.events import Hook, permission_request
from gatebell.mcp.server import Progress
from gatebell.mcp.tools import Tools
from gatebell.services.asks import answer_ask
from gatebell.services.notifications import send_notices
from gatebell.services.sessions import run_session
from gatebell.testing import MemoryStore

__all__ = ["desk"]

SOURCE = Path(gatebell.__file__).parent
QUIET = ("domain", "ports", "services", "adapters", "app")
# These programs talk with a person in a terminal, or print what their parent process reads.
TALKING = SOURCE / "adapters" / "dialogs"
PAGE = SOURCE / "services/runs/agent_call/README.md"
STREAMS = ("sys.stdout", "sys.stderr", "sys.__stdout__", "sys.__stderr__")
NEEDS = {"status": "NEEDS_HUMAN", "question": "Which way?"}
DONE = {"status": "DONE", "summary": "to the left"}


def find_prints(code):
    """The lines that print, or touch the streams of this process."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Name) and node.id == "print":
            yield node.lineno
        if isinstance(node, ast.Attribute) and ast.unparse(node) in STREAMS:
            yield node.lineno
        if isinstance(node, ast.ImportFrom) and node.module == "sys":
            yield from (node.lineno for one in node.names if f"sys.{one.name}" in STREAMS)


@pytest.mark.proves("LAYER-2")
def test_inner_layers_print_nothing():
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
    ],
)
def test_planted_print_is_found(code):
    assert list(find_prints(code))


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
    """From its first turn over the question and the answer to its end, by a worker."""
    reports = SimpleQueue()
    worker = runtime.build_worker(desk.store, desk.driver, 1, reports=reports)
    with upward_calls() as found:
        run = desk.run(NEEDS, DONE)
        (ask,) = desk.store.asks.pending_of_run(run.id)
        answer_ask.answer(desk.store, ask.id, desk.caller(), Given("left"))
        worker._look()
        worker._drive(desk.store.runs.get(run.id))
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
    """The path of a store, in a process that no agent has started."""
    path = str(tmp_path / "gate.db")
    for name in ("GATE_TURN", "CLAUDE_PROJECT_DIR", "CLAUDE_CODE_SESSION_ID", "AI_AGENT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GATE_STORE", path)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
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
    """A person on another thread, who answers the first ask, once something was heard."""
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
            store, wiring.post(store), [Road("command", f"cat > {heard}")]
        )
    store.close()
    assert (tried.trouble, heard.exists()) == ("", True)
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
def test_page_on_turns_names_what_exists():
    """Modules, functions and files of the page that are no longer there fail here."""
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
    assert "README.md" in gatebell.services.runs.agent_call.__doc__


@pytest.mark.proves("RUN-481")
def test_store_in_memory_keeps_no_log():
    needs = runtime.build_dependencies(MemoryStore())
    needs.log.write(None, "1", "coder", "hello")
