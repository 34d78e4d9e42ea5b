"""Schemas at their limits: size, depth of hiding, and references."""

from __future__ import annotations

import pytest

from gatebell.domain.asks.forms import check_form, check_schema, faults, hide, resolve
from gatebell.errors import InvalidAnswerError, UsageError

BACK = {"$ref": "#"}
UNKNOWN = {"writeOnly": True}
NUMBERS = {"properties": {"a": {"items": {"type": "integer"}}}, "type": "object"}


def is_taken(schema):
    try:
        check_schema(schema)
    except UsageError as error:
        return "too large" not in str(error)
    return True


@pytest.mark.proves("ASK-5")
@pytest.mark.parametrize("schema", [[], "x", True, None])
def test_schema_that_is_not_an_object_is_refused(schema):
    with pytest.raises(UsageError) as caught:
        check_schema(schema)
    assert str(caught.value) == "expected a JSON object as the schema of a form"


@pytest.mark.proves("ASK-5")
def test_schema_is_taken_up_to_its_largest_size():
    assert [is_taken({"allOf": [{}] * size}) for size in (4_999, 5_000)] == [True, False]
    assert is_taken({"enum": list(range(5_000))}), "plain values weigh nothing"
    for word in ("$defs", "definitions"):
        assert is_taken({word: {str(n): {} for n in range(5_000)}}), "not used, it weighs nothing"


@pytest.mark.proves("ASK-5")
def test_followed_reference_weighs_as_much_as_its_target():
    def build_sized(size):
        return {"properties": {"a": BACK, "b": BACK}, "allOf": [{}] * size}

    assert [is_taken(build_sized(size)) for size in (1_661, 1_662)] == [True, False]


@pytest.mark.proves("ASK-5")
@pytest.mark.parametrize(
    "word",
    [
        *("unevaluatedProperties", "additionalItems", "contains", "unevaluatedItems"),
        *("propertyNames", "items", "not", "patternProperties"),
    ],
)
def test_doubling_below_any_keyword_is_refused(word):
    down = {"properties": {"a": {"$ref": "#/$defs/x"}}}
    held = {"$ref": "#/$defs/x"}
    schema = {
        word: {"a": held} if word == "patternProperties" else held,
        "$defs": {"x": {"allOf": [down, down | {"title": "b"}]}},
    }
    with pytest.raises(UsageError, match="several times"):
        check_schema(schema)


@pytest.mark.proves("ASK-5")
def test_further_items_count_as_items():
    further = {"items": [{}], "additionalItems": BACK}
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "allOf": [further, {"items": BACK}],
    }
    with pytest.raises(UsageError, match="several times"):
        check_schema(schema)


@pytest.mark.proves("ASK-5", "ASK-32")
def test_part_in_another_language_is_refused_and_hidden():
    schema = {"properties": {"a": {"$schema": "http://json-schema.org/draft-07/schema#"}}}
    with pytest.raises(UsageError, match=r"begin with #/"):
        check_schema(schema)
    assert hide(schema, {"a": 1}, lambda _: "###") == "###"


@pytest.mark.proves("ASK-6")
@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ("[1", """ (is it JSON such as {"a": …}?): expected an object, got "[1\""""),
        (
            {"a": ["x", 1, "y"]},
            """: a/0: expected a whole number, got "x"; a/2: expected a whole number, got "y\"""",
        ),
        (
            {"a": ["x" * 99]},
            f""": a/0: expected a whole number, got "{"x" * 79}…""",
        ),
    ],
)
def test_refused_form_names_places_and_reasons(value, sentence):
    with pytest.raises(InvalidAnswerError) as caught:
        check_form(NUMBERS, value)
    assert str(caught.value) == f"the answer does not fit the form{sentence}"


@pytest.mark.proves("ASK-32")
@pytest.mark.parametrize("rule", [False, {"$ref": "#/$defs/never"}, {"not": {}}])
def test_fault_of_a_secret_names_only_its_rule(rule):
    schema = {"properties": {"p": {"writeOnly": True}, "q": rule}, "$defs": {"never": False}}
    ((place, reason),) = faults(schema, {"q": "hush"})
    assert place == "/q" and reason.startswith("does not fit '") and "hush" not in reason
    with pytest.raises(InvalidAnswerError) as caught:
        check_form(schema, {"q": "hush"})
    assert str(caught.value) == f"the answer does not fit the form: q: {reason}"


NESTS = {
    "properties": lambda schema, value: ({"properties": {"p": schema}}, {"p": value}),
    "items": lambda schema, value: ({"items": schema}, [value]),
    "prefixItems": lambda schema, value: ({"prefixItems": [schema]}, [value]),
    "allOf": lambda schema, value: ({"allOf": [schema]}, value),
    "oneOf": lambda schema, value: ({"oneOf": [schema]}, value),
}


@pytest.mark.proves("ASK-32")
@pytest.mark.parametrize(("depth", "seen"), [(50, True), (51, False)])
@pytest.mark.parametrize("word", [*NESTS, "$ref"])
def test_value_is_shown_down_to_fifty_levels(word, depth, seen):
    schema, value = {}, "deep"
    if word == "$ref":
        links = {f"d{n}": {"$ref": f"#/$defs/d{n + 1}"} for n in range(1, depth)}
        schema = {"$ref": "#/$defs/d1", "$defs": links | {f"d{depth}": {}}}
    else:
        for _ in range(depth):
            schema, value = NESTS[word](schema, value)
    assert ("deep" in str(hide(schema, value, lambda _: "###"))) is seen


@pytest.mark.proves("ASK-32")
@pytest.mark.parametrize(
    ("reference", "found"),
    [
        ("#/$defs/a~1b", {"title": "slash"}),
        ("#/$defs/a~0b", {"title": "tilde"}),
        ("#/$defs/a~01b", {"title": "tilde and one"}),
        ("#/$defs/5", {"title": "number"}),
        ("#/allOf/1", {"title": "second"}),
        ("#/allOf/2", UNKNOWN),
        ("#/allOf/x", UNKNOWN),
        ("b/allOf/1", UNKNOWN),
        ("#/$defs/no", UNKNOWN),
    ],
)
def test_reference_finds_its_part_or_hides_it(reference, found):
    root = {
        "$defs": {
            "a/b": {"title": "slash"},
            "a~b": {"title": "tilde"},
            "a~1b": {"title": "tilde and one"},
            "5": {"title": "number"},
            "no": True,
        },
        "allOf": [{}, {"title": "second"}],
    }
    assert resolve(root, reference) == found
