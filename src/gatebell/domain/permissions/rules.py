"""Rules about tool calls: gates, denials and grants.

A pattern is `Tool` or `Tool(words)`, where `*` matches any text. A gate or denial is read
widely: it holds for every part of a compound command. A grant is read narrowly: it covers one
plain command, and its `*` never matches a shell's punctuation. Nor does `*` reach from one field
of an input to the next, or from one host of an address to another.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from gatebell.domain.audit.events import Event, EventKind
from gatebell.domain.enums import RuleKind
from gatebell.domain.permissions.acts import GATED_ACTS, TRIGGERS
from gatebell.domain.permissions.calls import WRITERS
from gatebell.domain.records import NamedTuple
from gatebell.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gatebell.domain.asks.asks import Ask, Origin
    from gatebell.domain.people.principals import Caller
    from gatebell.domain.permissions.calls import Call

ALWAYS = "always"
"""The word of a scope without an end: every later call in the project."""
OUTSIDE = "Edit(outside the project)"
"""The one gate without a pattern: a write to a file outside the project."""

_PATTERN = r"[A-Za-z_][\w-]*(\(.+\))?"
_PUNCTUATION = frozenset(";&|<>()$`\\\n\r")
_AFTER_A_HOST = "/?# \"'"
_NOT_IN_A_HOST = frozenset(f"{_AFTER_A_HOST}@")
# The words up to a `*` that is a part of the host of an address.
_IN_A_HOST = re.compile(rf"://([^{_AFTER_A_HOST}]*)$")
# The marks between two commands of a line.
_BETWEEN_COMMANDS = r"&&|\|\||[;&|\n(){}`]"
# Compiled on use: most lines have no variable.
_ASSIGNMENT = (
    r"""(?<![\w-])([A-Za-z_]\w{0,40})=(?:"([^"]{0,40})"|'([^']{0,40})'|([^\s;&|()"']{0,40}))"""
)
_MAX_STARTS = 100
_VARIABLE = r"\$(?:\{(\w+)\}|(\w+))"
BEFORE_A_PROGRAM = frozenset(
    [
        "!",
        "if",
        "then",
        "elif",
        "else",
        "while",
        "until",
        "do",
        "time",
        "env",
        "sudo",
        "doas",
        "nice",
        "nohup",
        "timeout",
        "command",
        "builtin",
        "exec",
        "xargs",
        "setsid",
        "stdbuf",
    ]
)


class Rule(NamedTuple):
    """One rule that a person made."""

    id: str
    kind: RuleKind
    pattern: str
    made_by: str
    made_at: datetime
    identity: str = ""
    """The identity of the one call that it covers; without it, the pattern counts."""
    project: str = ""
    session: str = ""
    owner: str = ""
    branch: str = ""
    expires_at: datetime | None = None
    uses_left: int | None = None
    ask_id: str = ""
    """The ask whose answer made it."""
    project_key: str = ""
    """The project on every host; empty in rules of older versions."""

    def __str__(self) -> str:
        return self.pattern

    @property
    def is_standing(self) -> bool:
        """Whether it is a grant for all later calls in its project."""
        limits = (self.session, self.owner, self.branch, self.expires_at, self.uses_left)
        return self.kind == RuleKind.GRANT and not any(one not in ("", None) for one in limits)


class Scope(NamedTuple):
    """How far a yes reaches beyond the call that was asked about."""

    word: str
    """`session`, `task`, `branch`, `hour`, `always` or a number of times."""
    pattern: str = ""
    """A pattern in place of exactly this call."""


def check_pattern(pattern: str) -> str:
    """Return the pattern; refuse one that is not valid."""
    tool = split_pattern(pattern)[0]
    for known in ("Bash", "WebFetch", "Read", *WRITERS):
        if tool.lower() == known.lower() and tool != known:
            raise UsageError(f"there is no tool {tool}: did you mean {known}?")
    if not re.fullmatch(_PATTERN, pattern, re.DOTALL):
        raise UsageError(
            f"expected a pattern Tool or Tool(words), for example Bash(git push *), got {pattern!r}"
        )
    return pattern


def forbids(rule: Rule, call: Call) -> bool:
    """Return whether a gate or denial matches this call or any part of it."""
    if rule.pattern in GATED_ACTS:
        return call.tool == "Bash" and bool(list_triggers(call.command, rule.pattern))
    tool, words = split_pattern(rule.pattern)
    if tool != call.tool and not (tool == "Edit" and call.tool in WRITERS):
        return False
    subjects = _list_commands(call.command) if call.command else [call.subject]
    return words is None or any(_matches(words, subject, strict=True) for subject in subjects)


def list_triggers(command: str, *gates: str) -> list[str]:
    """Return the wide patterns of these gates for acts, or of all, that a line matches."""
    acts = [GATED_ACTS[gate] for gate in gates] or TRIGGERS
    subjects = dict.fromkeys(_list_commands(command))
    return [
        trigger
        for act in acts
        for trigger in TRIGGERS[act]
        if any(_matches_glob(trigger, subject, frozenset()) for subject in subjects)
    ]


def matches_trigger(text: str) -> bool:
    """Return whether exactly this text fits one of the wide patterns, as a host compares it."""
    return any(
        _matches_glob(trigger, text, frozenset()) for many in TRIGGERS.values() for trigger in many
    )


def covers(rule: Rule, call: Call) -> bool:
    """Return whether a grant covers this call."""
    if rule.identity:
        return rule.identity == call.identity
    tool, words = split_pattern(rule.pattern)
    if tool != call.tool or words is None or call.has_more:
        return False
    if words == "*" or not call.target:
        # A single `*` matches the whole input; among other words it stays in one field.
        never = _PUNCTUATION if words == "*" else _PUNCTUATION | {'"'}
        return _matches_glob(words, call.subject, never)
    if tool == "WebFetch" and "://" not in words.partition("*")[0]:
        # Otherwise an address that only mentions the host would be covered.
        return words == call.subject
    return _matches(words, call.subject, strict=False)


def lets_pass(rule: Rule, call: Call) -> bool:
    """Return whether a grant lets this call pass, if no gate holds it.

    Hidden files decide what programs do. So a grant without an end covers none below its `*`.
    """
    words = split_pattern(rule.pattern)[1] or ""
    below = call.subject[len(words) - 1 :] if words.endswith("*") else ""
    is_hidden = call.tool in WRITERS and any(one.startswith(".") for one in below.split("/"))
    return covers(rule, call) and not (is_hidden and rule.is_standing)


def leaves(call: Call, folders: Iterable[str]) -> bool:
    """Return whether the call writes a file outside any of these folders (real paths)."""
    inside = all(call.real_path.startswith(f"{one.rstrip('/')}/") for one in folders)
    return call.tool in WRITERS and not inside


def split_pattern(pattern: str) -> tuple[str, str | None]:
    tool, bracket, words = pattern.partition("(")
    return tool, words.removesuffix(")") if bracket else None


def _matches(words: str, subject: str, *, strict: bool) -> bool:
    if words.endswith(":*"):
        words = words[:-2] + ("*" if strict else " *")
    # As in the hosts, `git push *` also matches `git push` alone.
    if words.endswith(" *") and subject == words[:-2]:
        return True
    return _matches_glob(words, subject, frozenset() if strict else _PUNCTUATION)


def _matches_glob(words: str, subject: str, never: frozenset[str]) -> bool:
    """Return whether the words match the subject; `*` is any text without certain characters.

    Not by a regular expression: that could take hours for a long command.
    """
    first, *others = words.split("*")
    if not others:
        return subject == words
    gaps, at = [], len(first)
    for part in others[:-1]:
        found = subject.find(part, at)
        if found < 0:
            return False
        gaps.append(subject[at:found])
        at = found + len(part)
    end = len(subject) - len(others[-1])
    gaps.append(subject[at : max(at, end)])
    fits = subject.startswith(first) and subject.endswith(others[-1]) and at <= end
    if not fits or not never:
        return fits
    return never.isdisjoint("".join(gaps)) and _keeps_hosts(words, gaps)


def _keeps_hosts(words: str, gaps: list[str]) -> bool:
    """Return whether no `*` matches a part of a host that the words seem to name in full."""
    at = -1
    for gap in gaps:
        at = words.index("*", at + 1)
        host, after = _IN_A_HOST.search(words[:at]), words[at + 1 :]
        if host is None:
            continue
        if host[1] and (not after or after[0] in _AFTER_A_HOST):
            if gap and gap[0] not in _AFTER_A_HOST:
                return False
        elif (host[1] or after) and not _NOT_IN_A_HOST.isdisjoint(gap):
            return False
    return True


def _list_commands(line: str) -> Iterator[str]:
    """Yield the line, and every command in it, without quotes, paths and variables."""
    yield line
    joined = line.replace("\\\n", "")
    bare = joined.translate({ord(mark): None for mark in "'\"\\"})
    for text in {joined, bare, expand_variables(bare, joined)}:
        for part in re.split(_BETWEEN_COMMANDS, text):
            words = part.replace("$", " ").split()
            for start in _list_starts(words):
                yield " ".join([words[start].rpartition("/")[2], *words[start + 1 :]])


def expand_variables(line: str, quoted: str) -> str:
    """Return the line with the values of the variables that it sets itself."""
    if "$" not in line or "=" not in quoted:
        return line
    values = {name: "".join(value) for name, *value in re.findall(_ASSIGNMENT, quoted)}
    return re.sub(_VARIABLE, lambda found: values.get(found[1] or found[2], found[0]), line)


def _list_starts(words: list[str]) -> Iterator[int]:
    """Yield the positions of possible programs: a word after an option may be its value."""
    before = ""
    starts = 0
    for at, word in enumerate(words):
        if not _precedes_program(word):
            yield at
            starts += 1
            if not before.startswith("-") or starts == _MAX_STARTS:
                return
        before = word


def _precedes_program(word: str) -> bool:
    """Return whether it is an assignment, a keyword, an option, or a program like `sudo`."""
    name, equals, _ = word.partition("=")
    assigns = bool(equals) and name.isidentifier()
    return assigns or word in BEFORE_A_PROGRAM or word[0] in "-0123456789"


def in_scope(rule: Rule, origin: Origin, call: Call) -> bool:
    """Return whether a rule applies to this asker.

    Gates and denials include subfolders, and other clones of the project. A grant holds only in its
    folder, and only while the key is the same: an agent can write the files that give the key.
    """
    if rule.kind == RuleKind.GRANT:
        inside = rule.project == origin.project and _is_same_key(rule, origin)
    else:
        inside = f"{origin.cwd}/".startswith(f"{rule.project}/") or (
            rule.project == origin.project
            or (bool(rule.project_key) and rule.project_key == origin.project_key)
        )
    pairs = (
        (rule.project, rule.project if inside else ""),
        (rule.session, origin.session),
        (rule.owner, origin.owner),
        (rule.branch, call.branch),
    )
    return all(not wanted or wanted == here for wanted, here in pairs)


def _is_same_key(rule: Rule, origin: Origin) -> bool:
    # Older versions stored no keys. A client that leaves its key out must not get past it.
    return rule.project_key in ("", origin.project_key)


def build_grant(ask: Ask, call: Call, scope: Scope, by: str, now: datetime) -> Rule:
    """Return the grant that an answer makes, still without an id."""
    if not ask.origin.project:
        raise UsageError(
            f"{ask.id} has no project, so the yes can only be for this call: answer without a scope"
        )
    pattern = check_pattern(scope.pattern) if scope.pattern else call.pattern
    identity = "" if scope.pattern else call.identity
    rule = Rule("", RuleKind.GRANT, pattern, by, now, identity, ask.origin.project, ask_id=ask.id)
    rule = rule._replace(project_key=ask.origin.project_key)
    if not covers(rule, call):
        raise UsageError(
            f"{pattern} does not cover the call of {ask.id}: {call.pattern}. A grant names "
            "one plain command, file or address, with * for any words. That * stays in one field "
            "of an input and on one host: write https://HOST/*"
        )
    return _limit(rule, ask, call, scope.word, now)


def _limit(rule: Rule, ask: Ask, call: Call, word: str, now: datetime) -> Rule:
    if word == ALWAYS:
        # Imported here: most answers have no scope, and this loads the judgement of commands.
        from gatebell.domain.permissions.standing_patterns import why_not_standing

        if why := why_not_standing(rule.pattern, rule.project):
            raise UsageError(f"{rule.pattern} cannot be allowed always: {why}")
        return rule
    if word == "hour":
        return rule._replace(expires_at=now + timedelta(hours=1))
    if word.isdecimal() and 1 < int(word) <= 1000:
        # The call of this ask is the first use.
        return rule._replace(uses_left=int(word) - 1)
    origin = ask.origin
    session = "" if origin.session.endswith("/") else origin.session
    reach = {"session": session, "task": origin.owner, "branch": call.branch}.get(word)
    if reach is None:
        raise UsageError(
            "expected a scope from session, task, branch, hour, always, or a number from 2 to 1000"
        )
    if not reach:
        raise UsageError(f"{ask.id} has no {word}, so the yes cannot be for it: use another scope")
    if word == "session":
        return rule._replace(session=reach)
    return rule._replace(owner=reach) if word == "task" else rule._replace(branch=reach)


def build_made_event(rule: Rule, caller: Caller) -> Event:
    content = {
        "pattern": rule.pattern,
        "identity": rule.identity,
        "reach": scope_words(rule),
        "ask": rule.ask_id,
        "via": caller.via,
        "evidence": caller.evidence,
    }
    return Event(EventKind(f"{rule.kind}.made"), rule.id, caller.actor, content)


def build_used_event(rule: Rule, call: Call, asker: str) -> Event:
    """Return the event for a call that a grant let pass."""
    content = {"pattern": rule.pattern, "tool": call.tool, "input": call.input}
    return Event(EventKind.GRANT_USED, rule.id, asker, content)


def build_ended_event(rule: Rule, caller: Caller) -> Event:
    content = {"pattern": rule.pattern, "via": caller.via, "evidence": caller.evidence}
    return Event(EventKind(f"{rule.kind}.ended"), rule.id, caller.actor, content)


def scope_words(rule: Rule) -> str:
    """Return the scope of a rule in words."""
    words = [f"session {rule.session}"] if rule.session else []
    words += [f"task {rule.owner}"] if rule.owner else []
    words += [f"branch {rule.branch}"] if rule.branch else []
    if rule.uses_left is not None:
        words += ["once more" if rule.uses_left == 1 else f"{rule.uses_left} more times"]
    words += [f"until {rule.expires_at:%Y-%m-%d %H:%M} UTC"] if rule.expires_at else []
    words += [f"in {rule.project}" if rule.project else "in every project"]
    return ", ".join(words)
