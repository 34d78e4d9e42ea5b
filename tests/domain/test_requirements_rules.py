"""Requirements of approval, and the results of votes."""

from __future__ import annotations

import pytest
from tests.support.people import a_person, an_agent

from gatebell.domain.asks.requirements import (
    ANY_PERSON,
    Requirement,
    Vote,
    count,
    make_requirement,
    parse_requirement,
    why_not,
)
from gatebell.errors import UsageError

YES, NO = "approved", "rejected"


def votes(*pairs):
    return [Vote(f"person:{name}", decision) for name, decision in pairs]


@pytest.mark.proves("ASK-10", "ASK-11", "ASK-12", "LAW-2")
@pytest.mark.parametrize(
    ("rule", "given", "outcome"),
    [
        ({}, [("a", YES)], YES),
        ({}, [("a", NO)], NO),
        ({}, [], None),
        ({"n": 2}, [("a", YES)], None),
        ({"n": 2}, [("a", YES), ("a", YES)], None),
        ({"n": 2}, [("a", YES), ("b", YES)], YES),
        ({"n": 2}, [("a", YES), ("b", NO)], NO),
        ({"n": 2, "reject": 2}, [("a", NO), ("b", YES)], None),
        ({"n": 2, "reject": 2}, [("a", NO), ("a", YES), ("b", YES)], YES),
        ({"n": 2, "reject": 2}, [("a", NO), ("b", NO)], NO),
        ({"n": 1, "of": ("a",)}, [("b", YES)], None),
        ({"n": 2, "of": ("a", "b")}, [("a", YES), ("c", YES)], None),
        ({"n": 2, "reject": 3, "veto": ("v",)}, [("a", YES), ("v", NO)], NO),
        ({"n": 2, "reject": 3, "veto": ("v",)}, [("v", YES), ("a", YES)], YES),
        ({"n": 2, "of": ("a", "b"), "veto": ("v",)}, [("v", YES), ("a", YES)], None),
    ],
)
def test_votes_give_a_result(rule, given, outcome):
    assert count(Requirement(**rule), votes(*given)) == outcome


@pytest.mark.proves("ASK-14")
def test_requirement_is_read_and_groups_become_names():
    groups = {"ops": ("ada", "bob")}
    assert make_requirement(None, groups) is ANY_PERSON
    assert make_requirement({}, groups) is ANY_PERSON
    assert make_requirement({"n": 2, "of": "ops"}, groups) == Requirement(2, ("ada", "bob"))
    assert make_requirement({"all": ["ops", "cy", "ada"]}, groups) == Requirement(
        3, ("ada", "bob", "cy")
    )
    full = {"veto": "ops", "not_author": True, "reject": 2}
    assert make_requirement(full, groups) == Requirement(1, (), ("ada", "bob"), True, 2)


@pytest.mark.proves("LAW-10")
@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ({"many": 2, "zoo": 1}, "no key 'many'"),
        ({"all": ["a"], "n": 1}, "use one of them"),
        ({"all": ["a"], "of": ["a"]}, "use one of them"),
        ({"n": 0}, "a whole number of at least 1 for 'n'"),
        ({"n": 1}, "the requirement is empty"),
        ({"all": []}, "the requirement is empty"),
        ({"all": [None]}, "a list of names"),
        ({"of": 5}, "a list of names"),
        ({"n": True}, "a whole number of at least 1 for 'n'"),
        ({"reject": 0}, "a whole number of at least 1 for 'reject'"),
        ({"n": 3, "of": ["a", "b"]}, "only a, b may"),
    ],
)
def test_invalid_requirement_is_refused(data, sentence):
    with pytest.raises(UsageError, match=sentence):
        make_requirement(data, {})


@pytest.mark.proves("CLI-12")
def test_command_line_spelling_is_read():
    assert parse_requirement("2") == {"n": 2}
    assert parse_requirement("2:ops") == {"n": 2, "of": ["ops"]}
    assert parse_requirement("all:ada, bob") == {"all": ["ada", "bob"]}
    for wrong in ("all", "all:", "x", "", "0", "0:a", "1:", "2: ,", "-1:a", "2.5", "two:ops"):
        with pytest.raises(UsageError, match="expected --require"):
            parse_requirement(wrong)


@pytest.mark.proves("ASK-13", "ASK-14")
def test_who_may_answer():
    ada = a_person(verified=True)
    assert why_not(ANY_PERSON, "person:ada", "", a_person()) is None
    rule = Requirement(not_author=True)
    assert "personal token" in why_not(rule, "", "", a_person())
    assert "personal token" in why_not(rule, "", "", ada._replace(principal="agent:x/1"))
    assert "started the agent" in why_not(rule, "person:ada", "", ada)
    assert why_not(rule, "person:bob", "claude/s1", ada) is None
    inside = an_agent("s1")._replace(verified=True)
    assert "session that asks" in why_not(rule, "person:bob", "claude/s1", inside)
    assert why_not(rule, "person:bob", "claude/s2", inside) is None
    assert "session that asks" in why_not(rule, "person:bob", "claude/", inside)
    assert why_not(Requirement(n=2), "person:ada", "claude/s1", inside) is None
    some = Requirement(n=1, of=("bob",), veto=("cy",))
    assert why_not(some, "", "", ada) == "this ask is for bob; veto: cy"
    assert why_not(some, "", "", a_person("bob", verified=True)) is None
    assert why_not(some, "", "", a_person("cy", verified=True)) is None


@pytest.mark.proves("LAW-10")
@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ({}, "any person"),
        ({"n": 2}, "2 people"),
        ({"not_author": True}, "1 person; not the author"),
        ({"n": 1, "of": ("a", "b")}, "1 of a, b"),
        ({"n": 2, "of": ("a", "b"), "reject": 2}, "all of a, b; 2 rejections reject"),
        ({"veto": ("v", "w")}, "1 person; veto: v, w"),
    ],
)
def test_requirement_is_described_in_words(rule, text):
    assert str(Requirement(**rule)) == text
    assert Requirement(**rule).personal == (text != "any person")


@pytest.mark.proves("CHAT-7")
@pytest.mark.parametrize(
    ("given", "way", "reason"),
    [
        ({"via": "web"}, "web", ""),
        ({"via": ["web", "cli"]}, "slack", "only by web, cli"),
        ({"not_via": ["slack", "telegram"]}, "slack", "not by slack, telegram"),
        ({"not_via": ["slack"]}, "web", ""),
        ({}, "slack", ""),
    ],
)
def test_requirement_names_the_ways_of_an_answer(given, way, reason):
    rule = make_requirement(given, {})
    assert rule.refuses_via(way) == reason
    refused = why_not(rule, "", "", a_person()._replace(via=way))
    assert refused == (
        f"this ask is answered {reason}, so nothing was recorded by {way}" if reason else None
    )
    assert all(words in str(rule) for words in filter(None, [reason]))


@pytest.mark.proves("CHAT-7")
def test_unknown_way_is_named():
    with pytest.raises(UsageError, match=r"expected ways to answer from cli, .*, got 'fax'"):
        make_requirement({"not_via": ["web", "fax"]}, {})
    with pytest.raises(UsageError, match="list of names"):
        make_requirement({"via": 3}, {})


@pytest.mark.proves("CHAT-7")
def test_requirement_without_ways_is_stored_as_before():
    assert len(Requirement(2).to_list()) == 5 and "via" not in Requirement(2).to_document()
    assert Requirement(via=("web",)).to_document()["via"] == ("web",)
