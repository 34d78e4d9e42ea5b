"""The help: the overview, the page of a command, and the topics of `gate help`."""

from __future__ import annotations

import argparse
import shutil
import textwrap
from typing import TYPE_CHECKING, NamedTuple

from gatebell.cli.commands import COMMANDS, GROUPS, PLUMBING
from gatebell.cli.screen import add_colour

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_EXAMPLE = "Example: "
_USAGE = "Usage: "
_INTRODUCTION = """Coding agents stop and ask; you answer; the work goes on where it stopped.

{examples}
  gate ask "Deploy now?" --kind approval   ask, and wait for the answer
  gate answer a-7k2 yes                    answer; gate inbox lists what waits

{usage} gate [COMMAND] [options]
Without a command: in a terminal one live screen (gate tui), else the inbox."""
EXIT_CODES = {
    0: "answered; an approval: approved; a run: completed",
    1: "unexpected failure; never a decision",
    2: "usage: the command line itself is wrong",
    3: "timed out; a declared default is on stdout",
    4: "cancelled",
    5: "not found",
    6: "already answered, or otherwise settled",
    7: "refused: not allowed, or the answer does not fit",
    8: "the store cannot be read or written",
    10: "rejected",
    11: "not answered yet; the ask stays pending",
    12: "the run failed: an exception of its flow",
    13: "the run is stuck",
    130: "interrupted (Ctrl+C); a wait that is interrupted ends with 11 instead",
}
# The title that argparse gives to the words of a command.
_WORDS = "positional arguments"
TOPICS = {
    "all": "every command, with those for scripts and programs",
    "exit-codes": "the exit codes and their meanings",
}


class Description(NamedTuple):
    """The parts of a command's docstring."""

    summary: str
    rest: str
    examples: list[str]


def split_description(text: str) -> Description:
    """Split a docstring into its first paragraph, the rest, and the lines with examples."""
    lines = text.strip("\n").split("\n")
    examples = [one.removeprefix(_EXAMPLE) for one in lines if one.startswith(_EXAMPLE)]
    words = "\n".join(one for one in lines if not one.startswith(_EXAMPLE)).strip()
    summary, _, rest = words.partition("\n\n")
    return Description(summary, rest.strip(), examples)


def format_overview() -> str:
    """Return `gate --help`: the commands that people use, in groups."""
    width = max(len(name) for names in GROUPS.values() for name in names)
    lines = [_introduce(), ""]
    for group, names in GROUPS.items():
        lines += [_head(group), *_rows({name: COMMANDS[name] for name in names}, width), ""]
    lines += [_head("More")]
    ways = {"gate COMMAND --help": "examples and options of one command"}
    ways |= {f"gate help {topic}": about for topic, about in TOPICS.items()}
    return "\n".join([*lines, *_rows(ways, max(map(len, ways)))])


def format_all() -> str:
    """Return `gate help all`: every command."""
    shown = {name for names in GROUPS.values() for name in names}
    others = tuple(name for name in COMMANDS if name not in shown and name not in PLUMBING)
    groups = GROUPS | {"Others": others, "For programs, and the words of older versions": PLUMBING}
    width = max(map(len, COMMANDS))
    parts = [
        "\n".join([_head(group), *_rows({name: COMMANDS[name] for name in names}, width)])
        for group, names in groups.items()
    ]
    return "\n\n".join(parts)


def format_exit_codes() -> str:
    """Return `gate help exit-codes`."""
    rows = {str(code): meaning for code, meaning in EXIT_CODES.items()}
    return "\n".join([_head("Exit codes"), *_rows(rows, 3)])


def format_page(parser: argparse.ArgumentParser) -> str:
    """Return the help of one command: summary, two examples, usage, words, options."""
    # Imported here: the overview and errors do not need it.
    from rich_argparse import RawDescriptionRichHelpFormatter

    class Formatter(RawDescriptionRichHelpFormatter):
        # Brackets in a help text are no markup.
        text_markup = help_markup = False

    told = split_description(parser.description or "")
    formatter = Formatter(parser.prog)
    examples = "\n".join(f"  {one}" for one in told.examples)
    heading = f"\n\n{_head('Examples')}\n{examples}" if examples else ""
    formatter.add_usage(_write_usage(parser), parser._actions, [])  # noqa: SLF001 - as argparse does it
    formatter.add_text(_fold(told.rest) or None)
    for action in parser._actions:  # noqa: SLF001 - argparse has no public way to list them
        if hasattr(action, "verbs"):
            action.metavar = "COMMAND"
        elif not action.option_strings and not action.choices:
            action.metavar = _name_positional(action)
    for group in parser._action_groups:  # noqa: SLF001 - as argparse does it
        formatter.start_section("arguments" if group.title == _WORDS else group.title)
        formatter.add_text(group.description)
        formatter.add_arguments(group._group_actions)  # noqa: SLF001 - as argparse does it
        formatter.end_section()
    page = formatter.format_help().strip("\n")
    return f"{_fold(told.summary)}{heading}\n\n{page}\n\nExit codes: gate help exit-codes\n"


def describe_positional(action: argparse.Action) -> str:
    """Return how a usage line shows a word: `ID`, `[NAME]` or `[VALUE …]`."""
    name = _name_positional(action)
    if action.choices and not action.metavar:
        name = "|".join(map(str, action.choices))
    if action.nargs == argparse.OPTIONAL:
        return f"[{name}]"
    if action.nargs == argparse.ZERO_OR_MORE:
        return f"[{name} …]"
    return f"{name} …" if action.nargs == argparse.ONE_OR_MORE else name


def _name_positional(action: argparse.Action) -> str:
    return (action.metavar if isinstance(action.metavar, str) else action.dest).upper()


def _write_usage(parser: argparse.ArgumentParser) -> str:
    if parser.usage:
        return parser.usage
    words = [describe_positional(one) for one in parser._actions if not one.option_strings]  # noqa: SLF001 - argparse has no public way to list them
    usage = " ".join([parser.prog, *words, "[options]"]).replace("%", "%%")
    # argparse wraps only the usage that it writes itself.
    return textwrap.fill(
        usage,
        _find_width() - len(_USAGE),
        subsequent_indent=" " * len(_USAGE),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _introduce() -> str:
    return _INTRODUCTION.format(examples=_head("Examples"), usage=add_colour("Usage:", "bold"))


def _head(text: str) -> str:
    return add_colour(text, "bold")


def _rows(rows: Mapping[str, str], width: int) -> Iterable[str]:
    """Return a table of two columns that fits the terminal."""
    room = max(20, _find_width() - width - 4)
    for name, about in rows.items():
        first, *more = textwrap.wrap(about, room)
        yield f"  {add_colour(f'{name:{width}}', 'cyan')}  {first}"
        yield from (f"  {'':{width}}  {part}" for part in more)


def _find_width() -> int:
    # The width that argparse uses.
    return max(20, shutil.get_terminal_size().columns - 2)


def _fold(text: str) -> str:
    """Wrap the paragraphs of a help text that are too wide for the screen."""
    width = _find_width()
    return "\n\n".join(
        paragraph
        if all(len(line) <= width for line in paragraph.splitlines())
        else textwrap.fill(paragraph, width, break_long_words=False, break_on_hyphens=False)
        for paragraph in text.strip("\n").split("\n\n")
    )
