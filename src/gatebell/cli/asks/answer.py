"""Answer an ask.

An approval takes yes or no. A choice takes one of its options, a text takes words, a form takes
JSON. Without a value, on a terminal, it shows the whole ask and prompts.
Example: gate answer a-7k2 yes --note "after the backup"
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gatebell.cli.asks.values import build_edited_call, build_other, parse_answer, warn_of_secret
from gatebell.cli.identity import add_identity, open_backend, read_text
from gatebell.cli.runs.left_runs import tell_if_left
from gatebell.cli.screen import can_prompt, describe_recorded, make_document, print_json
from gatebell.domain.asks.answers import DECISIONS, Given
from gatebell.domain.asks.asks import settled_sentence
from gatebell.domain.enums import AskKind, Decision
from gatebell.domain.permissions.rules import Scope
from gatebell.errors import AlreadySettledError, InvalidAnswerError, ServerError, UsageError

if TYPE_CHECKING:
    import argparse

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.people.principals import Caller
    from gatebell.ports.backend import Backend

_NOT_YET = 11


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("id", help="the whole id, or the task or number of the run that waits")
    add("value", nargs="*", help="yes or no, an option, several as A,B or 1,2, words, or JSON")
    add("--note", default="", metavar="TEXT", help="a note beside the answer, for example a reason")
    add("--other", metavar="TEXT", help="choose Other… with this text")
    add("--edit", action="store_true", help="write the answer in $VISUAL or $EDITOR")
    add("--file", metavar="F", help="read the answer from a file, or - for standard input")
    add(
        "--with",
        dest="instead",
        metavar="INPUT",
        help="approve a tool call with this command or JSON",
    )
    add(
        "--for",
        dest="reach",
        metavar="HOW-LONG",
        help="approve and do not ask again: session, task, branch, hour, or a number of times",
    )
    add("--pattern", default="", metavar="P", help="the calls that --for allows, not only this one")
    add("--digest", metavar="D", help="refuse unless the ask still has this digest")
    add("--key", default="", metavar="K", help="a retry with the same key returns the first result")
    add_identity(parser)
    add("--json", action="store_true", help="print one JSON object (docs/json.md)")


def run(args: argparse.Namespace) -> int:
    backend, who = open_backend(args)
    try:
        ask = backend.find(args.id)
    except ServerError as error:
        raise backend.keep_typed(error, args.id, _read_typed(args)) from None
    ways = [bool(args.value) and not args.edit, args.other is not None, args.edit, bool(args.file)]
    if sum(ways) > 1:
        raise UsageError("give the answer once: a value, --other, --edit or --file")
    if not any(ways):
        return _prompt(backend, who, ask)
    if args.value and not args.edit:
        warn_of_secret(ask)
    given = Given(
        _read_value(backend, who, ask, args), args.note, args.digest, args.key, _parse_scope(args)
    )
    after = backend.answer(ask.id, who, given)
    if args.json:
        print_json(make_document(backend, after))
    else:
        print(describe_recorded(after))
        if given.scope:
            print("Not asked again: gate grants lists and revokes it.")
        tell_if_left(backend, after)
    return 0


def _read_typed(args: argparse.Namespace) -> str:
    """Return what the person wrote for this command, as text."""
    typed = " ".join(args.value) or args.other or ""
    return read_text(args.file) if args.file else typed


def _parse_scope(args: argparse.Namespace) -> Scope | None:
    if args.pattern and not args.reach:
        raise UsageError("--pattern needs --for; for example, add --for session")
    return Scope(args.reach, args.pattern) if args.reach else None


def _read_value(backend: Backend, who: Caller, ask: Ask, args: argparse.Namespace) -> Any:
    if args.instead is not None:
        if DECISIONS.get(" ".join(args.value).lower()) != Decision.APPROVED:
            raise UsageError("--with needs a yes: gate answer ID yes --with INPUT")
        if ask.question.call is None:
            raise UsageError(f"{ask.id} is not about a tool call; answer it without --with")
        return build_edited_call(ask.question.call, args.instead)
    if args.other is not None:
        return build_other(ask, args.other)
    if args.edit:
        # Imported here: only --edit needs it.
        from gatebell.cli.asks.editor import write_in_editor

        value = write_in_editor(backend, who, ask, " ".join(args.value))
        if value is None:
            raise InvalidAnswerError("no text below the line, so nothing was recorded")
        return value
    if args.file:
        text = read_text(args.file)
        words = (
            text.splitlines() if ask.question.answered_as == AskKind.CHOICE else [text.rstrip("\n")]
        )
    else:
        words = args.value
    return parse_answer(ask, words)


def _prompt(backend: Backend, who: Caller, ask: Ask) -> int:
    # Imported here: scripts never prompt.
    from gatebell.cli.asks.prompts import prompt_for

    if not ask.pending:
        raise AlreadySettledError(settled_sentence(ask))
    if not can_prompt():
        raise UsageError(f"cannot prompt without a terminal; run: gate answer {ask.id} VALUE")
    try:
        return 0 if prompt_for(backend, who, ask) else _NOT_YET
    except KeyboardInterrupt:
        return _NOT_YET
