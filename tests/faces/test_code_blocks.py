"""The code blocks of README and docs work as described; the others say why no test runs them."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import tomllib
from datetime import UTC, datetime
from pathlib import Path

import pytest
from standardwebhooks.webhooks import Webhook
from tests.support.answering_person import AnsweringPerson
from tests.support.block_players import is_played, plays, run_python
from tests.support.block_shell import ASKING_AGENT
from tests.support.code_blocks import ROOT, read_blocks, split_gate_commands
from tests.support.programs import find_program
from tests.support.script_project import SCRIPT
from tests.support.waiting import eventually

from gatebell.app import settings
from gatebell.cli.main import parse_words
from gatebell.domain.asks import file_questions, owners
from gatebell.domain.runs.roles import parse_role
from gatebell.errors import UsageError
from gatebell.install.hold_test import adapter_file
from gatebell.install.hosts.claude import guard_hook

# Pages whose Python blocks all run in a test of the page's subject.
ELSEWHERE = {
    "docs/sessions.md": "tests/faces/test_session_examples.py",
    "docs/phases.md": "tests/service/test_phase_workflows.py",
}
# These open a screen; tests/journeys/test_tui_terminal.py and test_sessions_terminal.py do that.
_SCREENS = ("gate tui", "gate continue")
GUIDES = "docs/guides/"  # tests/faces/test_guides.py runs them.


def read_settings(block, tmp_path):
    """Write a block as the settings file; return the variables that select it."""
    folder = tmp_path / "gatebell"
    folder.mkdir(exist_ok=True)
    (folder / "config.toml").write_text(block.text, encoding="utf-8")
    return {"XDG_CONFIG_HOME": str(tmp_path), "HOME": str(tmp_path)}


@pytest.fixture
def backlog_shell(shell):
    shell.write_project({"code": ASKING_AGENT})
    return shell


@pytest.mark.proves("DOC-1")
@plays("docs/index.md", "from gatebell import Gate\n")
def test_index_python_asks_a_person(blocks, inbox, monkeypatch, capsys):
    with AnsweringPerson(inbox, {"Deploy": "yes", "Which": "Blue"}):
        names = run_python(blocks[0], monkeypatch)
    assert capsys.readouterr().out == "deploying\n" and names["colour"] == "Blue"


@pytest.mark.proves("DOC-1")
@plays("docs/python.md", "from gatebell import Gate\n\ngate = Gate()", "import asyncio\n")
def test_python_page_asks_a_person(blocks, inbox, monkeypatch, capsys):
    values = {"Deploy?": "no", "Which?": "Blue", "What": "Ada", "Who?": {"name": "Ada"}}
    with AnsweringPerson(inbox, values):
        run_python(blocks[0], monkeypatch)
    assert capsys.readouterr().out.startswith("answered ")
    with AnsweringPerson(inbox, {"Go?": "yes", "Which?": "A"}):
        run_python(blocks[1], monkeypatch)


@pytest.mark.proves("DOC-1", "PY-9")
@plays(
    "docs/python.md",
    "from gatebell import Gate\nfrom gatebell.errors",
    "from dataclasses import dataclass\n",
)
def test_python_page_gets_an_error_and_a_type(blocks, inbox, monkeypatch, capsys):
    assert run_python(blocks[0], monkeypatch)["name"] == "untitled"
    with AnsweringPerson(inbox, {"Who": {"name": "Ada", "on_call": True}}):
        run_python(blocks[1], monkeypatch)
    assert capsys.readouterr().out == "Ada True\n"


@pytest.mark.proves("DOC-1")
@plays(
    "docs/python.md",
    "from gatebell import Gate\nfrom gatebell.testing",
    "from gatebell import flow\nfrom gatebell.testing",
)
def test_fakes_of_the_python_page_need_no_person(blocks, monkeypatch):
    run_python(blocks[0], monkeypatch)
    run_python(blocks[1], monkeypatch)["test_release_asks_before_it_deploys"]()


@pytest.mark.proves("DOC-1")
@plays("docs/architecture.md", "from gatebell.domain")
def test_services_work_without_a_face(blocks, monkeypatch, capsys):
    run_python(blocks[0], monkeypatch)
    assert capsys.readouterr().out == "approved\n"


@pytest.mark.proves("DOC-1")
@plays("docs/backlog.md", "from gatebell import Gate\n")
def test_task_is_worked_on_by_hand(blocks, inbox, monkeypatch):
    with AnsweringPerson(inbox, {"Which": "eu-1"}):
        names = run_python(blocks[0], monkeypatch)
    task = names["gate"].tasks.get(names["task"].id)
    assert (task.state, task.status) == ("closed", "done in eu-1")


@pytest.mark.proves("DOC-1")
@plays("docs/notifications.md", "[[notify]]", '{"type": "ask.opened"', "from standardwebhooks")
def test_webhook_is_verified_as_the_page_says(blocks, tmp_path, monkeypatch):
    setting, event, check = blocks
    (route,) = settings.routes(read_settings(setting, tmp_path))
    assert route.name.startswith("webhook https://hooks.example.org")
    now = datetime.now(UTC)
    signature = Webhook(route.secret).sign("msg_1", now, event.text)
    headers = {
        "webhook-id": "msg_1",
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": signature,
    }
    names = run_python(check, monkeypatch, body=event.text, headers=headers)
    assert names["event"] == json.loads(event.text)


@pytest.mark.proves("DOC-1")
@plays("docs/notifications.md", "url = ")
def test_notification_settings_are_read(blocks, tmp_path):
    environ = read_settings(blocks[0], tmp_path)
    assert settings.inbox_url(environ) == "https://gate.example.org"
    assert [route.person for route in settings.routes(environ)] == ["", "ada"]


@pytest.mark.proves("DOC-1")
@plays("docs/roles.md", "---\ndescription", "[models.claude]", "---\ncli: acp")
def test_role_and_models_of_the_page_are_read(blocks, tmp_path):
    role = parse_role("reviewer", blocks[0].text, "reviewer.md")
    assert (role.model, role.limit_seconds, role.tools) == ("opus", 1800, ("Read", "Grep", "Bash"))
    found = settings.models(read_settings(blocks[1], tmp_path))
    assert found["codex"]["heavy"] == tomllib.loads(blocks[1].text)["models"]["codex"]["heavy"]
    other = parse_role("coder", blocks[2].text, "coder.md")
    assert (other.cli, other.command) == ("acp", ("claude-agent-acp",))


@pytest.mark.proves("DOC-1")
@plays(
    "docs/files.md",
    '{\n  "id": "0f8fad5b-d9cb-469f-a165-70867728950e",\n  "agent_id": "agent_12345",\n  "agent_name"',
    '{\n  "id": "0f8fad5b-d9cb-469f-a165-70867728950e",\n  "agent_id": "agent_12345",\n  "timestamp"',
)
def test_question_and_answer_files_are_of_the_format(blocks):
    given, answer = (json.loads(block.text) for block in blocks)
    name = file_questions.parse_name("q_{agent_id}_{timestamp}_{id}.json".format(**given))
    question = file_questions.parse_question(name, blocks[0].text.encode())
    assert (
        question.options == ("Express", "Fastify", "Koa") and answer["content"] in question.options
    )
    written = file_questions._build_file(name, datetime.now(UTC), "", "", "", "")
    assert list(json.loads(written)) == list(answer)


@pytest.mark.proves("DOC-1")
@plays("docs/agents.md", "{\n")
def test_hook_that_defers_is_the_guarded_one(blocks):
    (group,) = json.loads(blocks[0].text)["hooks"]["PreToolUse"]
    assert group["hooks"][0]["command"] == guard_hook("gate hook claude --defer")


@pytest.mark.proves("DOC-1")
@plays("docs/index.md", "$ gate ask")
def test_index_asks_wait_in_a_shell(blocks, shell):
    (shell.folder / "deploy.sh").write_text("#!/bin/sh\necho deploying to $1\n")
    (shell.folder / "deploy.sh").chmod(0o755)
    values = {"Deploy": "yes", "Which": "SQLite", "What": "hunter2"}
    with AnsweringPerson(shell.world.path, values):
        deploy, choose, secret = map(shell.type, blocks[0].commands)
    assert deploy.endswith("deploying to staging\n") and choose == "SQLite\n"
    assert "hunter2" not in secret and (shell.folder / ".token").read_text().strip() == "hunter2"


@pytest.mark.proves("DOC-1")
@plays("docs/index.md", "$ gate  ")
def test_index_answers_from_another_terminal(blocks, shell):
    look, answer, back, history = blocks[0].commands
    first, second = shell.world.ask("Deploy?", "--kind", "approval"), shell.world.ask("Which?")
    assert first in shell.type(look)
    shell.type(answer.replace("a-7k2", first))
    shell.type(back.replace("a-7k2", second))
    assert first in shell.type(history)
    assert shell.world.get(first).decision == "approved" and shell.world.get(second).pending


def play_talk(shell, block):
    """Type the commands of a block. a-7k2 is its first ask. Compare the output that it shows."""
    ask_id = ""
    for command, shown in block.exchanges:
        said = shell.type(command.replace("a-7k2", ask_id or "a-7k2"))
        if not ask_id and (found := re.search(r"\ba-\w+", said)):
            ask_id = found[0]
        if shown:
            assert said.replace(ask_id, "a-7k2").splitlines() == shown


@pytest.mark.proves("DOC-1")
@plays("docs/asks.md", "$ gate ask")
def test_choice_is_answered_and_taken(blocks, shell):
    play_talk(shell, blocks[0])


@pytest.mark.proves("DOC-1", "ATT-9")
@plays("docs/asks.md", "$ echo")
def test_files_are_attached_and_saved(blocks, shell):
    play_talk(shell, blocks[0])


@pytest.mark.proves("DOC-1", "CLI-3")
@plays("docs/json.md", "$ gate ask")
def test_answer_is_read_from_json(blocks, shell):
    play_talk(shell, blocks[0])


@pytest.mark.proves("DOC-1", "SETUP-4")
@plays("docs/phone.md", "$ gate setup")
def test_setup_of_a_script_prints_a_summary(blocks, shell):
    ((command, shown),) = blocks[0].exchanges
    assert shell.type(command).splitlines() == shown


@pytest.mark.proves("DOC-1")
@plays("docs/http.md", "$ gate up")
def test_program_asks_over_http(blocks, shell):
    find_program("curl", "the example of docs/http.md")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    script = "\n".join(blocks[0].commands).replace("4283", port)
    try:
        said = shell.type(script.replace("--detach", f"--detach --port {port}"))
    finally:
        shell.type("gate down || true")
    asked = json.loads(re.search(r'^{"ask".*}', said, re.MULTILINE)[0])
    assert shell.pending().id == asked["ask"]["id"]


@pytest.mark.proves("DOC-1", "SRV-1")
@plays("docs/operating.md", "$ gate person", "$ gate serve --port 4284 >")
def test_server_is_started_probed_and_ended(blocks, shell):
    find_program("curl", "the example of docs/operating.md")
    people, serve = ("\n".join(block.commands) for block in blocks)
    # The store of the tests has an ada.
    shell.type(people.replace(" ada ", " eve "))
    scopes = {one.person: one.scopes for one in shell.world.store.people.tokens()}
    assert (scopes["ci"], scopes["prometheus"]) == (("ask",), ("metrics",))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    said = shell.type(serve.replace("4284", port))
    assert '{"status":"ready"}' in said and said.rstrip().endswith(": ended")


@pytest.mark.proves("DOC-1")
@plays("docs/deployment.md", "$ gate audit head")
def test_store_is_fenced_and_verified(blocks, shell):
    # In an agent's shell a token counts only with a name.
    as_ada = f"GATE_TOKEN={shell.world.tokens['ada']} gate store fence --as ada"
    said = shell.type("\n".join(blocks[0].commands).replace("gate store fence", as_ada))
    assert "no event before it is missing" in said and "nothing was changed" in said


@pytest.mark.proves("DOC-1")
@plays("docs/server.md", "$ gate up", "$ head")
def test_agents_machine_asks_on_a_server(blocks, shell):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    script = "\n".join(command for block in blocks for command in block.commands)
    script = script.replace("4283", port).replace("--detach", f"--detach --port {port}")
    try:
        said = shell.type(script)
    finally:
        shell.type("gate down || true")
    assert "this token may ask." in said and "Trust: L1" in said
    assert shell.pending().question.prompt == "Which region?"


@pytest.mark.proves("DOC-1")
@plays("docs/agents.md", '$ gate ask "Push', '$ gate ask "Which', "$ gate gates")
def test_agent_gets_a_no_and_gates_are_changed(blocks, shell):
    for block in blocks:
        play_talk(shell, block)


@pytest.mark.proves("DOC-1")
@plays("docs/asks.md", "gate person add alice")
def test_two_people_answer_one_ask(blocks, shell):
    add, group, ask, answer = blocks[0].commands
    token = shell.type(add).split()[0]
    # The page says that the author must be known by the name of their login.
    shell.type("gate person add carol; gate person add $(id -un)")
    shell.type(group)
    shell.start(ask)
    waiting = shell.pending()
    shell.type(answer.replace("…", token).replace("a-7k2", waiting.id))
    assert shell.pending().id == waiting.id
    shell.world.bob.gate("answer", waiting.id, "yes")
    assert shell.end()[0] == [0]


@pytest.mark.proves("DOC-1", "FREEZE-9")
@plays("docs/freeze.md", "$ gate freeze")
def test_everything_is_frozen_shown_and_lifted(blocks, shell):
    freeze, show, inbox, lift = (shell.type(one) for one in blocks[0].commands)
    assert "Everything is frozen" in freeze and "the release is broken" in show
    assert "the release is broken" in inbox and "The freeze is lifted" in lift


@pytest.mark.proves("DOC-1")
@plays("docs/trust.md", "gate audit head")
def test_kept_head_is_that_of_the_trail(blocks, shell):
    keep, verify = blocks[0].commands
    shell.world.ask("Deploy?")
    shell.type(keep)
    assert "nothing was changed" in shell.type(verify)


@pytest.mark.proves("DOC-1")
@plays("docs/files.md", "$ scripts/ask-human.sh")
def test_script_prints_the_answers(blocks, shell):
    (shell.folder / "scripts").mkdir()
    shutil.copy(SCRIPT, shell.folder / "scripts")
    (shell.folder / "scripts" / "ask-human.sh").chmod(0o755)
    (shell.folder / ".helpers").mkdir(mode=0o700)
    values = {"Should": "PostgreSQL", "Delete": "no", "Which": "Fastify"}
    with AnsweringPerson(shell.world.path, values):
        said = [shell.type(line) for line in blocks[0].commands]
    lines = blocks[0].text.splitlines()
    assert "".join(said).splitlines() == [line for line in lines if not line.startswith("$ ")]


@pytest.mark.proves("DOC-1")
@plays("docs/backlog.md", "$ gate task create")
def test_tasks_of_the_backlog_are_worked_on(blocks, backlog_shell):
    *creates, worker, awaiting, respond = blocks[0].commands
    first, _ = play_backlog(backlog_shell, creates, worker, f"{awaiting}\n{respond}")
    said = backlog_shell.end()[1][0]
    shown = [line for line in blocks[0].text.splitlines() if line[0] in " ❓"]
    assert len(shown) == 2
    for line in shown:
        assert line.replace("tm-abc", first) in said


@pytest.mark.proves("DOC-1")
@plays("docs/dialogs.md", "$ gate dialog")
def test_dialog_lists_its_programs(blocks, shell):
    first, other, off = map(shell.type, blocks[0].commands)
    page = (ROOT / "docs" / "dialogs.md").read_text(encoding="utf-8")
    for tool in re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE):
        assert tool in first
    assert "(used)" in other and "no windows are shown" in off


def play_backlog(shell, creates, worker, rest):
    """Create tasks, start the worker, type the rest once it asks. tm-abc is the first task."""
    tasks: list[str] = []
    for line in creates:
        said = shell.type(line.replace("tm-abc", *tasks[:1] or ["tm-abc"]))
        tasks.append(re.search(r"\btm-\w+", said)[0])
    shell.start(worker)
    shell.pending()
    for line in rest.splitlines():
        shell.type(line.replace("tm-abc", tasks[0]))
    store = shell.world.store
    eventually(lambda: all(store.tasks.get(task).state == "closed" for task in tasks))
    shell.stays[-1].terminate()
    return tasks


def read_files(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.proves("DOC-1")
@plays("docs/held.md", "$ gate gates add")
def test_gate_is_added_and_installed(blocks, shell, tmp_path):
    add, install, asked, harmless = blocks[0].commands
    shell.type(add)
    shell.agree(install)
    assert "git push" in shell.type(f"{asked}\n[ $? = 11 ]")
    shell.type(harmless)
    settings_file = tmp_path / "home" / ".claude" / "settings.json"
    assert "make ship" in settings_file.read_text(encoding="utf-8")


@pytest.mark.proves("DOC-1")
@plays("docs/held.md", "$ echo 'git push'")
def test_history_of_the_page_is_counted(blocks, shell):
    write, count = blocks[0].commands
    shell.type(write)
    assert "1 commands: 1 match a wide rule" in shell.type(count)


@pytest.mark.proves("DOC-1")
@plays("docs/fail-closed.md", "$ gate install")
def test_doctor_looks_at_the_installed_gates(blocks, shell):
    install, doctor = blocks[0].commands
    shell.agree(install)
    # It reports more than gates: the exit code depends on the machine.
    assert "claude" in shell.type(f"{doctor}\ntrue")


@pytest.mark.proves("DOC-1")
@plays("docs/hold-test-adapters.md", "name = ")
def test_adapter_of_the_page_is_read(blocks, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "my-gate").write_text("#!/bin/sh\necho 1.2.3\n", encoding="utf-8")
    (tmp_path / "my-gate").chmod(0o755)
    (tmp_path / "adapter.toml").write_text(blocks[0].text, encoding="utf-8")
    adapter = adapter_file.read(str(tmp_path / "adapter.toml"), os.environ)
    assert adapter.gate.name == "my-gate 1.2.3" and adapter.hosts == ("claude",)
    assert adapter.own_hosts["my-agent"].modes == ("yolo",)


@plays("docs/troubleshooting.md", "$ gate doctor")
def test_doctor_and_settings_are_shown(blocks, shell):
    doctor, config = map(shell.type, blocks[0].commands)
    assert "the audit trail has" in doctor and "Settings file" in config


@pytest.mark.proves("DOC-1")
@plays("docs/install.md", "gate install claude   ", "gate install claude --gate")
def test_install_is_written_and_taken_back(blocks, shell, tmp_path):
    claude, codex, dry, uninstall = blocks[0].commands
    before = read_files(tmp_path / "home" / ".claude")
    shell.agree(claude)
    written = read_files(tmp_path / "home")
    shell.agree(codex)
    shell.agree(dry)
    assert read_files(tmp_path / "home" / ".claude").items() <= written.items()
    assert (tmp_path / "project" / ".codex").is_dir()
    shell.agree(uninstall)
    assert read_files(tmp_path / "home" / ".claude") == before
    add, listing = blocks[1].commands
    shell.agree(add)
    assert "Bash(make release:*)" in shell.agree(listing)


def play_feature(shell, flow, commands):
    """Save the flow and type the commands, in which 42 is the run. Return its number."""
    place = shell.folder / ".gate" / "flows" / "feature.py"
    place.parent.mkdir()
    place.write_text(flow.text, encoding="utf-8")
    run = ""
    for line in commands:
        if line.startswith(("gate run", "gate resume")):
            shell.start(line.replace("42", run))
            run = str(owners.run_of(shell.pending().origin.owner))
        elif not line.startswith(_SCREENS):
            shell.type(line.replace("42", run))
    return run


@pytest.mark.proves("DOC-1")
@plays("docs/flows.md", "from gatebell import flow", "gate run feature")
def test_flow_is_stopped_and_resumed(blocks, flow_shell):
    flow, commands = blocks
    run = play_feature(flow_shell, flow, commands.commands)
    flow_shell.type(f"gate answer {run} yes")
    codes, said = flow_shell.end()
    assert codes[-1] == 0, said
    assert flow_shell.world.store.runs.get(int(run)).state == "completed"


@pytest.mark.proves("DOC-1")
def test_every_block_runs_or_says_why_not():
    """Blocks that a test runs are found by page and beginning."""
    silent = [
        str(block)
        for block in read_blocks()
        if not block.not_run
        and not block.page.startswith(GUIDES)
        and not (block.page in ELSEWHERE and block.language == "python")
        and not is_played(block)
    ]
    assert silent == []
    for page, test in ELSEWHERE.items():
        assert Path(page).name in (ROOT / test).read_text(encoding="utf-8")


def is_understood(words):
    """Return whether a command and its options exist. `gate` alone opens the inbox."""
    if not words:
        return True
    try:
        parse_words(words[0], words[1:])
    except UsageError:
        return False
    except SystemExit as end:
        return not end.code
    return True


@pytest.mark.proves("DOC-2")
def test_commands_of_every_block_are_understood():
    """Commands of blocks that are not run must exist, too."""
    lines = [line for block in read_blocks() if block.language == "sh" for line in block.commands]
    commands = [words for line in lines for words in split_gate_commands(line)]
    assert len(commands) > 40
    assert [words for words in commands if not is_understood(words)] == []


@pytest.mark.proves("DOC-2")
@pytest.mark.parametrize("line", ["gate aks", "A=1 gate ask Q? --colour", "true && gate show"])
def test_unknown_command_or_option_is_found(line):
    (words,) = split_gate_commands(line)
    assert not is_understood(words)
