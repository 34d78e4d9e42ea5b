"""A question as a form of a host: nothing is preselected, and only a choice decides."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given as whatever, strategies as st

from gatebell.domain.asks.answers import interpret
from gatebell.domain.asks.asks import Ask, Origin
from gatebell.domain.asks.elicitation import (
    NOT_YET,
    Elicitation,
    Quotation,
    elicitation,
    read_given,
)
from gatebell.domain.asks.questions import make_question
from gatebell.domain.sessions.visits import Terms
from gatebell.domain.text.display import inert

PROPOSED = Quotation("claude", "APPROVED", "it is small")


def ask_of(answer="approval", prompt="Is it good?", **more):
    question = make_question("session", prompt, session=Terms(answer), **more)
    return Ask("a-1", question, Origin(), datetime(2026, 1, 1, tzinfo=UTC), "the-digest")


def shown(ask, proposal=PROPOSED):
    return elicitation(ask, proposal)


def everything(schema):
    return {"type": "object", "properties": schema, "required": list(schema)}


@pytest.mark.proves("SES-90", "LAW-3")
def test_approval_starts_without_a_decision():
    form = shown(ask_of())
    fields = form.schema["properties"]
    assert fields["decision"]["enum"] == [NOT_YET, "approve", "reject"]
    assert form.schema["required"] == ["decision"]
    assert "default" not in str(form.schema)


@pytest.mark.proves("SES-90", "LAW-3", "LAW-4")
@pytest.mark.parametrize(
    ("content", "value", "note"),
    [
        ({"decision": "approve"}, "approve", ""),
        ({"decision": "reject", "reason": "too slow"}, "reject", "too slow"),
        ({"decision": "approve", "reason": 7}, "approve", ""),
    ],
)
def test_chosen_value_is_the_answer(content, value, note):
    ask = ask_of()
    answer = read_given(ask, shown(ask), content)
    assert (answer.value, answer.note, answer.digest) == (value, note, "the-digest")
    assert interpret(ask.question, answer.value)[0] == {"approve": "approved"}.get(
        value, "rejected"
    )


@pytest.mark.proves("SES-91", "LAW-3")
@pytest.mark.parametrize(
    "content",
    [
        None, [], "approve", {}, {"decision": NOT_YET}, {"decision": "Approve"}, {"decision": True},
        {"decision": ["approve"]}, {"decision": None}, {"decision": "approved"}, {"reason": "approve"},
        {"decision": "approve "}, {"choice": "approve"}, {"text": "approve"},
    ],
)  # fmt: skip
def test_invalid_choice_decides_nothing(content):
    ask = ask_of()
    assert read_given(ask, shown(ask), content) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from(["approve", "yes", "decision"]),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.just("decision"), inner),
    max_leaves=8,
)  # fmt: skip


@pytest.mark.proves("SES-91", "LAW-3")
@whatever(JSON)
def test_only_the_word_itself_approves(content):
    ask = ask_of()
    answer = read_given(ask, shown(ask), content)
    if answer and answer.value == "approve":
        assert content["decision"] == "approve"


@pytest.mark.proves("SES-92", "LAW-8")
@whatever(st.text(), st.text(), st.text(min_size=1).filter(str.strip))
def test_words_of_an_agent_are_quoted(words, reason, prompt):
    form = shown(ask_of(prompt=prompt), Quotation("claude", words, reason))
    first, said, last = form.message.split("\n")
    assert inert(form.message) == form.message
    assert first.startswith("a-1: ") and said.startswith("claude proposes: “")
    assert said.endswith("”") and said.count("”") == (2 if reason else 1)
    assert last == "You decide. If you leave this form, nothing is decided."
    assert form.schema == shown(ask_of()).schema, "it fills nothing in"


@pytest.mark.proves("SES-92", "LAW-8")
def test_escapes_and_line_ends_of_an_agent_are_seen():
    form = shown(ask_of(), Quotation("claude", "ok”\nYou decided: approve\x1b[2J\u202e", ""))
    said = form.message.split("\n")[1]
    assert said == "claude proposes: “ok' ⏎ You decided: approve␛[2J‹U+202E›”"


@pytest.mark.proves("SES-93")
def test_choice_is_an_option_or_free_text():
    ask = ask_of("choice", options=("Postgres", "SQL\u202eite", "Other…"))
    form = shown(ask)
    assert form.schema["properties"]["choice"]["enum"] == [
        NOT_YET, "Postgres", "SQL‹U+202E›ite", "Other…"
    ]  # fmt: skip
    assert read_given(ask, form, {"choice": "SQL‹U+202E›ite"}).value == "SQL\u202eite"
    assert read_given(ask, form, {"choice": "Other…", "other": "files"}).value == {"other": "files"}
    assert read_given(ask, form, {"choice": "Other…"}).value == {"other": ""}, "refused, and kept"
    assert read_given(ask, form, {"choice": NOT_YET, "other": "files"}) is None
    assert "other" not in shown(ask_of("choice", options=("A", "B"))).schema["properties"]


@pytest.mark.proves("SES-93")
@pytest.mark.parametrize(
    "more",
    [
        {"options": ("A", "B"), "multiple": True},
        {"options": ("A", NOT_YET)},
        {"options": ("A" * 90, "A" * 91)},
    ],
)
def test_choice_unfit_for_a_list_is_made_after_leaving(more):
    assert shown(ask_of("choice", **more)) is None


@pytest.mark.proves("SES-93")
def test_text_is_typed():
    ask = ask_of("text")
    form = shown(ask, Quotation("claude", "use Postgres"))
    assert form.schema["properties"] == {
        "text": {"type": "string", "title": "Your answer", "minLength": 1}
    }
    assert read_given(ask, form, {"text": "files"}).value == "files"
    assert (
        read_given(ask, form, {"text": " "}) is None and read_given(ask, form, {"text": 7}) is None
    )


FLAT = {
    "approved": {"type": "boolean", "default": True, "title": "Approved?"},
    "severity": {"enum": ["low", "high"], "description": "How bad\nit is"},
    "count": {"type": "integer", "minimum": 1, "default": 3},
    "notes": {"type": "string"},
}


@pytest.mark.proves("SES-94")
def test_flat_form_is_shown_with_nothing_filled_in():
    ask = ask_of("form", schema=everything(FLAT))
    form = shown(ask)
    assert form.schema["properties"] == {
        "field1": {"type": "string", "title": "Approved?", "enum": [NOT_YET, "yes", "no"]},
        "field2": {
            "type": "string",
            "title": "severity",
            "enum": [NOT_YET, "low", "high"],
            "description": "How bad ⏎ it is",
        },
        "field3": {"type": "integer", "title": "count", "minimum": 1},
        "field4": {"type": "string", "title": "notes"},
    }
    content = {"field1": "no", "field2": "high", "field3": 2, "field4": "slow"}
    answer = read_given(ask, form, content)
    assert answer.value == {"approved": False, "severity": "high", "count": 2, "notes": "slow"}
    assert read_given(ask, form, {"field1": "yes"}).value == {"approved": True}
    some = read_given(ask, form, {"field1": NOT_YET, "field2": "worst", "field3": 2, "field4": ""})
    assert some.value == {"count": 2}, "which does not fit, and is refused"
    assert read_given(ask, form, {"field1": NOT_YET, "field4": ""}) is None
    optional = shown(ask_of("form", schema={"type": "object", "properties": FLAT}))
    assert optional.schema["required"] == []


@pytest.mark.proves("SES-94")
@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        {"type": "object", "properties": {}},
        {"type": "array", "items": {"type": "string"}},
        {"properties": FLAT},
        everything({"a": {"type": "array"}}),
        everything({"a": {"type": "object", "properties": {}}}),
        everything({"a": True}),
        everything({"a": {"$ref": "#/$defs/b"}}),
        everything({"a": {"enum": ["a", 1]}}),
        everything({"a": {"enum": [NOT_YET]}}),
        everything({"a": {"enum": ["b\n", "b"]}}),
        everything({"a": {"type": "string", "writeOnly": True}}),
        everything({f"f{n}": {"type": "string"} for n in range(13)}),
        everything(FLAT) | {"oneOf": [{}]},
        everything(FLAT) | {"additionalProperties": {"type": "string"}},
    ],
)
def test_nested_form_is_filled_in_after_leaving(schema):
    assert shown(ask_of("form", schema=schema)) is None


@pytest.mark.proves("SES-93", "SES-94")
def test_host_without_empty_fields_gets_required_text_only():
    form = elicitation(ask_of(), PROPOSED, skips=False)
    assert list(form.schema["properties"]) == ["decision"]
    assert read_given(ask_of(), form, {"decision": "reject"}).value == "reject"
    flat = everything(FLAT)
    asks = {
        "all needed": ask_of("form", schema=flat),
        "lists may be left": ask_of("form", schema=flat | {"required": ["count", "notes"]}),
        "text may be left": ask_of("form", schema=flat | {"required": ["count"]}),
        "other": ask_of("choice", options=("A", "Other…")),
        "no other": ask_of("choice", options=("A", "B")),
    }
    shown_there = [name for name, ask in asks.items() if elicitation(ask, PROPOSED, skips=False)]
    assert shown_there == ["all needed", "lists may be left", "no other"]


MESSAGE = (
    "a-1: Is it good?\nclaude proposes: “APPROVED”, because: “it is small”\n"
    "You decide. If you leave this form, nothing is decided."
)


def list_field(title, *labels):
    return {"type": "string", "title": title, "enum": ["not yet", *labels]}


def text_field(title, **more):
    return {"type": "string", "title": title, **more}


def an_object(required, **fields):
    return {"type": "object", "properties": fields, "required": required}


@pytest.mark.proves("SES-90")
@pytest.mark.parametrize(
    ("skips", "reason"), [(True, {"reason": text_field("Reason")}), (False, {})]
)
def test_form_of_an_approval_is_whole(skips, reason):
    decide = {"approve": "approve", "reject": "reject"}
    fields = {"decision": list_field("Your decision", "approve", "reject")} | reason
    assert elicitation(ask_of(), PROPOSED, skips=skips) == Elicitation(
        MESSAGE, an_object(["decision"], **fields), {"decision": decide}, {}
    )


@pytest.mark.proves("SES-93")
def test_form_of_a_choice_is_whole():
    plain = shown(ask_of("choice", options=("A", "B")))
    assert plain == Elicitation(
        MESSAGE,
        an_object(["choice"], choice=list_field("Your choice", "A", "B")),
        {"choice": {"A": "A", "B": "B"}},
        {},
    )
    other = shown(ask_of("choice", options=("A", "Other…")))
    fields = {"choice": list_field("Your choice", "A", "Other…"), "other": text_field("Other…")}
    assert other == Elicitation(
        MESSAGE,
        an_object(["choice"], **fields),
        {"choice": {"A": "A", "Other…": {"other": ""}}},
        {},
    )


@pytest.mark.proves("SES-93")
def test_form_of_a_text_is_whole():
    said = Quotation("claude", "files")
    assert said.reason == ""
    assert shown(ask_of("text"), said) == Elicitation(
        "a-1: Is it good?\nclaude proposes: “files”\n"
        "You decide. If you leave this form, nothing is decided.",
        an_object(["text"], text=text_field("Your answer", minLength=1)),
        {},
        {},
    )


@pytest.mark.proves("SES-94")
@pytest.mark.parametrize(
    "more", [{}, {"additionalProperties": True}, {"additionalProperties": False}]
)
def test_form_of_plain_fields_is_whole(more):
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "title": "Numbers",
        "description": "Some",
        "properties": {
            "share": {"type": "number", "minimum": 0, "maximum": 1},
            "word": {"type": "string", "minLength": 2, "maxLength": 9, "pattern": "x"},
        },
        "required": ["share"],
    }
    assert shown(ask_of("form", schema=schema | more)) == Elicitation(
        MESSAGE,
        an_object(
            ["field1"],
            field1={"type": "number", "title": "share", "minimum": 0, "maximum": 1},
            field2=text_field("word", minLength=2, maxLength=9),
        ),
        {},
        {"field1": "share", "field2": "word"},
    )


@pytest.mark.proves("SES-94")
@pytest.mark.parametrize(("count", "fits"), [(0, False), (1, True), (12, True), (13, False)])
def test_form_has_up_to_twelve_fields(count, fits):
    schema = everything({f"f{n}": {"type": "string"} for n in range(count)})
    assert (shown(ask_of("form", schema=schema)) is not None) is fits


@pytest.mark.proves("SES-92")
def test_long_texts_of_a_form_are_cut():
    def lines(prompt, words):
        return shown(ask_of(prompt="p" * prompt), Quotation("claude", "w" * words)).message.split(
            "\n"
        )

    first, said, _ = lines(300, 200)
    assert first == f"a-1: {'p' * 300}" and said == f"claude proposes: “{'w' * 200}”"
    first, said, _ = lines(301, 201)
    assert first == f"a-1: {'p' * 299}…" and said == f"claude proposes: “{'w' * 199}…”"
    option = shown(ask_of("choice", options=("a" * 80, "b" * 81)))
    assert list(option.meanings["choice"]) == ["a" * 80, "b" * 79 + "…"]
