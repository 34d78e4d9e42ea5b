"""Answer templates: their variables and their errors."""

from __future__ import annotations

import pytest

from gatebell.domain.asks.templates import (
    VARIABLES,
    check_name,
    fill,
    own_variables,
    variables_in,
)
from gatebell.errors import UsageError


@pytest.mark.proves("TASK-45")
def test_variables_are_replaced_by_their_values():
    text = "{{title}} ({{id}}): {{ reason }}, {{\ttitle }}."
    values = {"title": "Add login", "id": "tm-7k2", "reason": "later", "person": "ada"}
    assert fill(text, values) == "Add login (tm-7k2): later, Add login."
    assert variables_in(text) == ["title", "id", "reason"]
    assert fill("nothing to replace", {}) == "nothing to replace"


@pytest.mark.proves("TASK-45")
def test_inserted_text_is_never_expanded_again():
    hostile = {"question": "{{person}} \\g<0> \\1 {{nothing}}", "person": "ada"}
    assert fill("{{question}}", hostile) == hostile["question"]
    assert fill("{{question}}{{person}}", hostile) == hostile["question"] + "ada"
    assert fill("{{{person}}}", hostile) == "{ada}"


@pytest.mark.proves("TASK-45", "LAW-10")
def test_unknown_variable_is_named_with_the_known_ones():
    with pytest.raises(UsageError) as caught:
        fill("{{title}} {{titel}}", {"title": "x", "id": "y"})
    assert str(caught.value) == (
        "there is no variable {{titel}}: use id, title, or set it with --set titel=…"
    )


@pytest.mark.proves("TASK-45")
def test_text_that_is_not_a_plain_name_stays():
    text = "${{ secrets.KEY }} {{}} {{ a b }} {title} {{title\n}} {{1}}"
    assert fill(text, {}) == text and variables_in(text) == []


@pytest.mark.proves("TASK-45", "LAW-10")
def test_people_give_variables_of_their_own():
    assert own_variables(["reason=a=b", "until=", "x-y=1"]) == {
        "reason": "a=b", "until": "", "x-y": "1"
    }  # fmt: skip
    assert own_variables([]) == {}
    for word in ("reason", "=x", "a b=c", "1=2"):
        with pytest.raises(UsageError, match="expected --set NAME=VALUE"):
            own_variables([word])
    for words in (["title=x"], ["a=1", "a=2"]):
        with pytest.raises(UsageError, match="already has a value"):
            own_variables(words)
    assert set(VARIABLES) == {"title", "id", "question", "context", "role", "person", "date"}


@pytest.mark.proves("TASK-46", "LAW-10")
def test_template_is_named_like_a_role():
    check_name("not-now.2")
    for name in ("", "../x", "a/b", ".hidden", "a b"):
        with pytest.raises(UsageError, match="is not a name for a template"):
            check_name(name)
