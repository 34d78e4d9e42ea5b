"""Invalid arguments are refused when they are given, with the field and a suggestion."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.support.flow_harness import house
from tests.support.people import a_person

from gatebell import Gate, HumanInput, Phase, Selection, Structured, Workflow
from gatebell.api.backlog import Backlog
from gatebell.api.flows import ask_interactive, choose, flow
from gatebell.app import wiring
from gatebell.domain.asks.asks import Origin
from gatebell.domain.text.suggestions import suggest
from gatebell.errors import NotFoundError, UnfinishedError, UsageError
from gatebell.services.asks import create_ask
from gatebell.services.asks.create_ask import Request
from gatebell.services.people import manage_people
from gatebell.testing import MemoryStore

__all__ = ["house"]


@pytest.fixture
def gate():
    store = MemoryStore()
    manage_people.add(store, a_person("root"), "alice")
    store.people.set_group("ops", ["alice"], [])
    return Gate(store)


@pytest.mark.proves("EASE-8")
@pytest.mark.parametrize(("word", "told"), [
    ("alcie", "; did you mean 'alice'?"), ("ALICE", "; did you mean 'alice'?"), ("zebra", ""),
])  # fmt: skip
def test_suggestion_is_the_nearest_word(word, told):
    assert suggest(word, ["alice", "bob"]) == told


@pytest.mark.proves("EASE-9")
@pytest.mark.parametrize("ways", [{"notify": ["alcie"]}, {"notify": ["alice", "opps"]}])
def test_unknown_person_is_not_notified(gate, ways):
    with pytest.raises(NotFoundError, match=r"no person or group '(alcie|opps)'.*did you mean"):
        gate.human.request_interactive("Q", ways)
    assert gate.pending() == []


@pytest.mark.proves("EASE-9")
def test_known_people_and_groups_are_notified(gate):
    gate.human.request_interactive("Q", {"notify": ["alice", "ops"]})
    gate.open("Q", escalations=[(60, "ops")])
    with pytest.raises(NotFoundError, match="gate person add bob"):
        gate.open("Q", escalations=[(60, "bob")])


@pytest.mark.proves("EASE-9")
def test_channel_as_notify_is_refused(gate):
    with pytest.raises(UsageError, match="expected a list for notify, got dict"):
        gate.human.request_interactive("Q", {"notify": {"channel": "slack"}})


@pytest.mark.proves("EASE-10")
def test_unknown_kind_is_refused(gate):
    with pytest.raises(UsageError, match=r"'sesion' is not a kind of ask.*did you mean 'session'"):
        gate.human.list_pending(kind="sesion")
    assert gate.human.list_pending(kind="session") == []


@pytest.mark.proves("EASE-11")
@pytest.mark.parametrize(("options", "told"), [
    ({"cwd": "nowhere"}, "cwd: there is no folder .*/nowhere"),
    ({"mcp_config": "tools.json"}, "mcp_config: there is no file .*/tools.json"),
    ({"resume_session": "claude/x"}, "resume_session: there is no conversation claude/x"),
    ({"resume_session": "claud/x"}, "resume_session: .*did you mean 'claude'"),
    ({"resumesession": "x"}, "does not take 'resumesession'; did you mean 'resume_session'"),
])  # fmt: skip
def test_session_refuses_missing_folders_files_and_sessions(
    gate, tmp_path, monkeypatch, options, told
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    with pytest.raises(UsageError, match=told):
        gate.human.request_interactive("Q", options)
    assert gate.pending() == []


@pytest.mark.proves("EASE-11")
def test_session_accepts_existing_folders_files_and_sessions(gate, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    (tmp_path / "tools.json").write_text("{}")
    known = SimpleNamespace(open=lambda _: SimpleNamespace(knows=lambda one: one == "s1"))
    monkeypatch.setattr(wiring, "hosts", lambda: known)
    options = {"cwd": "sub", "mcp_config": "tools.json", "resume_session": "claude/s1"}
    gate.human.request_interactive("Q", options)
    gate.human.request_interactive("Q2", {"resume_session": "s1"})
    assert len(gate.pending()) == 2


@pytest.mark.proves("EASE-11", "LAW-5")
def test_flow_checks_its_session_once(house):
    @flow
    def talks(_):
        return ask_interactive("Q", cwd="sub").response

    assert "cwd: there is no folder" in house.go(talks).reason
    sub = Path(house.folder) / "sub"
    sub.mkdir()
    assert house.go(talks).state == "waiting_human"
    sub.rmdir()
    assert house.answer_and_drive("so").result == "so"


@pytest.mark.proves("EASE-12")
@pytest.mark.parametrize("change", [
    lambda state: setattr(state, "count", 2),
    lambda state: state.items.append(1),
    lambda state: state.data.update(count=2),
])  # fmt: skip
def test_agent_function_must_not_change_state(change):
    flow = Workflow(
        "w", phases=[Phase("work", agent=change, terminal=True)], state={"count": 1, "items": []}
    )
    with pytest.raises(UnfinishedError, match=r"changed the state.*update=.*phase 'work'"):
        flow.run("go", store=MemoryStore())


@pytest.mark.proves("EASE-13")
def test_structured_needs_a_schema(gate):
    with pytest.raises(UsageError, match=r"Structured\(schema\) needs a schema, got None"):
        gate.human.request_interactive("Q", {"returns": Structured(None)})


@pytest.mark.proves("EASE-14")
def test_unreachable_phase_is_refused():
    with pytest.raises(UsageError, match="phase 'lost' is never reached"):
        Workflow("w", phases=[
            Phase("a", human=HumanInput("Go?", "approval"), next={"yes": "b", "no": "a"}),
            Phase("b", agent=len, terminal=True),
            Phase("lost", agent=len, next="b"),
        ])  # fmt: skip


@pytest.mark.proves("EASE-14")
def test_phase_after_a_function_may_be_reached():
    Workflow("w", phases=[
        Phase("a", agent=len, next=lambda state, _: state.way),
        Phase("b", agent=len, terminal=True),
        Phase("c", agent=len, next="b"),
    ])  # fmt: skip


@pytest.mark.proves("EASE-15")
def test_choice_needs_two_options(gate, house):
    told = "a choice needs at least two options"
    with pytest.raises(UsageError, match=told):
        gate.choose("Which?", ["only"])
    with pytest.raises(UsageError, match=told):
        gate.human.request_interactive("Q", {"returns": Selection(["only"])})
    with pytest.raises(UsageError, match=told):
        Workflow("w", phases=[Phase("a", human=HumanInput("?", "choice", ["x"]), terminal=True)])
    assert told in house.go(lambda _: choose("Which?", ["only"]).value).reason
    create_ask.ask(gate.store, Request("?", "choice", ("A", "Other…")), Origin(), a_person())


@pytest.mark.proves("EASE-17")
def test_program_makes_no_task_of_unknown_role(gate, tmp_path):
    tasks = Backlog(gate, str(tmp_path))
    with pytest.raises(NotFoundError, match=r"no role 'cod'; .*did you mean 'code'"):
        tasks.create("One", role="cod")
    task = tasks.create("One", role="code")
    with pytest.raises(NotFoundError, match="no role 'cod'"):
        tasks.update(task.id, role="cod")
