"""The question of an ask: the content that is shown, and the answers that it allows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gatebell.domain.asks.requirements import ANY_PERSON, Requirement
from gatebell.domain.digests import canonical
from gatebell.domain.enums import AskKind
from gatebell.domain.records import NamedTuple
from gatebell.domain.sessions.visits import Terms, make_terms
from gatebell.domain.text.suggestions import suggest
from gatebell.errors import UsageError

if TYPE_CHECKING:
    from gatebell.domain.asks.attachments import Attachment
    from gatebell.domain.permissions.calls import Call

MAX_PROMPT_CHARACTERS = 200_000
MAX_CONTEXT_CHARACTERS = 4_000_000

OTHER = "Other…"
"""The option with a person's own words."""


class Question(NamedTuple):
    """The question as it is shown and answered. It does not change after the ask is opened."""

    kind: AskKind
    prompt: str
    context: Any = None
    options: tuple[str, ...] = ()
    multiple: bool = False
    other: bool = False
    """Whether `Other…` is an option; its answer is a text."""
    schema: dict[str, Any] | None = None
    default: Any = None
    """The value after a timeout; never for an approval."""
    secret: bool = False
    requirement: Requirement = ANY_PERSON
    call: Call | None = None
    """The tool call that a host holds until this approval is decided."""
    session: Terms | None = None
    """The terms of a session ask."""
    attachments: tuple[Attachment, ...] = ()

    @property
    def option_labels(self) -> tuple[str, ...]:
        """The options as people see them."""
        return (*self.options, OTHER) if self.other else self.options

    @property
    def kind_word(self) -> str:
        """`secret` for a text that is one, else the kind: for people."""
        return "secret" if self.secret else str(self.kind)

    @property
    def answered_as(self) -> AskKind:
        """The kind of answer that settles it: `approval`, `choice`, `text` or `form`."""
        return self.session.answer if self.session else self.kind

    @property
    def gates(self) -> bool:
        """Whether a yes permits an action, so that only a person may answer."""
        return self.kind in (AskKind.APPROVAL, AskKind.SESSION)


def make_question(
    kind: str,
    prompt: str,
    *,
    context: Any = None,
    options: tuple[str, ...] = (),
    multiple: bool = False,
    schema: dict[str, Any] | None = None,
    secret: bool = False,
    requirement: Requirement = ANY_PERSON,
    call: Call | None = None,
    session: Terms | None = None,
    attachments: tuple[Attachment, ...] = (),
) -> Question:
    """Return a valid question, or raise a UsageError with the reason.

    `answers.with_default` checks and adds the default.
    """
    question = Question(
        _parse_kind(kind), prompt, context, options, multiple, schema=schema, secret=secret,
        requirement=requirement, call=call, session=session and make_terms(session),
        attachments=attachments,
    )  # fmt: skip
    _must_be_readable(question)
    _must_fit_its_kind(question)
    named = tuple(option for option in options if not means_other(option))
    if len(set(named)) < len(named) or not all(option.strip() for option in named):
        raise UsageError("two options are equal, or one is empty: write different options")
    if len(options) == 1:
        raise UsageError(
            f"a choice needs at least two options, got only {options[0]!r}: add {OTHER!r}, or ask "
            "for an approval or a text"
        )
    return question._replace(options=named, other=len(named) < len(options))


def _parse_kind(word: str) -> AskKind:
    try:
        return AskKind(word)
    except ValueError:
        known = ", ".join(AskKind)
        near = suggest(word, AskKind)
        raise UsageError(f"expected a kind of ask ({known}), got {word!r}{near}") from None


def means_other(word: str) -> bool:
    return word.casefold() in ("other…", "other...", "other")


def _must_be_readable(question: Question) -> None:
    prompt = question.prompt
    if not prompt.strip():
        raise UsageError("the question is empty: write one")
    if len(prompt) > MAX_PROMPT_CHARACTERS:
        raise UsageError(
            f"the question has {len(prompt)} characters, the limit is {MAX_PROMPT_CHARACTERS}: "
            "move the long part to --context"
        )
    if len(canonical(question.context)) > MAX_CONTEXT_CHARACTERS:
        limit = MAX_CONTEXT_CHARACTERS
        raise UsageError(f"the context is longer than {limit} characters: shorten it")


def _must_fit_its_kind(question: Question) -> None:
    kind, requirement = question.kind, question.requirement
    if (kind == AskKind.SESSION) != (question.session is not None):
        raise UsageError("a session ask needs terms, and no other kind has them")
    answer = question.answered_as
    if answer == AskKind.CHOICE and not question.options:
        raise UsageError("a choice needs options: give two or more")
    if answer != AskKind.CHOICE and question.options:
        raise UsageError(
            f"an ask of kind {kind} has no options: leave them out, or ask for a choice"
        )
    if answer == AskKind.FORM and question.schema is None:
        raise UsageError("a form needs a schema: give a JSON Schema")
    if answer != AskKind.FORM and question.schema is not None:
        raise UsageError(f"an ask of kind {kind} has no schema: leave it out, or ask for a form")
    if question.multiple and answer != AskKind.CHOICE:
        raise UsageError("only a choice can take several options")
    if question.secret and kind != AskKind.TEXT:
        raise UsageError("only a text ask can be secret: in a form, mark fields as writeOnly")
    if question.call and kind != AskKind.APPROVAL:
        raise UsageError("only an approval can hold a tool call")
    several = requirement.n > 1 or requirement.reject > 1 or requirement.veto
    if several and answer != AskKind.APPROVAL:
        raise UsageError(f"only an approval can need several people, not a {answer}")
