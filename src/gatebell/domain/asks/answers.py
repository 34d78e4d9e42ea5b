"""Answers: whether they fit the question, who may give them, and which one settles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gatebell.domain.asks.asks import Ask, Change, Notice, iso, make_id, settled_sentence, wakes
from gatebell.domain.asks.forms import check_form, check_schema, has_hidden, hide
from gatebell.domain.asks.requirements import Vote, count, deciders, why_not
from gatebell.domain.audit.events import Event, EventKind
from gatebell.domain.digests import digest, keyed_digest
from gatebell.domain.enums import AnswerOutcome, AskKind, AskStatus, Decision, NoticeKind
from gatebell.domain.people.logins import session_prefix
from gatebell.domain.permissions.rules import Rule, Scope, build_grant, build_made_event
from gatebell.domain.records import NamedTuple
from gatebell.domain.text.suggestions import suggest
from gatebell.errors import (
    AgentRefusedError,
    AlreadySettledError,
    GateError,
    InvalidAnswerError,
    RefusedError,
    UsageError,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from gatebell.domain.asks.attachments import Attachment
    from gatebell.domain.asks.questions import Question
    from gatebell.domain.people.principals import Caller

_MAX_SHOWN = 40
# Every word that decides an approval. No other text is a decision.
DECISIONS = {
    "yes": Decision.APPROVED,
    "y": Decision.APPROVED,
    "approve": Decision.APPROVED,
    "approved": Decision.APPROVED,
    "no": Decision.REJECTED,
    "n": Decision.REJECTED,
    "reject": Decision.REJECTED,
    "rejected": Decision.REJECTED,
}


class Given(NamedTuple):
    """An answer as the caller gives it."""

    value: Any
    note: str = ""
    digest: str | None = None
    """The digest of the question that was shown, from faces that keep a copy of it."""
    key: str = ""
    """Idempotency key: the same key returns the first result."""
    scope: Scope | None = None
    """How far a yes to a tool call reaches beyond that call."""
    attachments: tuple[Attachment, ...] = ()
    """Files whose bytes the store has already."""


class Answer(NamedTuple):
    """An answer as the store keeps it, whether it settled, counted or was refused."""

    ask_id: str
    principal: str
    verified: bool
    via: str
    value: Any
    decision: Decision | None
    note: str
    given_at: datetime
    outcome: AnswerOutcome
    reason: str
    """Why it was refused."""
    key: str
    fingerprint: str
    """A digest of value and note, to tell a retry from another answer under the same key.

    It is empty without a key, and for a secret.
    """
    attachments: tuple[Attachment, ...] = ()


class Verdict(NamedTuple):
    """The result of an answer. `change` is None when it was refused."""

    answer: Answer
    change: Change | None
    events: tuple[Event, ...]
    secret: Any = None
    """The secret value itself, only for the table of secrets."""
    error: GateError | None = None


def interpret(question: Question, value: Any) -> tuple[Decision | None, Any]:
    """Return the decision and the value of an answer; refuse one that does not fit."""
    kind = question.answered_as
    if kind == AskKind.APPROVAL:
        if question.call and isinstance(value, dict):
            return Decision.APPROVED, _check_other_input(value)
        return _parse_decision(value), None
    if kind == AskKind.CHOICE:
        return None, _parse_choice(question, value)
    if kind == AskKind.FORM:
        check_form(question.schema, value)
        return None, value
    if not isinstance(value, str) or not value.strip():
        raise InvalidAnswerError("expected a text that is not empty: write your answer")
    return None, value


def _parse_decision(value: Any) -> Decision:
    word = {True: "yes", False: "no"}.get(value) if isinstance(value, bool) else value
    decision = DECISIONS.get(word.strip().lower()) if isinstance(word, str) else None
    if decision is None:
        raise InvalidAnswerError(
            "expected yes or no: put other words into the note, with --note or at the prompt"
        )
    return decision


def _check_other_input(value: dict[str, Any]) -> dict[str, Any]:
    """Check a yes to a tool call with another input than the agent's."""
    if list(value) != ["input"] or not isinstance(value["input"], dict) or not value["input"]:
        raise InvalidAnswerError('expected {"input": {…}} with the whole input of the tool call')
    return value


def _parse_choice(question: Question, value: Any) -> Any:
    if not question.multiple:
        if isinstance(value, list) and len(value) != 1:
            raise InvalidAnswerError("choose one option")
        return _parse_option(question, value[0] if isinstance(value, list) else value)
    chosen = [
        _parse_option(question, one) for one in (value if isinstance(value, list) else [value])
    ]
    if not chosen or any(chosen.count(one) > 1 for one in chosen):
        raise InvalidAnswerError("choose one or more options, each once")
    return chosen


def _parse_option(question: Question, value: Any) -> Any:
    if isinstance(value, dict) and list(value) == ["other"] and question.other:
        if isinstance(value["other"], str) and value["other"].strip():
            return value
        raise InvalidAnswerError("Other… needs your own words: write them beside it")
    near = ""
    if isinstance(value, str):
        if value in question.options:
            return value
        word = _expand_word(question.options, value)
        alike = [option for option in question.options if option.casefold() == word]
        if len(alike) == 1:
            return alike[0]
        near = "" if alike else suggest(value, question.options)
    options = ", ".join(map(repr, question.options))
    ways = f"{options}, and Other… with words of your own" if question.other else options
    raise InvalidAnswerError(f"{_shorten(value)} is not an option; the options are {ways}{near}")


def _shorten(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= _MAX_SHOWN else f"{shown[:_MAX_SHOWN]}…"


def _expand_word(options: Sequence[str], value: str) -> str:
    """Return the word to compare; where yes and no are options, `y` and `n` mean them."""
    word, known = value.casefold(), {option.casefold() for option in options}
    if word in known or not {"yes", "no"} <= known:
        return word
    return {"y": "yes", "n": "no"}.get(word, word)


def with_default(question: Question, default: Any) -> Question:
    """Return the question with the default that it gets on timeout, if it may have one."""
    if question.schema is not None:
        check_schema(question.schema)
    if default is None:
        return question
    if question.gates:
        raise UsageError(
            f"an ask of kind {question.kind} cannot have a default: a timeout never decides it"
        )
    if question.secret or has_hidden(question.schema):
        raise UsageError("a secret cannot have a default: it would be shown with the question")
    try:
        _, value = interpret(question, default)
    except InvalidAnswerError as error:
        raise UsageError(f"the default does not answer the question: {error}") from None
    return question._replace(default=value)


def answer(
    ask: Ask,
    votes: Sequence[Vote],
    caller: Caller,
    given: Given,
    now: datetime,
    random_bytes: bytes,
) -> Verdict:
    """Judge one answer: it settles the ask, it counts as a vote, or it is refused and kept."""
    principal = caller.actor
    decision, value, error = None, given.value, _find_refusal(ask, caller, given)
    if error is None:
        try:
            decision, value = interpret(ask.question, given.value)
        except InvalidAnswerError as invalid:
            error = invalid
    clear, value, fingerprint = _conceal(ask.question, value, given, random_bytes, bool(error))
    kept = Answer(
        ask.id,
        principal,
        caller.verified,
        caller.via,
        value,
        decision,
        given.note,
        now,
        _find_outcome(error),
        str(error) if error else "",
        given.key,
        fingerprint,
        given.attachments,
    )
    if error:
        content = _build_content(kept, caller) | {"reason": kept.reason}
        refused = Event(EventKind.ANSWER_REFUSED, ask.id, principal, content)
        return Verdict(kept, None, (refused,), error=error)
    grant = _make_grant(ask, kept, given.scope, random_bytes) if given.scope else None
    return _accept(ask, votes, kept, caller, clear, grant)


def _make_grant(ask: Ask, kept: Answer, scope: Scope, random_bytes: bytes) -> Rule:
    """Return the rule that a yes makes for later calls."""
    call = ask.question.call
    if call is None or kept.decision != Decision.APPROVED or kept.value is not None:
        raise UsageError(
            "only a plain yes to a tool call can allow later calls: answer yes, without an input"
        )
    if ask.question.requirement.personal:
        needed = ask.question.requirement
        raise UsageError(f"{ask.id} needs {needed} each time: answer without a scope")
    rule_id = make_id(6, random_bytes, "g-")
    return build_grant(ask, call, scope, kept.principal, kept.given_at)._replace(id=rule_id)


def _accept(
    ask: Ask,
    votes: Sequence[Vote],
    kept: Answer,
    caller: Caller,
    clear: Any,
    grant: Rule | None,
) -> Verdict:
    decision, names = None, [kept.principal]
    if kept.decision:
        given = [*votes, Vote(kept.principal, kept.decision)]
        decision = count(ask.question.requirement, given)
        names = deciders(given, kept.decision)
    if kept.decision and decision is None:
        event = Event(EventKind.ASK_VOTED, ask.id, kept.principal, _build_content(kept, caller))
        change = Change(ask._replace(version=ask.version + 1), (event,))
        return Verdict(kept, change, (event,))
    after = ask._replace(
        status=AskStatus.ANSWERED,
        decision=decision,
        value=kept.value,
        answer_attachments=kept.attachments,
        note=kept.note,
        settled_at=kept.given_at,
        settled_by=", ".join(names),
        settled_via=kept.via,
        version=ask.version + 1,
    )
    content = _build_content(kept, caller) | ({"together": names} if len(names) > 1 else {})
    event = Event(EventKind.ASK_ANSWERED, ask.id, kept.principal, content)
    change = Change(after, (event,), wakes(ask), (Notice(NoticeKind.SETTLED, ask.id),))
    if grant:
        change = change._replace(grant=grant, events=(event, build_made_event(grant, caller)))
    return Verdict(
        kept._replace(outcome=AnswerOutcome.SETTLED), change, change.events, secret=clear
    )


def _find_refusal(ask: Ask, caller: Caller, given: Given) -> GateError | None:
    question, origin = ask.question, ask.origin
    if not ask.pending:
        kept = "" if ask.token_digest else "; your answer is kept beside it"
        return AlreadySettledError(settled_sentence(ask) + kept)
    if given.digest is not None and given.digest != ask.digest:
        return RefusedError(
            f"{ask.id} is not the question that you answered: read it again with gate show {ask.id}"
        )
    if caller.agent and not caller.verified:
        if question.gates or origin.task:
            return AgentRefusedError(_describe_only_people(ask, caller.agent.because))
        if caller.agent.may_be(origin.session):
            return AgentRefusedError(
                f"{ask.id} was asked by this session, which cannot answer it: ask a person"
            )
    if caller.token_id and origin.session.startswith(session_prefix(caller.token_id)):
        return AgentRefusedError(
            f"{ask.id} was asked with this token, which cannot answer it: use another token"
        )
    if reason := why_not(question.requirement, origin.started_by, origin.session, caller):
        return RefusedError(reason)
    return None


def _describe_only_people(ask: Ask, because: str) -> str:
    if ask.question.gates:
        deed, way = "decides", f"gate answer {ask.id} yes|no --as NAME"
    else:
        deed, way = "answers", f"gate answer {ask.id} VALUE --as NAME. It is kept as a proposal"
    return (
        f"only a person {deed} {ask.id}, and an agent seems to be at work here ({because}). "
        f"Answer in your own terminal, or with your personal token: {way}"
    )


def fingerprint(given: Given) -> str:
    """Return a digest that tells a retry under the same key from another answer."""
    scope = [list(given.scope)] if given.scope else []
    files = [{"attachments": list(map(list, given.attachments))}] if given.attachments else []
    return digest([given.value, given.note, *scope, *files])


def _conceal(
    question: Question, value: Any, given: Given, key: bytes, refused: bool
) -> tuple[Any, Any, str]:
    """Return the secret value or None, the value that may be shown, and the fingerprint."""
    if not question.secret and not has_hidden(question.schema):
        return None, value, fingerprint(given) if given.key else ""
    if question.secret or refused:
        hidden: Any = {"secret": keyed_digest(value, key)}
    else:
        hidden = hide(question.schema, value, lambda part: {"secret": keyed_digest(part, key)})
    return value, hidden, ""


def _find_outcome(error: GateError | None) -> AnswerOutcome:
    if error is None:
        return AnswerOutcome.COUNTED
    return AnswerOutcome.LATE if isinstance(error, AlreadySettledError) else AnswerOutcome.REFUSED


def _build_content(kept: Answer, caller: Caller) -> dict[str, Any]:
    files = [one.digest for one in kept.attachments]
    return ({"attachments": files} if files else {}) | {
        "decision": kept.decision,
        "value": kept.value,
        "note": kept.note,
        "via": kept.via,
        "verified": kept.verified,
        "at": iso(kept.given_at),
        "evidence": caller.evidence,
    }
