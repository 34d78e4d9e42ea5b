"""A run as XML, a counted diff, and the holder of a session, with any text."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, strategies as st
from tests.support.people import a_person

from gatebell.domain.asks.asks import Ask, Origin
from gatebell.domain.asks.questions import make_question
from gatebell.domain.runs import run_xml
from gatebell.domain.runs.changes import Changed, list_changed_files
from gatebell.domain.runs.runs import FlowCall, Run, Turn
from gatebell.domain.runs.signals import Signal
from gatebell.domain.sessions import joined_sessions, visits
from gatebell.domain.sessions.visits import Terms, Visit
from gatebell.errors import NotFoundError, UsageError

NOW = datetime(2026, 5, 4, 12, 30, tzinfo=UTC)
RUN = Run(42, "feature", "f.py", "", "Add login", "/p", "person:ada", NOW)


def a_call(path, name="step", label="", **more):
    return FlowCall(42, path, name, label, "d", NOW, **more)


def a_turn(path="1", number=1, **more):
    known = {"id": f"t-{path}-{number}", "role": "coder", "cli": "claude", "session": "s1"}
    known |= {"sent": "", "started_at": NOW + timedelta(seconds=number)} | more
    return Turn(run=42, path=path, number=number, **known)


def an_ask(path, kind="approval", prompt="Ship it?", session="", options=(), **more):
    question = make_question(kind, prompt, options=options)
    origin = Origin(project="/p", owner=f"run:42/{path}", session=session)
    return Ask("a-7k2", question, origin, NOW, "", **more)


def parse(run, calls=(), turns=(), asks=()):
    return ET.fromstring(run_xml.to_xml(run_xml.plan(run, calls, turns, asks)))


@pytest.mark.proves("RUN-362")
def test_calls_are_in_order_with_branches_inside():
    calls = [
        a_call("1", "run", "coder", state="recorded", value={"status": "DONE"}),
        a_call("2", "parallel", "2 branches"),
        a_call("2.1.1", "log"),
        a_call("2.1.2", "parallel"),
        a_call("2.1.2.1.1", "log"),
        a_call("2.2.1", "log", state="failed", error={"kind": "E", "message": "m"}),
        a_call("10", "pause", "Ship it?", state="waiting", ask_id="a-7k2"),
    ]
    signal = {"status": "NEEDS_HUMAN", "question": "Which?"}
    turns = [a_turn(signal=signal), a_turn(number=2, by="person:ada"), a_turn("9")]
    settled = {
        "status": "answered", "decision": "approved", "settled_by": "person:ada", "note": "go",
        "settled_via": "cli", "settled_at": NOW + timedelta(seconds=342), "value": "yes, do",
    }  # fmt: skip
    asks = [an_ask("10", **settled), an_ask("1", "text", "Which?")]
    root = parse(RUN._replace(result=[1], parent=41, reason="why"), calls, turns, asks)
    assert (root.tag, root.get("id"), root.get("parent")) == ("run", "42", "41")
    assert [call.get("path") for call in root.iterfind("call")] == ["1", "2", "10"]
    first, both, gate = root.iterfind("call")
    assert [turn.text for turn in first.iterfind("turn")] == ["Which?", None]
    assert [turn.get("by") for turn in first.iterfind("turn")] == [None, "person:ada"]
    assert first.find("human-interaction").attrib == {
        "type": "text", "status": "pending", "id": "a-7k2"
    }  # fmt: skip
    assert json.loads(first.findtext("value")) == {"status": "DONE"}
    one, two = both.iterfind("branch")
    assert [call.get("path") for call in one.iterfind("call")] == ["2.1.1", "2.1.2"]
    assert one.find("call[2]/branch/call").get("path") == "2.1.2.1.1"
    assert json.loads(two.findtext("call/error"))["message"] == "m"
    asked = gate.find("human-interaction")
    assert asked.attrib == {
        "type": "approval", "status": "answered", "id": "a-7k2", "decision": "approved",
        "by": "person:ada", "via": "cli",
    }  # fmt: skip
    told = [asked.findtext(tag) for tag in ("prompt", "answer", "note", "seconds")]
    assert told == ["Ship it?", "yes, do", "go", "342"]
    assert (root.findtext("result"), root.findtext("reason")) == ("[1]", "why")


anything = st.text(st.characters(exclude_categories=())) | st.sampled_from(
    ["]]>", "<!--", "&amp;", '"', "\r\n", "\x00\x1b[31m", "\ud800", "\ufffe", "</run>", "<?x?>"]
)


def keep_legal(text):
    """The characters that XML allows."""
    fine = "\t\n\r"
    return "".join(
        sign
        if sign in fine or (sign >= " " and not "\ud800" <= sign <= "\udfff" and sign not in "\ufffe\uffff")
        else "\ufffd"
        for sign in text
    )  # fmt: skip


@pytest.mark.proves("RUN-362", "LAW-8")
@given(anything, anything, anything)
def test_whatever_the_texts_hold_every_parser_takes_the_xml(one, two, three):
    run = RUN._replace(prompt=one, flow=two, reason=three, result={one: [two, three]})
    ask = an_ask("1", prompt=f"?{one}", note=two, settled_by=three, value={"other": one})
    call = a_call("1", "run", two, value=three)
    turn = a_turn(role=one, signal={"summary": three, "status": two})
    root = parse(run, [call], [turn], [ask])
    assert (root.findtext("prompt") or "", root.get("flow") or "") == (
        keep_legal(one),
        keep_legal(two),
    )
    found = root.find("call")
    assert (found.findtext("turn"), found.find("turn").get("role") or "") == (
        keep_legal(three),
        keep_legal(one),
    )
    asked = found.find("human-interaction")
    assert asked.findtext("prompt") == keep_legal(f"?{one}") and (
        asked.get("by") or ""
    ) == keep_legal(three)


@pytest.mark.proves("RUN-362")
def test_plan_is_indented_by_its_branches():
    calls = [
        a_call("1", "parallel", state="recorded", value=[1]),
        a_call("1.1.1", "run", "a\tb", state="failed", error={"kind": "E"}),
    ]
    turns = [
        a_turn("1.1.1", signal={"status": "BLOCKED", "reason": "no key"}),
        a_turn("1.1.1", number=2),
    ]
    asks = [an_ask("1.1.1", note="go")]
    at = "2026-05-04T12:30:{}.000000+00:00".format
    session = 'role="coder" session="claude/s1"'
    run = RUN._replace(reason="why", result=[2])
    assert run_xml.to_xml(run_xml.plan(run, calls, turns, asks)).split("\n") == [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<run id="42" flow="feature" state="ready" created_at="{at("00")}">',
        "  <prompt>Add login</prompt>",
        "  <reason>why</reason>",
        f'  <call path="1" name="parallel" state="recorded" started_at="{at("00")}">',
        '    <branch number="1">',
        f'      <call path="1.1.1" name="run" label="a&#9;b" state="failed" started_at="{at("00")}">',
        f'        <turn number="1" {session} status="BLOCKED" started_at="{at("01")}">no key</turn>',
        f'        <turn number="2" {session} started_at="{at("02")}"></turn>',
        '        <human-interaction type="approval" status="pending" id="a-7k2">',
        "          <prompt>Ship it?</prompt>",
        "          <note>go</note>",
        "        </human-interaction>",
        '        <error>{"kind": "E"}</error>',
        "      </call>",
        "    </branch>",
        "    <value>[1]</value>",
        "  </call>",
        "  <result>[2]</result>",
        "</run>",
    ]


DIFF = """diff --git a/old name.py b/new name.py
similarity index 90%
rename from old name.py
rename to new name.py
--- a/old name.py
+++ b/new name.py
@@ -1,3 +1,3 @@ def f():
 one
--- two
+++ two
 three
\\ No newline at end of file
@@ -9 +9,2 @@
-x
+y
+z
diff --git "a/t\\303\\244b" "b/t\\303\\244b"
new file mode 100644
--- /dev/null
+++ "b/t\\303\\244b"
@@ -0,0 +1 @@
+diff --git a/x b/x
diff --git a/gone b/gone
deleted file mode 100644
--- a/gone
+++ /dev/null
@@ -1 +0,0 @@
-bye
diff --git a/pic.png b/pic.png
index 1..2 100644
Binary files a/pic.png and b/pic.png differ
diff --git "a/b\\"c" "b/b\\"c"
deleted file mode 100644
--- "a/b\\"c"
+++ /dev/null
diff --git a/empty b/empty
new file mode 100644
"""


@pytest.mark.proves("RUN-363")
def test_diff_is_counted_by_file():
    assert list_changed_files(DIFF) == [
        Changed("new name.py", 3, 2),
        Changed('"t\\303\\244b"', 1, 0),
        Changed("gone", 0, 1),
        Changed("pic.png", binary=True),
        Changed('"b\\"c"'),
        Changed("empty"),
    ]
    renamed = "diff --git a/x b/y~\nsimilarity index 100%\nrename from x\nrename to y~"
    assert list_changed_files(renamed) == [Changed("y~", 0, 0, binary=False)]
    copied = "diff --git a/x b/y z~\ncopy from x\ncopy to y z~\n--- a/x\n+++ b/y z~\t"
    assert list_changed_files(copied) == [Changed("y z~")]
    moved = 'diff --git "a/\\303" b/y\nrename to y\n--- "a/\\303"\n+++ b/y'
    assert list_changed_files(moved) == [Changed("y")]
    assert list_changed_files("") == list_changed_files("nothing of git's\n@@ -1 +1 @@\n") == []


@pytest.mark.proves("RUN-351")
def test_session_is_that_of_the_asking_or_last_agent():
    calls = [a_call("1", "run", state="waiting", ask_id="a-7k2"), a_call("2", "pause")]
    mine, other = a_turn(number=1), a_turn("3", number=9, session="s2")
    asked = an_ask("1", "text", session="claude/s1")
    assert joined_sessions.find_session(asked, calls, [mine, other]) == (mine, True)
    young = [calls[0]._replace(state="open", ask_id="")]
    assert joined_sessions.find_session(asked, young, [mine, other]) == (mine, True)
    assert joined_sessions.find_session(an_ask("2"), calls, [mine, other]) == (other, False)
    for no_agents in (
        an_ask("1", "text"),
        an_ask("1", "approval", session="claude/s1"),
        an_ask("1", "text", session="claude/s1")._replace(id="a-zzz"),
    ):
        assert joined_sessions.find_session(no_agents, calls, [mine]) == (mine, False)
    over = [calls[0]._replace(state="recorded")]
    assert not joined_sessions.find_session(asked, over, [mine]).settles
    with pytest.raises(NotFoundError, match="run 42: no agent has worked in it yet"):
        joined_sessions.find_session(asked, calls, [a_turn(id="t-1+42"), other])
    with pytest.raises(NotFoundError, match="a Python function has no session"):
        joined_sessions.find_session(asked, calls, [a_turn(cli="python", session="")])
    assert joined_sessions.run_of(asked) == 42
    with pytest.raises(UsageError, match="a-7k2 does not belong to a run"):
        joined_sessions.run_of(asked._replace(origin=Origin(project="/p")))


@pytest.mark.proves("RUN-352", "RUN-353", "RUN-354")
def test_who_holds_a_session_is_said():
    now = NOW + timedelta(minutes=10)
    ada = a_turn(by="person:ada", process="boot/77/5")
    told = visits.describe_holder(ada, "a-7k2", [], now)
    assert "person:ada has had this session open since 2026-05-04 12:30:01 UTC (9m ago)" in told
    assert "in process 77: wait until they leave" in told and "gate answer a-7k2" in told
    left = visits.describe_holder(ada, "a-7k2", ["8", "9"], now)
    assert "its gate continue has ended, but process 8, 9 of it still runs: end that" in left
    busy = visits.describe_working_agent(a_turn(process="boot/77/5"), "a-7k2")
    assert busy.startswith("coder is at work in this session now (process 77)")
    assert "gate stop 42, or answer without it: gate answer a-7k2" in busy
    assert "(process ?)" in visits.describe_working_agent(a_turn(), "a-7k2")


@pytest.mark.proves("RUN-355", "RUN-356")
def test_joining_and_leaving_are_listed_and_only_results_settle():
    turn, ada = a_turn(by="person:ada"), a_person()
    joined = joined_sessions.join(RUN, turn, ada)
    (told,) = joined.events
    assert joined.turns == (turn,) and told.content["evidence"] == ada.evidence
    assert (told.kind, told.subject, told.content["session"]) == (
        "session.joined", "run:42", "claude/s1"
    )  # fmt: skip
    left = joined_sessions.leave(RUN, turn, Signal("DONE"), "person:ada", NOW)
    assert left.turn.signal == {"status": "DONE"} and left.turn.ended_at == NOW
    assert left.event.content["status"] == "DONE"
    assert joined_sessions.leave(RUN, turn, None, "gate", NOW, "gone").turn.signal is None
    verdicts = [
        joined_sessions.settles(one) for one in (None, Signal("NEEDS_HUMAN"), Signal("DONE"))
    ]
    assert verdicts == [False, False, True]


def a_session(answer="approval", prompt="Is the schema good?", seconds=1800, **more):
    terms = Terms(answer, session_seconds=seconds)
    known = {"choice": {"options": ("A", "B")}, "form": {"schema": {"type": "object"}}}
    question = make_question("session", prompt, session=terms, **known.get(answer, {}))
    return Ask("a-7k2", question, Origin(owner="run:42/1"), NOW, "", **more)


def a_sitting(number=1, seconds=171, end="left"):
    started = NOW + timedelta(seconds=1000 * number)
    known = {"process": "b/1/2", "started_at": started, "end": end}
    ended = started + timedelta(seconds=seconds)
    return Visit(
        f"t-{number}", "a-7k2", number, "person:ada", "claude", "s1", ended_at=ended, **known
    )


def answer_fields(**more):
    at = NOW + timedelta(hours=1)
    return {"status": "answered", "settled_by": "person:ada", "settled_at": at} | more


def drawn(ask, visits=()):
    """Return the lines of its element only."""
    lines = run_xml.to_xml(run_xml.plan(RUN, [a_call("1")], [], [ask], visits)).split("\n")
    first = next(i for i, line in enumerate(lines) if "<human-interaction" in line)
    last = next(i for i, line in enumerate(lines) if "</human-interaction" in line)
    return [line[4:] for line in lines[first : last + 1]]


@pytest.mark.proves("S0-79", "S0-109")
def test_waiting_session_has_the_documented_shape():
    assert drawn(a_session()) == [
        '<human-interaction type="interactive_session" status="pending">',
        "  <prompt>Is the schema good?</prompt>",
        "  <config>",
        "    <model>sonnet</model>",
        "    <timeout>1800000</timeout>",
        "    <outcome-type>approval</outcome-type>",
        "  </config>",
        "  <message>Waiting for interactive session to complete...</message>",
        "</human-interaction>",
    ]
    kinds = {"choice": "selection", "text": "freeform", "form": "structured"}
    for answer, word in kinds.items():
        lines = drawn(a_session(answer, seconds=None))
        assert f"    <outcome-type>{word}</outcome-type>" in lines
        assert not any("timeout" in line for line in lines)


@pytest.mark.proves("S0-80", "S0-109")
def test_completed_session_has_the_documented_shape():
    ask = a_session(**answer_fields(decision="approved"))
    others = a_sitting(3)._replace(ask_id="a-other")
    assert drawn(ask, [a_sitting(), a_sitting(2), others]) == [
        '<human-interaction type="interactive_session" status="completed">',
        "  <prompt>Is the schema good?</prompt>",
        "  <outcome>approved</outcome>",
        "  <duration>342000</duration>",
        '  <response>"approved"</response>',
        "</human-interaction>",
    ]
    value = {"approved": True, "notes": "fine"}
    lines = drawn(a_session("form", **answer_fields(value=value)), [a_sitting()])
    assert '  <response>{"approved": true, "notes": "fine"}</response>' in lines
    rejected = drawn(a_session(**answer_fields(decision="rejected", note="no index")))
    assert rejected[2:] == [
        "  <outcome>rejected</outcome>",
        "  <duration>0</duration>",
        '  <response>"rejected"</response>',
        "  <note>no index</note>",
        "</human-interaction>",
    ]


@pytest.mark.proves("S0-B8", "FLT-5")
@pytest.mark.parametrize(
    ("answer", "more", "status", "outcome"),
    [
        ("approval", answer_fields(decision="approved"), "completed", "approved"),
        ("approval", answer_fields(decision="rejected"), "completed", "rejected"),
        ("text", answer_fields(value="approved"), "completed", "completed"),
        ("choice", answer_fields(value="A"), "completed", "completed"),
        ("approval", answer_fields(status="timed_out"), "timeout", None),
        ("approval", answer_fields(status="cancelled"), "cancelled", None),
        ("approval", answer_fields(status="cancelled", settled_via="failed"), "failed", None),
    ],
)
def test_status_and_outcome_give_end_and_decision(answer, more, status, outcome):
    ask = a_session(answer, **more)
    (element,) = parse(RUN, [a_call("1")], asks=[ask]).iter("human-interaction")
    assert (element.get("status"), element.findtext("outcome")) == (status, outcome)
    document = run_xml.plan(RUN, [a_call("1")], [], [ask])["calls"][0]["interactions"][0]
    assert (document["status"], document["session"]["outcome"]) == (ask.status, status)
    assert document["decision"] == (outcome if outcome != "completed" else None)


@pytest.mark.proves("S0-79", "S0-80", "S0-B8", "S0-P1")
@given(st.text(min_size=1).filter(str.strip), st.text(), st.text())
def test_session_is_well_formed_whatever_its_texts_hold(prompt, value, note):
    for more in ({}, answer_fields(value=value, note=note)):
        ask = a_session("text", prompt, **more)
        (element,) = parse(RUN, [a_call("1")], asks=[ask]).iter("human-interaction")
        assert element.get("type") == "interactive_session"
        assert element[0].tag == "prompt" and len(element) in (3, 4, 5)
        if more and not any(map(run_xml._ILLEGAL.search, (prompt, value))):
            assert element.findtext("prompt") == prompt
            assert json.loads(element.findtext("response")) == value
