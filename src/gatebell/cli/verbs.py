"""The first word of a command that chooses what it does: `add` in `gate person add`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class VerbAction(argparse.Action):
    """A word with a line of help for each of its values."""

    verbs: Mapping[str, str]
    """Each verb with its further words, as `add NAME`, and what it does."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        setattr(namespace, self.dest, values)

    def _get_subactions(self) -> Iterator[argparse.Action]:
        """Yield the lines below it; argparse asks for them by this name."""
        for verb, about in self.verbs.items():
            yield argparse.Action([], verb, help=about, metavar=verb)


def add_verbs(
    parser: argparse.ArgumentParser,
    verbs: Mapping[str, str],
    *,
    default: str | None = None,
    optional: bool = False,
) -> None:
    """Add the word that chooses what a command does.

    Args:
        parser: the parser of the command
        verbs: each verb with its further words, as `add NAME`, and what it does
        default: the verb of the command without words
        optional: whether the command also works without a verb
    """
    action = parser.add_argument(
        "verb",
        action=VerbAction,
        nargs=argparse.OPTIONAL if default or optional else None,
        default=default,
        choices=[verb.split()[0] for verb in verbs],
        help=f"one of these, by default {default}" if default else "one of these",
    )
    if isinstance(action, VerbAction):
        action.verbs = verbs
