"""Removal of secrets from text that is shown; the names of the secrets stay.

A text is searched for known formats, for values after names such as `password`, for headers, for
places such as the login of an address, and for private keys. The time is linear in the length of
the text: every repetition has a limit, and nothing is tried twice.
"""

from __future__ import annotations

import json
import re
from functools import cache

from gatebell.domain.text import secret_formats as formats
from gatebell.domain.text.key_blocks import hide_key_blocks
from gatebell.domain.text.named_secrets import hide_named
from gatebell.domain.text.secret_values import HIDDEN, is_digest, is_filler, is_random

__all__ = ["HIDDEN", "hide_secrets", "redact"]

_MAX_LINE_LENGTH = 2_000
_DEEPEST = 4
_SHORTEST_STRING = 12
# Not after a backslash: such a quote is inside a string.
_STRING = r'(?<!\\)"(?:[^"\\\n]|\\[^\n])*+"'
_AFTER_AUTHORIZATION = (
    r"(?i:authorization)\\{0,4}[\"'`]?\]?[ \t]{0,4}[:=,][ \t]{0,4}\\{0,4}[\"'`]?"
    r"(?P<scheme>[A-Za-z][A-Za-z0-9-]{2,30}[ \t]{1,4})?(?P<v>[^\s\"'`\\][^\"'`\n\\]{3,4000}+)"
)
_SCHEME = r"\b(?:Bearer|bearer|BEARER|Basic|SSWS|Token|token|Splunk)[ \t]{1,4}(?P<v>[A-Za-z0-9_./+=~%-]{12,4000}+)"
_COOKIES = r"(?i:\b(?P<set>set-)?cookie)\\{0,4}[\"'`]?[ \t]{0,4}:[ \t]{0,4}\\{0,4}[\"'`]?(?P<v>[^\s=;\"'`]{1,99}=[^\"'`\n\\]{1,4000})"
_COOKIE = r"(?P<name>[^\s=;]{1,99}=)(?P<v>[^\s;]{1,4000})"
_ATTRIBUTES = ("path=", "domain=", "expires=", "max-age=", "samesite=", "version=", "priority=")


def redact(text: str) -> str:
    """Return the text with hidden secrets, and with very long lines cut."""
    text = hide_secrets(text)
    # Cut last: a secret that is cut is not recognised.
    return "\n".join(map(_cut, text.split("\n"))) if len(text) > _MAX_LINE_LENGTH else text


def hide_secrets(text: str) -> str:
    """Return the text with hidden secrets, and with no other change."""
    return _hide(text, 0)


def _hide(text: str, depth: int) -> str:
    if not text:
        return text
    if depth < _DEEPEST and "\\" in text:
        text = _compile(_STRING).sub(lambda found: _hide_in_string(found, depth), text)
    text = hide_key_blocks(text)
    # Before the formats, because a visible access key helps to find the secret key beside it.
    text = _hide_places(text)
    text = _hide_known_formats(text)
    text = _hide_headers(text)
    text = _hide_options(text)
    return hide_named(text)


def _hide_in_string(found: re.Match[str], depth: int) -> str:
    """Hide secrets in the decoded text of a JSON string, because escapes disguise them."""
    whole = found.group()
    if "\\" not in whole or len(whole) < _SHORTEST_STRING:
        return whole
    try:
        said = json.loads(whole)
    except ValueError:
        return whole
    for is_ascii in (True, False):
        # Only if the encoding is reversible; otherwise text without secrets would change.
        if _encode_string(said, is_ascii) == whole:
            return _encode_string(_hide(said, depth + 1), is_ascii)
    return whole


def _encode_string(text: str, is_ascii: bool) -> str:
    written = json.dumps(text, ensure_ascii=is_ascii)
    return written.replace(json.dumps(HIDDEN)[1:-1], HIDDEN)


def _cut(line: str) -> str:
    if len(line) <= _MAX_LINE_LENGTH:
        return line
    line = line.strip()
    return f"{line[:_MAX_LINE_LENGTH]} … ({len(line) - _MAX_LINE_LENGTH} more characters)"


@cache
def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _hide_known_formats(text: str) -> str:
    for starts, alphabet, least in formats.PREFIXED:
        for start in starts.split():
            if start in text:
                rest = rf"{re.escape(start)}[{alphabet}]{{{least},4000}}+"
                text = _compile(rest).sub(_hide_word, text)
    for needles, pattern in formats.SHAPES:
        if any(needle in text for needle in needles.split()):
            text = _compile(pattern).sub(_hide_word, text)
    return text


def _hide_word(found: re.Match[str]) -> str:
    """Hide a match, unless it is in the middle of a longer word."""
    whole = found.group()
    before = found.string[max(0, found.start() - 3) : found.start()]
    # A word also begins after a line break that is written as \\n, after %3D, and after a colour.
    if before[-1:].isalnum() and not _compile(r"\\[nrtbf]$|%[0-9A-Fa-f]{2}$|\dm$").search(before):
        return whole
    # A full stop ends the sentence, not the secret.
    end = whole.rstrip("./")
    # Of a secret address, the beginning is shown to name its service.
    known = _compile(r"[a-z0-9.]+/(?:[a-z0-9]+/){1,2}").match(end)
    return (known.group() if known and "." in known.group() else "") + HIDDEN + whole[len(end) :]


def _hide_value(found: re.Match[str]) -> str:
    """Hide the group v of the match, unless it is a placeholder."""
    value = found["v"]
    quote = value[0] if value[0] in "\"'" else ""
    if is_filler(value.strip("\"'")):
        return found.group()
    start, end = found.start("v") - found.start(), found.end("v") - found.start()
    return found.group()[:start] + quote + HIDDEN + found.group()[end:]


def _hide_places(text: str) -> str:
    for needle, pattern in formats.PLACES:
        if needle in text:
            text = _compile(pattern).sub(_hide_value, text)
    return text


def _hide_options(text: str) -> str:
    known = [(needle, pattern) for needle, pattern in formats.OPTIONS if needle in text]
    if not known:
        return text
    # A command that continues after a backslash is one line.
    lines = _compile(r"(?<!\\)\n").split(text)
    for needle, pattern in known:
        lines = [
            _compile(pattern).sub(_hide_value, line) if needle in line else line for line in lines
        ]
    return "\n".join(lines)


def _hide_headers(text: str) -> str:
    low = text.lower()
    if "authorization" in low:
        text = _compile(_AFTER_AUTHORIZATION).sub(_hide_authorization, text)
    text = _compile(_SCHEME).sub(_hide_scheme, text)
    return _compile(_COOKIES).sub(_hide_cookies, text) if "cookie" in low else text


def _hide_authorization(found: re.Match[str]) -> str:
    first = found["v"].split(None, 1)[0].rstrip(",;)")
    known = (found["scheme"] or "").strip().lower() in formats.SCHEMES
    is_made = known or is_random(first) or is_digest(first)
    return _hide_value(found) if is_made and not is_filler(first) else found.group()


def _hide_scheme(found: re.Match[str]) -> str:
    value = found["v"]
    is_word = value.rstrip(".").isalpha() and (value.islower() or value[1:].islower())
    return found.group() if is_word or not _looks_made(value) else _hide_value(found)


def _looks_made(value: str) -> bool:
    return any(c.isdigit() or c == "=" for c in value) or not (value.islower() or value.isupper())


def _hide_cookies(found: re.Match[str]) -> str:
    head = found.group()[: found.start("v") - found.start()]
    times = 1 if found["set"] else 0
    return head + _compile(_COOKIE).sub(_hide_cookie, found["v"], count=times)


def _hide_cookie(found: re.Match[str]) -> str:
    is_attribute = found["name"].lower() in _ATTRIBUTES
    return found.group() if is_attribute or is_filler(found["v"]) else found["name"] + HIDDEN
