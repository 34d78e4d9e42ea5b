"""Formats of questions and answers in files, and the reasons of refusals."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, strategies as st

from gatebell.domain.asks import file_questions
from gatebell.domain.asks.asks import Ask, Origin
from gatebell.domain.asks.file_questions import (
    answer_file,
    foreign,
    parse_answer_name,
    parse_name,
    parse_question,
    read_answered_ask,
    refusal_file,
    shorten,
)
from gatebell.domain.asks.questions import Question
from gatebell.errors import UsageError

AT = datetime(2026, 1, 1, tzinfo=UTC)
FILE = "q_agent_12345_1767225600_0f8fad5b-d9cb-469f-a165-70867728950e.json"
NAME = parse_name(FILE)


def written(**fields):
    whole = {
        "id": NAME.id,
        "agent_id": "agent_12345",
        "agent_name": "Claude-Terminal-1",
        "working_dir": "/projects/shop",
        "timestamp": 1767225600,
        "type": "text",
        "content": "Which database?",
        "priority": "normal",
        "answered": False,
        "timeout": 300,
    }
    whole = {name: value for name, value in (whole | fields).items() if value is not ...}
    return json.dumps(whole).encode()


def why_not(content, name=NAME):
    with pytest.raises(UsageError) as error:
        parse_question(name, content)
    return str(error.value)


@pytest.mark.proves("S4-9", "S4-10", "S4-B9", "FILE-60")
def test_file_name_holds_agent_time_and_id():
    assert NAME == (FILE, "agent_12345", 1767225600, "0f8fad5b-d9cb-469f-a165-70867728950e")
    assert NAME.answer == f"a_{FILE[2:]}"
    assert parse_answer_name(NAME.answer) == NAME
    assert parse_answer_name(FILE) is None
    assert parse_answer_name("a_notes.json") is None


@pytest.mark.proves("FILE-190", "S4-56", "S4-B8", "S4-B9")
@pytest.mark.parametrize(
    "time", ["1767225600", "1767225600123456789", "1767225600N"], ids=["s", "ns", "mac"]
)
def test_original_scripts_names_are_read_and_answered(time):
    name = parse_name(f"q_agent_12_{time}_{time}_12_12.json")
    assert (name.agent, name.timestamp, name.id) == ("agent_12", 1767225600, f"{time}_12_12")
    assert name.is_original and not NAME.is_original
    assert name.answer == f"a_agent_12_{time}_12_12.json"
    assert parse_answer_name(name.answer) == name
    assert parse_answer_name(f"a_agent_12_{time}_12_13.json") is None


@pytest.mark.proves("FILE-190", "S4-B7")
def test_original_timestamp_of_a_mac_is_read():
    name = parse_name("q_agent_12345_1767225600N_1767225600N_12345_12345.json")
    content = written(id=name.id).replace(b"1767225600,", b"1767225600N,", 1)
    assert parse_question(name, content).content == "Which database?"
    assert "one JSON object in UTF-8" in why_not(content.replace(b"600N,", b"601N,", 1), name)
    assert "one JSON object in UTF-8" in why_not(
        written().replace(b"1767225600,", b"1767225600N,", 1)
    )
    plain = parse_name("q_agent_12345_1767225600_1767225600N.json")
    assert "one JSON object in UTF-8" in why_not(content, plain)


@pytest.mark.proves("FILE-61")
@pytest.mark.parametrize(
    "file",
    [
        "q_agent_1_2_3.json",
        "q_agent_.._1_00000000.json/..",
        "q_agent_a/b_1_00000000.json",
        "q_agent_a_1_00000000.json\n",
        "q_agent_a\n_1_00000000.json",
        "q_agent_é_1_00000000.json",
        "q_agent_a_١_00000000.json",
        "q_agent_a_1_0000\x000000.json",
        f"q_agent_{'a' * 65}_1_00000000.json",
        f"q_agent_a_1_{'0' * 65}.json",
        f"q_agent_a_{'1' * 13}_00000000.json",
        "q_agent_a_1_00000000.JSON",
        "q_agent_12_1767225600_1767225600_12_13.json",
        "q_agent_12_1767225600_1767225601_12_12.json",
        "q_agent_12_1767225600_1767225600_12.json",
        "q_agent_12_1767225600N_1767225600_12_12.json",
        "q_agent_12_1767225600NN_1767225600NN_12_12.json",
        "q_agent_12_1767225600_1767225600_12_12.json\n",
        "q_agent_12_1767225600_1767225600_12_12\x1b.json",
        "q_agent_../_1767225600_1767225600_../_../.json",
        "q_agent_a_1767225600_1767225600_a_a.json",
        "q_agent_١_1767225600_1767225600_١_١.json",
        f"q_agent_{'1' * 11}_1767225600_1767225600_{'1' * 11}_{'1' * 11}.json",
        f"q_agent_12_{'1' * 20}_{'1' * 20}_12_12.json",
        f"q_agent_12_{'1' * 15}_{'1' * 15}_12_12.json",
        "a_agent_a_1_00000000.json",
        "agent_a_1_00000000.json",
        "",
    ],
)
def test_other_file_names_are_not_questions(file):
    assert parse_name(file) is None


@pytest.mark.proves("FILE-61")
@given(st.text())
def test_no_name_leads_anywhere_else(text):
    original = f"q_agent_{text}_1_1_{text}_{text}.json"
    found = parse_name(text) or parse_name(f"q_agent_{text}_1_00000000.json")
    found = found or parse_name(original)
    assert found is None or not set("/\\\0\n") & set(found.file + found.answer + found.agent)


@pytest.mark.proves(
    "S4-15", "S4-16", "S4-17", "S4-18", "S4-19", "S4-20", "S4-21", "S4-77", "FILE-60"
)
def test_question_is_read_with_all_its_fields():
    question = parse_question(NAME, written(priority="urgent", timeout=60))
    assert question.agent_name == "Claude-Terminal-1"
    assert question.folder == "/projects/shop"
    assert question.content == "Which database?"
    assert (question.type, question.options) == ("text", ())
    assert (question.priority, question.seconds) == (0, 60)


@pytest.mark.proves("S4-23", "S4-25", "S4-43", "S4-B20", "FILE-60")
def test_omitted_fields_have_defaults():
    left_out = ("agent_id", "agent_name", "working_dir", "type", "priority", "timeout", "timestamp")
    question = parse_question(NAME, written(**dict.fromkeys(left_out, ...)))
    assert question.agent_name == "agent_12345"
    assert question.folder == ""
    assert (question.type, question.priority, question.seconds) == ("text", 2, 300)


@pytest.mark.proves("S4-22", "FILE-62")
def test_select_has_distinct_options_and_others_have_none():
    select = written(type="select", options=[" A, with comma ", "B", "B", " "])
    assert parse_question(NAME, select).options == ("A, with comma", "B")
    assert parse_question(NAME, written(type="yesno", options=["A", "B"])).options == ()
    assert "at least 2" in why_not(written(type="select", options=["A"]))
    assert "needs at least 2 options" in why_not(written(type="select"))
    assert "needs at least 2 options" in why_not(written(type="select", options=[" "]))
    assert "a list of texts" in why_not(written(type="select", options=["A", 1]))
    assert "a list of texts" in why_not(written(type="select", options="A,B"))
    assert "more than 100" in why_not(written(type="select", options=[str(n) for n in range(101)]))


@pytest.mark.proves("FILE-63")
@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "one JSON object in UTF-8"),
        (written()[:-3], "one JSON object in UTF-8"),
        (written() + written(), "one JSON object in UTF-8"),
        (b'\xff\xfe"', "one JSON object in UTF-8"),
        (b"[]", "a JSON object"),
        (b"null", "a JSON object"),
        (b"[" * 10_000, "nested too deeply"),
        (b'{"a":' * 10_000, "nested too deeply"),
        (written()[:-1] + b', "content": "other"}', "twice"),
        (written()[:-1] + b', "x": {"a": 1, "a": 2}}', "twice"),
        (written()[:-1] + b', "x": NaN}', "one JSON object in UTF-8"),
        (written()[:-1] + b', "x": -Infinity}', "one JSON object in UTF-8"),
        (written()[:-1] + b', "x": ' + b"9" * 5_000 + b"}", "one JSON object in UTF-8"),
        (written(id="another-id"), "its id"),
        (written(id=...), "its id"),
        (written(agent_id="agent_2"), "its agent_id"),
        (written(type="approval"), "a type from"),
        (written(type=["text"]), "a type from"),
        (written(content=""), "its content is empty"),
        (written(content=" \n "), "its content is empty"),
        (written(content=...), "its content is empty"),
        (written(content=5), "for content"),
        (written(content="a" * 200_001), "for content"),
        (written(agent_name="a" * 201), "for agent_name"),
        (written(working_dir=None), "for working_dir"),
        (written(priority="at once"), "priority"),
        (written(timeout=0), "expected a timeout"),
        (written(timeout=True), "expected a timeout"),
        (written(timeout=1.5), "expected a timeout"),
        (written(timeout=604_801), "expected a timeout"),
        (written(timeout="300"), "expected a timeout"),
    ],
)
def test_invalid_question_is_refused_with_the_reason(content, why):
    assert why in why_not(content)


@pytest.mark.proves("FILE-63")
def test_byte_order_mark_is_accepted():
    assert parse_question(NAME, b"\xef\xbb\xbf" + written()).content == "Which database?"


@pytest.mark.proves("FILE-63")
@given(st.binary(max_size=200))
def test_any_file_is_a_question_or_refused(content):
    with pytest.raises(UsageError):
        parse_question(NAME, content)


@pytest.mark.proves("FILE-64")
def test_time_runs_from_the_timestamp_and_never_ahead():
    question = parse_question(NAME, written(timeout=100))
    assert question.left(AT) == 100
    assert question.left(AT + timedelta(seconds=40)) == 60
    assert question.left(AT + timedelta(seconds=200)) == -100
    assert question.left(AT - timedelta(days=1)) == 100


def settle(status, **fields):
    ask = Ask("a-7k2", Question("text", "Which?"), Origin(), AT, "d", status=status)
    return ask._replace(**fields)


@pytest.mark.proves("S4-26", "FILE-65")
def test_only_an_answer_has_content_and_nothing_is_null():
    later = AT + timedelta(seconds=7)
    answered = json.loads(answer_file(NAME, settle("answered", settled_at=later), "Postgres é"))
    assert answered == {
        "id": NAME.id,
        "agent_id": "agent_12345",
        "timestamp": 1767225607,
        "type": "answer",
        "content": "Postgres é",
        "status": "answered",
        "ask": "a-7k2",
        "reason": "",
    }
    cancelled = json.loads(answer_file(NAME, settle("cancelled", note="not needed"), "ignored"))
    assert (cancelled["content"], cancelled["status"]) == ("", "cancelled")
    assert cancelled["reason"] == "not needed"
    timed_out = json.loads(answer_file(NAME, settle("timed_out", settled_at=later), ""))
    assert timed_out["content"] == ""
    assert timed_out["reason"] == "a-7k2 timed out at 2026-01-01 00:00:07 UTC"
    refused = json.loads(refusal_file(NAME, "too long", AT))
    assert (refused["content"], refused["status"], refused["reason"]) == ("", "refused", "too long")
    assert None not in [*answered.values(), *cancelled.values(), *refused.values()]


@pytest.mark.proves("FILE-66")
def test_answer_file_names_its_ask_or_denies_one():
    assert read_answered_ask(answer_file(NAME, settle("answered"), "x")) == "a-7k2"
    assert read_answered_ask(refusal_file(NAME, "no", AT)) == ""
    assert read_answered_ask(refusal_file(NAME, "no", AT, "timed_out")) == ""
    for forged in (
        {"type": "answer", "content": "yes"},
        {"ask": 7, "content": "yes"},
        {"ask": "", "content": "yes", "status": "refused"},
        {"ask": "", "content": "", "status": "answered"},
        {"ask": "", "content": "", "status": "cancelled"},
    ):
        with pytest.raises(UsageError):
            read_answered_ask(json.dumps(forged).encode())


@pytest.mark.proves("FILE-66")
def test_foreign_file_is_known_by_its_stamp():
    event = foreign("/p/.helpers/answers/\udcff", (1, 2, 3))
    assert event.kind == "file.foreign"
    assert event.content == {"stamp": [1, 2, 3]}
    event.subject.encode()


@pytest.mark.proves("S4-44")
def test_queue_shows_the_start_of_a_question():
    assert shorten("a" * 100) == "a" * 100
    assert shorten("a" * 101) == "a" * 100 + "..."
    assert file_questions.document({"a": "\ud800"}).decode() == '{\n  "a": "?"\n}\n'


@pytest.mark.proves("FILE-60", "FILE-63")
@pytest.mark.parametrize(
    ("field", "fits", "too_long"),
    [
        ("agent_name", "n" * 200, "n" * 201),
        ("working_dir", "/" * 4_096, "/" * 4_097),
        ("timeout", 1, 0),
        ("timeout", 7 * 86_400, 7 * 86_400 + 1),
    ],
)
def test_field_is_taken_up_to_its_limit(field, fits, too_long):
    assert fits in parse_question(NAME, written(**{field: fits}))
    problem = why_not(written(**{field: too_long}))
    assert problem.startswith("expected a") and field in problem


@pytest.mark.proves("FILE-63")
def test_long_priority_is_not_repeated():
    assert why_not(written(priority="x" * 21)) == (
        "expected a text of at most 20 characters for priority"
    )


@pytest.mark.proves("FILE-62", "FILE-63")
def test_select_has_up_to_hundred_options():
    options = [f"o{n}" for n in range(100)]
    found = parse_question(NAME, written(type="select", options=options))
    assert found.options == tuple(options)
    assert "more than 100 options" in why_not(written(type="select", options=[*options, "x"]))


@pytest.mark.proves("FILE-66", "LAW-9")
def test_event_of_a_foreign_file_is_whole():
    assert foreign("/p/a.json", (1, 2)) == ("file.foreign", "/p/a.json", "gate", {"stamp": [1, 2]})
