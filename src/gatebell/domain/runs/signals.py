"""Signals: the reports of agents at the end of a turn, and how they are found.

A signal comes by the tool `signal`, by the turn's own file, or as the last JSON object in the
agent's last words, in that order. An object that is cut off, invalid, quoted or a part of
another one is not a signal. A turn without a signal is an ERROR.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Generic, NamedTuple

from gatebell.domain.enums import SignalStatus
from gatebell.domain.text.display import plain, storable
from gatebell.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from typing_extensions import TypeVar

    # Type checkers have this module built in; programs do not need it.
    V = TypeVar("V", default=Any)
else:
    from typing import TypeVar

    V = TypeVar("V")

STATUSES: tuple[str, ...] = tuple(SignalStatus)

SIGNAL_FOLDER = ".agents/signals"
CONTEXT_FILE = ".agents/context.md"
"""Both in the run's folder: the files with signals, and the file with the results so far."""

_OTHER_NAMES = {"NEEDS_INPUT": SignalStatus.NEEDS_HUMAN}
_MAX_STATUS_LENGTH = 64
_MAX_LAST_WORDS = 2_000
_MAX_OPTIONS = 100
_MAX_DEPTH = 100

_TOKEN = re.compile(
    r"""[ \t\r\n]*+(?:
    (?P<text>"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*+")
    |(?P<mark>[{}\[\],:])
    |(?P<word>true|false|null|-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?)
    )""",
    re.VERBOSE,
)


def _refuse_constant(constant: str) -> None:
    raise ValueError(constant)


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)
QUOTED_LINE = re.compile(r"^[ \t]*+[>│].*", re.MULTILINE)
PART_OF_MORE = re.compile(r"\s*+[,\]}]")
# The tokens that may follow, by the open bracket and the last token.
_KEY, _KEY_OR_END = ("text",), ("text", "}")
_VALUE = ("text", "word", "{", "[")
_AFTER_VALUE = {"{": (",", "}"), "[": (",", "]")}


class Signal(NamedTuple, Generic[V]):
    """The report of an agent."""

    status: str
    """In capitals, spaces as `_`: one of STATUSES or the agent's own word."""
    reason: str = ""
    summary: str = ""
    question: str = ""
    options: tuple[str, ...] = ()
    """Answers to its question that the agent proposes."""
    value: V = None  # type: ignore[assignment]  # only a call with `returns=` names a type
    message: str = ""
    more: Mapping[str, Any] = {}
    """All other fields of the signal."""

    @property
    def own_words(self) -> str:
        """The text for other agents, in the agent's own words."""
        return self.summary or self.message or self.reason or self.question

    @property
    def question_text(self) -> str:
        """The question to a person when the agent needs one."""
        return self.question or self.reason or self.message or self.summary

    @property
    def beside(self) -> str:
        """The other texts of the signal, without the question."""
        words = (self.summary, self.reason, self.message)
        return "\n".join(one for one in dict.fromkeys(words) if one and one != self.question_text)

    @property
    def context(self) -> str:
        """The context of its question: the agent's context, then the other texts."""
        given = self.more.get("question_context") or self.more.get("questionContext")
        return "\n\n".join(filter(None, [_format_text(given), self.beside, self.details]))

    @property
    def details(self) -> str:
        """The agent's details, and the issues that it found."""
        details, issues = self.more.get("details"), self.more.get("issues")
        found = issues if isinstance(issues, list) else [issues] if issues else []
        listed = "\n".join(f"- {_format_words(one)}" for one in found)
        parts = (_format_words(details), listed and f"Issues:\n{listed}")
        return "\n\n".join(part for part in parts if part)

    @property
    def confidence(self) -> float | None:
        """The agent's confidence, from 0 to 1."""
        given = self.more.get("confidence")
        if isinstance(given, bool) or not isinstance(given, int | float):
            return None
        return given if 0 <= given <= 1 else None


_TEXTS = ("reason", "summary", "question", "message")


def with_question(signal: Signal) -> Signal:
    """Return the signal with its summary as the question, if it has no question."""
    words = (signal.question, signal.summary, signal.reason, signal.message)
    return signal._replace(question=next((one for one in words if one.strip()), ""))


def signal_file(role: str, turn_id: str) -> str:
    """Return the path of the signal file of this turn, within the run's folder."""
    return f"{SIGNAL_FOLDER}/{role}-{turn_id}.json"


def signal_environ(run_id: int, turn_id: str, path: str) -> dict[str, str]:
    """Return the variables that an agent needs to signal; `path` is its signal file."""
    return {"GATE_TURN": turn_id, "GATE_RUN": str(run_id), "GATE_SIGNAL_FILE": path}


def parse_signal(given: Any) -> Signal | None:
    """Read a signal from a JSON value; None if it is not a signal."""
    if not isinstance(given, dict):
        return None
    try:
        found = plain(given)
    except UsageError:
        return None
    status = _parse_status(found.pop("status", None))
    if not status:
        return None
    texts = {name: _format_text(found.pop(name, None)) for name in _TEXTS}
    options, value = _parse_options(found.pop("options", None)), found.pop("value", None)
    return Signal(status, options=options, value=value, more=found, **texts)


def _parse_status(given: Any) -> str:
    words = given.split() if isinstance(given, str) else []
    status = "_".join(words).replace("-", "_").upper()
    if len(status) > _MAX_STATUS_LENGTH or not status.isprintable():
        return ""
    return _OTHER_NAMES.get(status, status)


def _format_text(given: Any) -> str:
    if given is None or isinstance(given, str):
        return given or ""
    return json.dumps(given, ensure_ascii=False)


def _format_words(given: Any) -> str:
    return given if isinstance(given, str) else "" if given is None else repr(given)


def _parse_options(given: Any) -> tuple[str, ...]:
    offered = given if isinstance(given, list) else []
    labels = [one.get("label") if isinstance(one, dict) else one for one in offered]
    texts = [_format_text(label).strip() for label in labels]
    return tuple(dict.fromkeys(text for text in texts if text))[:_MAX_OPTIONS]


def to_json(signal: Signal) -> dict[str, Any]:
    """Return a signal as the journal keeps it."""
    defaults = Signal._field_defaults
    given = {name: part for name, part in signal._asdict().items() if part != defaults.get(name)}
    return given | ({"options": list(signal.options)} if signal.options else {})


def as_given(signal: Signal) -> dict[str, Any]:
    """Return a signal as an agent gives it: one flat object."""
    kept = to_json(signal)
    return {**kept.pop("more", {}), **kept}


def from_json(kept: Mapping[str, Any]) -> Signal:
    return Signal(**{**kept, "options": tuple(kept.get("options", ()))})


def explicit(offered: Mapping[str, Any] | None, file_text: str | None) -> Signal | None:
    """Return the signal that came by the tool, or else by the file."""
    return parse_signal(offered) or parse_signal(whole_json(file_text or ""))


def judge(
    offered: Mapping[str, Any] | None,
    file_text: str | None,
    ended_ok: bool,
    words: str,
    problem: str,
) -> Signal:
    """Return the signal of a turn.

    A signal by the tool or the file counts even if the program crashed later. The agent's
    words count only if the program ended well, because only then they are its last words.
    """
    if given := explicit(offered, file_text):
        return given
    if not ended_ok:
        return Signal(SignalStatus.ERROR, reason=storable(problem) or "the agent ended badly")
    return last_signal(words) or _report_missing(words, file_text or "")


def last_signal(words: str) -> Signal | None:
    """Return the last signal in a text; None without one."""
    found = (parse_signal(one) for one in json_objects(words))
    return next((signal for signal in found if signal), None)


def _report_missing(words: str, file_text: str) -> Signal:
    broken = ": its signal file has no complete JSON object with a status" if file_text else ""
    return Signal(SignalStatus.ERROR, reason=f"the agent gave no signal{broken}{last_words(words)}")


def last_words(words: str) -> str:
    """Return the last words of an agent, as the end of a sentence."""
    last = storable(words.strip())
    cut = f"… {last[-_MAX_LAST_WORDS:]}" if len(last) > _MAX_LAST_WORDS else last
    return f"; its last words: {cut}" if last else " and said nothing"


def json_objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the complete JSON objects in a text, the last one first.

    It skips an object in a quotation (its line begins with > or │), and one before a comma or a
    closing bracket, which is a part of an incomplete value.
    """
    text = QUOTED_LINE.sub("", text)
    for start, end in reversed(list(spans(text))):
        if not PART_OF_MORE.match(text, end) and (found := whole_json(text[start:end])) is not None:
            yield found


def whole_json(text: str) -> Any:
    """Return the JSON value of a text; None for null and for invalid JSON."""
    try:
        return _DECODER.decode(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return None


def spans(text: str, openings: str = "{") -> Iterator[tuple[int, int]]:
    """Yield the start and end of complete objects that are not inside others; `{[`: arrays too.

    An attempt does not start at a brace that an earlier attempt has passed: it would fail at the
    same place. The inside of a string is scanned again, but then the roles of strings and other
    text are swapped. So no place is scanned more than twice, for any text.
    """
    passed: set[int] = set()
    opening = re.compile(f"[{re.escape(openings)}]")
    found = opening.search(text)
    while found:
        start = found.start()
        end = 0 if start in passed else _find_end(text, start, passed)
        if end:
            yield start, end
        found = opening.search(text, max(end, start + 1))


def _find_end(text: str, start: int, passed: set[int]) -> int:
    """Return the end of the value that starts here, or 0; add its open brackets to `passed`."""
    opened: list[str] = []
    at = start
    wanted: tuple[str, ...] = (text[start],)
    while token := _TOKEN.match(text, at):
        mark = token["mark"] or str(token.lastgroup)
        if mark not in wanted:
            return 0
        at = token.end()
        if mark in ("{", "["):
            passed.add(at - 1)
            opened.append(mark)
            wanted = _KEY_OR_END if mark == "{" else (*_VALUE, "]")
        elif mark in ("}", "]"):
            opened.pop()
            if not opened:
                return at
            wanted = _AFTER_VALUE[opened[-1]]
        elif mark == ":":
            wanted = _VALUE
        elif mark == ",":
            wanted = _KEY if opened[-1] == "{" else _VALUE
        else:
            is_key = wanted in (_KEY, _KEY_OR_END)
            wanted = (":",) if is_key else _AFTER_VALUE[opened[-1]]
        if len(opened) > _MAX_DEPTH:
            return 0
    return 0
