"""Say what is wrong with the words of a command, and what to write instead."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gatebell.cli.commands import COMMANDS
from gatebell.cli.help_pages import TOPICS, describe_positional, split_description
from gatebell.domain.text.suggestions import suggest

if TYPE_CHECKING:
    import argparse

# How argparse marks words that may be left out.
_OPTIONAL = ("?", "*")
_OWN_OPTIONS = ("--help", "--version")
# What people of other programs type, and the command for it here.
_OTHER_WORDS = {
    "approve": "gate answer ID yes",
    "reject": "gate answer ID no",
    "deny": "gate answer ID no",
    "ls": "gate list",
    "ps": "gate list --active",
    "runs": "gate list",
    "tasks": "gate task list",
    "asks": "gate inbox",
    "start": "gate up",
    "open": "gate link",
    "settings": "gate config",
    "version": "gate --version",
}


def explain_command(name: str) -> str:
    """Return the error for a command that does not exist."""
    if name in _OTHER_WORDS:
        return f"gate has no command {name!r}; use: {_OTHER_WORDS[name]}"
    if name.startswith("-"):
        flag = name.partition("=")[0]
        near = suggest(flag, _OWN_OPTIONS)
        return f"gate has no option {flag}" + (
            near or "; options come after a command: gate --help"
        )
    return f"gate has no command {name!r}" + _end(suggest(name, COMMANDS), "gate --help")


def explain_topic(name: str) -> str:
    """Return the error for a topic of `gate help` that does not exist."""
    there = [*COMMANDS, *TOPICS]
    return f"there is no help about {name!r}" + _end(suggest(name, there), "gate help")


def explain_unknown(parser: argparse.ArgumentParser, word: str) -> str:
    """Return the error for a word that a command does not take."""
    if not word.startswith("-"):
        needs = " ".join(map(describe_positional, _list_positionals(parser))) or "no words"
        return f"unexpected word {word!r}; {parser.prog} takes {needs}{_see(parser)}"
    flag = word.partition("=")[0]
    options = [one for one in parser._option_string_actions if one.startswith("--")]  # noqa: SLF001 - argparse has no public way to list them
    return f"{parser.prog} has no option {flag}" + _end(
        suggest(flag, options), f"{parser.prog} --help"
    )


def explain(parser: argparse.ArgumentParser, message: str) -> str:
    """Return an error of argparse in our words; unknown ones stay as they are."""
    for pattern, words in _KNOWN:
        if found := re.fullmatch(pattern, message, re.DOTALL):
            return words(parser, *found.groups())
    return f"{message}{_see(parser)}"


def _explain_missing(parser: argparse.ArgumentParser, names: str) -> str:
    examples = split_description(parser.description or "").examples
    ending = f"; for example: {examples[0]}" if examples else _see(parser)
    # argparse also names words that may be left out.
    needed = {_name(one): one for one in _list_positionals(parser) if one.nargs not in _OPTIONAL}
    missing = [one for one in names.split(", ") if one.startswith("-") or one in needed]
    wanted = [describe_positional(needed[one]) if one in needed else one for one in missing]
    return f"{parser.prog} needs {' and '.join(wanted)}{ending}"


def _name(action: argparse.Action) -> str:
    """Return the name of a word as argparse writes it in errors."""
    return action.metavar if isinstance(action.metavar, str) else action.dest


def _explain_choice(parser: argparse.ArgumentParser, name: str, given: str, _: str) -> str:
    word = given.strip("'\"")
    actions = [one for one in parser._actions if one.choices and _is_named(one, name)]  # noqa: SLF001 - argparse has no public way to list them
    choices = [str(one) for action in actions for one in action.choices or ()]
    head = f"{name}: " if name.startswith("-") else ""
    listed = ", ".join(choices)
    return f"{head}expected one of {listed}, got {word!r}{suggest(word, choices)}"


def _is_named(action: argparse.Action, name: str) -> bool:
    return name in ("/".join(action.option_strings), action.metavar, action.dest)


def _explain_value(parser: argparse.ArgumentParser, name: str, _: str) -> str:
    flag = name.rpartition("/")[2]
    action = parser._option_string_actions.get(flag)  # noqa: SLF001 - argparse has no public way to list them
    metavar = action.metavar if action and isinstance(action.metavar, str) else "VALUE"
    return f"{flag} needs a value: {flag} {metavar} (a value that begins with -: {flag}=-x)"


def _explain_conflict(parser: argparse.ArgumentParser, one: str, other: str) -> str:
    return f"use {other} or {one}, not both{_see(parser)}"


def _explain_number(_: argparse.ArgumentParser, name: str, __: str, given: str) -> str:
    return f"{name}: expected a number, got {given}"


_KNOWN = (
    (r"the following arguments are required: (.*)", _explain_missing),
    (r"argument (.+?): invalid choice: (.*?) \((.*)\)", _explain_choice),
    (r"argument (.+?): expected (one|at least one) argument", _explain_value),
    (r"argument (.+?): not allowed with argument (.+)", _explain_conflict),
    (r"argument (.+?): invalid (float|int) value: (.*)", _explain_number),
)


def _list_positionals(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    return [one for one in parser._actions if not one.option_strings]  # noqa: SLF001 - argparse has no public way to list them


def _see(parser: argparse.ArgumentParser) -> str:
    return f"; see: {parser.prog} --help"


def _end(meant: str, see: str) -> str:
    return meant or f"; see: {see}"
