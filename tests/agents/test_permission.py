"""The permission requests of a host are decided in the inbox: claude in print mode."""

from __future__ import annotations

import threading

import pytest
from tests.support.agent_house import OWN_QUESTIONS
from tests.support.hook_session import until_it_waits
from tests.support.waiting import eventually

from gatebell.install import scripted_model
from gatebell.install.scripted_model import text, tool, tools

TOUCH = tool("Bash", command="touch gated", description="make a file")
HOOK_FIRST = pytest.mark.parametrize(
    "claude", ["hook", pytest.param("tool", marks=pytest.mark.matrix)], indirect=True
)
"""The other door is tried in `make matrix`."""


@pytest.fixture(params=["hook", "tool"])
def claude(request, house):
    """Start claude with one of the ways to hold its permission requests."""
    if request.param == "hook":
        house.install("claude")
        return house.run_claude
    return lambda steps: house.run_claude(steps, *house.only_permission_tool())


@pytest.mark.proves("AGT-73", "AGT-74")
def test_yes_lets_it_run(house, claude):
    agent = claude([TOUCH, text("done")])
    (ask,) = house.wait_for_asks()
    assert ask.question.kind == "approval" and ask.question.call.tool == "Bash"
    assert ask.question.call.input["command"] == "touch gated"
    assert "touch gated" in ask.question.prompt and not house.ran()
    house.answer(ask, "yes")
    result = agent.result()
    assert house.ran() and result["permission_denials"] == []
    assert house.get(ask.id).origin.session == f"claude/{result['session_id']}"
    assert house.get(ask.id).delivered_at


@pytest.mark.proves("AGT-73", "AGT-74")
def test_no_blocks_and_its_words_reach_the_model(house, claude):
    agent = claude([TOUCH, text("done")])
    (ask,) = house.wait_for_asks()
    house.answer(ask, "no", "--note", "use the staging folder instead")
    agent.result()
    assert not house.ran()
    assert "use the staging folder instead" in house.wait_for_results()[0]


@pytest.mark.proves("AGT-73", "AGT-74")
@HOOK_FIRST
def test_yes_to_something_else_runs_that(house, claude):
    agent = claude([TOUCH, text("done")])
    (ask,) = house.wait_for_asks()
    house.answer(ask, "yes", "--with", "touch elsewhere")
    agent.result()
    assert house.ran("elsewhere") and not house.ran()


@pytest.mark.proves("AGT-73")
def test_yes_to_another_gated_call_asks_only_once(house):
    """Claude refuses an edited input that meets a rule, so the agent must make the call itself."""
    house.install("claude")
    steps = [TOUCH, tool("Bash", command="touch gated-elsewhere"), text("done")]
    house.run_claude(steps)
    (ask,) = house.wait_for_asks()
    house.answer(ask, "yes", "--with", "touch gated-elsewhere")
    assert "touch gated-elsewhere" in house.wait_for_results()[0]
    eventually(lambda: house.ran("gated-elsewhere"))
    assert not house.ran() and house.store.asks.count() == 1


@pytest.mark.proves("AGT-75")
def test_claudes_own_questions_are_answered_from_the_inbox(house):
    """In print mode claude has this tool only where a permission tool answers it."""
    steps = [tool("AskUserQuestion", questions=OWN_QUESTIONS), text("{{result}}")]
    agent = house.run_claude(steps, *house.only_permission_tool())
    house.answer_own_questions()
    said = agent.result()["result"]
    assert '"Which database?"="SQLite"' in said and '"Which colours?"="Red, Blue"' in said


@pytest.mark.proves("AGT-79")
@pytest.mark.parametrize("count", [pytest.param(2, marks=pytest.mark.matrix), 3])
@HOOK_FIRST
def test_gated_calls_of_a_turn_are_decided_separately(house, claude, count):
    calls = [("Bash", {"command": f"touch gated{number}"}) for number in range(count)]
    agent = claude([tools(*calls), text("done")])
    for number in range(count):
        (ask,) = house.wait_for_asks()
        assert ask.question.call.input["command"] == f"touch gated{number}"
        house.answer(ask, "no" if number == 1 else "yes", "--note", f"decision {number}")
    agent.result()
    assert [house.ran(f"gated{number}") for number in range(count)] == [True, False, True][:count]
    assert "decision 1" in house.wait_for_results()[1]


@pytest.mark.proves("AGT-79")
@pytest.mark.parametrize("order", [pytest.param((0, 1, 2), marks=pytest.mark.matrix), (2, 1, 0)])
@HOOK_FIRST
def test_simultaneous_gated_calls_are_decided_in_any_order(house, claude, order):
    """Claude asks one by one about calls that change things, and at once about reading."""
    for number in range(3):
        (house.project / f"gated{number}").write_text(f"content {number}", encoding="utf-8")
    calls = [("Bash", {"command": f"cat gated{number}"}) for number in range(3)]
    agent = claude([tools(*calls), text("done")])
    asks = {ask.question.call.input["command"]: ask for ask in house.wait_for_asks(3)}
    for number in order:
        answer = "no" if number == 1 else "yes"
        house.answer(asks[f"cat gated{number}"], answer, "--note", f"decision {number}")
    agent.result()
    results = house.wait_for_results()
    assert len(results) == 3 and {"content 0", "content 2"} < set(results)
    assert any("decision 1" in result for result in results)


@pytest.mark.proves("AGT-84")
def test_undecided_call_is_denied_in_time(house):
    house.install("claude")
    # Long enough for a hook that a busy machine starts late.
    house.change_settings(lambda text: text.replace("86400", "20"))
    agent = house.run_claude([TOUCH, text("done")])
    (ask,) = house.wait_for_asks()
    agent.result()
    assert not house.ran() and house.get(ask.id).status == "timed_out"
    assert "No person decided in time" in house.wait_for_results()[0]


@pytest.mark.proves("AGT-73")
def test_ungated_call_runs_without_asking(house):
    house.install("claude")
    house.run_claude([tool("Bash", command="touch free"), text("done")]).result()
    assert house.ran("free") and house.store.asks.count() == 0


@pytest.mark.proves("HOOK-10", "LAW-4")
def test_one_yes_runs_one_of_two_like_calls(house, monkeypatch):
    """Claude asks about the first call while the model still writes the second."""
    house.install("claude")
    # Claude logs a call just after it has started the hook, and a slow machine shows the delay.
    # So each hook reads the log as it was at its start, with the first call.
    logs, log = f"{house.home}/.claude/projects/*/*.jsonl", f"{house.folder}/log-$$"
    gate = str((house.bin / "gate").resolve())
    house.replace_gate(
        f"""e=$(cat); case $e in *'"hook_event_name":"PermissionRequest"'*)
        until grep -qs '"tool_use"' {logs}; do :; done; cat {logs} >{log};; esac
        printf '%s' "$e" | sed 's|"transcript_path":"[^"]*"|"transcript_path":"'{log}'"|' |
        {{real}} "$@\""""
    )
    (house.project / "gated").write_text("content", encoding="utf-8")
    first_is_asked, whole = threading.Event(), scripted_model._message_events

    def pause(words, calls):
        for event in whole(words, calls):
            yield event
            if event["type"] == "content_block_stop" and len(calls) > 1:
                first_is_asked.wait(20)

    monkeypatch.setattr(scripted_model, "_message_events", pause)
    agent = house.run_claude([tools(*[("Bash", {"command": "cat gated"})] * 2), text("done")])
    house.wait_for_asks()
    first_is_asked.set()
    eventually(lambda: len(house.processes(gate, "hook")) == 2)
    for pid in house.processes(gate, "hook"):
        until_it_waits(pid)
    for answer in ("yes", "no"):
        (ask,) = house.wait_for_asks()
        house.answer(ask, answer)
    agent.result()
    assert sorted(result == "content" for result in house.wait_for_results()) == [False, True]
