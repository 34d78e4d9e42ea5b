"""Rules about tool calls: what is asked about, what is denied, and what a person has granted.

A pattern is `Tool` or `Tool(words)`, where `*` stands for anything. A rule that makes things
stricter is read widely: it holds for every part of a compound command. A grant is read
narrowly: it covers one plain command, and its `*` never stands for a shell's punctuation.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from humangate.domain.audit import Event
from humangate.errors import UsageError

if TYPE_CHECKING:
    from humangate.domain.asks import Ask, Origin
    from humangate.domain.calls import Call
    from humangate.domain.principals import Caller

OUTSIDE = "Edit(outside the project)"
"""The one gate that no pattern can say: a file of another project is written."""

# Compiled when they are needed: most commands load this module and use none of it.
_PATTERN = r"[A-Za-z_][\w-]*(\(.+\))?"
_BETWEEN_COMMANDS = r"&&|\|\||[;&|\n]"
_PUNCTUATION = "^;&|<>()$`\\\n\r"


class Rule(NamedTuple):
    """One rule that a person made."""

    id: str
    kind: str
    """`ask`: a gate. `deny`: never. `grant`: yes, without asking again."""
    pattern: str
    made_by: str
    made_at: datetime
    exact: bool = False
    """A `*` in the pattern is a star and nothing else."""
    project: str = ""
    session: str = ""
    owner: str = ""
    branch: str = ""
    expires_at: datetime | None = None
    uses_left: int | None = None
    ask_id: str = ""
    """The ask whose answer made it."""

    def __str__(self) -> str:
        return self.pattern


class Scope(NamedTuple):
    """How far a yes reaches beyond the call that was asked about."""

    word: str
    """`session`, `task`, `branch`, `hour` or a number of times."""
    pattern: str = ""
    """Instead of exactly this call."""


def check_pattern(pattern: str) -> str:
    """The pattern, if it is one."""
    if not re.fullmatch(_PATTERN, pattern, re.DOTALL):
        raise UsageError(
            f"{pattern!r} is no pattern: write Tool or Tool(words), for example Bash(git push *)"
        )
    return pattern


def forbids(rule: Rule, call: Call) -> bool:
    """Whether a strict rule holds for this call, or for any part of it."""
    tool, words = _parts(rule.pattern)
    if tool != call.tool:
        return False
    whole = call.command or call.subject
    parts = [whole, *re.split(_BETWEEN_COMMANDS, whole)]
    return words is None or any(_matches(words, part.strip(), ".") for part in parts)


def covers(rule: Rule, call: Call) -> bool:
    """Whether a grant's pattern reaches this call."""
    if rule.exact:
        return rule.pattern == call.pattern
    tool, words = _parts(rule.pattern)
    return tool == call.tool and words is not None and _matches(words, call.subject, None)


def _parts(pattern: str) -> tuple[str, str | None]:
    tool, bracket, words = pattern.partition("(")
    return tool, words.removesuffix(")") if bracket else None


def _matches(words: str, subject: str, anything: str | None) -> bool:
    words = re.sub(r":\*$", "*", words)
    any_text = f"{anything}*" if anything else f"[{_PUNCTUATION}]*"
    # As the hosts read it: `git push *` is also `git push` alone.
    if words.endswith(" *") and subject == words[:-2]:
        return True
    regex = any_text.join(map(re.escape, words.split("*")))
    return re.fullmatch(regex, subject, re.DOTALL) is not None


def in_scope(rule: Rule, origin: Origin, call: Call) -> bool:
    """Whether a rule is about this asker. Where a grant says nothing, it still has a project."""
    pairs = (
        (rule.project, origin.project),
        (rule.session, origin.session),
        (rule.owner, origin.owner),
        (rule.branch, call.branch),
    )
    return all(not wanted or wanted == here for wanted, here in pairs)


def granted(ask: Ask, call: Call, scope: Scope, by: str, now: datetime) -> Rule:
    """The grant that an answer makes. It has no id yet."""
    pattern = check_pattern(scope.pattern) if scope.pattern else call.pattern
    rule = Rule(
        "", "grant", pattern, by, now, exact=not scope.pattern, project=ask.origin.project
    )._replace(ask_id=ask.id)
    if not covers(rule, call):
        raise UsageError(f"{pattern} does not cover what {ask.id} asks about: {call.pattern}")
    return _limited(rule, ask, call, scope.word, now)


def _limited(rule: Rule, ask: Ask, call: Call, word: str, now: datetime) -> Rule:
    if word == "hour":
        return rule._replace(expires_at=now + timedelta(hours=1))
    if word.isdecimal() and 0 < int(word) <= 1000:
        return rule._replace(uses_left=int(word))
    origin = ask.origin
    reach = {"session": origin.session, "task": origin.owner, "branch": call.branch}.get(word)
    if reach is None:
        raise UsageError("a yes can be for: session, task, branch, hour, or a number of times")
    if not reach:
        raise UsageError(f"{ask.id} belongs to no {word}, so the yes cannot be for it")
    if word == "session":
        return rule._replace(session=reach)
    return rule._replace(owner=reach) if word == "task" else rule._replace(branch=reach)


def made(rule: Rule, caller: Caller) -> Event:
    content = {
        "pattern": rule.pattern,
        "exact": rule.exact,
        "reach": scope_words(rule),
        "ask": rule.ask_id,
        "via": caller.via,
        "evidence": caller.evidence,
    }
    return Event(f"{rule.kind}.made", rule.id, caller.actor, content)


def used(rule: Rule, call: Call, asker: str) -> Event:
    """A grant let a call pass."""
    content = {"pattern": rule.pattern, "tool": call.tool, "input": call.input}
    return Event("grant.used", rule.id, asker, content)


def ended(rule: Rule, caller: Caller) -> Event:
    content = {"pattern": rule.pattern, "via": caller.via, "evidence": caller.evidence}
    return Event(f"{rule.kind}.ended", rule.id, caller.actor, content)


def scope_words(rule: Rule) -> str:
    """How far it reaches, in words."""
    words = [f"session {rule.session}"] if rule.session else []
    words += [f"task {rule.owner}"] if rule.owner else []
    words += [f"branch {rule.branch}"] if rule.branch else []
    words += [f"{rule.uses_left} more times"] if rule.uses_left is not None else []
    words += [f"until {rule.expires_at:%Y-%m-%d %H:%M} UTC"] if rule.expires_at else []
    words += [f"in {rule.project}" if rule.project else "in every project"]
    return ", ".join(words)
