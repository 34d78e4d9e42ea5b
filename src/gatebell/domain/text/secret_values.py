"""Decides whether a value is a secret; the name before it sets how strict the test is."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from gatebell.domain.enums import StrEnum
from gatebell.domain.text import secret_formats as formats


class SecretKind(StrEnum):
    """The origin of a secret: a person chose it, a machine made it, or it may not be one."""

    CHOSEN = "chosen"
    MADE = "made"
    MAYBE = "maybe"


HIDDEN = "‹hidden›"

_FILLER = (
    r"\$\{?[A-Za-z_]\w*\}?\W*|\$[a-z]+(?:-[a-z]+)+|\(.*|\$[({].*|%[\w({].*|\{.*|<.*|\[.*|\*{2,}.*|\.{3,}.*|[xX]{3,}|…|[-_=#]+|"
    r"‹.*|@[\w.]+@|&?\*?\w+(?:::|->).*|[A-Za-z_][\w.]*[(\[{].*|[!<>=]=.*|\\[nrt\"'].*|\\+"
)
# Expressions of a program: names with dots between them, or attributes of objects.
_CODE = (
    r"[a-zA-Z_]+(?:\.[a-zA-Z_]+)+[^\w]*|(?:self|this|os|args|settings|config|request|process|ctx|env|"
    r"cls|options|opts|params|event|response|res|req|secrets|vars|var|local|data)\.\S*"
)
_IDENTIFIER = r"[A-Za-z]+(?:[_.:-][A-Za-z]+)*\d{0,2}"
_WORDS = r"[A-Za-z]+(?:[_.:-][A-Za-z]+)*"
_PATH = r"(?:[.~]{0,2}/[a-z0-9_.-]+){2,}/?|(?:~|\.{1,2})?/(?:home|Users|tmp|etc|var|usr|opt|run)/.*|\w:\\.*"
_ADDRESS = r"[a-z][a-z0-9+.-]*://.*"
_MADE_ALPHABET = r"[A-Za-z0-9+/=_\-.~%:!@#$^&*]+"
_DIGESTS = (
    r"(?:sha\d+[-:])?[0-9a-fA-F]+|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|sha\d+-.*"
)
_IN_A_CALL = tuple(",)]}(")
_SHORT_RUNS = 2.7
_SHORT_RUNS_OF_ONE_CASE = 4.0
_PROSE = r".*(?:password|passphrase|token|secret).*|.*[.:?!]"


class Place(NamedTuple):
    """Where a value was found."""

    kind: SecretKind
    """The kind that the name suggests."""
    sep: str
    """The text between the name and the value, with spaces."""
    quoted: bool = False
    is_env: bool = False
    """NAME=value, as in a shell or an .env file."""
    starts_line: bool = False
    after: str = ""
    """The character after the value; empty at the end of a line."""


@cache
def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.DOTALL)


def _fits(pattern: str, value: str) -> bool:
    return bool(_compile(pattern).fullmatch(value))


def is_filler(value: str) -> bool:
    """Return whether it is a placeholder: a variable, a template, stars, or our own mark."""
    is_hidden = value.endswith(HIDDEN)
    return not value or is_hidden or _fits(_FILLER, value) or value.lower() in formats.NOT_VALUES


def is_secret(value: str, place: Place) -> bool:
    """Return whether the value at this place must be hidden."""
    if is_filler(value) or _fits(_PATH, value) or _fits(_ADDRESS, value):
        return False
    if place.kind == SecretKind.MAYBE:
        return is_random(value)
    if not place.quoted and _fits(_CODE, value):
        return False
    if place.is_env and len(value) > 2:
        return place.kind == SecretKind.CHOSEN or not value.isdigit()
    if place.quoted:
        return _is_quoted_secret(value, place.kind)
    return (
        _is_bare_choice(value, place)
        if place.kind == SecretKind.CHOSEN
        else _is_bare_made(value, place)
    )


def is_random(value: str) -> bool:
    """Return whether it looks made by a machine, and not like a digest, a path or words."""
    if len(value) < 16 or not _fits(_MADE_ALPHABET, value) or _fits(_DIGESTS, value):
        return False
    parts = _compile(r"[-_./:=+]").split(value)
    return any(_is_mixed(one) and _has_short_runs(one) for one in parts) or (
        len(parts) > 1 and len(value) > 30 and sum(map(_is_mixed, parts)) > 2
    )


def is_digest(value: str) -> bool:
    """Return whether it may be a hash or a UUID."""
    return len(value) > 15 and _fits(_DIGESTS, value)


def is_scrambled(value: str) -> bool:
    """Return whether it has no readable words, because letters and digits alternate often."""
    if len(value) < 10 or not _fits(_MADE_ALPHABET, value) or _fits(_DIGESTS, value):
        return False
    if any(part in value for part in ("A-Z", "a-z", "0-9")):
        return False
    return any(map(_has_short_runs, _compile(r"[/.:]").split(value)))


def _has_short_runs(value: str) -> bool:
    if len(value) < 10:
        return False
    runs = _compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+").findall(value)
    length = len("".join(runs)) / max(1, len(runs))
    if value.lower() != value != value.upper():
        return length < _SHORT_RUNS
    return sum(run.isdigit() for run in runs) > 2 and length < _SHORT_RUNS_OF_ONE_CASE


def _is_mixed(value: str) -> bool:
    return any(c.isdigit() for c in value) and any(c.isalpha() for c in value)


def _is_quoted_secret(value: str, kind: SecretKind) -> bool:
    if kind == SecretKind.CHOSEN:
        has_blank = any(c.isspace() for c in value)
        is_prose = has_blank and ('"' in value or _fits(_PROSE, value.lower()))
        return len(value) > 2 and not is_prose
    if any(c.isspace() for c in value) or value.isdigit():
        return False
    if _fits(_WORDS, value):
        return value.isalpha() and len(value) > 7
    return len(value) > 5


def _is_bare_choice(value: str, place: Place) -> bool:
    if value.isdigit() or not _fits(_IDENTIFIER, value):
        return len(value) > 3
    # From here on it may be an identifier of a program.
    if place.after in _IN_A_CALL or not value.isalnum():
        return False
    if place.sep == "=" or "**" in place.sep or (value[-1].isdigit() and value[0].isupper()):
        return True
    return place.starts_line and not place.after and value[0].islower()


def _is_bare_made(value: str, place: Place) -> bool:
    if not any(c.isalpha() for c in value) or len(value) < 6:
        return False
    if _fits(_IDENTIFIER, value):
        is_even = value.islower() or value.isupper() or len(value) > 31
        return value.isalpha() and is_even and len(value) > 15 and place.after not in _IN_A_CALL
    return any(c.isdigit() for c in value) or (len(value) > 9 and not _fits(r"[\w.,:/-]+", value))
