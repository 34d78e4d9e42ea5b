"""Every hook command of README and docs, copied exactly into the settings of the real host."""

from __future__ import annotations

import json

import pytest
from tests.support.shown_hooks import HOOK, PAGES, SHOWN, blocks

from gatebell.install.hosts.claude import guard_hook
from gatebell.install.scripted_model import text, tool

TOUCH = [tool("Bash", command="touch gated", description="make a file"), text("done: {{result}}")]
NO_TOOL, TORN, OTHER_EVENT = 's/"tool_name":"Bash",//', "s/}$//", r"s/Request\|ToolUse/New/"
"""The change that sed makes to an event."""
ONCE_SHOWN = (
    "gate hook claude --guarded --defer",
    "gate hook claude --defer",
    "gate hook claude --defer || exit 2",
)
"""The commands as a PreToolUse hook. The first was in the docs, and let the call run."""


SETTINGS = SHOWN | {
    command: {"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": command}]}]}}
    for command in ONCE_SHOWN
}


@pytest.fixture
def settle(house):
    """Write the settings beside an allowance for everything, so that nothing else holds a call."""
    return lambda settings: house.write_settings(permissions={"allow": ["Bash"]}, **settings)


@pytest.mark.proves("HOOK-7")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_hook_command_is_shown_as_settings_only(page):
    """Whole settings can be tried as they are; a single command does not show its place."""
    words = page.read_text(encoding="utf-8")
    assert len(HOOK.findall(words)) == sum(
        len(HOOK.findall(json.dumps(one))) for one in blocks(page)
    )


@pytest.mark.proves("HOOK-7")
def test_docs_show_the_guard():
    (settings,) = SHOWN.values()
    ((hook,),) = [group["hooks"] for group in settings["hooks"]["PreToolUse"]]
    assert hook["command"] == guard_hook("gate hook claude --defer")


@pytest.mark.proves("HOOK-7", "HOOK-5")
@pytest.mark.parametrize(
    ("name", "answer"),
    [
        *((name, "yes") for name in SHOWN),
        *((name, "no") for name in ONCE_SHOWN[:1]),
        *(pytest.param(name, "no", marks=pytest.mark.matrix) for name in SHOWN),
        *(pytest.param(name, "yes", marks=pytest.mark.matrix) for name in ONCE_SHOWN),
        *(pytest.param(name, "no", marks=pytest.mark.matrix) for name in ONCE_SHOWN[1:]),
    ],
)
def test_shown_hook_waits_and_obeys(house, settle, name, answer):
    settle(SETTINGS[name])
    result = house.run_claude(TOUCH).result()
    (ask,) = house.wait_for_asks()
    assert not house.ran() and result["terminal_reason"] == "tool_deferred"
    house.run_claude([], "--resume", result["session_id"]).result()
    assert not house.ran(), "it still waits"
    house.answer(ask, answer)
    house.run_claude([], "--resume", result["session_id"]).result()
    assert house.ran() == (answer == "yes")


@pytest.mark.proves("HOOK-6", "HOOK-7")
@pytest.mark.parametrize("name", SHOWN)
def test_shown_hook_asks_in_a_terminal(house, settle, terminal, name):
    settle(SETTINGS[name])
    terminal.claude(TOUCH)
    terminal.until("Do you want to proceed?")
    assert not house.ran() and house.store.asks.pending(9) == []


@pytest.mark.proves("HOOK-6")
def test_codex_runs_nothing_that_it_cannot_defer(house):
    run_codex_with(house, "gate hook codex --defer")
    assert not house.ran()


@pytest.mark.proves("HOOK-1", "HOOK-4")
@pytest.mark.parametrize(
    ("change", "event"),
    [
        (TORN, "PermissionRequest"),
        (OTHER_EVENT, "PreToolUse"),
        pytest.param(NO_TOOL, "PreToolUse", marks=pytest.mark.matrix),
        pytest.param(NO_TOOL, "PermissionRequest", marks=pytest.mark.matrix),
        pytest.param(TORN, "PreToolUse", marks=pytest.mark.matrix),
        pytest.param(OTHER_EVENT, "PermissionRequest", marks=pytest.mark.matrix),
    ],
)
def test_unreadable_event_runs_nothing_in_claude(house, event, change):
    hook = {"type": "command", "command": f"sed '{change}' | gate hook claude"}
    rules = {"allow": ["Bash"], "ask": ["Bash(touch *)"] if event == "PermissionRequest" else []}
    house.write_settings(permissions=rules, hooks={event: [{"matcher": "*", "hooks": [hook]}]})
    house.run_claude(TOUCH).result()
    assert not house.ran() and house.store.asks.count() == 0
    assert house.wait_for_results()[0]


@pytest.mark.proves("HOOK-1", "HOOK-4")
@pytest.mark.parametrize(
    "change",
    [NO_TOOL, *(pytest.param(one, marks=pytest.mark.matrix) for one in (TORN, OTHER_EVENT))],
)
def test_unreadable_event_runs_nothing_in_codex(house, change):
    run_codex_with(house, f"sed '{change}' | gate hook codex")
    assert not house.ran()


def run_codex_with(house, command):
    settings = house.home / ".codex" / "config.toml"
    with settings.open("a", encoding="utf-8") as file:
        file.write("\n[[hooks.PreToolUse]]\n[[hooks.PreToolUse.hooks]]\n")
        file.write(f'type = "command"\ncommand = {json.dumps(command)}\n')
    steps = [tool("exec_command", cmd="touch gated"), text("done: {{result}}")]
    house.run_codex(steps, "--dangerously-bypass-hook-trust").result()
    assert "blocked by PreToolUse hook" in house.wait_for_results()[0]
