"""The reach of `*` in a grant: one field of an input, one host, one project."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from gatebell.domain.asks.asks import Ask, Origin, question_digest
from gatebell.domain.asks.questions import make_question
from gatebell.domain.permissions.calls import Call, headline
from gatebell.domain.permissions.rules import (
    Rule,
    Scope,
    build_grant,
    covers,
    forbids,
    leaves,
)
from gatebell.errors import UsageError

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def reaches(pattern, call):
    return covers(Rule("g-1", "grant", pattern, "person:ada", NOW), call)


def fetch(url):
    return Call("WebFetch", {"url": url, "prompt": "p"})


def query(**fields):
    return Call("mcp__db__query", fields)


@pytest.mark.proves("HOOK-32")
def test_star_stays_in_its_field():
    reading = 'mcp__db__query({"op":"read*"})'
    assert reaches(reading, query(op="read")) and reaches(reading, query(op="read all"))
    for other in (
        query(op="read", sql="DROP TABLE users"), query(op='read","sql":"x'), query(op="read\\"),
        query(op="read", zone=1), query(op=["read"]), query(op="write"),
    ):  # fmt: skip
        assert not reaches(reading, other), other.subject
    assert reaches('mcp__db__query({"limit":*})', query(limit=5))
    assert not reaches('mcp__db__query({"limit":*})', query(limit=5, op="drop"))
    assert reaches("mcp__db__query(*)", query(op="read", sql="DROP TABLE users"))
    strict = Rule("g-1", "deny", reading, "person:ada", NOW)
    assert forbids(strict, query(op="read", sql="DROP TABLE users"))


@pytest.mark.proves("HOOK-33")
@pytest.mark.parametrize(
    ("words", "same", "others"),
    [
        (
            "https://docs.example.com*",
            ["", "/", "/a/b", "?q=1", "#top"],
            [".evil.net", ".evil.net/a", "@evil.net", ":pw@evil.net", "x.net/", "\\.evil.net"],
        ),
        ("https://docs.example.com/*", ["/", "/a"], ["", ".evil.net/", "@evil.net/"]),
        ("https://docs.example.com*/a", ["/a", "/b/a"], [".evil.net/a", "@evil.net/a"]),
        ("https://docs.example.com", [""], ["/", ".evil.net"]),
    ],
)
def test_star_stays_on_its_host(words, same, others):
    start = "https://docs.example.com"
    for end in same:
        assert reaches(f"WebFetch({words})", fetch(start + end)), end
        assert reaches(f"Bash(curl {words})", Call("Bash", {"command": f"curl {start}{end}"})), end
    for end in others:
        assert not reaches(f"WebFetch({words})", fetch(start + end)), end
        command = Call("Bash", {"command": f"curl {start}{end}"})
        assert not reaches(f"Bash(curl {words})", command), end
        posted = Call("mcp__web__get", {"url": start + end})
        assert not reaches(f'mcp__web__get({{"url":"{words}"}})', posted), end


@pytest.mark.proves("HOOK-33")
def test_star_before_a_domain_stays_in_the_host():
    for words in ("https://*.example.com/*", "https://*.example.com*"):
        assert reaches(f"WebFetch({words})", fetch("https://docs.example.com/a"))
        for url in (
            "https://evil.net/.example.com/", "https://evil.net?.example.com/",
            "https://docs.example.com.evil.net/", "https://example.com/",
        ):  # fmt: skip
            assert not reaches(f"WebFetch({words})", fetch(url)), url
    assert reaches("WebFetch(https://*)", fetch("https://any.example.net/a"))
    assert reaches("WebFetch(https://*/a)", fetch("https://any.example.net/a"))
    assert reaches("WebFetch(*)", fetch("https://any.example.net/a"))


@pytest.mark.proves("HOOK-33")
def test_address_without_scheme_covers_itself_alone():
    assert not reaches("WebFetch(*docs.example.com/*)", fetch("https://evil.net/docs.example.com/"))
    assert not reaches("WebFetch(*docs.example.com/*)", fetch("https://docs.example.com/a"))
    assert reaches("WebFetch(docs.example.com)", fetch("docs.example.com"))


@pytest.mark.proves("HOOK-33", "LAW-10")
def test_refused_pattern_says_how_to_write_it():
    call, origin = fetch("https://docs.example.com/a"), Origin("/p", "/p", session="claude/s1")
    question = make_question("approval", headline(call), call=call)
    ask = Ask("a-222", question, origin, NOW, question_digest(question, origin))
    with pytest.raises(UsageError, match=r"write https://HOST/\*"):
        build_grant(ask, call, Scope("hour", "WebFetch(*docs.example.com/*)"), "person:ada", NOW)


@pytest.mark.proves("HOOK-30")
def test_file_leaves_a_folder():
    def write(path, tool="Write"):
        return Call(tool, {"file_path": path}, "/p", "", path)

    assert not leaves(write("/p/a.md"), ["/p"]) and not leaves(write("/p/a.md"), ["/"])
    assert leaves(write("/q/a.md"), ["/p"]) and leaves(write("/pq/a.md"), ["/p"])
    assert leaves(write("/p/a.md"), ["/p", "/p/sub"]) and leaves(write("/p"), ["/p"])
    assert leaves(Call("Edit", {"file_path": 7}), ["/p"])
    assert not leaves(write("/q/a.md", "Read"), ["/p"])
