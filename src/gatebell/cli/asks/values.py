"""Turn the words of a command line into the value of an answer."""

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


def parse_count(text: str) -> int:
    """Parse a count for argparse."""
    if text.isdecimal() and len(text) <= len(str(_MAX)) and 1 <= int(text) <= _MAX:
        return int(text)
    raise UsageError(f"expected a number from 1 to {_MAX}, got {text[:40]!r}")


def parse_answer(ask: Ask, words: list[str]) -> Any:
    """Return the value of these words for this kind of ask.

    Invalid JSON stays text: the answer is refused, but kept.
    """
    question = ask.question
    if question.answered_as == AskKind.CHOICE and question.multiple:
        return _parse_several(ask, words)
    if question.answered_as == AskKind.FORM:
        try:
            return plain(json.loads(" ".join(words)))
        except (ValueError, RecursionError, UsageError):
            return " ".join(words)
    if len(words) > 1:
        raise UsageError(f"{ask.id} takes one value, got {len(words)}; put it in quotes")
    return find_option(ask, words[0]) if question.answered_as == AskKind.CHOICE else words[0]


def _parse_several(ask: Ask, words: list[str]) -> list[Any]:
    """Return the chosen options, from separate words, a comma list or a JSON list."""
    is_one = len(words) == 1 and words[0] not in ask.question.options
    listed = _parse_json_list(words[0]) if is_one else None
    if listed is not None:
        return [one if isinstance(one, dict) else find_option(ask, str(one)) for one in listed]
    found = [part for word in words for part in _split(ask, word)]
    return [find_option(ask, word) for word in found]


def _parse_json_list(text: str) -> list[Any] | None:
    try:
        found = plain(json.loads(text))
    except (ValueError, RecursionError, UsageError):
        return None
    return found if isinstance(found, list) else None


def _split(ask: Ask, text: str) -> list[str]:
    """Split a text at its commas if every part is an option; otherwise keep it whole."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    known = {one.casefold() for one in ask.question.options}
    if text.casefold() in known or not parts:
        return [text]
    names_only = all(find_option(ask, part).casefold() in known for part in parts)
    return parts if names_only else [text]


def warn_of_secret(ask: Ask) -> None:
    """Warn that a typed secret is readable by others, and say how to avoid that."""
    if ask.token_digest:
        print(
            "gate: this secret is in your shell's history, and others could read it in the process "
            f"list. Next time run gate answer {ask.id}, which prompts without showing it, or "
            f"gate answer {ask.id} --file -, which reads standard input.",
            file=sys.stderr,
        )


def build_other(ask: Ask, text: str) -> Any:
    """Return a person's own words as the value of a choice."""
    given = {"other": text}
    return [given] if ask.question.multiple else given


def find_option(ask: Ask, word: str) -> str:
    """Return the option with this number, unless an option is itself a number."""
    options = ask.question.options
    if not word.isascii() or not word.isdecimal() or any(one.isdecimal() for one in options):
        return word
    # Compared as text: int() refuses very long digit strings.
    numbers = {str(number): one for number, one in enumerate(options, 1)}
    return numbers.get(word, word)


def build_edited_call(call: Call, written: str) -> dict[str, Any]:
    """Return an approval with another input: a command if the call has one, else JSON."""
    if call.command and not written.lstrip().startswith("{"):
        return {"input": {**call.input, "command": written}}
    try:
        whole = plain(json.loads(written))
    except ValueError as error:
        raise UsageError(f"the new input is not valid JSON: {error}") from None
    if not isinstance(whole, dict) or not set(call.input) <= set(whole):
        names = ", ".join(call.input)
        raise UsageError(f"expected a JSON object with the same keys: {names}")
    return {"input": whole}
