"""Lists from a program, and values that are not lists."""

from __future__ import annotations

import pytest

from gatebell.domain.asks.deadlines import Escalation, make_escalations
from gatebell.domain.lists import as_items, as_list
from gatebell.errors import UsageError


@pytest.mark.proves("ORDER-1")
@pytest.mark.parametrize("given", [["a", "b"], ("a", "b")])
def test_list_and_tuple_are_taken(given):
    assert as_list(given, "options") == ("a", "b")
    assert as_items(iter(given), "items") == ["a", "b"]


@pytest.mark.proves("ORDER-1")
@pytest.mark.parametrize("given", [{"a"}, frozenset(), {}, {}.keys(), iter("ab"), b"ab", None, 3])
def test_unordered_collection_is_refused(given):
    kind = type(given).__name__
    with pytest.raises(UsageError, match=f"expected a list for options, got {kind}: use a list"):
        as_list(given, "options")


@pytest.mark.proves("ORDER-1")
def test_single_text_is_not_a_list():
    with pytest.raises(UsageError, match="got one text: use a list of texts"):
        as_list("ab", "options")


@pytest.mark.proves("ORDER-2")
@pytest.mark.parametrize("given", [{"a"}, frozenset()])
def test_set_of_items_is_refused(given):
    with pytest.raises(UsageError, match="expected a list for items, got"):
        as_items(given, "items")


@pytest.mark.proves("ORDER-1")
def test_escalations_are_pairs_in_order():
    assert make_escalations([(5, "ada"), [9, "bob"]]) == (
        Escalation(5, "ada"),
        Escalation(9, "bob"),
    )
    with pytest.raises(UsageError, match="expected a list for an escalation, got set"):
        make_escalations([{5, "ada"}])
