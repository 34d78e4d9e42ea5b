"""Give several asks the same answer."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from gatebell.cli.asks.answer import build_answer, list_ways, report_recorded
from gatebell.cli.asks.values import warn_of_secret
from gatebell.cli.identity import read_text
from gatebell.cli.screen import make_document, print_json
from gatebell.domain.text.display import inert
from gatebell.errors import GateError, UsageError

if TYPE_CHECKING:
    import argparse

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.people.principals import Caller
    from gatebell.ports.backends.backend import Backend


def answer_several(backend: Backend, who: Caller, asks: list[Ask], args: argparse.Namespace) -> int:
    """Answer each ask; report the ones that fail, and return the exit code of the first of them."""
    _must_fit(asks, args)
    if args.file:
        # Read once: standard input has no second time.
        args.value, args.file = [read_text(args.file).rstrip("\n")], None
    # Everything is read before the first answer: a wrong word then changes nothing.
    answers = [(ask, build_answer(backend, who, ask, args)) for ask in asks]
    done: list[dict[str, Any]] = []
    failed: list[dict[str, Any]] = []
    for ask, given in answers:
        try:
            if args.value:
                warn_of_secret(ask)
            after = backend.answer(ask.id, who, given._replace(digest=ask.digest))
        except GateError as error:
            failed.append({"id": ask.id, "error": str(error), "exit_code": error.exit_code})
            told = str(error).removeprefix(f"{ask.id} ")
            print(f"gate: {ask.id}: {inert(told)}", file=sys.stderr)
            continue
        if args.json:
            done.append(make_document(backend, after))
        else:
            report_recorded(backend, after)
    if args.json:
        print_json({"answered": done, "failed": failed})
    return int(failed[0]["exit_code"]) if failed else 0


def _must_fit(asks: list[Ask], args: argparse.Namespace) -> None:
    """Refuse an answer that cannot be the same for all of them."""
    if sum(list_ways(args)) != 1:
        ids = " ".join(ask.id for ask in asks)
        raise UsageError(f"several asks need one answer: gate answer {ids} VALUE")
    single = {
        "--with": args.instead is not None,
        "--edit": args.edit,
        "--digest": args.digest,
        "--key": args.key,
        "--attach": args.attach,
    }
    if named := [flag for flag, used in single.items() if used]:
        raise UsageError(f"{named[0]} is for one ask; answer them one by one")
    kinds = dict.fromkeys(ask.question.answered_as for ask in asks)
    if len(kinds) > 1:
        told = ", ".join(f"{ask.id} {ask.question.answered_as}" for ask in asks)
        raise UsageError(f"these asks take different answers ({told}); answer them one by one")
