"""Secrets that are known by the name before them: `DB_PASS=…`, `"token": "…"`, `--password …`."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from humangate.domain import secret_formats as formats
from humangate.domain.secret_values import HIDDEN, Place, is_filler, is_secret

if TYPE_CHECKING:
    from collections.abc import Callable

_KEYWORDS = (
    *("pass", "pwd", "pw", "psw", "pswd", "kennwort", "mnemonic", "seed", "secret", "token", "cred", "key"),
    *("auth", "bearer", "session", "sid", "sig", "salt", "otp", "cookie", "jwt", "dsn", "webhook", "connection"),
)
_REST = r"[A-Za-z0-9_.-]{0,40}+"
_QUOTED = (
    r"(?P<pre>[bfruBFRU@$]{0,2})(?P<quote>\\{0,4}(?:\"\"\"|'''|[\"'`]))"
    r"(?P<quoted>(?:(?!(?P=quote))(?:\\.|[^\\\n])){0,4000}+)"
)
_BARE = r"(?P<bare>[^\s\"'`]{1,4000}+)"
_VALUE = rf"(?:{_QUOTED}|{_BARE})"
_ASSIGNED = (
    rf"{_REST}(?P<close>\\{{0,4}}[\"'`]?\]?)"
    rf"(?P<sep>[ \t]{{0,4}}(?:=>|:=|\?=|\|\|=|[=!]==?|=|:(?!:))[ \t]{{0,8}}){_VALUE}"
)
_OPTION = rf"(?<![\w-])(?P<option>--?[A-Za-z][\w-]{{1,40}}+)(?P<sep>[ \t]{{1,4}}(?:\\\n\s{{0,20}})?)(?!-){_VALUE}"
_SET = (
    rf"\b(?:ENV|ARG|setenv|set -gx|set -x|config set|configure set|secret set|env add)[ \t]{{1,4}}"
    rf"(?P<option>[\w./:@-]{{2,80}}+)(?P<sep>[ \t]{{1,4}})(?!-){_VALUE}"
)
_ELEMENT = r"<(?P<name>[\w.:-]{2,60}+)(?:\s[^<>\n]{0,200})?>(?P<value>[^<>\n]{1,1000})(?=</)"
_PAIR = (
    r"(?i:\b(?:name|key|id))(?P<mid>\\{0,4}[\"']?[ \t]{0,4}[:=][ \t]{0,4}\\{0,4}[\"']?)(?P<name>[\w.-]{2,80}+)"
    r"(?P<gap>\\{0,4}[\"']?[\s,;]{1,40}[+]?\s{0,20}\\{0,4}[\"']?(?i:value)\\{0,4}[\"']?[ \t]{0,4}[:=][ \t]{0,4})"
    rf"{_VALUE}"
)
_BLOCK = (
    rf"{_REST}(?P<sep>[\"']?:[ \t]{{0,4}}[|>][+-]?[ \t]{{0,4}}\n[ \t+]{{1,40}})"
    r"(?P<value>\S[^\n]{0,999})"
)
_SAID = (
    r"(?i:\b(?P<name>password|passphrase|passcode|token|secret|api key|pin)(?:[ \t]+(?:for|of)[ \t]+\S{1,60})?"
    r"(?P<sep>(?:[ \t]+(?:is|was|to|as)|[ \t]*[:=-]>?)[ \t]+))(?P<quote>[\"'`]?)(?P<value>[^\s\"'`<>(){}\[\],;]{4,300}+)"
)
_BEFORE = r"[A-Za-z0-9_.$-]{0,60}$"
_STARTS = (
    r"(?:^|\n|\\n)[\s>#*|+-]{0,40}"
    r"(?:(?:export|set|setenv|env|ENV|ARG|declare -x|local|readonly|-e|--env|--build-arg|sudo|\$|\d+:)\s{1,4}){0,3}[\"'`]?$"
)
_WORD = r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[a-zß-ÿ]+"
_STOPS = r"[,;&|<>(){}\[\]]|\\+[nrt\"']|'"
_DEEPEST = 3


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def hide_named(text: str) -> str:
    """The text without the values of names that stand for secrets."""
    text = _compiled(_PAIR).sub(_hide_pair, text) if "alue" in text or "VALUE" in text else text
    text = _compiled(_ELEMENT).sub(_hide_element, text) if "</" in text else text
    text = _sub_after_keywords(_BLOCK, _hide_block, text) if _has_block(text) else text
    text = _compiled(_OPTION).sub(_hide_option, text) if " -" in text or text[:1] == "-" else text
    text = _compiled(_SET).sub(_hide_option, text)
    text = _compiled(_SAID).sub(_hide_said, text)
    return _hide_assigned(text, 0)


@cache
def _kind_of(words: tuple[str, ...], joined: str) -> tuple[str, int]:
    """What the value of such a name is, and which of its words says so."""
    for at, word in enumerate(words):
        if word in formats.CHOSEN_WORDS or any(one in word for one in formats.CHOSEN):
            return "chosen", at
    for at, word in enumerate(words):
        if any(one in word for one in formats.MADE) and not word.startswith(("tokens", "tokeniz")):
            return "made", at
        if word == "key" and at and words[at - 1] in formats.KEYS_OF:
            return "made", at
    if joined.startswith("_auth"):
        return "made", 0
    for at, word in enumerate(words):
        if word in formats.HARMLESS_TOO:
            return "maybe", at
    return "", 0


def kind_of(name: str) -> str:
    """chosen, made or maybe, for a name that stands for a secret; otherwise nothing."""
    words = tuple(word.lower() for word in _compiled(_WORD).findall(name))
    kind, at = _kind_of(words, name.lower())
    if words[at : at + 2] == ("session", "id"):
        return kind
    if not kind or any(word in formats.ABOUT for word in words[at + 1 :]):
        return ""
    if kind != "chosen" and any(word in formats.BEFORE_HARMLESS for word in words[:at]):
        return ""
    return "" if name in ("PWD", "OLDPWD", "PASS") else kind


def _has_block(text: str) -> bool:
    return bool(_compiled(r":[ \t]{0,4}[|>][+-]?[ \t]{0,4}\n").search(text))


def _sub_after_keywords(pattern: str, hide: Callable[[re.Match[str]], str], text: str) -> str:
    """Like re.sub, but only tried where a keyword is: much faster than a search for any of them."""
    parts, done = [], 0
    for at in _keyword_positions(text):
        if at >= done and (found := _compiled(pattern).match(text, at)):
            parts += [text[done:at], hide(found)]
            done = found.end()
    return "".join([*parts, text[done:]]) if parts else text


def _keyword_positions(text: str) -> list[int]:
    low = text.lower()
    if len(low) != len(text):
        # A few letters become two in lower case, and all positions after them would be wrong.
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


def _judge_assigned(found: re.Match[str], depth: int) -> str:
    text, at = found.string, found.start()
    before = _compiled(_BEFORE).search(text, max(0, at - 60), at)
    start = before.start() if before else at
    name = text[start : found.start("close")]
    kind = kind_of(name.lstrip("-"))
    quoted = found["quoted"] is not None
    if not kind or (quoted and "f" in found["pre"].lower() and "{" in found["quoted"]):
        return _go_on(found, depth)
    sep = found["sep"]
    is_env = name.isupper() and sep == "=" and not found["close"]
    starts = _compiled(_STARTS).search(text, max(0, start - 60), start)
    place = Place(kind, sep, quoted, is_env, bool(starts), text[found.end() : found.end() + 1].strip())
    if quoted:
        return _show(found, found["quoted"], depth, place)
    value = found["bare"]
    whole = is_env or (place.starts_line and kind == "chosen" and "=" in sep and text[start - 1 : start] in ("", "\n"))
    stop = None if whole else _compiled(_STOPS).search(value, 1)
    if stop and (stop.group() in "([" or _is_code(value[: stop.start()])):
        return _go_on(found, depth)
    if stop:
        place = place._replace(after=stop.group())
        value = value[: stop.start()]
    if not whole and _is_code(value):
        return _go_on(found, depth)
    return _show(found, value.rstrip(".") if not whole else value, depth, place)


def _is_code(value: str) -> bool:
    """Whether a value is itself a name of such a thing: `password=password`, `key: readKey`."""
    return bool(_compiled(r"[A-Za-z_.]+").fullmatch(value) and kind_of(value))


def _show(found: re.Match[str], value: str, depth: int, place: Place) -> str:
    if not is_secret(value, place):
        return _go_on(found, depth)
    group = "quoted" if place.quoted else "bare"
    head = found.string[found.start() : found.start(group)]
    rest = found[group][len(value) :]
    return head + HIDDEN + (_hide_assigned(rest, depth + 1) if depth < _DEEPEST else rest)


def _go_on(found: re.Match[str], depth: int) -> str:
    """Nothing to hide here; but the value may hold names and values of its own."""
    group = "quoted" if found["quoted"] is not None else "bare"
    head = found.string[found.start() : found.start(group)]
    if depth >= _DEEPEST:
        return found.group()
    return head + _hide_assigned(found[group], depth + 1)


def _value_of(found: re.Match[str]) -> tuple[str, str]:
    """The value, and the group it stands in."""
    if found["quoted"] is not None:
        return found["quoted"], "quoted"
    stop = _compiled(_STOPS).search(found["bare"], 1)
    return (found["bare"][: stop.start()] if stop else found["bare"]), "bare"


def _replace(found: re.Match[str], value: str, group: str) -> str:
    head = found.string[found.start() : found.start(group)]
    return head + HIDDEN + found[group][len(value) :]


def _hide_option(found: re.Match[str]) -> str:
    """The word after an option; in a sentence about that option it is no secret."""
    kind = kind_of(found["option"].lstrip("-"))
    value, group = _value_of(found)
    if not kind or is_filler(value) or (value.isupper() and value.isalpha()):
        return found.group()
    if kind == "chosen":
        is_it = len(value) > 2 and not value.endswith(":")
    else:
        is_it = is_secret(value, Place(kind, "=", quoted=True)) and not value.isalpha()
    return _replace(found, value, group) if is_it else found.group()


def _hide_pair(found: re.Match[str]) -> str:
    """A name and a value that stand beside each other: `name: DB_PASS`, then `value: …`."""
    kind = kind_of(found["name"])
    value, group = _value_of(found)
    if kind and is_secret(value, Place(kind, "=", quoted=True)):
        return _replace(found, value, group)
    return found.group()


def _hide_element(found: re.Match[str]) -> str:
    kind, value = kind_of(found["name"]), found["value"]
    if kind and is_secret(value.strip(), Place(kind, "=", quoted=True)):
        return _replace(found, value, "value")
    return found.group()


def _hide_block(found: re.Match[str]) -> str:
    """The first line of a block in YAML."""
    before = _compiled(_BEFORE).search(found.string, max(0, found.start() - 60), found.start())
    name = (before.group() if before else "") + found.string[found.start() : found.start("sep")]
    kind, value = kind_of(name), found["value"].rstrip()
    if kind and is_secret(value, Place(kind, "=", quoted=True)):
        return _replace(found, value, "value")
    return found.group()


def _hide_said(found: re.Match[str]) -> str:
    """A secret that somebody told in a sentence: it has a digit or a sign in it."""
    value = found["value"].rstrip(".,;:!?)")
    has_sign = any(not c.isalnum() and c not in "-_./" for c in value)
    if is_filler(value) or not any(c.isalpha() for c in value):
        return found.group()
    if not (has_sign or any(c.isdigit() for c in value)) or len(value) < 6:
        return found.group()
    if not is_secret(value, Place("made", "=", quoted=True)):
        return found.group()
    return _replace(found, value, "value")
