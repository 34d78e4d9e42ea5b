"""Forms in the browser: the text that a person types is the value that the agent gets."""

from __future__ import annotations

import json
import time
from html.parser import HTMLParser

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from tests.support.markup import FIELDS, WORDS, read as read_markup
from tests.support.payloads import PAYLOADS

from gatebell.domain.asks.forms import check_schema, faults
from gatebell.domain.text.display import inert
from gatebell.web.asks import forms as web_forms
from gatebell.web.asks.forms import read, wants_more

HOSTILE = (
    "",
    "/",
    "~",
    "~1",
    "a/b~c",
    "__proto__",
    '"><script>',
    "' onclick=x",
    "x" * 10_000,
    "日本",
    " ",
)


def render(*given, **more):
    return web_forms.render(*given, **more).html


class Browser(HTMLParser):
    """Return the data that a browser would send from an untouched page."""

    def __init__(self):
        super().__init__()
        self.posted: dict[str, str] = {}
        self.names: list[str] = []
        self._area = self._select = None
        self._options: list[tuple[str, bool]] = []

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        if tag in ("input", "textarea", "select"):
            self.names.append(found["name"])
        if tag == "input" and (found["type"] not in ("radio", "checkbox") or "checked" in found):
            # A single-line field holds one line.
            self.posted[found["name"]] = found["value"].replace("\n", "")
        elif tag == "textarea":
            self._area = found["name"]
            self.posted[self._area] = ""
        elif tag == "select":
            self._select, self._options = found["name"], []
        elif tag == "option":
            self._options.append((found["value"], "selected" in found))

    def handle_data(self, data):
        if self._area is not None:
            self.posted[self._area] += data

    def handle_endtag(self, tag):
        if tag == "textarea":
            # The first line end belongs to the tag; the others are sent as two characters.
            self.posted[self._area] = self.posted[self._area][1:].replace("\n", "\r\n")
            self._area = None
        elif tag == "select":
            chosen = [value for value, selected in self._options if selected]
            self.posted[self._select] = chosen[0] if chosen else self._options[0][0]


def post(html):
    browser = Browser()
    browser.feed(str(html))
    browser.close()
    return browser.posted


def names(schema, value=None):
    browser = Browser()
    browser.feed(str(render(schema, value)))
    return browser.names


def elements(html, tag):
    return [found for name, found in read_markup(html, WORDS | FIELDS).elements if name == tag]


def form(required=(), /, **properties):
    return {"type": "object", "properties": properties, "required": list(required)}


line = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20)
name = st.one_of(st.sampled_from(HOSTILE), line)
lines = st.lists(line, min_size=1, max_size=3).map("\n".join)
number = st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False))
scalar = st.one_of(st.none(), st.booleans(), number, line, st.just(""))
anything = st.recursive(
    scalar, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(line, inner, max_size=3)),
    max_leaves=5,
)  # fmt: skip


@st.composite
def options(draw):
    found = draw(st.lists(scalar, min_size=1, max_size=9, unique_by=json.dumps))
    if draw(st.booleans()):
        return {"enum": found}, found
    titled = [{"const": one, "title": draw(line)} for one in found]
    return {draw(st.sampled_from(["anyOf", "oneOf"])): titled}, found


@st.composite
def forms(draw, depth=0):
    """Return a schema and a value that a person could have typed."""
    simple = [
        "text",
        "number",
        "boolean",
        "choice",
        "choices",
        "lines",
        "numbers",
        "json",
        "nullable",
    ]
    kind = draw(st.sampled_from([*simple, *(["group", "rows"] if depth < 2 else [])]))
    if kind == "text":
        rules = st.sampled_from([{}, {"format": "textarea"}, {"maxLength": 300}, {"format": "date"},
                                 {"format": "email"}, {"format": "date-time"}])  # fmt: skip
        return {"type": "string", **draw(rules)}, draw(lines)
    if kind == "nullable":
        return {"anyOf": [{"type": "string"}, {"type": "null"}]}, draw(lines)
    if kind == "number":
        return {"type": "number"}, draw(number)
    if kind == "boolean":
        return {"type": "boolean"}, draw(st.booleans())
    if kind == "choice":
        schema, found = draw(options())
        return schema, draw(st.sampled_from(found))
    if kind == "choices":
        schema, found = draw(options())
        picked = draw(st.sets(st.integers(0, len(found) - 1), min_size=1))
        return {"type": "array", "items": schema}, [found[one] for one in sorted(picked)]
    if kind == "lines":
        item = {"type": "string"}
        return {"type": "array", "items": item}, draw(st.lists(line, min_size=1, max_size=4))
    if kind == "numbers":
        item = {"type": "integer"}
        return {"type": "array", "items": item}, draw(st.lists(st.integers(), min_size=1))
    if kind == "json":
        rules = st.sampled_from(
            [{}, {"not": {"const": "x"}}, {"type": ["object", "string", "array"]}]
        )
        return draw(rules), draw(anything)
    if kind == "group":
        schema, values = draw(groups(depth + 1))
        return schema, values[0]
    schema, values = draw(groups(depth + 1, count=draw(st.integers(1, 3))))
    return {"type": "array", "items": schema}, values


@st.composite
def groups(draw, depth, count=1):
    parts = draw(st.dictionaries(name, forms(depth), min_size=1, max_size=4))
    kept = draw(st.sets(st.sampled_from(sorted(parts)), min_size=1))
    schema = form(kept if draw(st.booleans()) else (), **{k: one for k, (one, _) in parts.items()})
    return schema, [{k: value for k, (_, value) in parts.items() if k in kept}] * count


@pytest.mark.proves("WEB-69")
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(groups(0))
def test_content_of_the_fields_is_the_value(found):
    schema, (value,) = found
    html = render(schema, value)
    assert read_markup(html, WORDS | FIELDS).faults == []
    again = read(schema, post(html))
    assert json.dumps(again, sort_keys=True) == json.dumps(value, sort_keys=True)


@pytest.mark.proves("WEB-69")
@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_names_and_words_are_safe_and_come_back(hostile):
    schema = form(
        text={"type": "string", "title": hostile, "description": hostile, "default": hostile},
        few={"enum": [hostile, 1], "title": hostile},
        many={"enum": [hostile, *range(9)]},
        titled={"oneOf": [{"const": 1, "title": hostile}]},
        rows={"type": "array", "title": hostile, "items": form(**{hostile: {"type": "string"}})},
        **{hostile: {"type": "string"}},
    )
    value = {"few": hostile, "many": hostile, "titled": 1, hostile: "x", "rows": [{hostile: "y"}]}
    html = render(schema, value, [("/text", hostile), ("/nowhere", hostile)])
    assert read_markup(html, WORDS | FIELDS).faults == []
    assert read(schema, post(html)) == value


@pytest.mark.proves("WEB-61")
def test_no_payload_gets_out_of_a_form():
    for payload in PAYLOADS[::3]:
        part = {"title": payload, "description": payload, "default": payload}
        schema = form(
            **{payload: {"type": "string", **part}},
            few={"enum": [payload], **part},
            any={"not": {"const": payload}, **part},
            many={"enum": [payload, *range(9)]},
        )
        html = render(schema, {payload: payload, "any": payload})
        assert read_markup(html, WORDS | FIELDS).faults == [], payload
        reader = read_markup(
            render(schema, None, [("", payload), ("/few", payload)]), WORDS | FIELDS
        )
        shown = "".join(reader.text)
        assert reader.faults == [] and inert(shown) == shown, payload


@pytest.mark.proves("WEB-69")
def test_invisible_characters_are_written_out_in_json():
    schema = form(x={})
    html = render(schema, {"x": ["a\u202eb", "日本", "\0"]})
    assert '"a\\u202eb"' in post(html)["v/x"] and "日本" in html and "\u202e" not in html
    assert read(schema, post(html)) == {"x": ["a\u202eb", "日本", "\0"]}


@pytest.mark.proves("WEB-69")
def test_two_thousand_properties_are_two_thousand_fields():
    schema = form(**{f"p{number}": {"type": "integer"} for number in range(2_000)})
    value = {f"p{number}": number for number in range(2_000)}
    assert read(schema, post(render(schema, value))) == value


def entangle(count):
    """Return definitions that each refer to all."""
    fields = {f"p{one}": {"$ref": f"#/$defs/d{one}"} for one in range(count)}
    return {
        "$defs": {f"d{one}": form(**fields) for one in range(count)},
        "properties": {"deep": {"$ref": "#/$defs/d0"}, "word": {"type": "string"}},
    }


def nested_rows(depth):
    part = {"type": "string"}
    for _ in range(depth):
        part = {"type": "array", "minItems": 20, "items": form(x=part, y={"type": "string"})}
    return form(r=part)


@pytest.mark.proves("WEB-64")
@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (entangle(9), {"deep": {"p8": {"p2": {"p3": {}}}}, "word": "w"}),
        (nested_rows(4), {"r": [{"y": "w"}]}),
        (form(word={"type": "string"}, **{f"e{n}": {"$ref": "#/$defs/e"} for n in range(900)})
         | {"$defs": {"e": {"enum": list(range(5_000))}}}, {"word": "w", "e0": 7, "e800": 9}),
        (form(r={"type": "array", "items": form(**{f"f{n}": {"type": "string"} for n in range(500)})}),
         {"r": [{"f0": "w"}] * 400}),
        (form(r={"type": "array", "items": form(x={"type": "string"})}), {"r": [{"x": "w"}] * 501}),
    ],
)  # fmt: skip
def test_oversized_value_is_typed_as_json_and_comes_back(schema, value):
    started = time.process_time()
    check_schema(schema)
    html = render(schema, value)
    assert len(html) < 4_000_000 and read(schema, post(html)) == value
    assert len(render(schema)) < 4_000_000
    # About a second; measuring coverage makes it several times slower.
    assert time.process_time() - started < 10


@pytest.mark.proves("WEB-64")
def test_post_of_many_rows_and_lists_is_read_quickly():
    inner = {"type": "array", "items": form(z={"type": "string"})}
    schema = form(r={"type": "array", "items": form(**{f"q{n}": inner for n in range(1_000)})})
    sent = {f"v/r/{n % 500}/q{n}/0/z": "w" for n in range(1_000)} | {"v" + "/" * 1_000_000: "w"}
    started = time.process_time()
    assert len(read(schema, sent)["r"]) == 500
    assert time.process_time() - started < 10


@pytest.mark.proves("WEB-71")
def test_secrets_among_too_many_rows_are_not_shown_again():
    secret = {"type": "string", "writeOnly": True}
    schema = form(r={"type": "array", "items": form(x=secret)})
    assert "hush" not in render(schema, {"r": [{"x": "hush"}] * 501})


@pytest.mark.proves("WEB-68")
@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ({"type": "string"}, "text"), ({"type": "string", "format": "date"}, "date"),
        ({"type": "string", "format": "email"}, "email"), ({"type": "string", "format": "uri"}, "url"),
        ({"type": "string", "format": "date-time"}, "text"), ({"type": "string", "writeOnly": True}, "password"),
        ({"type": "integer"}, "text"), ({"type": "boolean"}, "radio"), ({"const": 1}, "radio"),
        ({"enum": [1, 2, 3, 4, 5, 6]}, "radio"), ({"type": ["string", "null"]}, "text"),
        ({"type": "array", "items": {"enum": [1]}}, "checkbox"), ({"$ref": "#/$defs/word"}, "text"),
        ({"allOf": [{"type": "string"}, {"minLength": 1}]}, "text"),
        ({"allOf": [{"$ref": "#/$defs/word"}], "title": "T", "description": "d"}, "text"),
    ],
)  # fmt: skip
def test_each_kind_of_value_has_its_field(part, expected):
    schema = {**form(x=part), "$defs": {"word": {"type": "string", "title": "Word"}}}
    check_schema(schema)
    assert {found["type"] for found in elements(render(schema), "input")} == {expected}


@pytest.mark.proves("WEB-68")
def test_long_texts_lists_and_long_choices():
    for part in ({"maxLength": 201}, {"format": "textarea"}):
        assert elements(render(form(x={"type": "string", **part})), "textarea")[0]["name"] == "v/x"
    html = render(form(x={"type": "array", "items": {"type": "number"}}))
    assert "one per line" in html and elements(html, "textarea")
    html = render(form(x={"enum": list(range(7))}))
    assert [one["value"] for one in elements(html, "option")] == ["", *map(str, range(7))]


@pytest.mark.proves("WEB-68")
@pytest.mark.parametrize(
    "part",
    [
        {}, True, {"type": "object"}, {"type": ["string", "integer"]}, {"oneOf": [{"type": "object"}, {"type": "string"}]},
        {**form(a={"type": "string"}), "patternProperties": {"^x": {}}}, {**form(a={}), "if": {}, "then": {}},
        {**form(a={}), "additionalProperties": {"type": "string"}}, form(["b"], a={"type": "string"}),
        form(**{"a\nb": {"type": "string"}}), {"type": "array"}, {"type": "array", "items": {"type": "boolean"}},
        {"type": "array", "prefixItems": [{}]}, {"type": "array", "items": {"type": "array", "items": {"type": "string"}}},
        {"type": "array", "items": {"type": ["string", "null"]}}, {"type": "null"}, {"not": {}},
        {"type": "array", "items": {"type": "string", "maxLength": 900}}, {"$ref": "#/$defs/node/properties/next"},
        {"allOf": [{"type": "string"}, {"type": "integer"}]}, {"allOf": [True]}, {"$ref": "#/nowhere"},
        {"oneOf": [{"const": 1}], "anyOf": [{"const": 1}]}, {"oneOf": [{"const": 1}, {"type": "string"}]},
        {"allOf": [form(a={"type": "string"}), form(a={"type": "integer"})]},
    ],
)  # fmt: skip
def test_part_without_a_fitting_field_is_typed_as_json(part):
    node = form(next={"$ref": "#/$defs/node"})
    schema = {**form(name={"type": "string"}, x=part), "$defs": {"node": node}}
    assert names(schema) == ["v/name", *([] if part is False else ["v/x"])] or "next" in str(part)
    value = {"name": "n", "x": {"a": [1, "two", None]}}
    if "next" not in str(part) and "nowhere" not in str(part):
        assert read(schema, post(render(schema, value))) == value
    assert "as JSON" in render(schema)


@pytest.mark.proves("WEB-68")
def test_recursive_schema_has_fields_once_and_then_json():
    schema = {
        "$ref": "#/$defs/n",
        "$defs": {"n": form(v={"type": "string"}, n={"$ref": "#/$defs/n"})},
    }
    assert names(schema) == ["v/v", "v/n"]
    deep = {"type": "string"}
    for _ in range(30):
        deep = form(x=deep)
    assert names(deep) == ["v" + "/x" * 11]


@pytest.mark.proves("WEB-68")
def test_parts_that_belong_together_are_merged():
    schema = {
        "allOf": [form(["a"], a={"type": "string"}), form(["b"], b={"type": "string"})],
        "properties": {"c": {"type": "string"}, "never": False},
    }
    assert names(schema) == ["v/c", "v/a", "v/b"]
    assert str(render(schema)).count("(required)") == 2


@pytest.mark.proves("WEB-68")
def test_form_can_be_one_field():
    assert names({"type": "string"}) == ["v"] and "Your answer" in render({"type": "string"})
    assert read({"type": "string"}, {"v": "x"}) == "x"
    assert read({"type": "string"}, {}) is None
    assert read({"type": "array", "items": {"type": "string"}}, {}) == []


@pytest.mark.proves("WEB-70")
def test_defaults_fill_only_a_new_form():
    schema = form(
        ["yes"],
        yes={"type": "boolean", "default": True},
        one={"enum": ["a", "b"], "default": "a"},
        only={"const": "x", "default": "x"},
        many={"enum": list(range(9)), "default": 3},
        several={"type": "array", "items": {"enum": ["a", "b"]}, "default": ["a"]},
        text={"type": "string", "default": "typed"},
        secret={"type": "string", "writeOnly": True, "default": "hush"},
    )
    html = render({**schema, "default": {"text": "typed", "one": "a"}})
    assert "checked" not in html and "selected" not in html
    assert {*post(html).values()} == {""} and read(schema, post(html)) == {}
    assert "default: yes" in html and "default: typed" in html and "default: 3" in html
    assert "hush" not in html
    # Only an optional value can be removed again.
    radios = [one["value"] for one in elements(html, "input") if one["name"] == "v/yes"]
    assert radios == ["true", "false"] and str(html).count("no answer") == 2
    fresh = render(schema, is_new=True)
    filled = {"yes": True, "one": "a", "only": "x", "many": 3, "several": ["a"], "text": "typed"}
    assert read(schema, post(fresh)) == filled and "hush" not in fresh
    assert "default:" not in fresh
    assert read(schema, post(render(form([], text={"type": "string"}), is_new=True))) == {}


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "integer", "minimum": 1, "maximum": 9}, "from 1 to 9"),
        (
            {"type": "number", "exclusiveMinimum": 0, "multipleOf": 0.5},
            "more than 0, a multiple of 0.5",
        ),
        ({"type": "number", "maximum": 9}, "at most 9"),
        ({"type": "string", "minLength": 3}, "at least 3 characters"),
        ({"type": "string", "minLength": 8, "maxLength": 8}, "exactly 8 characters"),
        ({"type": "string", "pattern": "^v<b>"}, "it must match ^v&lt;b&gt;"),
        (
            {"type": "array", "items": {"type": "string"}, "maxItems": 3},
            "one per line, at most 3 entries",
        ),
        ({"type": "string", "minLength": 0}, None),
    ],
)
@pytest.mark.proves("WEB-70")
def test_limits_of_a_field_are_shown(schema, words):
    html = render(form([], field=schema))
    if words is None:
        assert 'class="hint"' not in html
    else:
        assert f">{words}</p>" in html


@pytest.mark.proves("WEB-71")
def test_summary_of_errors_names_each_field():
    schema = form(["port"], host={"type": "string", "title": "Host"}, port={"type": "integer"})
    shown = web_forms.render(schema, {"host": 1}, faults(schema, {"host": 1}))
    assert [words.partition(":")[0] for _, words in shown.wrong] == ["Host", "port"]


@pytest.mark.proves("WEB-110")
def test_description_of_an_option_is_under_it():
    options = [{"const": "a", "title": "A", "description": "the <first>"}, {"const": "b"}]
    html = render(form([], one={"oneOf": options}))
    assert '>A<span class="meaning">the &lt;first&gt;</span></label>' in html
    assert str(html).count("meaning") == 1


@pytest.mark.proves("WEB-71")
def test_errors_appear_beside_fields_and_typed_text_is_kept():
    schema = form(
        ["name", "age", "sure"],
        name={"type": "string", "minLength": 3},
        age={"type": "integer"},
        sure={"type": "boolean"},
        sizes={"type": "array", "items": {"type": "integer"}},
        rows={"type": "array", "items": form(["n"], n={"type": "integer"}), "minItems": 2},
        any={"type": ["object", "null", "array"]},
    )
    sent = {
        "v/name": "ab",
        "v/age": "old",
        "v/sizes": "1\r\nbig",
        "v/rows/3/n": "few",
        "v/any": "{a",
    }
    value = read(schema, sent)
    assert value == {
        "name": "ab", "age": "old", "sizes": [1, "big"], "rows": [{"n": "few"}], "any": "{a",
    }  # fmt: skip
    html = render(schema, value, faults(schema, value))
    wrong = {
        one["name"]
        for tag in ("input", "textarea")
        for one in elements(html, tag)
        if "aria-invalid" in one
    }
    assert wrong == {"v/name", "v/age", "v/sizes", "v/rows/0/n", "v/any"}
    described = {
        found["aria-describedby"].split()[-1]
        for found in elements(html, "input")
        if "aria-invalid" in found
    }
    ids = [found["id"] for found in elements(html, "p")]
    assert described <= set(ids) and len(ids) == len(set(ids))
    radios = next(one for one in elements(html, "fieldset") if one.get("role") == "radiogroup")
    assert radios["aria-invalid"] == "true"
    again = post(html)
    assert [again[one] for one in ("v/name", "v/age", "v/sizes", "v/rows/0/n", "v/any")] == [
        "ab", "old", "1\r\nbig", "few", "{a",
    ]  # fmt: skip
    assert '<ul class="error">' not in html and str(html).count('class="error"') == 7


@pytest.mark.proves("WEB-71")
def test_error_without_a_field_appears_above_the_form():
    html = render(form(a={"type": "string"}), {}, [("/b/c", "is <odd>"), ("", "too few")])
    assert '<ul class="error"><li>b/c: is &lt;odd&gt;</li></ul>' in html
    assert 'class="error" id="field-1-error">too few</p>' in html


@pytest.mark.proves("WEB-71")
def test_secret_is_never_shown_again():
    schema = form(
        word={"type": "string", "writeOnly": True},
        code={"enum": ["hush1", "hush2"], "writeOnly": True},
        long={"type": "string", "format": "textarea", "writeOnly": True},
        list={"type": "array", "writeOnly": True, "items": {"type": "string"}},
        group={**form(x={"type": "string"}), "writeOnly": True},
        any={"not": {}, "properties": {"deep": {"writeOnly": True}}},
        ref={"not": {}, "items": {"$ref": "#/properties/word"}},
    )
    value = {
        "word": "HUSH", "code": "hush1", "long": "HUSH", "list": ["HUSH"], "group": {"x": "HUSH"},
        "any": {"deep": "HUSH"}, "ref": ["HUSH"],
    }  # fmt: skip
    html = render(schema, value)
    assert "HUSH" not in html and "checked" not in html
    assert {one["type"] for one in elements(html, "input")} == {"password", "radio"}


@pytest.mark.proves("WEB-72")
@pytest.mark.parametrize(
    ("part", "typed", "expected"),
    [
        ({"type": "integer"}, "12", 12), ({"type": "integer"}, " 12 ", 12), ({"type": "integer"}, "1.5", 1.5),
        ({"type": "integer"}, "twelve", "twelve"), ({"type": "number"}, "NaN", "NaN"), ({"type": "number"}, "1_0", "1_0"),
        ({"type": "number"}, "１", "１"), ({"type": "number"}, "9" * 5000, "9" * 5000), ({"type": "boolean"}, "maybe", "maybe"),
        ({"type": "number"}, "[1]", "[1]"), ({"type": "number"}, "true", "true"),
        ({"enum": [1, "1"]}, '"1"', "1"), ({"enum": [1, "1"]}, "1", 1), ({"enum": [1]}, "2", "2"),
        ({}, "[" * 100_000, "[" * 100_000), ({}, "NaN", "NaN"), ({}, "{", "{"), ({}, '{"a": 1}', {"a": 1}),
        ({"type": "string"}, "a\r\nb", "a\nb"), ({"type": "string"}, "\0\ud800", "\0\ud800"),
    ],
)  # fmt: skip
def test_unparsable_input_stays_as_typed(part, typed, expected):
    value = read(form(x=part), {"v/x": typed})
    assert value == {"x": expected} and type(value["x"]) is type(expected)


@pytest.mark.proves("WEB-72")
def test_no_post_makes_reading_fail():
    schema = form(
        o=form(x={"type": "string"}),
        rows={"type": "array", "items": form(x={"type": "string"})},
        picks={"type": "array", "items": {"enum": ["a", "b"]}},
    )
    sent = {
        "v/rows/-1/x": "a", "v/rows/99999999999/x": "a", "v/rows/x/x": "a", "v/rows//x": "a", "v/rows": "a",
        "v/rows/²/x": "a", "v/o": "a", "v/o/y": "a", "v/picks/0": "c", "v/picks/9": "a", "v": "a", "": "a",
        "v/o/x": object(), "v//////": "a", "w/o/x": "a", "v/rows/1/x/y/z": "a",
    }  # fmt: skip
    assert read(schema, sent) == {"picks": ["c"]}
    many = {f"v/rows/{number}/x": "a" for number in range(9_999)}
    assert len(read(schema, many)["rows"]) == 500
    for value in ([], "x", {"o": [], "rows": {"a": 1}, "picks": 3}, {"rows": [1, None]}, 5):
        assert read_markup(render(schema, value), WORDS | FIELDS).faults == []


@pytest.mark.proves("WEB-72")
def test_empty_fields_are_left_out():
    schema = form(
        ["r", "must", "listed", "null"],
        r={"type": "string"},
        o=form(["x", "y"], x={"type": "string"}, y={"type": "array", "items": {"type": "string"}}),
        must=form(["deep"], deep=form(x={"type": "string"})),
        listed={"type": "array", "items": {"type": "integer"}},
        null={"type": ["string", "null"]},
        unsaid={"type": ["string", "null"]},
        some={"type": "array", "items": {"enum": [1]}},
    )
    empty = post(render(schema))
    assert read(schema, empty) == {"must": {"deep": {}}, "listed": [], "null": None}
    value = read(schema, {**empty, "v/o/x": "a"})
    assert value["o"] == {"x": "a", "y": []}
    assert [pointer for pointer, _ in faults(schema, value)] == ["/r"]


@pytest.mark.proves("WEB-72")
def test_null_is_chosen_explicitly():
    schema = form(
        ["x"],
        x={"anyOf": [{"enum": ["a"]}, {"type": "null"}]},
        y={"type": ["string", "null"], "enum": ["b", None]},
    )
    html = render(schema, {"x": None})
    assert post(html) == {"v/x": "null"} and read(schema, post(html)) == {"x": None}
    assert read(schema, {}) == {} and read(schema, {"v/y": "null"}) == {"y": None}
    assert [one["value"] for one in elements(html, "input") if one["name"] == "v/y"] == [
        '"b"',
        "null",
        "",
    ]


@pytest.mark.proves("WEB-73")
def test_row_is_added_without_a_script():
    row = form(
        ["n"], n={"type": "string"}, t={"type": "array", "items": form(u={"type": "string"})}
    )
    schema = form(rows={"type": "array", "items": row, "maxItems": 3})
    html = render(schema)
    assert [one["name"] for one in elements(html, "button")] == ["more:v/rows/0/t", "more:v/rows"]
    value = None
    for number in range(3):
        sent = {**post(html), f"v/rows/{number}/n": f"row {number}", "more:v/rows": "1"}
        assert wants_more(sent) and not wants_more(post(html))
        value = read(schema, sent)
        html = render(schema, value)
    assert value == {"rows": [{"n": f"row {number}"} for number in range(3)]}
    assert "v/rows/2/n" in post(html) and "v/rows/3/n" not in post(html)


@pytest.mark.proves("WEB-73")
def test_as_many_empty_rows_as_are_wanted_at_least():
    rows = {"type": "array", "items": form(n={"type": "string"}), "minItems": 3.0}
    assert names(form(rows=rows)) == ["v/rows/0/n", "v/rows/1/n", "v/rows/2/n"]
    assert len(names(form(rows={**rows, "minItems": 10_000}))) == 20


@pytest.mark.proves("WEB-68")
def test_every_field_has_a_label_and_groups_a_legend():
    schema = form(
        a={"type": "string"}, b={"enum": [1, 2]}, c={"enum": list(range(9))}, d=form(e={"type": "integer"}),
        f={"type": "array", "items": form(g={"type": "boolean"})}, h={}, i={"type": "array", "items": {"enum": [1]}},
    )  # fmt: skip
    html = render(schema)
    labelled = {one["for"] for one in elements(html, "label")}
    for tag in ("input", "textarea", "select"):
        assert {one["id"] for one in elements(html, tag)} <= labelled
    assert len(elements(html, "legend")) == len(elements(html, "fieldset"))
    assert "style" not in html and "<script" not in html


@pytest.mark.proves("WEB-71")
def test_invalid_date_is_not_dropped_by_its_field():
    schema = form(x={"type": "string", "format": "date"}, y={"type": "string", "format": "email"})
    html = render(schema, {"x": "tomorrow", "y": " a@b "})
    assert {one["type"] for one in elements(html, "input")} == {"text"}
    html = render(schema, {"x": "2026-11-15", "y": 5})
    assert [(one["type"], one["value"]) for one in elements(html, "input")] == [
        ("date", "2026-11-15"),
        ("email", "5"),
    ]
