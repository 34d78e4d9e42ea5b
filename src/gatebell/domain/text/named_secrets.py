"""Secrets after a name: `DB_PASS=…`, `"token": "…"`, `--password …`."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from gatebell.domain.text import secret_formats as formats
from gatebell.domain.text.secret_values import (
    HIDDEN,
    Place,
    SecretKind,
    is_filler,
    is_scrambled,
    is_secret,
)

if TYPE_CHECKING:
    from collections.abc import Callable

_KEYWORDS = (
    "pass", "pwd", "pw", "psw", "psk", "kennwort", "mnemonic", "seed", "secret", "token", "cred", "key", "auth",
    "bearer", "session", "sid", "sig", "salt", "otp", "cookie", "jwt", "dsn", "webhook", "connection",
)  # fmt: skip
_REST = r"[A-Za-z0-9_.-]{0,40}+"
_QUOTED = (
    r"(?P<pre>[bfruBFRU@$]{0,2})(?P<quote>\\{0,4}(?:\"\"\"|'''|[\"'`]))"
    r"(?P<quoted>(?:(?!(?P=quote))(?:\\.|[^\\\n])){0,4000}+)"
)
_BARE = r"(?P<bare>[^\s\"'`]{1,4000}+)"
_VALUE = rf"(?:{_QUOTED}|{_BARE})"
_ASSIGNED = (
    rf"{_REST}(?P<close>\\{{0,4}}[\"'`]?\]?)"
    rf"(?P<sep>[ \t]{{0,4}}(?:=>|:=|\?=|\|\|=|[=!]==?|=|:(?!:)(?:\*\*)?|%3[dDaA])[ \t]{{0,8}}){_VALUE}"
)
_OPTION = rf"(?<![\w-])(?P<option>--?[A-Za-z][\w-]{{1,40}}+)(?P<sep>[ \t]{{1,4}}(?:\\\n\s{{0,20}})?)(?!-){_VALUE}"
_SET = (
    rf"\b(?:ENV|ARG|setenv|set -gx|set -x|config set|configure set|secret set|env add)[ \t]{{1,4}}"
    rf"(?P<option>[\w./:@-]{{2,80}}+)(?P<sep>[ \t]{{1,4}})(?!-){_VALUE}"
)
_ELEMENT = r"<(?P<name>[\w.:-]{2,60}+)(?:\s(?:name|key|id)=[\"'](?P<named>[\w.:-]{1,80}+)[\"']|\s[^<>\n]{0,200})?>(?P<value>[^<>\n]{1,1000})(?=</)"
_PAIR = (
    r"(?i:\b(?:name|key|id))(?P<mid>\\{0,4}[\"']?[ \t]{0,4}[:=][ \t]{0,4}\\{0,4}[\"']?)(?P<name>[\w.-]{2,80}+)"
    r"(?P<gap>\\{0,4}[\"']?[\s,;]{1,40}[+]?\s{0,20}\\{0,4}[\"']?(?i:value)\\{0,4}[\"']?[ \t]{0,4}[:=][ \t]{0,4})"
    rf"{_VALUE}"
)
_BLOCK = (
    rf"{_REST}(?P<sep>[\"']?:[ \t]{{0,4}}[|>][+-]?[ \t]{{0,4}}\n[ \t+]{{1,40}})"
    r"(?P<value>\S[^\n]{0,999})"
)
_WRAPPED = r"(?P<quote>[\"'])(?P<name>[\w.-]{2,60}+)=(?P<value>[^\"'\n]{3,300}+)(?P=quote)"
_SAID = (
    r"(?i:\b(?P<name>password|passphrase|passcode|token|secret|api key|pin)(?:[ \t]+(?:for|of)[ \t]+\S{1,60})?"
    r"(?P<sep>[ \t]+(?:is|was|to|as)[ \t]+))(?P<quote>[\"'`]?)(?P<value>[^\s\"'`<>(){}\[\],;]{4,300}+)"
)
_BEFORE = r"[A-Za-z0-9_.$-]{0,60}$"
_STARTS = (
    r"(?:^|\n|\\n|\")[\s>#*|+-]{0,40}"
    r"(?:(?:export|set|setenv|env|ENV|ARG|declare -x|local|readonly|-e|--env|--build-arg|sudo|\$|\d+:)\s{1,4}){0,3}[\"'`]?$"
)
_WORD = r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[a-zß-ÿ]+"
_STOPS = r"[,;&|<>(){}\[\]]|%26|%2[cC]|%22|\\+[nrt\"']|'"
_ESCAPES = r"\\+[nrt\"']"
_NEAR = r"[A-Za-z0-9+/=_~!@#$^&*.-]{8,400}+"
_NEXT = (
    r"[\s\"'`:=|*/-]{1,8}(?:(?:to|is|was)[ \t]{1,4}[\"'`]?)?"
    r"(?P<v>(?:[0-9a-fA-F]{24,128}|[A-Z][a-z]{2,20}[_.!#-]?\d{1,8}[!.#-]?)(?![^\s\"'`,;).|]))"
)
_FAR = 100
_DEEPEST = 3


@cache
def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def hide_named(text: str) -> str:
    """Return the text with hidden values after the names of secrets."""
    text = _compile(_PAIR).sub(_hide_pair, text) if "alue" in text or "VALUE" in text else text
    text = _compile(_ELEMENT).sub(_hide_element, text) if "</" in text else text
    text = _sub_after_keywords(_BLOCK, _hide_block, text) if _has_block(text) else text
    text = _compile(_OPTION).sub(_hide_option, text) if " -" in text or text[:1] == "-" else text
    text = _compile(_SET).sub(_hide_option, text)
    text = _compile(_WRAPPED).sub(_hide_wrapped, text)
    text = _compile(_SAID).sub(_hide_said, text)
    text = _hide_assigned(text, 0)
    return _hide_near(text)


def _find_kind(words: tuple[str, ...], joined: str) -> tuple[SecretKind | None, int]:
    """Return the kind of secret that a name has, and the position of the word that shows it."""
    for at, word in enumerate(words):
        is_pass = word.endswith("pass") and word not in formats.NOT_PASS
        if is_pass or word in formats.CHOSEN_WORDS or any(one in word for one in formats.CHOSEN):
            return SecretKind.CHOSEN, at
    for at, word in enumerate(words):
        if any(one in word for one in formats.MADE) and not word.startswith(("tokens", "tokeniz")):
            return SecretKind.MADE, at
        if word == "key" and at and words[at - 1] in formats.KEYS_OF:
            return SecretKind.MADE, at
    if joined.startswith("_auth"):
        return SecretKind.MADE, 0
    for at, word in enumerate(words):
        if word in formats.HARMLESS_TOO:
            return SecretKind.MAYBE, at
    return None, 0


# Limited, because a hostile text may have any number of names.
@lru_cache(maxsize=1024)
def kind_of(name: str) -> SecretKind | None:
    """Return the kind of secret that a name has; None for other names."""
    words = tuple(word.lower() for word in _compile(_WORD).findall(name))
    kind, at = _find_kind(words, name.lower())
    if words[at : at + 2] == ("session", "id"):
        return kind
    if not kind or any(word in formats.ABOUT for word in words[at + 1 :]):
        return None
    if kind != SecretKind.CHOSEN and any(word in formats.BEFORE_HARMLESS for word in words[:at]):
        return None
    return None if name in ("PWD", "OLDPWD", "PASS") else kind


def _has_block(text: str) -> bool:
    return bool(_compile(r":[ \t]{0,4}[|>][+-]?[ \t]{0,4}\n").search(text))


def _sub_after_keywords(pattern: str, hide: Callable[[re.Match[str]], str], text: str) -> str:
    """Replace like re.sub, but only at keywords: much faster than a search at every place."""
    parts, done = [], 0
    for at in _find_keywords(text):
        if at >= done and (found := _compile(pattern).match(text, at)):
            parts += [text[done:at], hide(found)]
            done = found.end()
    return "".join([*parts, text[done:]]) if parts else text


def _find_keywords(text: str) -> list[int]:
    low = text.lower()
    if len(low) != len(text):
        # A few characters become two in lower case, and all later positions would be wrong.
        low = "".join(c.lower() if c.isascii() else c for c in text)
    found = set()
    for word in _KEYWORDS:
        at = low.find(word)
        while at >= 0:
            found.add(at)
            at = low.find(word, at + 1)
    return sorted(found)


def _hide_assigned(text: str, depth: int) -> str:
    return _sub_after_keywords(_ASSIGNED, lambda found: _judge_assigned(found, depth), text)


def _find_name(found: re.Match[str], end: int) -> tuple[int, str]:
    """Return the start of the name around a keyword, and the whole name."""
    text, at = found.string, found.start()
    before = _compile(_BEFORE).search(text, max(0, at - 60), at)
    start = before.start() if before else at
    if start < at and text[start - 1 : start] == "\\" and text[start] in "nrt":
        # This character belongs to a line break that is written as \\n.
        start += 1
    if text[start:end].lower() == "key":
        # Also `API key` and `Unseal Key`.
        word = _compile(r"[A-Za-z]{2,12} $").search(text, max(0, start - 13), start)
        return start, f"{word.group().strip()}_key" if word else text[start:end]
    return start, text[start:end]


def _judge_assigned(found: re.Match[str], depth: int) -> str:
    text = found.string
    start, name = _find_name(found, found.start("close"))
    kind = kind_of(name.lstrip("-"))
    is_template = "f" in (found["pre"] or "").lower() and "{" in (found["quoted"] or "")
    if not kind or is_template:
        return _go_on(found, depth)
    starts = _compile(_STARTS).search(text, max(0, start - 60), start)
    place = Place(
        kind,
        found["sep"],
        quoted=found["quoted"] is not None,
        is_env=name.isupper() and found["sep"] == "=" and not found["close"],
        starts_line=bool(starts),
        after=text[found.end() : found.end() + 1].strip(' \t\r\n"\\'),
    )
    if place.quoted:
        return _show(found, found["quoted"], depth, place)
    is_line = starts is not None and text[start - 1 : start] in ("", "\n")
    return _judge_bare(
        found, depth, place, is_whole=place.is_env or (is_line and kind == SecretKind.CHOSEN)
    )


def _judge_bare(found: re.Match[str], depth: int, place: Place, *, is_whole: bool) -> str:
    """Judge a value without quotes: the whole word in settings, else up to a punctuation mark."""
    value = found["bare"]
    stop = _compile(_ESCAPES if is_whole and "=" in place.sep else _STOPS).search(value, 1)
    if stop:
        value, place = value[: stop.start()], place._replace(after=stop.group())
        if _is_called(value, place.after):
            return _go_on(found, depth)
    if not is_whole:
        value = value.rstrip(".")
        if _is_code(value):
            return _go_on(found, depth)
    return _show(found, value, depth, place)


def _is_called(value: str, stop: str) -> bool:
    return (
        stop in "(["
        and bool(_compile(r"[A-Za-z_][\w.]*").fullmatch(value))
        and not is_scrambled(value)
    )


def _is_code(value: str) -> bool:
    """Return whether a value is itself such a name: `password=password`, `key: readKey`."""
    return bool(_compile(r"[A-Za-z_.]+").fullmatch(value) and kind_of(value))


def _show(found: re.Match[str], value: str, depth: int, place: Place) -> str:
    if not is_secret(value, place):
        return _go_on(found, depth)
    group = "quoted" if place.quoted else "bare"
    head = found.string[found.start() : found.start(group)]
    rest = found[group][len(value) :]
    return head + HIDDEN + (_hide_assigned(rest, depth + 1) if depth < _DEEPEST else rest)


def _go_on(found: re.Match[str], depth: int) -> str:
    """Keep the match, but search the value for other names and values."""
    group = "quoted" if found["quoted"] is not None else "bare"
    head = found.string[found.start() : found.start(group)]
    if depth >= _DEEPEST:
        return found.group()
    return head + _hide_assigned(found[group], depth + 1)


def _find_value(found: re.Match[str]) -> tuple[str, str]:
    """Return the value, and its group in the match."""
    if found["quoted"] is not None:
        return found["quoted"], "quoted"
    stop = _compile(_STOPS).search(found["bare"], 1)
    return (found["bare"][: stop.start()] if stop else found["bare"]), "bare"


def _replace(found: re.Match[str], value: str, group: str) -> str:
    head = found.string[found.start() : found.start(group)]
    return head + HIDDEN + found.string[found.start(group) + len(value) : found.end()]


def _hide_option(found: re.Match[str]) -> str:
    """Hide the word after an option, unless it looks like a sentence about the option."""
    kind = kind_of(found["option"].lstrip("-"))
    value, group = _find_value(found)
    if not kind or is_filler(value) or (value.isupper() and value.isalpha()):
        return found.group()
    if kind == SecretKind.CHOSEN:
        is_it = len(value) > 2 and not value.endswith(":")
    else:
        is_it = is_secret(value, Place(kind, "=", quoted=True)) and not value.isalpha()
    return _replace(found, value, group) if is_it else found.group()


def _hide_pair(found: re.Match[str]) -> str:
    """Hide the value of a pair like `name: DB_PASS`, then `value: …`."""
    kind = kind_of(found["name"])
    value, group = _find_value(found)
    if kind and is_secret(value, Place(kind, "=", quoted=True)):
        return _replace(found, value, group)
    return found.group()


def _hide_element(found: re.Match[str]) -> str:
    kind, value = kind_of(found["named"] or found["name"]), found["value"]
    if kind and is_secret(value.strip(), Place(kind, "=", quoted=True)):
        return _replace(found, value, "value")
    return found.group()


def _hide_wrapped(found: re.Match[str]) -> str:
    """Hide the value in `"NAME=two words"`, as in a shell."""
    kind, value = kind_of(found["name"]), found["value"]
    if kind == SecretKind.CHOSEN and is_secret(value, Place(kind, "=", quoted=True)):
        return _replace(found, value, "value")
    return found.group()


def _hide_block(found: re.Match[str]) -> str:
    """Hide the first line of a block in YAML."""
    _, name = _find_name(found, found.start("sep"))
    kind, value = kind_of(name), found["value"].rstrip()
    if kind and is_secret(value, Place(kind, "=", quoted=True)):
        return _replace(found, value, "value")
    return found.group()


def _hide_said(found: re.Match[str]) -> str:
    """Hide a secret in a sentence, if it has a digit or a special character."""
    value = found["value"].rstrip(".,;:!?)")
    has_sign = any(not c.isalnum() and c not in "-_./" for c in value)
    if is_filler(value) or not any(c.isalpha() for c in value):
        return found.group()
    if not (has_sign or any(c.isdigit() for c in value)) or len(value) < 6:
        return found.group()
    if not is_secret(value, Place(SecretKind.MADE, "=", quoted=True)):
        return found.group()
    return _replace(found, value, "value")


def _hide_near(text: str) -> str:
    """Hide a random-looking word that follows a name on the same line."""
    parts, done = [], 0
    for at in _find_keywords(text):
        found = _compile(_REST).match(text, at)
        if (
            at < done
            or found is None
            or kind_of(_find_name(found, found.end())[1]) in (None, SecretKind.MAYBE)
        ):
            continue
        if (word := _compile(_NEXT).match(text, found.end())) and _is_next(word["v"]):
            parts += [text[done : word.start("v")], HIDDEN]
            done = word.end("v")
            continue
        for word in _compile(_NEAR).finditer(
            text, found.end(), _find_end_of_line(text, found.end())
        ):
            value = word.group().rstrip(".")
            if is_scrambled(value) and not is_filler(value):
                parts += [text[done : word.start()], HIDDEN]
                done = word.start() + len(value)
                break
    return "".join([*parts, text[done:]]) if parts else text


def _is_next(value: str) -> bool:
    """Return whether a readable word directly after a name is its secret."""
    has_both = any(c.isalpha() for c in value) and any(c.isdigit() for c in value)
    return has_both and not is_filler(value)


def _find_end_of_line(text: str, at: int) -> int:
    """Return the last position for a secret after its name; after a colon, on the next line."""
    most = min(len(text), at + _FAR)
    end = text.find("\n", at, most)
    if end < 0:
        return most
    if text[at:end].rstrip()[-1:] in (":", '"'):
        following = _compile(r"\s{1,20}[^\n]{0,60}").match(text, end)
        return following.end() if following else end
    return end
