"""The commands of a shell line, as the parser found them."""

from __future__ import annotations

from gatebell.domain.records import NamedTuple

QUOTED = "\0"
"""A mark in a word for a part that only the shell knows: `"$x"`, `"$(…)"`."""
SPLIT = "\1"
"""The same without quotes: it may become several words, or none."""
GLOB = "\2"
"""A mark for `*`, `?`, `[…]` or `{…}` outside of quotes."""
_UNKNOWN = (QUOTED, SPLIT, GLOB)


class Command(NamedTuple):
    """One simple command."""

    words: tuple[str, ...]
    """Without quotes. The first one is the program."""
    text: str
    """As it is written in the line."""
    input: str | None = None
    """The text of its here-document or here-string, if the line has it."""


class Script(NamedTuple):
    """A line, or the text for a shell."""

    commands: tuple[Command, ...] = ()
    values: tuple[str, ...] = ()
    """The texts that the line assigns to variables."""
    functions: frozenset[str] = frozenset()
    """The functions that the line defines; their commands are among the others."""
    is_plain: bool = True
    """Whether all of it is commands: without assignments, tests, and redirections of files."""
    settings: tuple[tuple[str, str], ...] = ()
    """The names and texts of its assignments."""
    tested: tuple[str, ...] = ()
    """The words of declarations and tests; a shell may run what is in `$(…)` there."""
    hidden: tuple[str, ...] = ()
    """Texts that a shell runs, and that the grammar takes for plain text."""
    problem: str = ""
    """Why the line could not be read; then a person is asked."""


def join_scripts(first: Script, second: Script) -> Script:
    """Return what either of two readings of a line does."""
    return Script(
        tuple(dict.fromkeys(first.commands + second.commands)),
        first.values + second.values,
        first.functions | second.functions,
        first.is_plain and second.is_plain,
        first.settings + second.settings,
        first.tested + second.tested,
        first.hidden + second.hidden,
        first.problem or second.problem,
    )


def is_known(word: str) -> bool:
    """Return whether the shell changes nothing in this word."""
    return not any(mark in word for mark in _UNKNOWN)


def show_word(word: str) -> str:
    """Return a word for people, with `…` in place of unknown parts."""
    for mark in _UNKNOWN:
        word = word.replace(mark, "…")
    return word
