"""Answer schemas: a form for people and a typed value for the asker."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from collections import namedtuple
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum, IntEnum
from typing import (  # noqa: UP035 - old spellings are shapes too
    Annotated,
    Any,
    Generic,
    Literal,
    NamedTuple,
    NewType,
    NotRequired,
    Optional,
    Required,
    Tuple,
    TypedDict,
    TypeVar,
    Union,
)

import pydantic
import pytest
import typing_extensions
from hypothesis import given, strategies as st

from gatebell.api.schemas import (
    Freeform,
    Selection,
    Structured,
    build_schema,
    convert,
    expect_answer,
)
from gatebell.domain.asks.forms import check_form, check_schema
from gatebell.domain.asks.outcomes import Approval
from gatebell.errors import InvalidAnswerError, UsageError

T = TypeVar("T")
Euros = NewType("Euros", int)
Alias = typing_extensions.TypeAliasType("Alias", int | str)
Pair = namedtuple("Pair", "a b")  # noqa: PYI024 - likewise
Circle = NewType("Circle", list)
Circle.__supertype__ = list[Circle]


class Severity(Enum):
    LOW = "low"
    HIGH = "high"


class Level(IntEnum):
    ONE = 1
    TWO = 2


class Colour(Enum):
    NONE = None
    RGB = (1, 2)


@dataclass
class Finding:
    file: str
    line: int = 1
    severity: Severity = Severity.LOW


@dataclass(frozen=True)
class Review:
    approved: bool
    notes: str = field(metadata={"description": "what you saw"})
    score: float = 0.5
    findings: list[Finding] = field(default_factory=list)
    worst: Finding | None = None
    seen_at: str = field(default="now", init=False)


class Step(TypedDict):
    name: str
    done: NotRequired[bool]


class Plan(Step, total=False):
    cost: Required[Euros]
    tags: Annotated[set[str], 7, "one word each"]


class Point(NamedTuple):
    x: int
    y: int = 0


@dataclass
class Node:
    name: str
    children: list[Node] = field(default_factory=list)


@dataclass
class Tree:
    root: Node
    other: Node | None = None


@dataclass
class Picky:
    age: int

    def __post_init__(self):
        if self.age < 18:
            raise ValueError("too young")


class Owner(pydantic.BaseModel):
    name: str
    at: datetime | None = None


class Strict(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(strict=True)
    kind: Literal["strict"]
    owner: Owner
    others: dict[str, Owner] = {}
    words: set[str] = set()
    pair: tuple[Owner, int] | None = None


class Open(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")
    name: str = "x"


class Unsaid(pydantic.BaseModel):
    call: type


@dataclass
class Mixed:
    owner: Owner
    strict: Strict | None = None


CASES = [
    (str, "a", "a"),
    (int, 1.0, 1),
    (float, 2, 2.0),
    (bool, True, True),
    (None, None, None),
    (Any, {"a": [1]}, {"a": [1]}),
    (Euros, 3, 3),
    (Alias, "x", "x"),
    (list, [1, "a"], [1, "a"]),
    (Sequence[int], [1], [1]),
    (set[int], [1, 2], {1, 2}),
    (frozenset[str], ["a"], frozenset({"a"})),
    (tuple, [1, "a"], (1, "a")),
    (Tuple, [1, "a"], (1, "a")),  # noqa: UP006 - likewise
    (tuple[()], [], ()),
    (tuple[int, Point], [1, {"x": 2}], (1, Point(2))),
    (tuple[Point, ...], [{"x": 2}, {"x": 3, "y": 4}], (Point(2), Point(3, 4))),
    (dict, {"a": 1}, {"a": 1}),
    (Mapping[str, Point], {"a": {"x": 1}}, {"a": Point(1)}),
    (Literal["a", 1, None], 1.0, 1),  # noqa: PYI061 - likewise
    (Literal[True, 1], 1, 1),
    (Literal[Severity.HIGH], "high", Severity.HIGH),
    (Severity, "low", Severity.LOW),
    (Level, 2.0, Level.TWO),
    (Optional[int], None, None),  # noqa: UP045 - likewise
    (Union[int, str], "1", "1"),  # noqa: UP007 - likewise
    (bool | int, 1, 1),
    (Point | Finding, {"file": "a.py"}, Finding("a.py")),
    (Pair, {"a": 1, "b": "x"}, Pair(1, "x")),
    (Plan, {"name": "a", "cost": 1, "tags": ["x"]}, {"name": "a", "cost": 1, "tags": {"x"}}),
    (Tree, {"root": {"name": "a", "children": [{"name": "b"}]}}, Tree(Node("a", [Node("b")]))),
    (Owner, {"name": "Ada", "at": "2026-01-01T00:00:00Z"}, Owner(name="Ada", at="2026-01-01T00:00:00Z")),
    (
        Strict,
        {"kind": "strict", "owner": {"name": "Ada"}, "words": ["a"], "pair": [{"name": "Bob"}, 1]},
        Strict(kind="strict", owner=Owner(name="Ada"), words={"a"}, pair=(Owner(name="Bob"), 1)),
    ),
    (Mixed, {"owner": {"name": "Ada"}}, Mixed(Owner(name="Ada"))),
    (list[Open], [{"name": "a", "more": 1}], [Open(name="a", more=1)]),
]  # fmt: skip


@pytest.mark.proves("SES-20", "S0-24", "S0-105")
@pytest.mark.parametrize(("shape", "value", "wanted"), CASES, ids=lambda one: str(one)[:30])
def test_answer_that_fits_the_form_becomes_the_value(shape, value, wanted):
    schema = json.loads(json.dumps(build_schema(shape)))
    check_schema(schema)
    check_form(schema, value)
    made = convert(shape, value)
    assert made == wanted and type(made) is type(wanted)


@pytest.mark.proves("SES-20", "S0-32", "S0-B10", "S0-B18")
def test_dataclass_defines_the_fields_and_is_returned():
    schema = build_schema(Review)
    assert schema["required"] == ["approved", "notes"]
    assert list(schema["properties"]) == ["approved", "notes", "score", "findings", "worst"]
    assert schema["properties"]["notes"] == {"type": "string", "description": "what you saw"}
    assert schema["properties"]["score"] == {"type": "number", "default": 0.5}
    finding = schema["properties"]["findings"]["items"]
    assert finding["properties"]["severity"] == {"enum": ["low", "high"], "default": "low"}
    assert not schema["additionalProperties"] and not finding["additionalProperties"]
    given = {"approved": False, "notes": "leaks", "worst": {"file": "a.py", "severity": "high"}}
    worst = Finding("a.py", 1, Severity.HIGH)
    assert convert(Review, given) == Review(False, "leaks", worst=worst)


@pytest.mark.proves("SES-20")
def test_typed_dict_says_which_fields_are_optional():
    schema = build_schema(Plan)
    assert sorted(schema["required"]) == ["cost", "name"]
    assert schema["properties"]["tags"]["description"] == "one word each"
    assert schema["properties"]["tags"]["uniqueItems"] and not schema["additionalProperties"]


@pytest.mark.proves("SES-20")
def test_classes_that_lead_back_to_themselves_are_shared():
    assert build_schema(Node)["$ref"] == "#/$defs/Node"
    twin = dataclasses.make_dataclass("Node", [("name", str)])
    twin.__annotations__["next"] = twin | None
    twin = dataclass(twin)
    both = dataclasses.make_dataclass("Both", [("one", Node), ("two", twin)])
    schema = build_schema(both)
    assert sorted(schema["$defs"]) == ["Node", "Node_"]
    check_form(
        schema, {"one": {"name": "a"}, "two": {"name": "b", "next": {"name": "c", "next": None}}}
    )
    with pytest.raises(InvalidAnswerError):
        check_form(schema, {"one": {"name": "a"}, "two": {"name": "b"}})


@pytest.mark.proves("SES-21")
def test_pydantic_model_refuses_unknown_fields_by_default():
    schema = build_schema(Strict)
    assert schema["additionalProperties"] is False
    assert {one["additionalProperties"] for one in schema["$defs"].values()} == {False}
    assert build_schema(Open)["additionalProperties"] is True
    with pytest.raises(InvalidAnswerError, match="more"):
        convert(Mixed, {"owner": {"name": "Ada", "more": 1}})


@pytest.mark.proves("SES-21")
def test_refusal_by_the_class_is_an_invalid_answer():
    with pytest.raises(InvalidAnswerError, match="does not become Picky: too young"):
        convert(Picky, {"age": 3})
    with pytest.raises(InvalidAnswerError, match=r"does not become Owner.*(?s:.)*at"):
        convert(Owner, {"name": "Ada", "at": "soon"})
    with pytest.raises(InvalidAnswerError, match="does not become float"):
        convert(float, 10**400)
    with pytest.raises(InvalidAnswerError, match="does not fit"):
        convert(Finding, {"file": 3})


def hidden_names():
    class Inner(NamedTuple):
        x: int

    @dataclass
    class Outer:
        inner: Inner

    return Outer


@dataclass
class Box(Generic[T]):
    inside: T


@dataclass
class Needs:
    other: dataclasses.InitVar[int]


@pytest.mark.proves("SES-22", "LAW-10")
@pytest.mark.parametrize(
    ("shape", "sentence"),
    [
        (datetime, "datetime has no JSON Schema: build it of str"),
        (dict[int, str], "keys of a JSON object must be texts"),
        (Literal[b"x"], "JSON cannot hold b'x'"),
        (Colour, r"Colour: JSON cannot hold \(1, 2\)"),
        (Box, "~T has no JSON Schema"),
        (Box[int], "has no JSON Schema"),
        (Review(True, ""), "has no JSON Schema"),
        ("Review", "not the text 'Review'"),
        (hidden_names(), "Inner.*is not defined.*at the top"),
        (Needs, "Needs has an InitVar"),
        (Circle, "leads back to itself"),
        (Unsaid, "Unsaid has no JSON Schema"),
    ],
)
def test_type_without_json_schema_is_refused_at_once(shape, sentence):
    with pytest.raises(UsageError, match=sentence):
        build_schema(shape)


@pytest.mark.proves("SES-22", "S0-24")
def test_json_schema_is_used_unchanged():
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    assert build_schema(schema) is schema and convert(schema, {"n": 1.0}) == {"n": 1.0}


@pytest.mark.proves("SES-20")
@given(value=st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
))  # fmt: skip
def test_answer_that_does_not_fit_the_form_is_refused(value):
    try:
        check_form(build_schema(Review), value)
        fits = True
    except InvalidAnswerError:
        fits = False
    try:
        assert isinstance(convert(Review, value), Review) and fits
    except InvalidAnswerError:
        assert not fits


@pytest.mark.proves("SES-23", "S0-22", "S0-23", "S0-78")
def test_outcome_is_an_approval_selection_text_or_structure():
    assert {expect_answer(one).answered_as for one in (None, str, Freeform())} == {"text"}
    assert {expect_answer(one).answered_as for one in (Approval, Approval())} == {"approval"}
    chosen = expect_answer(Selection(["Red", "Blue"], multiple=True))
    assert (chosen.answered_as, chosen.options, chosen.multiple) == (
        "choice",
        ("Red", "Blue"),
        True,
    )
    form = expect_answer(Review)
    assert form == expect_answer(Structured(Review))
    assert (form.answered_as, form.schema) == ("form", build_schema(Review))
    assert form.convert({"approved": True, "notes": ""}) == Review(True, "")
    assert chosen.convert(["Red"]) == ["Red"]


@pytest.mark.proves("SES-23", "LAW-10")
@pytest.mark.parametrize("returns", ["approval", object(), Selection("AB")])
def test_unknown_outcome_type_is_refused_with_the_known_ones(returns):
    words = "in a session Approval or Selection|has no JSON Schema|expected a list for options"
    with pytest.raises(UsageError, match=words):
        expect_answer(returns)


@pytest.mark.proves("SES-23", "LAW-3")
def test_unasked_approval_is_not_an_approval():
    assert not Approval() and Approval().decision is None and Approval().status == "pending"


@pytest.mark.proves("SES-21")
def test_pydantic_is_imported_only_for_its_models():
    program = (
        "import sys; from gatebell.api.schemas import build_schema; build_schema(list[int]);"
        "print([n for n in ('pydantic', 'dataclasses') if n in sys.modules])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert "pydantic" not in ran.stdout
