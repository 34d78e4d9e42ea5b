"""Questions and answers as files: the formats that agents' scripts write and read.

Whatever stands in such a file is somebody else's word. Its name is checked before it is opened, its
content before it is asked; nothing of either ever becomes a path.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from gatebell.domain.asks.asks import parse_priority, settled_sentence
from gatebell.domain.asks.questions import MAX_PROMPT_CHARACTERS
from gatebell.domain.audit.events import Event, EventKind
from gatebell.domain.enums import AskStatus, Priority, StrEnum
from gatebell.domain.text.display import storable
from gatebell.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from gatebell.domain.asks.asks import Ask


class QuestionType(StrEnum):
    """What a question in a file wants to get back."""

    TEXT = "text"
    YESNO = "yesno"
    SELECT = "select"


YES_OR_NO = ("yes", "no")
DEFAULT_SECONDS = 300
MAX_SECONDS = 7 * 86_400
MAX_BYTES = 1_500_000
"""Of one file: 200,000 characters, each escaped."""

_NAME = re.compile(r"q_(agent_[A-Za-z0-9.-]{1,64})_(\d{1,12})_([A-Za-z0-9-]{8,64})\.json", re.ASCII)
# The original script of this protocol names its process three times and the time twice. The time is in
# nanoseconds, in seconds, or in seconds with an N where `date` knows no nanoseconds.
_ORIGINAL = re.compile(r"q_(agent_(\d{1,10}))_((\d{1,12})N?|\d{19})_(\3_\2_\2)\.json", re.ASCII)
_ORIGINAL_ANSWER = re.compile(
    r"a_(agent_\d{1,10})_((\d{1,19}N?)_\d{1,10}_\d{1,10})\.json", re.ASCII
)
_NANOSECONDS = 10**9
_NOT_ASKED = ("refused", "timed_out")
_MIN_OPTIONS = 2
_MAX_OPTIONS = 100
_MAX_PID = 2**31
_MAX_NAME_LENGTH = 200
_MAX_FOLDER_LENGTH = 4_096
_MAX_SHOWN_LENGTH = 100


class Name(NamedTuple):
    """What the name of a question's file tells."""

    file: str
    agent: str
    timestamp: int
    id: str

    @property
    def is_original(self) -> bool:
        """Whether the original script asks. It prints the content of any answer's file."""
        return "_" in self.id

    @property
    def answer(self) -> str:
        """The name of the file that its answer is written to."""
        return f"a_{self.agent}_{self.id}.json" if self.is_original else f"a_{self.file[2:]}"


class FileQuestion(NamedTuple):
    """What an agent asks by a file."""

    name: Name
    agent_name: str
    folder: str
    """Where the agent says it works."""
    type: QuestionType
    content: str
    options: tuple[str, ...]
    priority: Priority
    seconds: int
    """How long the agent waits, from its timestamp on."""
    pid: int | None = None
    """The process of the agent, as its script saw it."""

    def left(self, now: datetime) -> float:
        """The seconds until nobody waits any more; a clock that runs ahead gains nothing."""
        age = now.timestamp() - self.name.timestamp
        return min(float(self.seconds), self.seconds - age)


def parse_name(file: str) -> Name | None:
    """What a file's name tells; None: it is no question's."""
    if found := _NAME.fullmatch(file):
        return Name(file, found[1], int(found[2]), found[3])
    if found := _ORIGINAL.fullmatch(file):
        seconds = int(found[4]) if found[4] else int(found[3]) // _NANOSECONDS
        return Name(file, found[1], seconds, found[5])
    return None


def parse_answer_name(file: str) -> Name | None:
    """The name of the question that a file of this name answers; None: it answers none."""
    if found := _ORIGINAL_ANSWER.fullmatch(file):
        return parse_name(f"q_{found[1]}_{found[3]}_{found[2]}.json")
    return parse_name(f"q_{file[2:]}") if file.startswith("a_") else None


def parse_question(name: Name, content: bytes) -> FileQuestion:
    """The question that a file holds; UsageError says what is wrong with it."""
    given = _object(_with_a_number(name, content))
    if given.get("id") != name.id:
        raise UsageError("its id is not the one in its name")
    if given.get("agent_id", name.agent) != name.agent:
        raise UsageError("its agent_id is not the one in its name")
    try:
        kind = QuestionType(given.get("type", QuestionType.TEXT))
    except ValueError:
        raise UsageError(f"its type is none of {', '.join(QuestionType)}") from None
    options = _options(given.get("options", [])) if kind == QuestionType.SELECT else ()
    if kind == QuestionType.SELECT and len(options) < _MIN_OPTIONS:
        raise UsageError(f"a select needs options, {_MIN_OPTIONS} or more")
    return FileQuestion(
        name,
        _text(given, "agent_name", _MAX_NAME_LENGTH) or name.agent,
        _text(given, "working_dir", _MAX_FOLDER_LENGTH),
        kind,
        _content(given),
        options,
        parse_priority(_text(given, "priority", 20) or "normal"),
        _seconds(given.get("timeout", DEFAULT_SECONDS)),
        _pid(given.get("pid"), name),
    )


def _pid(given: Any, name: Name) -> int | None:
    """Where a script has no such field, the agent may have the name of its process."""
    if type(given) is int and 0 < given < _MAX_PID:
        return given
    number = name.agent.removeprefix("agent_")
    return int(number) if number.isdecimal() else None


def _with_a_number(name: Name, content: bytes) -> bytes:
    """On a Mac the original script writes a timestamp that ends with N, which is no JSON."""
    time = name.id.partition("_")[0]
    if not name.is_original or not time.endswith("N"):
        return content
    field = f'"timestamp": {time}'.encode()
    return content.replace(field, field[:-1], 1)


def _object(content: bytes) -> dict[str, Any]:
    try:
        found = json.loads(
            content.decode("utf-8-sig"), object_pairs_hook=_once, parse_constant=_no_json
        )
    except RecursionError:
        raise UsageError("it is nested too deeply") from None
    except ValueError as error:
        raise UsageError(f"it is no whole JSON object in UTF-8 ({str(error)[:80]})") from None
    if not isinstance(found, dict):
        raise UsageError("it is no JSON object")
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands there twice")
    return found


def _no_json(constant: str) -> None:
    raise ValueError(constant)


def _text(given: dict[str, Any], name: str, longest: int) -> str:
    text = given.get(name, "")
    if not isinstance(text, str) or len(text) > longest:
        raise UsageError(f"its {name} is no text of at most {longest} characters")
    return text


def _content(given: dict[str, Any]) -> str:
    content = _text(given, "content", MAX_PROMPT_CHARACTERS)
    if not content.strip():
        raise UsageError("it asks nothing: its content is empty")
    return content


def _options(given: Any) -> tuple[str, ...]:
    if not isinstance(given, list) or not all(isinstance(one, str) for one in given):
        raise UsageError("its options are no list of texts")
    found = tuple(dict.fromkeys(one.strip() for one in given if one.strip()))
    if len(found) > _MAX_OPTIONS:
        raise UsageError(f"it has more than {_MAX_OPTIONS} options")
    return found


def _seconds(given: Any) -> int:
    if isinstance(given, bool) or not isinstance(given, int) or not 0 < given <= MAX_SECONDS:
        raise UsageError(f"its timeout is no number of seconds from 1 to {MAX_SECONDS}")
    return given


def told_ask(content: bytes) -> str:
    """The ask whose end an answer's file claims to tell; empty: nobody was asked.

    UsageError: it is no such file, or holds an answer although nobody was asked.
    """
    given = _object(content)
    ask_id = given.get("ask")
    if not isinstance(ask_id, str):
        raise UsageError("it names no ask")
    if not ask_id and (given.get("content") or given.get("status") not in _NOT_ASKED):
        raise UsageError("it holds an answer, and nobody was asked")
    return ask_id


def foreign(path: str, stamp: Sequence[int]) -> Event:
    """An answer's file that nobody here wrote; the stamp tells it from others in its place."""
    return Event(EventKind.FILE_FOREIGN, storable(path), "gate", {"stamp": list(stamp)})


def answer_file(name: Name, ask: Ask, text: str) -> bytes:
    """What the asker is told of a settled ask; only `answered` has a content that is an answer."""
    answered = ask.status == AskStatus.ANSWERED
    at = ask.settled_at or ask.opened_at
    reason = "" if answered else ask.note or settled_sentence(ask)
    return _written(name, at, text if answered else "", ask.status, ask.id, reason)


def refusal_file(name: Name, reason: str, now: datetime, status: str = "refused") -> bytes:
    """What the asker is told of a question that was not asked."""
    return _written(name, now, "", status, "", reason)


def _written(
    name: Name, at: datetime, content: str, status: str, ask_id: str, reason: str
) -> bytes:
    return document(
        {
            "id": name.id,
            "agent_id": name.agent,
            "timestamp": int(at.timestamp()),
            "type": "answer",
            "content": content,
            "status": status,
            "ask": ask_id,
            "reason": reason,
        }
    )


def document(value: Any) -> bytes:
    """A file's content."""
    return (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode("utf-8", "replace")


def shorten(content: str) -> str:
    """The beginning of a question, as the queue shows it."""
    return content if len(content) <= _MAX_SHOWN_LENGTH else f"{content[:_MAX_SHOWN_LENGTH]}..."
