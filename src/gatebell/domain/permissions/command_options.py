"""Read the options of a command: where its subcommand begins, and which options it has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.domain.text.late_patterns import late_pattern

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_ASSIGNMENT = late_pattern(r"[A-Za-z_]\w*\+?=")
# `-n` among other short options; `e` takes a value in git clean and rsync.
_DRY_RUN = late_pattern(r"-[a-df-zA-Z]{0,8}n[a-df-zA-Z]{0,8}")


def read_words(text: str) -> frozenset[str]:
    """Return the words of a text as a set, so that a long list of names stays short to read."""
    return frozenset(text.split())


def list_starts(
    words: Sequence[str], valued: frozenset[str], flags: frozenset[str]
) -> Iterator[int]:
    """Yield where a command or subcommand may begin: after an unknown option, at two places."""
    at, is_unsure = 0, False
    while at < len(words):
        word = words[at]
        if word == "--":
            yield from range(at + 1, min(at + 2, len(words)))
            return
        if word.startswith("-"):
            is_attached = word[:2] in valued and word != word[:2]
            is_unsure = not (is_attached or word in valued | flags or "=" in word)
            at += 2 if word in valued else 1
        elif _ASSIGNMENT.match(word):
            at += 1
        else:
            yield at
            if not is_unsure:
                return
            is_unsure = False
            at += 1


def is_option(word: str, option: str) -> bool:
    """Return whether a word is an option, has it among its short ones, or fits it (`--a*`, `*=a*`)."""
    if option.startswith("*"):
        return option.strip("*") in word
    if option.endswith("*"):
        return word.startswith(option[:-1])
    is_short = len(option) == 2 and option[0] == "-"
    is_among = is_short and word[:1] == "-" and word[1:2] != "-" and option[1] in word
    return word == option or is_among


def has_harmless_option(
    words: Sequence[str], options: frozenset[str], flags: frozenset[str]
) -> bool:
    """Return whether one of these options is there; of short ones, only -n may be among others.

    After an option that is not in `flags` it may be a value, as in `git push -o --dry-run`. A later
    `--no-dry-run` takes it back.
    """
    if any(_takes_back(word, option) for word in words for option in options):
        return False
    for before, word, after in zip(("", *words), words, (*words[1:], ""), strict=False):
        is_value = before[:1] == "-" and "=" not in before and before not in flags | options
        if not is_value and _is_harmless(word, options) and after.lower() not in ("false", "0"):
            return True
    return False


def _takes_back(word: str, option: str) -> bool:
    name, sign, value = word.partition("=")
    if sign and value not in ("client", "server", "true") and name == option.partition("=")[0]:
        return True
    return word.startswith("--no-") and f"--no-{option.lstrip('-')}".startswith(word)


def _is_harmless(word: str, options: frozenset[str]) -> bool:
    return word in options or ("-n" in options and bool(_DRY_RUN.fullmatch(word)))


def value_of(words: list[str], options: tuple[str, ...]) -> str:
    for at, word in enumerate(words):
        for option in options:
            if word == option:
                return " ".join(words[at + 1 :])
            if word.startswith(f"{option}="):
                return word.partition("=")[2]
    return ""
