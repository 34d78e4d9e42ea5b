"""Templates: answers that people wrote before, with variables."""

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
    "question": "the question",
    "context": "the context of the question",
    "role": "the role that asks",
    "person": "the person who answers",
    "date": "the day of the answer",
}
"""The variables of every template; --set NAME=VALUE adds others."""

# Only a plain name: other text in such braces may belong to other programs.
_VARIABLE = re.compile(r"\{\{[ \t]*([A-Za-z_][\w-]*)[ \t]*\}\}")
_NAME = re.compile(r"[A-Za-z_][\w-]*")


class Template(NamedTuple):
    """An answer that was written before."""

    name: str
    text: str
    source: str
    """The file of the template."""


def check_name(name: str) -> None:
    if not is_role_name(name):
        raise UsageError(f"{name!r} is not a name for a template: use letters, digits, _ - and .")


def variables_in(text: str) -> list[str]:
    """Return the names of the variables in a text, in order, each once."""
    return list(dict.fromkeys(_VARIABLE.findall(text)))


def fill(text: str, values: Mapping[str, str]) -> str:
    """Replace the variables in a text; variables in the values are not replaced."""
    for name in variables_in(text):
        if name not in values:
            raise UsageError(
                f"there is no variable {{{{{name}}}}}: use {', '.join(sorted(values))}, "
                f"or set it with --set {name}=…"
            )
    return _VARIABLE.sub(lambda found: values[found[1]], text)


def own_variables(given: Iterable[str]) -> dict[str, str]:
    """Read the variables of `--set NAME=VALUE`."""
    found: dict[str, str] = {}
    for word in given:
        name, equals, value = word.partition("=")
        if not equals or not _NAME.fullmatch(name):
            raise UsageError(f"expected --set NAME=VALUE, for example reason=later, got {word!r}")
        if name in VARIABLES or name in found:
            raise UsageError(
                f"--set {name}=…: {{{{{name}}}}} already has a value, use another name"
            )
        found[name] = value
    return found
