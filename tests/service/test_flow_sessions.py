"""Session asks in flows: the run parks, and the result is recorded."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from tests.support.flow_harness import house
from tests.support.people import a_person

from gatebell import Approval, ask, ask_interactive, flow
from gatebell.api.schemas import Selection
from gatebell.domain.digests import digest
from gatebell.domain.sessions.visits import Terms
from gatebell.errors import UsageError
from gatebell.services.asks import create_ask
from gatebell.services.asks.create_ask import Request
from gatebell.services.runs import manage_runs
from gatebell.services.runs.run_journal import to_json_value
from gatebell.services.sessions import ask_session

__all__ = ["house"]


@dataclasses.dataclass
class Review:
    approved: bool
    notes: str = ""


@flow
def reviewed(prompt):
    result = ask_interactive(
        "Is this safe?",
        context={"findings": ["a", "b"]},
        system_prompt="You help a security engineer.",
        returns=Review,
        capture_transcript=True,
        session_timeout=600,
    )
    if result.outcome != "completed":
        return [result.outcome, result.response, result.note]
    return [type(result.response).__name__, result.response.notes, result.transcript]


@flow
def gated(prompt):
    result = ask_interactive("May it go out?", returns=Approval)
    return [result.outcome, result.response]


def only_ask(house):
    return create_ask.only_ask(house.store, house.run_id)


@pytest.mark.proves(
    "SES-135", "S0-3", "S0-13", "S0-17", "S0-32", "S0-90", "S0-92", "S0-B9", "S0-B10"
)
@pytest.mark.proves("S0-B33", "S0-P2")
def test_flow_gets_the_typed_value_of_a_session(house):
    assert house.go(reviewed).state == "waiting_human"
    ask = only_ask(house)
    terms = Terms(
        "form", "You help a security engineer.", session_seconds=600, capture_transcript=True
    )
    assert (ask.question.kind, ask.question.session) == ("session", terms)
    assert ask.question.context == {"findings": ["a", "b"]}
    assert (ask.origin.cwd, ask.deadlines.expires_at is not None) == (house.folder, True)
    seated = ask_session.open_visit(house.store, ask.id, a_person("ada"), "claude", "s1")
    ask_session.close_visit(
        house.store, seated.visit, a_person("ada"), "left", transcript="ada: fine"
    )
    over = house.answer_and_drive({"approved": True, "notes": "rename it"})
    assert (over.state, over.result) == ("completed", ["Review", "rename it", "ada: fine"])
    assert house.calls()["1"].name == "ask"


@pytest.mark.proves("SES-136", "S0-27", "S0-B7", "S0-B26")
def test_every_end_of_a_session_reaches_the_flow(house):
    house.go(reviewed)
    ask_session.fail(house.store, only_ask(house).id, a_person("ada"), "no terminal anywhere")
    assert house.drive().result == ["failed", None, "no terminal anywhere"]
    house.go(reviewed)
    create_ask.cancel(house.store, only_ask(house).id, a_person("ada"), "not needed")
    assert house.drive().result == ["cancelled", None, "not needed"]
    house.go(reviewed)
    seated = ask_session.open_visit(
        house.store, only_ask(house).id, a_person("ada"), "claude", "s1"
    )
    ask_session.close_visit(house.store, seated.visit, a_person("ada"), "time")
    assert house.drive().result == ["timeout", None, ""]
    house.go(reviewed)
    house.clock.advance(90_000)
    assert house.drive().result == ["timeout", None, ""]


@pytest.mark.proves("SES-137", "LAW-3", "S0-31", "S0-B6")
def test_approval_in_a_session_is_a_gate(house):
    house.go(gated)
    assert house.answer_and_drive("no").result == ["completed", "rejected"]
    assert house.calls()["1"].name == "pause"
    house.go(gated)
    assert house.answer_and_drive("yes").result == ["completed", "approved"]


@pytest.mark.proves("SES-138")
def test_session_of_a_stopped_run_is_asked_again(house):
    house.go(gated)
    first = only_ask(house)
    house.stop()
    assert create_ask.get(house.store, first.id).status == "cancelled"
    manage_runs.resume(house.store, house.run_id, a_person("ada"))
    house.drive()
    assert only_ask(house).id != first.id
    assert house.answer_and_drive("yes").result == ["completed", "approved"]


@pytest.mark.proves("SES-139", "LAW-10", "S0-115")
@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"outcome": Approval}, "does not take 'outcome'; did you mean 'returns'?"),
        ({"sessionTimeout": 5}, "did you mean 'session_timeout'?"),
        ({"returns": "approve"}, "not the text 'approve'"),
        ({"returns": Selection("abc")}, "use a list of texts"),
        ({"participants": "ada"}, "expected a list for participants"),
        ({"notify": "ada"}, "expected a list for notify"),
        ({"session_timeout": -1}, "above 0"),
        ({"participants": ["ada"], "returns": Approval}, "gate person add"),
    ],
)
def test_invalid_arguments_are_refused_at_once(house, options, sentence):
    @flow
    def wrong(prompt):
        return ask_interactive("Q", **options).outcome

    run = house.go(wrong)
    assert run.state == "failed" and sentence in run.reason + run.error


@pytest.mark.proves("SES-139", "S0-116", "S0-113", "S0-B29")
def test_session_stores_notified_people_folder_and_tools(house):
    @flow
    def told(prompt):
        return ask_interactive("Q", notify=["ada"], cwd="sub", mcp_config="tools.json").response

    house.store.people.add("ada", [])
    (Path(house.folder) / "sub").mkdir()
    (Path(house.folder) / "tools.json").write_text("{}")
    house.go(told)
    ask = only_ask(house)
    assert [step.who for step in ask.deadlines.escalations] == ["ada"]
    seated = ask_session.open_visit(house.store, ask.id, a_person("ada"), "claude", "s1")
    assert (seated.cwd, seated.mcp_config) == (f"{house.folder}/sub", f"{house.folder}/tools.json")
    ask_session.close_visit(house.store, seated.visit, a_person("ada"), "left")
    assert house.answer_and_drive("so").result == "so"


@pytest.mark.proves("SES-139", "S0-53")
def test_outside_of_a_flow_it_says_so():
    with pytest.raises(UsageError, match="inside a flow only"):
        ask_interactive("Q")


@pytest.mark.proves("SES-139", "LAW-5")
def test_journal_from_before_sessions_still_fits(house):
    @flow
    def plain(prompt):
        return ask("Which one?").value

    house.go(plain)
    before = Request("Which one?")._asdict()
    del before["session"]
    assert house.calls()["1"].digest == digest(to_json_value(before))
