"""Short titles of asks, in lists and above a call."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from gatebell.domain.asks.asks import Ask, Origin
from gatebell.domain.asks.headings import list_heading, option_meanings, short_heading
from gatebell.domain.asks.questions import make_question
from gatebell.domain.permissions.calls import PLAN, Call, headline

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def ask_about(tool="", given=None, prompt="", cwd="/p/sub"):
    call = Call(tool, given or {}, cwd) if tool else None
    question = make_question("approval", prompt or headline(call), call=call)
    return Ask("a-1", question, Origin("/p"), NOW, "d")


@pytest.mark.proves("HOOK-35", "LAW-8")
@pytest.mark.parametrize(
    ("ask", "short", "listed"),
    [
        (ask_about(prompt="Deploy?"), "Deploy?", "Deploy?"),
        (
            ask_about("Bash", {"command": "git push"}),
            "Run this command?",
            "Run this command? git push",
        ),
        (
            ask_about("Bash", {"command": "git push"}, "May I?"),
            "May I?",
            "May I?",
        ),
        (ask_about("Edit", {"file_path": "/p/src/a.py"}), "Change src/a.py?", "Change src/a.py?"),
        (ask_about("Edit", {"file_path": "/p/sub/\u2003a"}), *["Change sub/‹U+2003›a?"] * 2),
        # It leads out of the project.
        (ask_about("Write", {"file_path": "/p/../etc/x"}), *["Change /p/../etc/x?"] * 2),
        (ask_about("Write", {"file_path": "/pq/x"}), *["Change /pq/x?"] * 2),
        (ask_about("Read", {"file_path": "/p/x"}), "Use Read?", "Use Read?"),
        (ask_about("Edit", {"file_path": "/p/a"}, "Look at this"), *["Look at this"] * 2),
        (ask_about("Query", {"rows": 3, "text": "a b"}), "Use Query?", "Use Query? rows 3, text a b"),
        (ask_about("Query", {"tables": ["a", "b"]}), "Use Query?", "Use Query? tables (2 parts)"),
        (ask_about("Query", {"a": "x\u00a0y"}), "Use Query?", "Use Query? a x‹U+00A0›y"),
        (ask_about("Query"), "Use Query?", "Use Query?"),
        (ask_about("Query", {}, "Look up the users?"), *["Look up the users?"] * 2),
        (ask_about("WebFetch", {"url": "https://a.example/"}), "Use WebFetch?",
         "Use WebFetch? https://a.example/"),
        (ask_about(PLAN, {"plan": "1. Do it"}), *["Go on with this plan?"] * 2),
    ],
)  # fmt: skip
def test_heading_names_the_call_once(ask, short, listed):
    assert short_heading(ask) == short
    assert list_heading(ask) == listed


@pytest.mark.proves("CHAT-1")
@pytest.mark.parametrize(
    ("context", "meanings"),
    [
        ({"A": "fast", "B": "safe"}, {"A": "fast", "B": "safe"}),
        ({"A": "fast"}, {"A": "fast"}),
        ({"A": "fast", "note": "x"}, {}),
        ({"A": 1}, {}),
        ("A", {}),
        (None, {}),
    ],
)
def test_context_gives_meanings_only_if_it_has_nothing_else(context, meanings):
    assert (
        option_meanings(make_question("choice", "Q", options=("A", "B"), context=context))
        == meanings
    )
    assert option_meanings(make_question("approval", "Q", context=context)) == {}
