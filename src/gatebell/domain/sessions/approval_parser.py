"""The decision in one message of a conversation, read as narrowly as possible.

An approval consists only of words of approval, in a message without any sign of doubt. One
unknown word is enough to ignore it. A refusal is recognised more easily.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, NamedTuple

from gatebell.domain.enums import Decision
from gatebell.domain.sessions import approval_words
from gatebell.domain.text.display import inert

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

APPROVED, REJECTED = Decision.APPROVED, Decision.REJECTED

_MAX_LENGTH = 20_000
# Replaces the words of others: a quotation, code, or our own words.
BLANK = "\ufffc"

_FENCED = re.compile(r"^[ \t]*(`{3,}|~{3,}).*?(?:^[ \t]*\1.*?$|\Z)", re.MULTILINE | re.DOTALL)
_FOREIGN = re.compile(r"^[ \t]*[>│|].*|^[$%] .*|^(?: {4}|\t).*\S.*", re.MULTILINE)
_INLINE = re.compile(r"`[^`\n]*`")
_BOLD = re.compile(r"\*\*([^*\n]+)\*\*")
_APOSTROPHES = str.maketrans("’ʼ′‛", "''''")
_STATEMENT_END = re.compile(r"(?<=[.!?;])(?=\s|$)|(?<=[。！？；؟])")
_PAUSES = re.compile(r"[,，、،]|\s[-–—]+\s|\s+")
_FULL_STOPS = " \n.!;。！；"
_NICE_SIGNS = re.compile("[👍✅🎉🚀👌✔🙏][\ufe0f\U0001f3fb-\U0001f3ff]?")
_QUESTION = "?？؟\u037e՞¿"
_STRANGE = re.compile(
    rf"""[{_QUESTION}"“”„«»「」『』《》‘‹›…🙄🙃😏🤡😂🤣😒🤔😬💀😉]|\.\.|/s\b|[)]{{2}}"""
)
_MOCKS = re.compile(r"[a-z][A-Z]")
_NO = re.compile(r"(?:no|nope)(?: |$)")

_MARKUP = re.compile(r"~~|</?\w|<!|&#?\w+;")
_OVERLAID = re.compile("[\u0300-\u036f\u0489\u20d0-\u20ff\u0250-\u02af\u1d00-\u1dbf]")
_SPELLED = re.compile(r"(?<!\w)[A-Za-z] [A-Za-z] [A-Za-z](?!\w)")
_LATIN, _OTHER = re.compile("[A-Za-z]{2}"), re.compile("[Ͱ-ԯ]{2}")
_LONE = re.compile(r"(?<!\w)[Ͱ-ԯ](?!\w)")
_REMARKS = re.compile("‹U\\+|[\u2400-\u2421]")
_EAST = {"CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "HANGUL", "IDEOGRAPHIC"}
_DIGITS = str.maketrans("013457", "oieast")
_DISGUISED_DIGIT = re.compile(r"(?<=[a-z])[013457](?=[a-z])")


def _match_any_of(words: str) -> str:
    return rf"(?<!\w)(?:{words})(?!\w)"


# Each with the space that separates it from the next one.
_UNIT = re.compile(
    rf"(?P<approves>(?:{approval_words.APPROVES})(?: |$))|(?P<goes>(?:{approval_words.GOES})(?: |$))"
    rf"|(?P<beside>(?:{approval_words.BESIDE})(?: |$))"
)
LABEL = re.compile(f"{_match_any_of(approval_words.LABELS)} ?[:：] ?")
_REFUSES, _STEMS, _NEGATES, _WAITS, _DOUBTS, _PRAISES, _COMMON = (
    re.compile(_match_any_of(listed))
    for listed in (
        approval_words.REFUSES,
        approval_words.STEMS,
        approval_words.NEGATES,
        approval_words.WAITS,
        approval_words.DOUBTS,
        approval_words.PRAISES,
        approval_words.COMMON,
    )
)


class Reading(NamedTuple):
    """The meaning of one message."""

    value: str | list[str] | None = None
    quote: str = ""
    """The words that it is based on."""
    refuses: bool = False
    clouded: bool = False
    """It may take back an earlier decision, or it contains a trick."""


def statements(text: str) -> list[str]:
    """Split a text into sentences, not at line ends: a line above may name another author."""
    return [part.strip() for part in _STATEMENT_END.split(text) if part.strip()]


def skeleton(text: str) -> str:
    """Return only the letters and digits of a text, to recognise it in any layout."""
    return "".join(filter(str.isalnum, text)).lower()


def _remove_quotations(text: str) -> str:
    """Return the text with a placeholder for each quotation and each piece of code."""
    text = unicodedata.normalize("NFC", text.replace("\r\n", "\n")).translate(_APOSTROPHES)
    for shown in (_FENCED, _FOREIGN, _INLINE):
        text = shown.sub(BLANK, text)
    return text


def asks(text: str) -> bool:
    return any(sign in text for sign in _QUESTION)


def _deceives(text: str) -> bool:
    """Return whether a text may look different: hidden, overlaid or look-alike letters."""
    return (
        _REMARKS.search(inert(text)) is not None
        or any(sign.search(text) for sign in (_MARKUP, _OVERLAID, _SPELLED))
        or bool(_LONE.search(text) and _LATIN.search(text) and not _OTHER.search(text))
        or (not text.isascii() and any(map(_is_masked, re.findall(r"[\w']+|[^\w\s]", text))))
    )


def _is_masked(word: str) -> bool:
    plain = unicodedata.normalize("NFKC", word)
    scripts = {unicodedata.name(one, "?").split()[0] for one in word if one.isalpha()}
    return (plain != word and any(map(str.isalpha, plain))) or len(scripts - _EAST) > 1


def _fold(statement: str) -> str:
    bare = _BOLD.sub(r"\1", _NICE_SIGNS.sub("", statement)).strip(_FULL_STOPS)
    return _PAUSES.sub(" ", bare).strip().lower()


def _find_kinds(statement: str) -> set[str | None] | None:
    """Return the kinds of words in a statement; None if it has unknown words."""
    if _MOCKS.search(statement):
        return None
    text = re.sub(" +", " ", _fold(statement))
    label = LABEL.match(text)
    at = label.end() if label else 0
    kinds: set[str | None] = set()
    while at < len(text):
        unit = _UNIT.match(text, at)
        if not unit:
            return None
        kinds.add(unit.lastgroup)
        at = unit.end()
    return kinds


def is_courtesy(text: str) -> bool:
    """Return whether a message has only words like yes, fine and thanks."""
    return all(_find_kinds(one) == {"beside"} for one in statements(text))


def _is_doubtful(statement: str) -> bool:
    """Return whether a statement casts doubt on the statements beside it."""
    low = _DISGUISED_DIGIT.sub(lambda digit: digit[0].translate(_DIGITS), statement.lower())
    return (
        any(sign.search(low) for sign in (_STRANGE, _NEGATES, _WAITS, _DOUBTS, _REFUSES))
        or statement.rstrip().endswith((":", "："))
        or not (_COMMON.search(low) or _find_kinds(statement))
    )


def _is_content(statement: str) -> bool:
    """Return whether a statement only says that a person looked and is content."""
    return _PRAISES.search(statement.lower()) is not None and not _is_doubtful(statement)


def _is_refusal(statement: str) -> bool:
    """Return whether a statement refuses: by a word of refusal, or by a negated approval."""
    low = _fold(statement)
    if _NO.fullmatch(low):
        return True
    low = _NO.sub("", low, count=1) if _NO.match(low) and _REFUSES.search(low) else low
    if _STRANGE.search(low) or _WAITS.search(low) or BLANK in low:
        return False
    approves, negates = bool(_STEMS.search(low)), bool(_NEGATES.search(low))
    return approves == negates if _REFUSES.search(low) else approves and negates


def read_approval(text: str, *, by_person: bool, asked: bool, ours: Collection[str]) -> Reading:
    """Return whether a message approves, refuses, or neither.

    Args:
        asked: The message before is an agent's question, which `let's proceed` may answer.
        ours: Skeletons of our own statements.
    """
    words = _remove_quotations(text)
    if len(words) > _MAX_LENGTH or _deceives(words):
        return Reading(clouded=True)
    said = statements(words)
    kinds = [_find_kinds(one) for one in said]
    deciding = [at for at, kind in enumerate(kinds) if kind and kind != {"beside"}]
    rest = [one for one, kind in zip(said, kinds, strict=True) if kind is None]
    if not deciding:
        refusals = [one for one in rest if _is_refusal(one) and skeleton(one) not in ours]
        if refusals:
            return Reading(REJECTED, refusals[-1], refuses=True)
        return Reading(clouded=words.strip() != BLANK and not all(map(_is_content, rest)))
    last = deciding[-1]
    is_plain = "approves" in (kinds[last] or ()) or (by_person and not asked)
    if (
        not is_plain
        or None in kinds[last:]
        or not all(map(_is_content, rest))
        or _STRANGE.search(words)
        or skeleton(said[last]) in ours
    ):
        return Reading(clouded=True)
    return Reading(APPROVED, said[last])


_PREFIX = re.compile(rf"(?:{approval_words.CHOOSES})(?:[,:]? +)")
_SUFFIX = re.compile(r",? (?:please|thanks|thank you)$")
_JOIN = re.compile(r" ?[,;+、，] ?(?:and )?| (?:and|&) ")
_WRAPPED = re.compile(r"`([^`\n]+)`|\*\*([^*\n]+)\*\*")


def read_choice(text: str, options: Sequence[str], *, multiple: bool) -> Reading:
    """Return the options that a message names as its only decision."""
    bare = _WRAPPED.sub(lambda wrapped: wrapped[1] or wrapped[2], text)
    words = _remove_quotations(bare).strip()
    if len(words) > _MAX_LENGTH or _deceives(words):
        return Reading(clouded=True)
    lines, said = words.split("\n"), statements(words)
    # An option may contain a full stop or a question mark, so the whole text is tried first.
    for end in dict.fromkeys((words, lines[-1].strip(), *said[-1:])):
        before = words[: words.rindex(end)]
        if chosen := _find_named(end, options, multiple=multiple):
            if any(map(_is_doubtful, statements(before))) or _names_other(before, options, chosen):
                break
            return Reading(chosen if multiple else chosen[0], end)
    return Reading(clouded=any(map(_is_doubtful, said)))


def _normalize(text: str) -> str:
    """Return a text in the form in which options are compared."""
    return re.sub(r"\s+", " ", text.translate(_APOSTROPHES)).strip(_FULL_STOPS).casefold()


def _names_other(text: str, options: Sequence[str], chosen: Sequence[str]) -> bool:
    text = _normalize(text)
    for option in chosen:
        text = text.replace(_normalize(option), BLANK)
    others = [re.escape(_normalize(option)) for option in options if option not in chosen]
    return any(re.search(rf"(?<!\w){other}(?!\w)", text) for other in others)


def _find_named(statement: str, options: Sequence[str], *, multiple: bool) -> list[str]:
    text = _normalize(statement)
    names = {_normalize(option) for option in options}
    for shorter in (LABEL, _PREFIX, _SUFFIX):
        if found := _read_list(text, statement, options, multiple=multiple):
            return found
        cut = shorter.search(text) if shorter is _SUFFIX else shorter.match(text)
        if cut and _normalize(cut[0]).strip(" ,:，：") not in names:
            text = text[: cut.start()] + text[cut.end() :]
    return _read_list(text, statement, options, multiple=multiple)


def _read_list(text: str, statement: str, options: Sequence[str], *, multiple: bool) -> list[str]:
    """Return the options that a text lists, in their own order; try longer names first."""
    found: list[str] = []
    at = 0
    while at < len(text):
        fitting = [option for option in options if _fits(text, at, _normalize(option))]
        longest = max((len(_normalize(option)) for option in fitting), default=0)
        alike = [option for option in fitting if len(_normalize(option)) == longest]
        named = [option for option in alike if len(alike) == 1 or option in statement]
        if len(named) != 1 or not longest:
            return []
        found += named
        join = _JOIN.match(text, at + longest)
        at = join.end() if join else at + longest
    return [option for option in options if option in found] if multiple or len(found) == 1 else []


def _fits(text: str, at: int, name: str) -> bool:
    end = at + len(name)
    return text.startswith(name, at) and (end == len(text) or bool(_JOIN.match(text, end)))
