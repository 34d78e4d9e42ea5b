"""Which asks may be answered together."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from gatebell.domain.asks.asks import Ask, Origin, question_digest
from gatebell.domain.asks.deadlines import Deadlines
from gatebell.domain.asks.duplicates import alike, digest_likeness, groups
from gatebell.domain.asks.questions import make_question
from gatebell.domain.permissions.calls import Call

NOW = datetime(2026, 1, 1, tzinfo=UTC)
HERE = Origin("/shop", "/shop/api", "coder", "claude/s1", "t1", "person:ada", "run:1")


def an_ask(ask_id, kind="text", prompt="Which?", origin=HERE, call=None, **more):
    options = ("A", "B") if kind == "choice" else ()
    question = make_question(kind, prompt, options=options, call=call)
    return Ask(ask_id, question, origin, NOW, question_digest(question, origin), **more)


@pytest.mark.proves("WEB-23")
@pytest.mark.parametrize("kind", ["text", "choice"])
def test_same_question_of_different_agents_is_alike(kind):
    one = an_ask("a-1", kind)
    elsewhere = HERE._replace(project="/web", cwd="/web", agent="tester", session="codex/9")
    two = an_ask("a-2", kind, origin=elsewhere, activity="much", priority=0)
    other = an_ask("a-3", kind, "Whose?")
    assert alike(one, [one, two, other]) == [two]


@pytest.mark.proves("WEB-23")
def test_approvals_that_differ_in_anything_shown_are_not_alike():
    call = Call("Bash", {"command": "git push"}, "/shop", "main", "", "pushes")
    one = an_ask("a-1", "approval", call=call, activity="words", confidence=0.5)
    same = one._replace(
        id="a-2",
        opened_at=NOW + timedelta(hours=1),
        origin=HERE._replace(tool_use_id="t2"),
        deadlines=Deadlines(expires_at=NOW),
    )
    assert digest_likeness(one) == digest_likeness(same)
    differing = [
        an_ask("a-3", "approval", "Which ?", call=call, activity="words", confidence=0.5),
        one._replace(activity="other words"),
        one._replace(confidence=0.6),
        one._replace(priority=1),
        one._replace(deadlines=Deadlines(expires_at=NOW, hard=True)),
        *(
            one._replace(origin=HERE._replace(**{name: "x"}))
            for name in ("project", "cwd", "agent", "session", "started_by", "owner")
        ),
        *(
            one._replace(question=one.question._replace(call=changed))
            for changed in (
                None,
                call._replace(input={"command": "git push -f"}),
                call._replace(cwd="/web"),
                call._replace(branch="dev"),
                call._replace(remark="looks"),
                call._replace(tool="Zsh"),
            )
        ),
    ]
    for other in differing:
        assert digest_likeness(other) != digest_likeness(one), other


@pytest.mark.proves("WEB-23")
def test_secrets_and_discussed_approvals_are_alike_to_nothing():
    secret = an_ask("a-1", token_digest="d")
    assert alike(secret, [secret._replace(id="a-2"), an_ask("a-3")]) == []
    gate = an_ask("a-1", "approval")
    assert alike(gate, [gate._replace(id="a-2")]) != []
    assert alike(gate, [gate._replace(id="a-2", version=2)]) == []
    words = an_ask("a-1")
    assert alike(words, [words._replace(id="a-2", version=2)]) != []


@pytest.mark.proves("WEB-31")
def test_asks_are_grouped_by_project_then_question():
    web = HERE._replace(project="/web")
    asks = [
        an_ask("a-1", prompt="X?"),
        an_ask("a-2", origin=web),
        an_ask("a-3", prompt="Y?"),
        an_ask("a-4", prompt="X?"),
    ]
    found = [(project, [[ask.id for ask in same] for same in own]) for project, own in groups(asks)]
    assert found == [("/shop", [["a-1", "a-4"], ["a-3"]]), ("/web", [["a-2"]])]
