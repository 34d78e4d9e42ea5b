"""The light NamedTuple behaves like the one of the standard library."""

from __future__ import annotations

import copy
import pickle
import typing

import pytest

from gatebell.domain import records


class LightPlace(records.NamedTuple):
    """A place."""

    name: str
    x: int = 0
    tags: tuple[str, ...] = ()
    """Its name."""

    @property
    def is_home(self) -> bool:
        return self.x == 0

    @classmethod
    def home(cls) -> LightPlace:
        return cls("home")

    def __str__(self) -> str:
        return f"{self.name}@{self.x}"


class RealPlace(typing.NamedTuple):
    """A place."""

    name: str
    x: int = 0
    tags: tuple[str, ...] = ()
    """Its name."""

    @property
    def is_home(self) -> bool:
        return self.x == 0

    @classmethod
    def home(cls) -> RealPlace:
        return cls("home")

    def __str__(self) -> str:
        return f"{self.name}@{self.x}"


@pytest.fixture(params=[LightPlace, RealPlace])
def place(request):
    return request.param


@pytest.mark.proves("RECORD-1")
def test_record_is_tuple_with_names(place):
    here = place("here", x=3)
    assert here == ("here", 3, ()) and isinstance(here, tuple) and here.x == here[1] == 3
    assert here._replace(x=4)._asdict() == {"name": "here", "x": 4, "tags": ()}
    assert place._fields == ("name", "x", "tags") and place._make(["a", 1, ()]).name == "a"
    assert place._field_defaults == {"x": 0, "tags": ()}
    assert repr(here) == f"{place.__name__}(name='here', x=3, tags=())"
    assert hash(here) == hash(("here", 3, ()))


@pytest.mark.proves("RECORD-1")
def test_record_has_methods_and_documentation(place):
    assert str(place("here", 3)) == "here@3" and place.home().is_home
    assert place.__doc__ == "A place." and place.__module__ == __name__
    assert place.__qualname__ == place.__name__


@pytest.mark.proves("RECORD-1")
def test_record_is_copied_and_pickled(place):
    here = place("here", tags=("a",))
    for twin in (copy.deepcopy(here), pickle.loads(pickle.dumps(here))):
        assert twin == here and type(twin) is place


@pytest.mark.proves("RECORD-1")
def test_record_knows_its_types(place):
    assert typing.get_type_hints(place) == {"name": str, "x": int, "tags": tuple[str, ...]}


@pytest.mark.proves("RECORD-1")
def test_record_refuses_wrong_fields(place):
    for given in ({}, {"name": "a", "y": 1}):
        with pytest.raises(TypeError):
            place(**given)
    with pytest.raises(AttributeError):
        place("a").x = 1


@pytest.mark.proves("RECORD-1")
@pytest.mark.parametrize("base", [records.NamedTuple, typing.NamedTuple])
def test_field_without_default_comes_first(base):
    with pytest.raises(TypeError, match="second"):

        class Odd(base):
            first: int = 0
            second: int
