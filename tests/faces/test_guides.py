"""The guides work as described, and each ends at pages that exist."""

from __future__ import annotations

import re
import socket
import subprocess

import pytest
import yaml
from tests.support.answering_person import AnsweringPerson
from tests.support.block_players import is_played, plays, run_python
from tests.support.block_shell import AGENT
from tests.support.code_blocks import ROOT, read_blocks, read_pages
from tests.support.programs import find_program

GUIDES = "docs/guides/"
FLOW = """from gatebell import flow


@flow
def feature(prompt: str):
    flow.approve("Approve it?")
"""
_LINK = re.compile(r"\]\(([^)#\s]+)(?:#([^)\s]*))?\)")


def choose_port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return str(free.getsockname()[1])


def write_flow(shell, name, text):
    shell.write_project({"writer": AGENT})
    place = shell.folder / ".gate" / "flows" / f"{name}.py"
    place.parent.mkdir()
    place.write_text(text, encoding="utf-8")


def play_asks(shell, commands):
    """Type the commands; a-7k2 is their first ask. Return what each printed."""
    ask_id, said = "", []
    for command in commands:
        said.append(shell.type(command.replace("a-7k2", ask_id)))
        ask_id = ask_id or (re.findall(r"\ba-\w+", said[-1]) or [""])[0]
    return said


@pytest.mark.proves("DOC-1", "DOC-4")
@plays(GUIDES + "claude-code.md", "$ gate install claude ", "$ gate gates add")
def test_claude_code_is_set_up_and_gated(blocks, shell, tmp_path):
    (install, doctor), gates = (block.commands for block in blocks)
    named, asked, _ = shell.agree(install).partition("Write this? [y/N]")
    assert asked and "gate gates lists them" in named and "+++ " not in named
    # It reports more than gates: the exit code depends on the machine.
    assert "claude" in shell.type(f"{doctor}\ntrue")
    said = [shell.type(line) for line in gates]
    assert "terraform apply" in said[1]
    written = (tmp_path / "home" / ".claude" / "settings.json").read_text(encoding="utf-8")
    assert "terraform apply" in written


@pytest.mark.proves("DOC-1", "DOC-4")
@plays(GUIDES + "claude-code.md", "$ gate up --detach")
def test_inbox_stays_in_the_background(blocks, shell):
    up, link, down = blocks[0].commands
    try:
        said = shell.type(up.replace("--detach", f"--detach --port {choose_port()}") + "\n" + link)
        assert len(set(re.findall(r"http\S+/link/\S+", said))) == 2
        assert "Stopped process" in shell.type(down)
    finally:
        shell.type("gate down 2>/dev/null || true")


@pytest.mark.proves("DOC-1", "DOC-4")
@plays(GUIDES + "several-agents.md", "$ gate ask", "$ gate freeze")
def test_asks_of_several_agents_are_in_one_inbox(blocks, shell):
    asks, freeze = blocks
    *_, inbox, answer = play_asks(shell, asks.commands)
    assert inbox.index("lock file") < inbox.index("old branch") and "tester-2" in inbox
    assert "answered: Yes" in answer
    begin, end = map(shell.type, freeze.commands)
    assert "Everything is frozen" in begin and "lifted" in end


@pytest.mark.proves("DOC-1", "DOC-4")
@plays(GUIDES + "several-agents.md", "$ gate run")
def test_runs_of_several_agents_are_listed(blocks, shell):
    write_flow(shell, "feature", FLOW)
    *_, listed = map(shell.type, blocks[0].commands)
    assert "Add login" in listed and "Add search" in listed


@pytest.mark.proves("DOC-1", "DOC-4")
@plays(GUIDES + "team.md", "$ gate person add", "$ gate ask")
def test_two_people_of_a_team_approve(blocks, shell):
    people, asks = blocks
    shell.type("\n".join(people.commands))
    scopes = {one.label: one.scopes for one in shell.world.store.people.tokens()}
    assert scopes["build machine"] == ("ask",)
    said = play_asks(shell, asks.commands)
    assert "approved" in said[-1]


@pytest.mark.proves("DOC-1", "DOC-4")
@plays(GUIDES + "ci.md", "name: Deploy")
@pytest.mark.parametrize(("word", "code"), [("yes", 0), ("no", 10)])
def test_recipe_of_ci_asks_a_server_and_waits(blocks, shell, word, code):
    find_program("git", "the recipe of docs/guides/ci.md")
    job = yaml.safe_load(blocks[0].text)["jobs"]["deploy"]
    *_, ask, deploy = job["steps"]
    assert set(ask["env"]) == {"GATE_SERVER", "GATE_TOKEN"} and deploy["run"] == "./deploy.sh"
    shell.write_project({})
    port = choose_port()
    token = shell.type("gate person token ada --ask-only --label CI").split()[0]
    shell.type(f"gate up --detach --port {port}")
    around = {"GATE_SERVER": f"http://127.0.0.1:{port}", "GATE_TOKEN": token}
    around |= {"GITHUB_REF_NAME": "main", "GITHUB_REPOSITORY": "shop/shop"}
    environ = {name: value for name, value in shell.environ.items() if name != "GATE_STORE"}
    try:
        with AnsweringPerson(shell.world.path, {"Deploy": word}):
            # As GitHub runs a step.
            ran = subprocess.run(
                ["bash", "-e", "-c", ask["run"]], env=environ | around, cwd=shell.folder,
                text=True, check=False, capture_output=True, timeout=60,
            )  # fmt: skip
    finally:
        shell.type("gate down || true")
    assert ran.returncode == code, ran.stderr
    (settled,) = shell.world.store.asks.list_settled(2)
    assert settled.question.prompt == "Deploy main to production?"
    assert settled.origin.agent == "shop/shop"


@pytest.mark.proves("DOC-1", "DOC-4")
@plays(
    GUIDES + "flow-authors.md",
    "from gatebell import flow",
    "---\ndescription: Writes release notes",
    "from gatebell.testing",
    "$ gate run",
)
def test_flow_is_tested_and_then_run(blocks, shell, monkeypatch):
    flow, role, test, commands = blocks
    names = run_python(flow, monkeypatch)
    run_python(test, monkeypatch, **names)["test_release_asks_before_it_publishes"]()
    write_flow(shell, "release", flow.text)
    writer = shell.folder / ".gate" / "agents" / "writer.md"
    scripted = writer.read_text(encoding="utf-8")
    writer.write_text(role.text, encoding="utf-8")
    assert "claude sonnet  Writes release notes" in shell.type("gate agents")
    writer.write_text(scripted, encoding="utf-8")
    *_, listed = map(shell.type, commands.commands)
    assert "version 1.2" in listed


@pytest.mark.proves("DOC-1", "DOC-4")
@plays(
    GUIDES + "framework-authors.md",
    "from gatebell import Gate\n\ngate = Gate(agent=",
    "from gatebell import Gate\n\nask_id",
    "from gatebell import Gate\nfrom gatebell.testing",
)
def test_framework_asks_before_its_tools_run(blocks, inbox, monkeypatch, capsys):
    tool, later, fake = blocks
    with AnsweringPerson(inbox, {"Run": "yes", "Which": "eu"}):
        names = run_python(tool, monkeypatch)
        run_python(later, monkeypatch)
    assert capsys.readouterr().out == "deployed 42\neu\n"
    with AnsweringPerson(inbox, {"Run": "no"}):
        assert names["ask_first"](names["deploy"])(build=1).startswith("Not run")
    run_python(fake, monkeypatch)


@pytest.mark.proves("DOC-1", "DOC-4")
def test_every_block_of_the_guides_runs():
    blocks = [block for block in read_blocks() if block.page.startswith(GUIDES)]
    assert len(blocks) > 10
    assert [str(block) for block in blocks if not is_played(block)] == []


def list_headings(text):
    """Return the names of the headings, as GitHub and the site make them."""
    found = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", one.lower()).replace(" ", "-") for one in found}


@pytest.mark.proves("DOC-4")
@pytest.mark.parametrize("page", read_pages())
def test_links_lead_to_pages_and_headings(page):
    missing = []
    for name, heading in _LINK.findall(read_pages()[page]):
        place = (ROOT / page).parent / name
        if re.match(r"[a-z]+:", name):
            continue
        if not place.exists():
            missing.append(name)
        elif heading and heading not in list_headings(place.read_text(encoding="utf-8")):
            missing.append(f"{name}#{heading}")
    assert missing == []


@pytest.mark.proves("DOC-4")
def test_index_lists_every_page():
    text = read_pages()["docs/index.md"]
    pages = [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "guides").glob("*.md")]
    named = {(ROOT / "docs" / name).resolve() for name, _ in _LINK.findall(text)}
    assert {page.name for page in pages if page not in named} == {"index.md"}


@pytest.mark.proves("DOC-4")
def test_first_page_is_short_and_shows_a_recording():
    text = read_pages()["README.md"]
    assert len(text.splitlines()) < 120
    picture = ROOT / "docs" / "pictures" / "asking.gif"
    assert "(docs/pictures/asking.gif)" in text and picture.stat().st_size < 1_000_000
