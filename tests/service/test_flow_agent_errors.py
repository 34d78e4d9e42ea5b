"""The ERROR of an agent ends the run as stuck, unless the flow handles it."""

from __future__ import annotations

import pytest
from tests.support.flow_harness import done, house

from gatebell import HumanInput, Phase, Workflow
from gatebell.api.flows import flow, parallel, pause, run, stuck
from gatebell.errors import UsageError

__all__ = ["house"]
ERROR = {"status": "ERROR", "reason": "the disk is full"}


@flow
def feature(prompt):
    """As in the README."""
    run("architect", prompt)
    for _ in range(3):
        run("coder")
        if run("reviewer").status == "APPROVED":
            break


@pytest.mark.proves("EASE-18", "RUN-342")
@pytest.mark.parametrize("failing", ["architect", "coder", "reviewer"])
def test_error_of_any_agent_ends_the_run_stuck(house, failing):
    for role in ("architect", "coder", "reviewer"):
        house.agent(role, ERROR if role == failing else done("fine"))
    over = house.go(feature)
    at = {"architect": 1, "coder": 2, "reviewer": 3}[failing]
    assert (over.state, over.stopped_at) == ("stuck", f"{at}")
    told = f"{failing} reported ERROR: the disk is full. "
    assert over.reason.startswith(told) and f"gate resume 1 --from {at}" in over.reason
    assert house.resume().reason == over.reason, "what is recorded is not done again"


@pytest.mark.proves("EASE-18")
def test_stuck_run_goes_on_from_the_failed_agent(house):
    house.agent("coder", ERROR, done("mended"))
    assert house.go(lambda _: run("coder").summary, in_place=False).state == "stuck"
    house.fork("1")
    assert house.drive().result == "mended"


@pytest.mark.proves("EASE-18")
def test_error_in_a_branch_ends_the_run_stuck(house):
    house.agent("coder", ERROR)
    over = house.go(lambda _: parallel(lambda: run("coder"), lambda: 1))
    assert over.state == "stuck" and over.reason.startswith("coder reported ERROR: the disk")
    assert "--from 1" in over.reason


@pytest.mark.proves("EASE-18")
def test_raising_agent_function_ends_the_run_stuck(house):
    over = house.go(lambda _: run(lambda _: 1 // 0))
    assert over.state == "stuck" and "ZeroDivisionError" in over.reason


@pytest.mark.proves("EASE-19")
def test_flow_may_look_at_errors_itself(house):
    house.agent("coder", ERROR, ERROR)
    looks = flow(on_error="return")(lambda _: run("coder").status)
    assert house.go(looks).result == "ERROR"
    over = house.go(lambda _: run("coder", on_error="return").reason)
    assert (over.state, over.result) == ("completed", "the disk is full")


@pytest.mark.proves("EASE-19")
def test_call_may_be_stricter_than_its_flow(house):
    house.agent("coder", ERROR)
    over = house.go(flow(on_error="return")(lambda _: run("coder", on_error="stuck").status))
    assert over.state == "stuck"


@pytest.mark.proves("EASE-19")
def test_unknown_way_is_refused(house):
    with pytest.raises(UsageError, match="on_error is one of stuck, return, not 'raise'"):
        flow(on_error="raise")
    assert "on_error is one of" in house.go(lambda _: run("coder", on_error="fail")).reason


@pytest.mark.proves("EASE-18", "LAW-5")
def test_run_that_went_on_before_still_goes_on(house):
    house.agent("coder", ERROR)

    @flow(on_error="return")
    def went_on(_):
        return [run("coder").status, bool(pause("Go?"))]

    house.go(went_on)
    house.flow = flow(went_on.work)
    assert house.answer_and_drive("yes").result == ["ERROR", True]


@pytest.mark.proves("EASE-18")
def test_blocked_is_for_the_flow_to_see(house):
    house.agent("coder", {"status": "BLOCKED", "reason": "no key"})
    assert house.go(lambda _: run("coder").status).result == "BLOCKED"


@pytest.mark.proves("EASE-18")
def test_phase_tells_its_own_way_on(house):
    house.agent("coder", ERROR)
    phases = [Phase("code", agent="coder", human=HumanInput("?", "approval"), terminal=True)]
    over = house.go(Workflow("w", phases=phases))
    assert over.state == "stuck" and "phase 'code': coder reported ERROR: the disk" in over.reason


@pytest.mark.proves("EASE-30", "LAW-3")
def test_stuck_without_return_ends_the_run(house):
    after = []

    def forgetful(_):
        if not pause("Deploy?"):
            stuck("rejected")
        after.append("deployed")
        return "done"

    house.go(forgetful)
    over = house.answer_and_drive("no")
    assert (over.state, over.reason, after) == ("stuck", "rejected", [])


@pytest.mark.proves("EASE-30")
def test_swallowed_stuck_still_ends_the_run(house):
    def swallowing(_):
        try:
            stuck("rejected")
        except BaseException:
            return "done"

    over = house.go(swallowing)
    assert (over.state, over.reason) == ("stuck", "rejected")
    assert stuck("why").reason == "why", "outside of a flow it is only a value"
