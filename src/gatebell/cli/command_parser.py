"""Parse the words of a command: options anywhere, and every error in one voice."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, NoReturn

from gatebell.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence


class CommandParser(argparse.ArgumentParser):
    """A parser that takes options among the words and raises UsageError."""

    def parse_known_args(  # type: ignore[override] # argparse has two more overloads
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        found, unknown = super().parse_known_args(self._put_options_first(args or ()), namespace)
        if unknown:
            # Imported here and below: only errors and --help need it.
            from gatebell.cli.usage_errors import explain_unknown

            raise UsageError(explain_unknown(self, unknown[0]))
        return found, []

    def _put_options_first(self, words: Sequence[str]) -> list[str]:
        """Return the options with their values, then the other words.

        argparse takes all words of a command from one place only. A word after `--` is no option.
        """
        known = self._option_string_actions
        if self._subparsers is not None:
            # The options behind a verb are those of its own parser.
            return list(words)
        options: list[str] = []
        others: list[str] = []
        # At the end, so that argparse reports them, and no other word becomes their value.
        without_value: list[str] = []
        rest = iter(enumerate(words, 1))
        for after, word in rest:
            if word == "--":
                return [*options, *others, *without_value, *words[after - 1 :]]
            if word in known and known[word].nargs is None:
                value = words[after] if after < len(words) else "--"
                if value == "--" or value in known:
                    without_value.append(word)
                else:
                    options += [word, value]
                    next(rest)
            elif word in known or _is_joined(word, known):
                options.append(word)
            else:
                others.append(word)
        return [*options, *others, *without_value]

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        try:
            return super()._get_value(action, arg_string)
        except UsageError as error:
            if not action.option_strings:
                raise
            raise UsageError(f"{action.option_strings[-1]}: {error}") from None

    def error(self, message: str) -> NoReturn:
        from gatebell.cli.usage_errors import explain

        raise UsageError(explain(self, message))

    def format_help(self) -> str:
        from gatebell.cli.help_pages import format_page

        return format_page(self)


def _is_joined(word: str, known: dict[str, argparse.Action]) -> bool:
    """Return whether a word is an option with its value: `--note=x` or `-n5`."""
    if word.startswith("--"):
        return word.partition("=")[0] in known
    return word[:1] == "-" and word[:2] in known


def make_plain_formatter(prog: str) -> argparse.HelpFormatter:
    # argparse makes a formatter for every option; without a width it would load shutil.
    return argparse.RawDescriptionHelpFormatter(prog, width=100)
