"""Schemas: refused when they make no sense or reach outside; writeOnly parts hidden."""

from __future__ import annotations

import pytest

from humangate.domain.forms import check_form, check_schema, faults, has_hidden, hide
from humangate.errors import InvalidAnswerError, UsageError

SECRET = {"writeOnly": True}


def hidden(schema, value):
    return hide(schema, value, lambda _: "###")


@pytest.mark.proves("ASK-5")
def test_a_schema_reaches_nothing_outside():
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
    ],
)
def test_write_only_parts_are_hidden_wherever_they_are(schema, value, shown):
    assert hidden(schema, value) == shown


@pytest.mark.proves("ASK-32")
def test_what_lies_too_deep_to_follow_is_hidden():
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
def test_a_secret_at_a_place_that_is_not_followed_hides_everything(schema):
    assert hidden(schema, {"p": 1}) == "###"


@pytest.mark.proves("ASK-5")
def test_a_schema_that_explodes_is_refused():
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
def test_each_fault_has_its_place_and_of_what_is_missing_the_place_it_should_have():
    schema = {
        "required": ["a/b"],
        "properties": {"n~": {"required": ["z"]}, "l": {"items": {"type": "integer"}}},
    }
    assert faults(schema, {"n~": {}, "l": [1, "x"]}) == [
        ("/a~1b", '"a/b" is a required property'),
        ("/n~0/z", '"z" is a required property'),
        ("/l/1", '"x" is not of type "integer"'),
    ]
    assert faults(schema, {"a/b": 1}) == []
    assert faults({"not": {}}, 1)[0][0] == ""
    assert len(faults({"items": {"type": "integer"}}, ["x"] * 200)) == 100


@pytest.mark.proves("ASK-32")
def test_a_fault_of_a_form_with_secrets_never_repeats_the_value():
    schema = {"properties": {"p": {"type": "string", "writeOnly": True, "maxLength": 3}}}
    assert faults(schema, {"p": "hush hush"}) == [("/p", "does not fit 'maxLength'")]
