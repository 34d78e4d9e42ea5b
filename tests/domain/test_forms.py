"""Schemas: invalid or external ones are refused, and writeOnly parts are hidden."""

from __future__ import annotations

import time

import pytest

from gatebell.domain.asks.forms import (
    check_form,
    check_schema,
    faults,
    has_hidden,
    hide,
)
from gatebell.errors import InvalidAnswerError, UsageError

SECRET = {"writeOnly": True}
BACK = {"$ref": "#"}
DOWN = {"properties": {"a": BACK}, "required": ["a"]}


def hidden(schema, value):
    return hide(schema, value, lambda _: "###")


@pytest.mark.proves("ASK-5")
def test_schema_reaches_nothing_outside():
    for schema in ({"$ref": "http://127.0.0.1:1/x"}, {"$ref": "file:///etc/passwd"}, [], "x"):
        with pytest.raises(UsageError):
            check_schema(schema)
    check_schema({"$defs": {"a": {}}, "$ref": "#/$defs/a"})


@pytest.mark.proves("ASK-6")
def test_every_fault_is_named_up_to_five():
    schema = {"type": "array", "items": {"type": "integer"}}
    with pytest.raises(InvalidAnswerError) as error:
        check_form(schema, ["x"] * 9)
    assert str(error.value).count("; ") == 4 and "4: " in str(error.value)


@pytest.mark.proves("ASK-32")
@pytest.mark.parametrize(
    ("schema", "value", "shown"),
    [
        (SECRET, {"a": 1}, "###"),
        ({"properties": {"p": SECRET}}, {"p": 1, "q": 2}, {"p": "###", "q": 2}),
        (
            {"properties": {"o": {"properties": {"p": SECRET}}}},
            {"o": {"p": 1}},
            {"o": {"p": "###"}},
        ),
        (
            {"additionalProperties": SECRET, "properties": {"a": {}}},
            {"a": 1, "b": 2},
            {"a": 1, "b": "###"},
        ),
        ({"items": SECRET}, [1, 2], ["###", "###"]),
        ({"prefixItems": [{}, SECRET], "items": {}}, [1, 2, 3], [1, "###", 3]),
        ({"prefixItems": [SECRET, {}]}, [1], ["###"]),
        ({"allOf": [{"properties": {"p": SECRET}}]}, {"p": 1}, {"p": "###"}),
        (
            {"$ref": "#/$defs/x", "$defs": {"x": {"properties": {"p": SECRET}}}},
            {"p": 1},
            {"p": "###"},
        ),
        ({"$ref": "#/$defs/a~1b", "$defs": {"a/b": SECRET}}, 1, "###"),
        ({"$ref": "#/nowhere/x"}, 1, "###"),
        ({"$ref": "#"}, 1, "###"),
        ({"properties": {"p": True}}, {"p": 1}, {"p": 1}),
        ({"anyOf": [{"properties": {"p": SECRET}}]}, {"p": 1}, {"p": "###"}),
        ({"oneOf": [{"items": SECRET}]}, [1], ["###"]),
        ({"$ref": "#/$defs/a~0b", "$defs": {"a~b": SECRET}}, 1, "###"),
        ({"prefixItems": [{}], "items": SECRET}, [1, 2, 3], [1, "###", "###"]),
        ({"prefixItems": [{}, {}, {}], "items": SECRET}, [1, 2], [1, 2]),
        ({"$ref": "#/$defs//x", "$defs": {"": {"x": SECRET}, "x": {}}}, 1, "###"),
        ({"$ref": "#/$defs/a%20b", "$defs": {"a%20b": {}, "a b": SECRET}}, 1, "###"),
        (
            {"properties": {"p": {"$ref": "#/allOf/0"}}, "allOf": [{"items": SECRET}]},
            {"p": [1]},
            {"p": ["###"]},
        ),
        ({"properties": {"p": {"$ref": "#/allOf/9"}}, "allOf": [{}]}, {"p": [1]}, {"p": "###"}),
    ],
)
def test_write_only_parts_are_hidden_wherever_they_are(schema, value, shown):
    assert hidden(schema, value) == shown


@pytest.mark.proves("ASK-32")
def test_values_too_deep_to_follow_are_hidden():
    schema, value = {}, "deep"
    for _ in range(50):
        schema, value = {"properties": {"p": schema}}, {"p": value}
    assert "deep" in str(hidden(schema, value))
    assert "deep" not in str(hidden({"properties": {"p": schema}}, {"p": value}))
    listed, value = {}, "deep"
    for _ in range(51):
        listed, value = {"items": listed}, [value]
    assert "deep" not in str(hidden(listed, value))


@pytest.mark.proves("ASK-32")
@pytest.mark.parametrize(
    "schema",
    [
        {"patternProperties": {"^p": SECRET}}, {"if": {}, "then": {"properties": {"p": SECRET}}},
        {"dependentSchemas": {"p": {"properties": {"p": SECRET}}}}, {"unevaluatedProperties": SECRET},
        {"contains": SECRET}, {"items": [SECRET]}, {"$dynamicRef": "#x", "else": SECRET},
    ],
)  # fmt: skip
def test_secret_at_an_unfollowed_place_hides_everything(schema):
    assert hidden(schema, {"p": 1}) == "###"


@pytest.mark.proves("ASK-32")
@pytest.mark.parametrize("secret", [SECRET, {"$ref": "#/$defs/s"}, {"$ref": "#/$defs/t"}])
@pytest.mark.parametrize(
    "word",
    [
        *("patternProperties", "dependentSchemas", "dependencies", "if", "then", "else", "not", "contains"),
        *("propertyNames", "unevaluatedProperties", "unevaluatedItems", "additionalItems", "contentSchema"),
        "unheard",
    ],
)  # fmt: skip
def test_secret_behind_an_unfollowed_reference_hides_everything(word, secret):
    definitions = {"s": SECRET, "t": {"properties": {"q": {"$ref": "#/$defs/s"}}}}
    for held in (secret, {"p": secret}, [secret]):
        schema = {"properties": {"o": {word: held}}, "$defs": definitions}
        assert hidden(schema, {"o": {"p": "hush"}}) == "###"
        assert hidden({"$ref": "#/$defs/a", "$defs": definitions | {"a": schema}}, 1) == "###"
    open_to_all = {"properties": {"o": {word: {"p": {}}}, "p": SECRET}, "$defs": definitions}
    assert hidden(open_to_all, {"o": {"p": 1}, "p": 2}) == {"o": {"p": 1}, "p": "###"}


ASTRAY = [
    {"$ref": "#s", "$defs": {"x": {"$anchor": "s"}}, "s": {}},
    {"$dynamicRef": "#s", "$defs": {"x": {"$dynamicAnchor": "s"}}},
    {
        "$schema": "https://json-schema.org/draft/2019-09/schema",
        "properties": {"a": {"$recursiveRef": "#"}},
    },
    {
        "$defs": {"x": {"$id": "http://x/", "$ref": "#/$defs/y", "$defs": {"y": {}}}, "y": {}},
        "$ref": "#/$defs/x",
    },
    {
        "$schema": "http://json-schema.org/draft-04/schema#",
        "properties": {"a": {"id": "http://x/", "$ref": "#/definitions/y"}},
        "definitions": {"y": {}},
    },
    {"$ref": "https://json-schema.org/draft/2020-12/schema"},
    {"anyOf": [{"$ref": "#s"}], "$defs": {"x": {"$anchor": "s"}}},
]


@pytest.mark.proves("ASK-5", "ASK-32")
@pytest.mark.parametrize("schema", ASTRAY)
def test_ambiguous_references_are_refused_and_hide_everything(schema):
    with pytest.raises(UsageError):
        check_schema(schema)
    assert hidden(schema | {"required": [], "unheard": {}}, {"a": 1}) == "###"


@pytest.mark.proves("ASK-5")
@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"$ref": {"type": "string"}, "$id": {"type": "string"}, "id": {"enum": ["x"]}}},
        {"$id": "http://x/", "$defs": {"x": {}}, "properties": {"a": {"$ref": "#/$defs/x", "id": "word"}}},
        {"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"a": {"$id": "#/properties/a"}}},
        {"$defs": {"any": True}, "$ref": "#/$defs/any"},
    ],
)  # fmt: skip
def test_words_that_only_look_like_references_are_taken(schema):
    check_schema(schema)


@pytest.mark.proves("ASK-5")
@pytest.mark.parametrize(
    "schema",
    [
        *({word: [DOWN, DOWN | {"title": "b"}]} for word in ("anyOf", "oneOf", "allOf")),
        {"anyOf": [DOWN], "not": DOWN}, {"if": DOWN, "then": DOWN}, {**DOWN, "else": DOWN, "if": {}},
        {**DOWN, "$ref": "#/$defs/x", "$defs": {"x": DOWN}}, {**DOWN, "patternProperties": {"a": BACK}},
        {"patternProperties": {"a": BACK, "^a": BACK}}, {**DOWN, "dependentSchemas": {"a": DOWN}},
        {"allOf": [DOWN, {"additionalProperties": BACK}]}, {"items": BACK, "contains": BACK},
        {"items": BACK, "unevaluatedItems": BACK}, {"allOf": [{"prefixItems": [BACK]}, {"items": BACK}]},
        {"anyOf": [DOWN], "unevaluatedProperties": False}, {"allOf": [{"items": BACK}], "unevaluatedItems": False},
        {"unevaluatedProperties": BACK, "patternProperties": {"a": BACK}},
        {"properties": {"a": {"allOf": [BACK, {"$ref": "#/$defs/x"}]}}, "$defs": {"x": {"properties": {"a": {"$ref": "#/$defs/x"}}}}},
        {"properties": {"a": {"anyOf": [{"anyOf": [BACK]}, {"anyOf": [BACK, {}]}]}}},
        {"$schema": "http://json-schema.org/draft-07/schema#", **DOWN, "dependencies": {"a": DOWN}},
    ],
)  # fmt: skip
def test_schema_with_doubling_work_is_refused(schema):
    value = 1
    for _ in range(40):
        value = {"a": value}
    for check in (check_schema, lambda one: check_form(one, value), lambda one: faults(one, value)):
        with pytest.raises(UsageError, match="several times"):
            check(schema)


@pytest.mark.proves("ASK-5")
@pytest.mark.parametrize("schema", [BACK, {"allOf": [BACK]}, {"anyOf": [{"not": BACK}, {}]}])
def test_schema_that_only_refers_to_itself_is_refused(schema):
    with pytest.raises(UsageError, match="without a part of the answer"):
        check_schema(schema)


@pytest.mark.proves("ASK-5")
@pytest.mark.parametrize(
    "schema",
    [
        DOWN, {"anyOf": [DOWN, {"type": "null"}]}, {"properties": {"a": {"anyOf": [BACK, {"type": "null"}]}}},
        {"oneOf": [{"type": "array", "items": BACK}, {"additionalProperties": BACK}, {"const": 1}]},
        {"anyOf": [DOWN, {"properties": {"left": BACK, "right": BACK}}, {"const": 1}]},
        {**DOWN, "additionalProperties": BACK, "items": BACK, "prefixItems": [BACK]},
        {**DOWN, "unevaluatedProperties": False}, {"properties": {"a": BACK, "b": True}, "not": {"const": 2}},
        {"allOf": [{"properties": {"a": BACK, "b": True}}, {"properties": {"b": True, "c": BACK}}]},
        {"$ref": "#/$defs/x", **DOWN, "$defs": {"x": {"properties": {"a": {"type": ["object", "integer"]}}}}},
    ],
)  # fmt: skip
def test_schema_with_one_level_per_part_is_quick(schema):
    check_schema(schema)
    for leaf in (1, {}, "x"):
        value = leaf
        for _ in range(90):
            value = {"a": value}
        started = time.process_time()
        faults(schema, value)
        assert time.process_time() - started < 2


@pytest.mark.proves("ASK-5")
def test_schema_with_too_deep_references_is_refused():
    chain = {f"d{n}": {"items": {"$ref": f"#/$defs/d{n + 1}"}} for n in range(2_000)}
    with pytest.raises(UsageError, match="too deep"):
        check_schema({"$ref": "#/$defs/d0", "$defs": {**chain, "d2000": {}}})


@pytest.mark.proves("ASK-5")
def test_schema_that_explodes_is_refused():
    bomb = {"$defs": {"d0": {"type": "string"}}, "$ref": "#/$defs/d30"}
    for n in range(1, 31):
        bomb["$defs"][f"d{n}"] = {
            "allOf": [{"$ref": f"#/$defs/d{n - 1}"}, {"$ref": f"#/$defs/d{n - 1}"}]
        }
    with pytest.raises(UsageError, match="too large"):
        check_schema(bomb)
    check_schema(
        {"$defs": {"n": {"properties": {"next": {"$ref": "#/$defs/n"}}}}, "$ref": "#/$defs/n"}
    )


@pytest.mark.proves("ASK-32")
def test_whether_anything_is_hidden():
    assert has_hidden({"properties": {"a": {"anyOf": [{}, SECRET]}}})
    assert not has_hidden({"properties": {"a": {"writeOnly": "yes"}}, "required": ["writeOnly"]})
    assert not has_hidden(None)


@pytest.mark.proves("WEB-71")
def test_each_fault_has_its_place():
    schema = {
        "required": ["a/b"],
        "properties": {"n~": {"required": ["z"]}, "l": {"items": {"type": "integer"}}},
    }
    assert faults(schema, {"n~": {}, "l": [1, "x"]}) == [
        ("/a~1b", "is missing"),
        ("/n~0/z", "is missing"),
        ("/l/1", 'expected a whole number, got "x"'),
    ]
    assert faults(schema, {"a/b": 1}) == []
    assert faults({"not": {}}, 1)[0][0] == ""
    assert len(faults({"items": {"type": "integer"}}, ["x"] * 200)) == 100


@pytest.mark.proves("ASK-32")
def test_fault_of_a_secret_form_never_repeats_the_value():
    schema = {"properties": {"p": {"type": "string", "writeOnly": True, "maxLength": 3}}}
    assert faults(schema, {"p": "hush hush"}) == [("/p", "does not fit 'maxLength'")]
