"""Answer an ask, or several alike.

An approval takes yes or no. A choice takes one of its options, a text takes words, a form takes
JSON. Several ids get the same answer. Without a value, on a terminal, it shows the whole ask and
prompts; without an id, it goes through everything that waits.

Example: gate answer a-7k2 yes --note "after the backup"
Example: gate answer a-7k2 a-9m1 a-x4d no
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from gatebell.cli.asks.values import build_edited_call, build_other, parse_answer, warn_of_secret
from gatebell.cli.identity import add_attach, add_identity, open_backend, open_reader, read_text
from gatebell.cli.runs.left_runs import tell_if_left
from gatebell.cli.screen import can_prompt, describe_recorded, make_document, print_json
from gatebell.domain.asks.answers import DECISIONS, Given
from gatebell.domain.asks.asks import settled_sentence
from gatebell.domain.enums import AskKind, Decision
from gatebell.domain.permissions.rules import Scope
from gatebell.errors import (
    AlreadySettledError,
    InvalidAnswerError,
    NotFoundError,
    ServerError,
    UsageError,
)

if TYPE_CHECKING:
    import argparse

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.people.principals import Caller
    from gatebell.ports.backends.backend import Backend

_NOT_YET = 11
_MAX = 1_000


def configure(parser: argparse.ArgumentParser) -> None:
    parser.usage = "gate answer ID … [VALUE …] [options]"
    add = parser.add_argument
    add("id", nargs="?", default="", help="an ask, a task, or the number of a run; several ask ids")
    add("value", nargs="*", help="yes or no, an option, several as A,B or 1,2, words, or JSON")
    add("--all", action="store_true", help="go through everything that waits; Enter skips, q stops")
    add("--project", metavar="DIR", help="with --all: only the asks of this folder's project")
    add("--note", default="", metavar="TEXT", help="a note beside the answer, for example a reason")
    add("--other", metavar="TEXT", help="choose Other… with this text")
    add("-e", "--edit", action="store_true", help="write the answer in $VISUAL or $EDITOR")
    add("--file", metavar="F", help="read the answer from a file, or - for standard input")
    add("--template", metavar="NAME", help="use a prepared answer (gate template)")
    add(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a variable of the template; repeat it",
    )
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
        help="approve and do not ask again: session, task, branch, hour, always, or a number of times",
    )
    add("--pattern", default="", metavar="P", help="the calls that --for allows, not only this one")
    add("--digest", metavar="D", help="refuse unless the ask still has this digest")
    add("--key", default="", metavar="K", help="a retry with the same key returns the first result")
    add_attach(parser)
    add_identity(parser)
    add("--json", action="store_true", help="print one JSON object (docs/json.md)")


def run(args: argparse.Namespace) -> int:
    if args.all or not args.id:
        return _answer_all(args)
    if args.set and not args.template:
        raise UsageError("--set needs a template; add --template NAME")
    backend, who = open_backend(args)
    try:
        ask = backend.find(args.id)
        others = _take_ids(ask, args)
        _refuse_ask_as_answer(backend, ask, args)
        if others:
            # Imported here: most answers are for one ask.
            from gatebell.cli.asks.answer_several import answer_several

            return answer_several(backend, who, [ask, *map(backend.find, others)], args)
    except ServerError as error:
        raise backend.keep_typed(error, args.id, _read_typed(args)) from None
    ways = list_ways(args)
    if sum(ways) > 1:
        raise UsageError("give the answer once: a value, --other, --edit, --file or --template")
    if not any(ways) and args.attach:
        raise UsageError(
            f"--attach needs the answer, too: gate answer {ask.id} VALUE --attach FILE"
        )
    if not any(ways):
        return _prompt(backend, who, ask)
    if args.value and not args.edit:
        warn_of_secret(ask)
    given = build_answer(backend, who, ask, args)
    if args.attach:
        given = _attach(backend, ask, given, args.attach)
    after = backend.answer(ask.id, who, given)
    if args.json:
        print_json(make_document(backend, after))
    else:
        report_recorded(backend, after)
        if given.scope:
            print("Not asked again: gate grants lists and revokes it.")
    return 0


def _answer_all(args: argparse.Namespace) -> int:
    # Imported here: scripts never prompt.
    from gatebell.cli.asks.inbox import answer_all, find_asks_project

    _, other, _, *prepared = list_ways(args)
    if args.id or other or any(prepared) or args.json or args.note:
        raise UsageError("--all prompts for each answer; give no id, answer, --note or --json")
    if not can_prompt():
        raise UsageError("name an ask: gate answer ID VALUE; gate inbox lists what waits")
    args.limit = _MAX
    where = None if args.project is None else find_asks_project(open_reader(args), args.project)
    return answer_all(where, args)


def list_ways(args: argparse.Namespace) -> list[bool]:
    """Return which ways of giving an answer were used."""
    value = bool(args.value) and not args.edit
    return [value, args.other is not None, args.edit, bool(args.file), bool(args.template)]


def _take_ids(ask: Ask, args: argparse.Namespace) -> list[str]:
    """Take the further ids from the words; the last word is the answer if no option gives it."""
    last = len(args.value) - (0 if any(list_ways(args)[1:]) else 1)
    found = 0
    while found < last and _is_id(args.value[found], ask):
        found += 1
    ids, args.value = args.value[:found], args.value[found:]
    return list(dict.fromkeys(one for one in ids if one != args.id))


def _is_id(word: str, ask: Ask) -> bool:
    rest = word.removeprefix("a-").removeprefix("tm-")
    return rest != word and rest.isalnum() and word not in ask.question.options


def _refuse_ask_as_answer(backend: Backend, ask: Ask, args: argparse.Namespace) -> None:
    """Refuse the id of another ask in place of the answer."""
    if len(args.value) == 1 and not args.edit and _is_id(args.value[0], ask):
        with suppress(NotFoundError):
            other = backend.find(args.value[0])
            raise UsageError(
                f"{other.id} is an ask, too; give the answer after the ids: "
                f"gate answer {ask.id} {other.id} VALUE"
            )


def build_answer(backend: Backend, who: Caller, ask: Ask, args: argparse.Namespace) -> Given:
    """Return the answer that the words and options give to one ask."""
    value = _read_value(backend, who, ask, args)
    return Given(value, args.note, args.digest, args.key, _parse_scope(args))


def report_recorded(backend: Backend, ask: Ask) -> None:
    """Print that an answer is recorded, and the next step of a task or run."""
    if ask.origin.task:
        # Imported here: most asks are not for a task.
        from gatebell.cli.tasks import respond

        respond.report_recorded(backend, ask)
        return
    print(describe_recorded(ask))
    tell_if_left(backend, ask)


def _attach(backend: Backend, ask: Ask, given: Given, paths: list[str]) -> Given:
    # Imported here: most answers have no files.
    from gatebell.app.attached_files import attach

    if ask.token_digest:
        raise UsageError("a secret answer takes no attachments, because they are not erased")
    return given._replace(attachments=attach(backend, paths))


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
    if not args.file and not args.template:
        is_text = ask.question.answered_as == AskKind.TEXT
        return parse_answer(ask, [" ".join(args.value)] if is_text else args.value)
    text = _fill_template(backend, who, ask, args) if args.template else read_text(args.file)
    is_choice = ask.question.answered_as == AskKind.CHOICE
    return parse_answer(ask, text.splitlines() if is_choice else [text.rstrip("\n")])


def _fill_template(backend: Backend, who: Caller, ask: Ask, args: argparse.Namespace) -> str:
    # Imported here: most answers are not prepared.
    from gatebell.cli.tasks.respond import Waiting, fill_template, find_task

    return fill_template(backend, who, Waiting(ask, find_task(backend, ask)), args)


def _prompt(backend: Backend, who: Caller, ask: Ask) -> int:
    # Imported here: scripts never prompt.
    from gatebell.cli.asks.prompts import prompt_for

    if not ask.pending:
        raise AlreadySettledError(settled_sentence(ask))
    if not can_prompt():
        raise UsageError(f"cannot prompt without a terminal; run: gate answer {ask.id} VALUE")
    try:
        return 0 if prompt_for(backend, who, ask, tell=report_recorded) else _NOT_YET
    except KeyboardInterrupt:
        return _NOT_YET
