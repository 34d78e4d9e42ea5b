"""Between a command line's words and an answer's value."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from gatebell.domain.enums import AskKind
from gatebell.domain.text.display import plain
from gatebell.errors import UsageError

if TYPE_CHECKING:
    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.permissions.calls import Call

_MAX = 1_000_000


def positive(text: str) -> int:
    """For argparse: how many."""
    if text.isdecimal() and len(text) <= len(str(_MAX)) and 1 <= int(text) <= _MAX:
        return int(text)
    raise UsageError(f"{text[:40]!r} is not how many: write a number from 1 to {_MAX}")


def meaning(ask: Ask, words: list[str]) -> Any:
    """What the words mean for this kind of ask. Bad JSON stays text: it is refused, and kept."""
    question = ask.question
    if question.answered_as == AskKind.CHOICE and question.multiple:
        return _several(ask, words)
    if question.answered_as == AskKind.FORM:
        try:
            return plain(json.loads(" ".join(words)))
        except (ValueError, RecursionError, UsageError):
            return " ".join(words)
    if len(words) > 1:
        raise UsageError(f"{ask.id} takes one value: put it in quotes")
    return option(ask, words[0]) if question.answered_as == AskKind.CHOICE else words[0]


def _several(ask: Ask, words: list[str]) -> list[Any]:
    """Options as words of their own, with commas between them, or as a JSON list."""
    is_one = len(words) == 1 and words[0] not in ask.question.options
    listed = _json_list(words[0]) if is_one else None
    if listed is not None:
        return [one if isinstance(one, dict) else option(ask, str(one)) for one in listed]
    found = [part for word in words for part in _split(ask, word)]
    return [option(ask, word) for word in found]


def _json_list(text: str) -> list[Any] | None:
    try:
        found = plain(json.loads(text))
    except (ValueError, RecursionError, UsageError):
        return None
    return found if isinstance(found, list) else None


def _split(ask: Ask, text: str) -> list[str]:
    """The options between commas; a text that is an option, or has another word in it, is whole."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    known = {one.casefold() for one in ask.question.options}
    if text.casefold() in known or not parts:
        return [text]
    names_only = all(option(ask, part).casefold() in known for part in parts)
    return parts if names_only else [text]


def warn_of_secret(ask: Ask) -> None:
    """Say that a secret was typed where others find it, and how to answer without that."""
    if ask.token_digest:
        print(
            "gate: this secret is in your shell's history, and others could read it in the process "
            f"list. Answer without it: gate answer {ask.id} (it asks, and shows nothing), or "
            f"gate answer {ask.id} --file - reads standard input.",
            file=sys.stderr,
        )


def other(ask: Ask, text: str) -> Any:
    """Words of one's own, where they may be given."""
    given = {"other": text}
    return [given] if ask.question.multiple else given


def option(ask: Ask, word: str) -> str:
    """A number picks from the options as they are listed, where none is itself a number."""
    options = ask.question.options
    if not word.isascii() or not word.isdecimal() or any(one.isdecimal() for one in options):
        return word
    # As a text: it may be longer than any number.
    numbers = {str(number): one for number, one in enumerate(options, 1)}
    return numbers.get(word, word)


def instead(call: Call, written: str) -> dict[str, Any]:
    """A yes with another input: a command where there is one, otherwise JSON."""
    if call.command and not written.lstrip().startswith("{"):
        return {"input": {**call.input, "command": written}}
    try:
        whole = plain(json.loads(written))
    except ValueError as error:
        raise UsageError(f"the new input is not JSON: {error}") from None
    if not isinstance(whole, dict) or not set(call.input) <= set(whole):
        names = ", ".join(call.input)
        raise UsageError(f"the new input is a JSON object with everything it had: {names}")
    return {"input": whole}
