"""Agents with the agent client protocol: their sessions, requests, forms and words."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.support import acp_agent
from tests.support.acp_agent import ALLOW, ALWAYS, REJECT, build_steps
from tests.support.agent_processes import Watched, order
from tests.support.flow_harness import Harness
from tests.support.people import a_person

from gatebell import flow, run
from gatebell.adapters.agents import acp_programs
from gatebell.adapters.agents.acp import AcpDriver
from gatebell.adapters.agents.activity import AgentActivity
from gatebell.domain.runs.roles import Role
from gatebell.errors import StoreError, UsageError
from gatebell.ports.agents import Ended, Ruling
from gatebell.services.permissions import manage_rules
from gatebell.testing import ScriptedPerson

PROGRAM = str(Path(acp_agent.__file__))
BASH = {
    "toolCallId": "c-1",
    "kind": "execute",
    "title": "push",
    "rawInput": {"command": "git push"},
}


class Desk:
    """Runs turns of the scripted agent, decides its requests, and records what it heard."""

    def __init__(self, folder):
        self.folder = folder
        self.asked, self.met = [], []
        self.ruling = Ruling(True)
        self.watched = Watched()

    def decide(self, tool, given, call_id):
        self.asked.append((tool, given, call_id))
        if isinstance(self.ruling, Exception):
            raise self.ruling
        return self.ruling

    def turn(self, *steps, session="", fork_of="", cli="acp", odd=None):
        (self.folder / "odd").write_text(json.dumps(odd or {}), encoding="utf-8")
        made = order(self.folder, sys.executable, "-IS", PROGRAM, str(self.folder))
        made = made._replace(
            role=made.role._replace(cli="acp"),
            session=session,
            fork_of=fork_of,
            text=build_steps(*steps),
        )
        events = self.watched.events(permit=self.decide, met=self.met.append)
        return AcpDriver(cli).run(made, events)

    def ran(self):
        return (self.folder / "ran").exists()

    def heard(self, method):
        lines = (self.folder / "heard").read_text(encoding="utf-8").splitlines()
        found = [json.loads(line) for line in lines]
        return [one["params"] for one in found if one.get("method") == method]


@pytest.fixture
def desk(tmp_path):
    return Desk(tmp_path)


def build_request(**call):
    return {"id": 9, "method": "session/request_permission", "params": {"toolCall": call}}


def build_form(**properties):
    schema = {"requestedSchema": {"properties": properties}}
    return {"id": 9, "method": "elicitation/create", "params": schema}


def build_update(update):
    return {"method": "session/update", "params": {"sessionId": "s-1", "update": update}}


@pytest.mark.proves("ACP-9")
@pytest.mark.parametrize(
    "message",
    [
        {"method": "session/update", "params": []},
        *map(build_update, (None, [1])),
        build_update({"sessionUpdate": "agent_message_chunk", "content": []}),
        build_update({"sessionUpdate": "agent_message_chunk", "content": {"text": 7}}),
        build_update({"sessionUpdate": "current_mode_update"}),
        {"id": 9, "method": "session/request_permission", "params": []},
        {"id": 9, "method": "session/request_permission", "params": {"toolCall": None}},
        {"id": 3, "result": 7},
    ],
)
def test_malformed_message_ends_the_turn(desk, message):
    ended = desk.turn({"raw": message}, {"say": "ok"})
    assert not ended.ok and "agent client protocol" in ended.problem


@pytest.mark.proves("ACP-9")
@pytest.mark.parametrize(
    "request_",
    [
        build_request(kind=["x"], content=7, title={"a": 1}),
        build_request(kind="edit", content=[{"type": "diff"}]),
        build_request(kind="edit", locations=[{"path": 7}], content=[7]),
        build_request(kind="execute", rawInput={"command": "x", "cwd": "a\0b"}),
        build_form(a=7),
        build_form(a={"oneOf": [1]}),
        {"id": 9, "method": ["x"], "params": {}},
        {"id": 9, "method": "elicitation/create"},
    ],
)
def test_malformed_request_is_answered_with_an_error(desk, request_):
    assert desk.turn({"raw": request_}, {"hear": 9}, {"say": "ok"}).ok
    heard = [json.loads(line) for line in (desk.folder / "heard").read_text().splitlines()]
    assert [one["error"]["code"] for one in heard if one.get("id") == 9 and "error" in one]
    assert desk.asked == []


@pytest.mark.proves("ACP-1")
def test_last_words_end_the_turn(desk):
    tool = {"toolCallId": "c-9", "kind": "read", "title": "read x", "status": "completed"}
    ended = desk.turn({"say": "I look."}, {"tool": tool}, {"say": "Done."})
    assert ended == Ended(True, "Done.")
    assert desk.met == ["s-1"]
    assert desk.watched.said_lines == ["I look.", "read: read x", "Done."]
    (opened,) = desk.heard("session/new")
    (server,) = opened["mcpServers"]
    assert opened["cwd"] == str(desk.folder)
    assert {"name": "GATE_SIGNAL_FILE", "value": str(desk.folder / "signal.json")} in server["env"]


@pytest.mark.proves("ACP-2")
@pytest.mark.parametrize(
    ("call", "asked"),
    [
        (BASH, ("Bash", {"command": "git push"})),
        (
            {"kind": "execute", "title": "Push it"},
            ("acp:execute", {"title": "Push it"}),
        ),
        (
            {"kind": "edit", "content": [{"type": "diff", "path": "/x", "newText": "a"}]},
            ("Write", {"file_path": "/x", "content": "a"}),
        ),
        (
            {"kind": "delete", "title": "rm", "locations": [{"path": "/y"}]},
            ("Edit", {"file_path": "/y", "kind": "delete", "input": {}}),
        ),
        (
            {"kind": "fetch", "rawInput": {"url": "https://example.org"}},
            ("WebFetch", {"url": "https://example.org"}),
        ),
        ({"kind": "odd one", "title": "Launch"}, ("acp:other", {"title": "Launch"})),
    ],
)
def test_request_is_named_as_in_the_rules(desk, call, asked):
    desk.turn({"call": {"toolCallId": "c-1", **call}}, {"say": "x"})
    assert desk.asked == [(*asked, "c-1")]
    assert desk.ran()


@pytest.mark.proves("ACP-2")
def test_parts_said_before_belong_to_the_request(desk):
    desk.turn({"tool": BASH}, {"call": {"toolCallId": "c-1", "title": "anything"}})
    assert desk.asked == [("Bash", {"command": "git push"}, "c-1")]


@pytest.mark.proves("ACP-2")
def test_gemini_names_its_command_in_the_title(desk):
    here = {"type": "text", "text": f"[current working directory {desk.folder}] (why)"}
    there = {"type": "text", "text": "[in /etc]"}
    for text in (here, there):
        call = {"toolCallId": "c-1", "kind": "execute", "title": "git push"}
        content = [{"type": "content", "content": text}]
        desk.turn({"call": {**call, "content": content}}, cli="gemini")
    first, second = (given for _, given, _ in desk.asked)
    assert first == {"command": "git push", "description": here["text"]}
    assert second == {"command": "git push", "details": "[in /etc]"}


@pytest.mark.proves("ACP-3")
def test_agent_reads_the_reason_of_a_refusal(desk):
    desk.ruling = Ruling(False, "open a PR")
    ended = desk.turn({"call": BASH}, {"say": "x"})
    assert not desk.ran()
    assert ended.ok and "push: open a PR" in ended.words
    assert len(desk.heard("session/prompt")) == 2


@pytest.mark.proves("ACP-3")
@pytest.mark.parametrize(
    "options",
    [[ALWAYS, REJECT], [], [{**ALWAYS, "optionId": ALLOW["optionId"]}, ALLOW]],
    ids=["lasting only", "none", "one id for two"],
)
def test_yes_never_chooses_a_lasting_permission(desk, options):
    desk.turn({"call": BASH}, odd={"options": options})
    assert desk.asked and not desk.ran()


@pytest.mark.proves("ACP-3")
def test_changed_call_does_not_run(desk):
    desk.ruling = Ruling(True, input={"command": "git push -n"})
    ended = desk.turn({"call": BASH}, {"say": "x"})
    assert not desk.ran() and "git push -n" in ended.words


@pytest.mark.proves("ACP-3")
def test_call_that_cannot_be_shown_is_refused(desk):
    desk.turn({"call": {}})
    desk.ruling = UsageError("this call cannot be shown unchanged")
    desk.turn({"call": BASH})
    assert len(desk.asked) == 1 and not desk.ran()


@pytest.mark.proves("ACP-3")
def test_error_while_deciding_ends_the_agent(desk):
    desk.ruling = StoreError("the disk is full")
    with pytest.raises(StoreError, match="disk is full"):
        desk.turn({"call": BASH})
    assert not desk.ran()


@pytest.mark.proves("ACP-4")
def test_session_is_loaded_without_its_old_words(desk):
    ended = desk.turn({"call": {"toolCallId": "c-1", "title": "x"}}, {"say": "new"}, session="s-1")
    assert ended.words == "new" and desk.watched.said_lines == ["new"]
    assert desk.asked == [("acp:other", {"title": "x"}, "c-1")]
    assert desk.heard("session/load")[0]["sessionId"] == "s-1"
    assert desk.met == [] and desk.heard("session/new") == []


@pytest.mark.proves("ACP-4")
@pytest.mark.parametrize(
    "named",
    [
        {"session": "lost"},
        {"session": "s-1", "odd": {"loads": False}},
        {"session": "s-1", "cli": "gemini"},
        {"fork_of": "s-1"},
    ],
    ids=["unknown", "cannot load", "gemini", "fork"],
)
def test_lost_session_is_gone_and_nothing_is_sent(desk, named):
    ended = desk.turn({"say": "x"}, **named)
    assert ended.gone and not ended.ok
    assert desk.heard("session/prompt") == []


@pytest.mark.proves("ACP-5")
@pytest.mark.parametrize(
    "opened",
    [
        {"modes": {"currentModeId": "yolo"}},
        {"modes": {"currentModeId": "https://example.org/modes#autopilot"}},
        {"configOptions": [{"id": "allow_all", "category": "permissions", "currentValue": "on"}]},
    ],
)
def test_agent_that_would_not_ask_gets_no_prompt(desk, opened):
    ended = desk.turn({"say": "x"}, odd={"opened": opened})
    assert "without asking" in ended.problem
    assert desk.heard("session/prompt") == []


@pytest.mark.proves("ACP-5")
@pytest.mark.parametrize(
    ("others", "wanted"), [(["read-only", "workspace-write"], True), ([], False)]
)
def test_review_by_a_model_is_replaced_or_refused(desk, others, wanted):
    modes = [{"id": "agent", "name": "Auto review"}, *({"id": one, "name": one} for one in others)]
    opened = {"modes": {"currentModeId": "agent", "availableModes": modes}}
    ended = desk.turn({"say": "x"}, odd={"opened": opened})
    changed = desk.heard("session/set_mode")
    assert changed == ([{"sessionId": "s-1", "modeId": "workspace-write"}] if wanted else [])
    assert ended.ok == wanted == bool(desk.heard("session/prompt"))
    assert wanted or "review by a model" in ended.problem


@pytest.mark.proves("ACP-5")
def test_change_to_a_mode_without_questions_ends_it(desk):
    ended = desk.turn({"mode": "bypassPermissions"}, {"call": BASH})
    assert not ended.ok and "bypassPermissions" in ended.problem


@pytest.mark.proves("ACP-5")
@pytest.mark.parametrize(
    "role",
    [
        {"cli": "gemini", "arguments": ("--yolo",)},
        {"cli": "copilot", "arguments": ("--allow-all",)},
        {"cli": "acp", "command": ("agent", "--dangerously-skip-permissions")},
        {"cli": "opencode", "tools": ("Read",)},
        {"cli": "acp", "command": ("agent",), "model": "big"},
    ],
)
def test_role_that_asks_for_too_much_is_refused(tmp_path, role):
    wanted = order(tmp_path)._replace(role=Role("coder", "", **role))
    with pytest.raises(UsageError):
        AcpDriver(role["cli"]).run(wanted, Watched().events())


@pytest.mark.proves("ACP-5")
def test_opencode_is_started_so_that_it_asks(tmp_path):
    wanted = order(tmp_path)._replace(role=Role("coder", "", cli="opencode", model="a/b"))
    environ = acp_programs.build_environ(wanted)
    assert json.loads(environ["OPENCODE_PERMISSION"])["*"] == "ask"
    assert environ["OPENCODE_DISABLE_PROJECT_CONFIG"] == "1"
    assert json.loads(environ["OPENCODE_CONFIG_CONTENT"]) == {"model": "a/b"}


@pytest.mark.proves("ACP-5")
def test_gemini_does_not_trust_the_worktree(tmp_path):
    wanted = order(tmp_path)._replace(role=Role("coder", "", cli="gemini"))
    assert acp_programs.build_environ(wanted)["GEMINI_CLI_TRUST_WORKSPACE"] == "false"


@pytest.mark.proves("ACP-1")
@pytest.mark.parametrize(
    ("steps", "odd", "problem"),
    [
        ([{"exit": 3}], {}, "exit code 3"),
        ([{"exit": 0}], {}, "in the middle of its turn"),
        ([{"say": "x"}], {"stop": "max_tokens"}, "max_tokens"),
        ([{"say": "x"}], {"version": 9}, "version 1"),
    ],
)
def test_turn_that_ends_badly_is_not_ok(desk, steps, odd, problem):
    ended = desk.turn(*steps, odd=odd)
    assert not ended.ok and problem in ended.problem


FORM = {
    "message": "Release",
    "requestedSchema": {
        "type": "object",
        "properties": {
            "place": {"type": "string", "enum": ["north", "south"]},
            "count": {"type": "integer", "title": "How many"},
            "sure": {"type": "boolean"},
        },
    },
}


class Flow(Harness):
    """A run whose coder is the scripted agent, with real paths."""

    def __init__(self, folder):
        super().__init__(folder)
        self.desk = Desk(folder)
        self.agents["coder"] = self

    takes_edits, asks_about_edits = False, True
    new_session = AcpDriver.new_session

    def knows(self, _):
        return True

    def run(self, order, events):
        steps = json.loads(self.script)
        words = (sys.executable, "-IS", PROGRAM, str(self.folder))
        role = Role("coder", "", cli="acp", command=words)
        return AcpDriver("acp").run(order._replace(role=role, text=build_steps(*steps)), events)

    def dependencies(self):
        made = super().dependencies()
        found = SimpleNamespace(tool_call=AgentActivity().tool_call, summary=lambda _: "")
        return made._replace(activity=found)

    def play(self, *steps):
        self.script = json.dumps([*steps, {"say": '{"status": "DONE"}'}])
        self.start(flow(on_error="return")(lambda _: run("coder").status))
        return self.drive()


@pytest.fixture
def played(tmp_path):
    made = Flow(tmp_path)
    yield made
    made.close()


@pytest.mark.proves("ACP-6")
@pytest.mark.parametrize("answer", ["no", "yes"])
def test_person_decides_in_the_inbox(played, answer):
    ScriptedPerson(played.store).will_answer("git push", answer)
    played.play({"call": BASH})
    (ask,) = played.store.asks.list_settled(9)
    assert ask.question.call.command == "git push"
    assert ask.origin.tool_use_id == "c-1"
    assert played.desk.ran() == (answer == "yes")


@pytest.mark.proves("ACP-6")
@pytest.mark.parametrize(("path", "asks"), [("a.py", 0), (".gemini/x", 1), ("../a.py", 1)])
def test_only_ordinary_edits_need_no_person(played, path, asks):
    where = str(Path(played.folder) / path)
    change = {"type": "diff", "path": where, "newText": "a"}
    ScriptedPerson(played.store).will_answer("Change", "no")
    played.play({"call": {"toolCallId": "c-1", "kind": "edit", "content": [change]}})
    assert len(played.store.asks.list_settled(9)) == asks
    assert played.desk.ran() == (not asks)


@pytest.mark.proves("ACP-6")
def test_gated_edit_needs_a_person(played):
    change = {"type": "diff", "path": str(Path(played.folder) / "a.py"), "newText": "a"}
    manage_rules.add(played.store, a_person("ada"), "ask", "", "Write(*.py)")
    ScriptedPerson(played.store).will_answer("Change", "no")
    played.play({"call": {"toolCallId": "c-1", "kind": "edit", "content": [change]}})
    assert len(played.store.asks.list_settled(9)) == 1 and not played.desk.ran()


@pytest.mark.proves("ACP-7")
def test_form_of_an_agent_is_answered_in_the_inbox(played):
    person = ScriptedPerson(played.store)
    for field, answer in {"place": "south", "How many": "3", "sure": "No"}.items():
        person.will_answer(field, answer)
    played.play({"form": FORM})
    told = json.loads((played.desk.folder / "form").read_text(encoding="utf-8"))
    assert told == {"action": "accept", "content": {"place": "south", "count": 3, "sure": False}}


@pytest.mark.proves("ACP-7")
@pytest.mark.parametrize(
    ("said", "content"),
    [
        ("Red, warm, Blue", {"question_0": ["red", "blue"]}),
        ("Blue", {"question_0": ["blue"]}),
        ("something else", {"question_0_custom": "something else"}),
    ],
)
def test_several_choices_and_other_words_fit_their_fields(desk, said, content):
    # The form of claude-agent-acp 0.49.0 for a question of claude with several choices.
    colours = [{"const": "red", "title": "Red, warm"}, {"const": "blue", "title": "Blue"}]
    fields = {
        "question_0": {"type": "array", "title": "Colours", "items": {"anyOf": colours}},
        "question_0_custom": {"type": "string", "title": "Other"},
    }
    form = {"questions": [{"question": "Which?\nColours"}], "answers": {"Which?\nColours": said}}
    desk.ruling = Ruling(True, input=form)
    desk.turn({"form": {"message": "Which?", "requestedSchema": {"properties": fields}}})
    ((_, asked, _),) = desk.asked
    (question,) = asked["questions"]
    assert question["multiSelect"] and [one["label"] for one in question["options"]] == [
        "Red, warm",
        "Blue",
    ]
    told = json.loads((desk.folder / "form").read_text())
    assert told == {"action": "accept", "content": content}


@pytest.mark.proves("ACP-7")
def test_field_that_may_be_null_is_a_text(desk):
    field = {"title": "Why", "anyOf": [{"type": "string"}, {"type": "null"}]}
    form = {"questions": [{"question": "Why"}], "answers": {"Why": "because"}}
    desk.ruling = Ruling(True, input=form)
    desk.turn({"form": {"requestedSchema": {"properties": {"why": field}}}})
    assert desk.asked[0][1]["questions"][0]["options"] == []
    told = json.loads((desk.folder / "form").read_text())
    assert told == {"action": "accept", "content": {"why": "because"}}


@pytest.mark.proves("ACP-7")
def test_choice_without_an_answer_is_declined(desk):
    field = {"type": "array", "title": "Colours", "items": {"enum": ["red"]}}
    desk.ruling = Ruling(True, input={"questions": [{"question": "Colours"}], "answers": {}})
    desk.turn({"form": {"requestedSchema": {"properties": {"colours": field}}}})
    assert json.loads((desk.folder / "form").read_text()) == {"action": "decline"}


@pytest.mark.proves("ACP-7")
@pytest.mark.parametrize("answer", ["many", None])
def test_form_without_a_fitting_answer_is_declined(desk, answer):
    desk.ruling = Ruling(False)
    if answer:
        form = {"questions": [{"question": "Release\nHow many"}], "answers": {}}
        desk.ruling = Ruling(True, input={**form, "answers": {"Release\nHow many": answer}})
    fields = {"count": FORM["requestedSchema"]["properties"]["count"]}
    desk.turn({"form": {"message": "Release", "requestedSchema": {"properties": fields}}})
    assert json.loads((desk.folder / "form").read_text()) == {"action": "decline"}
