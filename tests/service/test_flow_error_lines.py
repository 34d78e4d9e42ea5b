"""An error in the user's code names its line and its phase."""

from __future__ import annotations

import json

import pytest
from tests.support.flow_harness import house

from gatebell import HumanInput, Phase, Workflow, pause, run
from gatebell.api.flows import parallel, step
from gatebell.domain.runs.journals import describe_error
from gatebell.errors import BranchFailedError, StepFailedError, UnfinishedError
from gatebell.testing import MemoryStore

__all__ = ["house"]


def break_down():
    raise ValueError("boom")


LINE = f"test_flow_error_lines.py:{break_down.__code__.co_firstlineno + 1})"


@pytest.mark.proves("EASE-29")
def test_step_without_a_function_says_how_it_is_called(house):
    over = house.go(lambda _: step("break_down", break_down))
    assert over.state == "failed"
    assert "step() takes a function first, not 'break_down': step(work, …)" in over.reason


@pytest.mark.proves("EASE-5")
def test_failed_step_names_the_line(house):
    seen = []

    def careful(_):
        try:
            step(break_down)
        except StepFailedError as error:
            seen.append((error.message, error.where, str(error)))
            raise

    over = house.go(careful)
    (message, where, text), *_ = seen
    assert message == "boom" and f"{where})".endswith(LINE) and text.endswith(LINE)
    assert over.reason.startswith("StepFailedError: ValueError: boom (")
    assert over.reason.endswith(LINE)
    assert house.calls()["1"].error["where"] == where
    house.resume()
    assert seen[-1] == (message, where, text)


@pytest.mark.proves("EASE-5")
def test_failed_library_call_names_the_caller(house):
    over = house.go(lambda _: step(json.loads, "{"))
    assert (
        "test_flow_error_lines.py:" in over.reason
        and "json" not in over.reason.lower().split("(")[-1]
    )


@pytest.mark.proves("EASE-5")
def test_flow_that_raises_names_the_line(house):
    over = house.go(lambda _: break_down())
    assert over.reason.startswith("ValueError: boom (") and over.reason.endswith(LINE)


@pytest.mark.proves("EASE-5")
def test_misused_call_names_the_line(house):
    over = house.go(lambda _: pause(""))
    assert "test_flow_error_lines.py:" in over.reason


@pytest.mark.proves("EASE-6")
def test_failed_branch_names_number_kind_and_line(house):
    seen = []

    def careful(_):
        try:
            parallel(lambda: 1, break_down)
        except BranchFailedError as error:
            seen.append(error)
            raise

    over = house.go(careful)
    assert over.reason.startswith("BranchFailedError: branch 2: ValueError: boom (")
    assert over.reason.endswith(LINE) and str(seen[0]).startswith("branch 2: ValueError: boom (")
    assert f"{seen[0].outcomes[1]['error']['where']})".endswith(LINE)


@pytest.mark.proves("EASE-6")
def test_step_in_nested_branch_names_the_line(house):
    over = house.go(lambda _: parallel(lambda: parallel(lambda: step(break_down))))
    assert over.reason.startswith("BranchFailedError: branch 1: branch 1: ValueError: boom (")
    assert over.reason.endswith(LINE)


@pytest.mark.proves("EASE-6")
def test_settled_branch_tells_the_line(house):
    over = house.go(lambda _: parallel(break_down, settle=True))
    assert f"{over.result[0]['error']['where']})".endswith(LINE)


@pytest.mark.proves("EASE-5")
def test_agent_function_names_the_line(house):
    over = house.go(lambda _: run(lambda _: break_down(), on_error="return").reason)
    assert "ValueError: boom (" in over.result and over.result.endswith(LINE)


@pytest.mark.proves("EASE-7")
@pytest.mark.parametrize("each", [False, True])
def test_phase_whose_agent_raises_is_named(each):
    work = (lambda _, __: break_down()) if each else (lambda _: break_down())
    more = {"for_each": lambda _: ["a"]} if each else {}
    flow = Workflow("w", phases=[Phase("draft", agent=work, terminal=True, **more)])
    with pytest.raises(UnfinishedError, match=r"ValueError: boom .phase 'draft', .*lines.py:"):
        flow.run("go", store=MemoryStore())


@pytest.mark.proves("EASE-7")
def test_phase_whose_function_raises_names_the_line():
    human = HumanInput(lambda _: break_down(), "approval")
    flow = Workflow("w", phases=[Phase("draft", human=human, terminal=True)])
    with pytest.raises(UnfinishedError, match=r"phase 'draft': human's prompt raised .*lines.py:"):
        flow.run("go", store=MemoryStore())


@pytest.mark.proves("EASE-5")
@pytest.mark.parametrize("work", [lambda _: step(break_down), lambda _: parallel(break_down)])
def test_traceback_shows_the_users_frames_only(house, work):
    told = house.go(work).error
    assert 'raise ValueError("boom")' in told and "src/gatebell/services" not in told


@pytest.mark.proves("EASE-5", "EASE-6")
@pytest.mark.parametrize(("error", "told"), [
    ({"kind": "ValueError", "message": "boom", "where": "a.py:3"}, "ValueError: boom (a.py:3)"),
    ({"kind": "ValueError", "message": "boom"}, "ValueError: boom"),
    ({"kind": "NotFoundError", "message": "there is no role 'x'"}, "there is no role 'x'"),
    ({"kind": "BranchFailedError", "message": "branch 2: boom", "where": ""}, "branch 2: boom"),
])  # fmt: skip
def test_recorded_error_has_its_line(error, told):
    assert describe_error(error) == told
