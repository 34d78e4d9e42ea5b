"""Templates: answers that people have written beforehand, with variables in them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from gatebell.domain.runs.roles import is_role_name
from gatebell.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

VARIABLES = {
    "title": "the title of the task",
    "id": "the id of the task",
    "question": "what is asked",
    "context": "what the agent says around its question",
    "role": "the role that asks",
    "person": "who answers",
    "date": "the day of the answer",
}
"""What every template can hold; more come by --set NAME=VALUE."""

# Only a plain name: what other programs put into such braces stays theirs.
_VARIABLE = re.compile(r"\{\{[ \t]*([A-Za-z_][\w-]*)[ \t]*\}\}")
_NAME = re.compile(r"[A-Za-z_][\w-]*")


class Template(NamedTuple):
    """An answer written beforehand."""

    name: str
    text: str
    source: str
    """The file it stands in."""


def check_name(name: str) -> None:
    if not is_role_name(name):
        raise UsageError(f"{name!r} is not a template's name: use letters, digits, _ - and .")


def variables_in(text: str) -> list[str]:
    """The names of the variables in a text, in their order, each once."""
    return list(dict.fromkeys(_VARIABLE.findall(text)))


def fill(text: str, values: Mapping[str, str]) -> str:
    """The text with its variables replaced; what is put in is never looked at again."""
    for name in variables_in(text):
        if name not in values:
            raise UsageError(
                f"there is no variable {{{{{name}}}}}; there are {', '.join(sorted(values))}, "
                f"and --set {name}=… makes one"
            )
    return _VARIABLE.sub(lambda found: values[found[1]], text)


def own_variables(given: Iterable[str]) -> dict[str, str]:
    """The variables that `--set NAME=VALUE` makes."""
    found: dict[str, str] = {}
    for word in given:
        name, equals, value = word.partition("=")
        if not equals or not _NAME.fullmatch(name):
            raise UsageError(f"--set takes NAME=VALUE, for example reason=later, not {word!r}")
        if name in VARIABLES or name in found:
            raise UsageError(f"--set {name}=…: {{{{{name}}}}} has its value already")
        found[name] = value
    return found
