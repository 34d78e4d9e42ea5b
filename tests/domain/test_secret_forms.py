"""A form with a secret shows its field names, never a value."""

from __future__ import annotations

import pytest

from gatebell.domain.asks.forms import check_form, faults
from gatebell.errors import InvalidAnswerError

SCHEMA = {
    "type": "object",
    "properties": {"user": {"type": "string"}, "token": {"type": "string", "writeOnly": True}},
    "required": ["user", "token"],
    "additionalProperties": False,
}


@pytest.mark.proves("EASE-24")
@pytest.mark.parametrize(("value", "told"), [
    ({"user": "ada"}, "token: is missing"),
    ({"token": "hunter2"}, "user: is missing"),
    ({"user": 1, "token": "hunter2"}, "user: does not fit 'type'"),
    ({"user": "a", "token": "b", "hunter2": 1}, "the form: has a field that it does not know"),
])  # fmt: skip
def test_form_with_a_secret_names_its_fields(value, told):
    with pytest.raises(InvalidAnswerError) as refused:
        check_form(SCHEMA, value)
    assert told in str(refused.value) and "hunter2" not in str(refused.value)


@pytest.mark.proves("EASE-24")
def test_pointer_of_a_missing_secret_names_it():
    assert faults(SCHEMA, {"user": "ada"}) == [("/token", "is missing")]
