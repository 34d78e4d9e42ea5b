"""Questions and answers as files: the formats that agents' scripts write and read.

These files are untrusted. The name is checked before the file is opened, and the content before
the question is asked. Neither is ever used as a path.
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
    """The kind of answer that a question in a file takes."""

    TEXT = "text"
    YESNO = "yesno"
    SELECT = "select"


YES_OR_NO = ("yes", "no")
DEFAULT_SECONDS = 300
MAX_SECONDS = 7 * 86_400
MAX_BYTES = 1_500_000
"""The limit for one file: 200,000 characters, each of them escaped."""

_NAME = re.compile(r"q_(agent_[A-Za-z0-9.-]{1,64})_(\d{1,12})_([A-Za-z0-9-]{8,64})\.json", re.ASCII)
# The original script of this protocol writes its process id three times and the time twice. The
# time is in nanoseconds or seconds; it ends with N where `date` does not know nanoseconds.
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
    """The parts of the name of a question's file."""

    file: str
    agent: str
    timestamp: int
    id: str

    @property
    def is_original(self) -> bool:
        """Whether the original script asks. That script prints the content of every answer file."""
        return "_" in self.id

    @property
    def answer(self) -> str:
        """The name of the file for its answer."""
        return f"a_{self.agent}_{self.id}.json" if self.is_original else f"a_{self.file[2:]}"


class FileQuestion(NamedTuple):
    """A question that an agent asks by a file."""

    name: Name
    agent_name: str
    folder: str
    """The folder in which the agent says that it works."""
    type: QuestionType
    content: str
    options: tuple[str, ...]
    priority: Priority
    seconds: int
    """How long the agent waits after its timestamp."""
    pid: int | None = None
    """The process of the agent, as its script wrote it."""

    def left(self, now: datetime) -> float:
        """Return the seconds until the agent stops waiting; a fast clock does not add any."""
        age = now.timestamp() - self.name.timestamp
        return min(float(self.seconds), self.seconds - age)


def parse_name(file: str) -> Name | None:
    """Read a file name; None if it is not the name of a question."""
    if found := _NAME.fullmatch(file):
        return Name(file, found[1], int(found[2]), found[3])
    if found := _ORIGINAL.fullmatch(file):
        seconds = int(found[4]) if found[4] else int(found[3]) // _NANOSECONDS
        return Name(file, found[1], seconds, found[5])
    return None


def parse_answer_name(file: str) -> Name | None:
    """Return the question's name for the name of an answer file; None for other files."""
    if found := _ORIGINAL_ANSWER.fullmatch(file):
        return parse_name(f"q_{found[1]}_{found[3]}_{found[2]}.json")
    return parse_name(f"q_{file[2:]}") if file.startswith("a_") else None


def parse_question(name: Name, content: bytes) -> FileQuestion:
    """Read the question in a file, or raise a UsageError with the reason."""
    given = _parse_object(_repair_timestamp(name, content))
    if given.get("id") != name.id:
        raise UsageError("its id is not the id in its file name")
    if given.get("agent_id", name.agent) != name.agent:
        raise UsageError("its agent_id is not the agent in its file name")
    try:
        kind = QuestionType(given.get("type", QuestionType.TEXT))
    except ValueError:
        raise UsageError(f"expected a type from {', '.join(QuestionType)}") from None
    options = _parse_options(given.get("options", [])) if kind == QuestionType.SELECT else ()
    if kind == QuestionType.SELECT and len(options) < _MIN_OPTIONS:
        raise UsageError(f"a select needs at least {_MIN_OPTIONS} options")
    return FileQuestion(
        name,
        _parse_text(given, "agent_name", _MAX_NAME_LENGTH) or name.agent,
        _parse_text(given, "working_dir", _MAX_FOLDER_LENGTH),
        kind,
        _parse_content(given),
        options,
        parse_priority(_parse_text(given, "priority", 20) or "normal"),
        _parse_seconds(given.get("timeout", DEFAULT_SECONDS)),
        _parse_pid(given.get("pid"), name),
    )


def _parse_pid(given: Any, name: Name) -> int | None:
    """Return the process id, by default from the agent's name."""
    if type(given) is int and 0 < given < _MAX_PID:
        return given
    number = name.agent.removeprefix("agent_")
    return int(number) if number.isdecimal() else None


def _repair_timestamp(name: Name, content: bytes) -> bytes:
    """Repair the timestamp of the original script on macOS: it ends with N, which is not JSON."""
    time = name.id.partition("_")[0]
    if not name.is_original or not time.endswith("N"):
        return content
    field = f'"timestamp": {time}'.encode()
    return content.replace(field, field[:-1], 1)


def _parse_object(content: bytes) -> dict[str, Any]:
    try:
        found = json.loads(
            content.decode("utf-8-sig"),
            object_pairs_hook=_refuse_double_keys,
            parse_constant=_refuse_constant,
        )
    except RecursionError:
        raise UsageError("it is nested too deeply") from None
    except ValueError as error:
        raise UsageError(f"expected one JSON object in UTF-8 ({str(error)[:80]})") from None
    if not isinstance(found, dict):
        raise UsageError("expected a JSON object")
    return found


def _refuse_double_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("it has a key twice")
    return found


def _refuse_constant(constant: str) -> None:
    raise ValueError(constant)


def _parse_text(given: dict[str, Any], name: str, longest: int) -> str:
    text = given.get(name, "")
    if not isinstance(text, str) or len(text) > longest:
        raise UsageError(f"expected a text of at most {longest} characters for {name}")
    return text


def _parse_content(given: dict[str, Any]) -> str:
    content = _parse_text(given, "content", MAX_PROMPT_CHARACTERS)
    if not content.strip():
        raise UsageError("its content is empty: write a question into it")
    return content


def _parse_options(given: Any) -> tuple[str, ...]:
    if not isinstance(given, list) or not all(isinstance(one, str) for one in given):
        raise UsageError("expected a list of texts for options")
    found = tuple(dict.fromkeys(one.strip() for one in given if one.strip()))
    if len(found) > _MAX_OPTIONS:
        raise UsageError(f"it has more than {_MAX_OPTIONS} options")
    return found


def _parse_seconds(given: Any) -> int:
    if isinstance(given, bool) or not isinstance(given, int) or not 0 < given <= MAX_SECONDS:
        raise UsageError(f"expected a timeout in seconds from 1 to {MAX_SECONDS}")
    return given


def read_answered_ask(content: bytes) -> str:
    """Return the ask that an answer file names; empty if no question was asked.

    A UsageError if it is not such a file, or has an answer although no question was asked.
    """
    given = _parse_object(content)
    ask_id = given.get("ask")
    if not isinstance(ask_id, str):
        raise UsageError("it does not name an ask")
    if not ask_id and (given.get("content") or given.get("status") not in _NOT_ASKED):
        raise UsageError("it has an answer, but no person was asked")
    return ask_id


def foreign(path: str, stamp: Sequence[int]) -> Event:
    """Return the event for an answer file that gatebell did not write.

    The stamp tells it from other files at the same path.
    """
    return Event(EventKind.FILE_FOREIGN, storable(path), "gate", {"stamp": list(stamp)})


def answer_file(name: Name, ask: Ask, text: str) -> bytes:
    """Return the answer file of a settled ask; only status `answered` has an answer in it."""
    answered = ask.status == AskStatus.ANSWERED
    at = ask.settled_at or ask.opened_at
    reason = "" if answered else ask.note or settled_sentence(ask)
    return _build_file(name, at, text if answered else "", ask.status, ask.id, reason)


def refusal_file(name: Name, reason: str, now: datetime, status: str = "refused") -> bytes:
    """Return the answer file of a question that was not asked."""
    return _build_file(name, now, "", status, "", reason)


def _build_file(
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
    """Return a value as the content of a JSON file."""
    return (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode("utf-8", "replace")


def shorten(content: str) -> str:
    """Return the beginning of a question for the list of the queue."""
    return content if len(content) <= _MAX_SHOWN_LENGTH else f"{content[:_MAX_SHOWN_LENGTH]}..."
