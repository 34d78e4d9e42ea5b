"""Requirements: which people must agree, and how many, to settle an ask."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gatebell.domain.enums import Decision
from gatebell.domain.records import NamedTuple
from gatebell.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gatebell.domain.people.principals import Caller


class Requirement(NamedTuple):
    """Who may settle an ask. Groups are resolved to names when the ask opens."""

    n: int = 1
    of: tuple[str, ...] = ()
    """The people whose approval counts; empty: every person."""
    veto: tuple[str, ...] = ()
    """People whose single rejection settles the ask as rejected."""
    not_author: bool = False
    """Neither the asking session nor the person who started it may answer."""
    reject: int = 1
    """The number of rejections that settle the ask as rejected."""
    via: tuple[str, ...] = ()
    """The only ways by which it may be answered; empty: every way."""
    not_via: tuple[str, ...] = ()
    """Ways by which it may not be answered."""

    @property
    def personal(self) -> bool:
        """Whether it depends on who answers, so that a personal token is needed."""
        return self._replace(via=(), not_via=()) != ANY_PERSON

    def to_list(self) -> list[Any]:
        """Return its fields; without ways they are those of older versions."""
        fields = list(self)
        return fields if self.via or self.not_via else fields[:_FIELDS_BEFORE_WAYS]

    def to_document(self) -> dict[str, Any]:
        """Return it as JSON, likewise."""
        return dict(zip(self._fields, self.to_list(), strict=False))

    def refuses_via(self, way: str) -> str:
        """Return why an answer may not come by a way, as the end of a sentence; else ""."""
        if self.via and way not in self.via:
            return f"only by {', '.join(self.via)}"
        return f"not by {', '.join(self.not_via)}" if way in self.not_via else ""

    @property
    def people(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.of + self.veto))

    def __str__(self) -> str:
        if not self.personal:
            return "any person" + self._describe_ways()
        names = ", ".join(self.of)
        if len(self.of) == 1:
            text = names
        elif self.of and self.n == len(self.of):
            text = f"all of {names}"
        elif self.of:
            text = f"{self.n} of {names}"
        else:
            text = f"{self.n} {'people' if self.n > 1 else 'person'}"
        if self.veto:
            text += f"; veto: {', '.join(self.veto)}"
        if self.not_author:
            text += "; not the author"
        if self.reject > 1:
            text += f"; {self.reject} rejections reject"
        return text + self._describe_ways()

    def _describe_ways(self) -> str:
        only = f"; only by {', '.join(self.via)}" if self.via else ""
        return only + (f"; not by {', '.join(self.not_via)}" if self.not_via else "")


ANY_PERSON = Requirement()
_FIELDS_BEFORE_WAYS = 5
WAYS = (
    *("cli", "dialog", "file", "http", "listen", "mcp", "push", "python", "session", "slack"),
    *("telegram", "web"),
)
"""The ways by which people answer, as `settled_via` names them."""


def make_requirement(
    data: Mapping[str, Any] | None, groups: Mapping[str, tuple[str, ...]]
) -> Requirement:
    """Read a requirement from JSON: `{n, of}` or `{all}`, with veto, not_author, reject."""
    if not data:
        return ANY_PERSON
    if not isinstance(data, Mapping):
        raise UsageError(
            f'a requirement is a dict such as {{"n": 2, "of": "ops"}}, got {str(data)[:60]!r}'
        )
    unknown = set(data) - {"n", "of", "all", "veto", "not_author", "reject", "via", "not_via"}
    if unknown:
        raise UsageError(f"a requirement has no key {min(unknown)!r}: see docs/asks.md")
    if "all" in data and ("n" in data or "of" in data):
        raise UsageError("a requirement has both `all` and `n` or `of`: use one of them")
    everybody = _resolve_names(data.get("all", ()), groups)
    some = _resolve_names(data.get("of", ()), groups)
    n = len(everybody) or data.get("n", 1)
    reject = data.get("reject", 1)
    for word, number in (("n", n), ("reject", reject)):
        if type(number) is not int or number < 1:
            raise UsageError(f"expected a whole number of at least 1 for {word!r} in a requirement")
    if ("all" in data and not data["all"]) or (set(data) == {"n"} and data["n"] == 1):
        raise UsageError("the requirement is empty: name people, or give an `n` above 1")
    people = everybody or some
    if people and n > len(people):
        raise UsageError(
            f"{n} people must agree, but only {', '.join(people)} may: see gate person list"
        )
    veto = _resolve_names(data.get("veto", ()), groups)
    ways = (_read_ways(data.get("via", ())), _read_ways(data.get("not_via", ())))
    return Requirement(n, people, veto, bool(data.get("not_author", False)), reject, *ways)


def _read_ways(given: Any) -> tuple[str, ...]:
    ways = _resolve_names(given, {})
    for way in ways:
        if way not in WAYS:
            raise UsageError(f"expected ways to answer from {', '.join(WAYS)}, got {way!r}")
    return ways


def _resolve_names(given: Any, groups: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    wanted = [given] if isinstance(given, str) else given
    if not isinstance(wanted, list | tuple) or not all(isinstance(one, str) for one in wanted):
        raise UsageError("expected a list of names of people and groups in a requirement")
    return tuple(dict.fromkeys(name for one in wanted for name in groups.get(one, (one,))))


def parse_requirement(text: str) -> dict[str, Any]:
    """Read the command line's form: `2`, `2:GROUP`, `2:alice,bob` or `all:alice,bob`."""
    count, _, names = text.partition(":")
    people = [name.strip() for name in names.split(",") if name.strip()]
    if count == "all" and people:
        return {"all": people}
    if count.isdecimal() and int(count) > 0 and people:
        return {"n": int(count), "of": people}
    if count.isdecimal() and int(count) > 0 and text == count:
        return {"n": int(count)}
    raise UsageError(f"expected --require 2, 2:GROUP, 2:alice,bob or all:alice,bob, got {text!r}")


class Vote(NamedTuple):
    """One person's decision."""

    principal: str
    decision: Decision


def count(requirement: Requirement, votes: Iterable[Vote]) -> Decision | None:
    """Return the decision of these votes; None while more votes are needed."""
    last = {vote.principal: vote.decision for vote in votes}
    rejected = [who for who, decision in last.items() if decision == Decision.REJECTED]
    approved = [who for who, decision in last.items() if decision == Decision.APPROVED]
    if any(who == f"person:{name}" for who in rejected for name in requirement.veto):
        return Decision.REJECTED
    if len(rejected) >= requirement.reject:
        return Decision.REJECTED
    if requirement.of:
        allowed = {f"person:{name}" for name in requirement.of}
        approved = [who for who in approved if who in allowed]
    return Decision.APPROVED if len(approved) >= requirement.n else None


def deciders(votes: Iterable[Vote], decision: Decision) -> list[str]:
    """Return the people whose last vote is this decision, in the order of the votes."""
    last: dict[str, Decision] = {}
    for vote in votes:
        last.pop(vote.principal, None)
        last[vote.principal] = vote.decision
    return [who for who, vote in last.items() if vote == decision]


def why_not(requirement: Requirement, started_by: str, session: str, caller: Caller) -> str | None:
    """Return why this caller may not answer, as a sentence; None if they may."""
    if ways := requirement.refuses_via(caller.via):
        return f"this ask is answered {ways}, so nothing was recorded by {caller.via}"
    if not requirement.personal:
        return None
    if not (caller.is_person and caller.verified):
        return (
            f"this ask is for {requirement}, so it needs your personal token: "
            "answer with --as NAME (made by `gate person add NAME`)"
        )
    if requirement.not_author and caller.principal == started_by:
        return "you started the agent that asks, and this ask excludes its author"
    if requirement.not_author and caller.agent and caller.agent.may_be(session):
        return "this is the session that asks, and this ask excludes its author"
    if requirement.of and caller.name not in requirement.people:
        return f"this ask is for {requirement}"
    return None
