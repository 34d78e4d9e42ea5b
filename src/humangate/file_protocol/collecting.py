"""Collecting what agents ask by files, and writing back what people answered, wherever they did.

The store is the truth: a collector that is killed and started again finds every question's ask by its
key, and writes what is missing once more. Files never settle anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from humangate.domain import file_questions
from humangate.domain.asks import Origin
from humangate.domain.display import inert_line
from humangate.domain.file_questions import YES_OR_NO, FileQuestion, parse_name, parse_question
from humangate.domain.outcomes import answer_text
from humangate.domain.principals import Sighting
from humangate.errors import GateError, StoreTroubleError, UsageError
from humangate.file_protocol.registry import Registry
from humangate.service import asking, permitting, sweeping, telling, waiting
from humangate.service.asking import Request

if TYPE_CHECKING:
    from collections.abc import Callable

    from humangate.domain.asks import Ask
    from humangate.domain.file_questions import Name
    from humangate.domain.principals import Caller
    from humangate.doors.store import Store
    from humangate.file_protocol.folders import Helpers

_RESCAN_SECONDS = 3.0
_STILL_BEING_WRITTEN_SECONDS = 1.0
_CLI = "files"


class Happening(NamedTuple):
    """Something that people who look on are told."""

    what: str
    """`queued`, `answered`, `withdrawn`, `refused`, `foreign` or `timed_out`."""
    who: str
    words: str


class _Known(NamedTuple):
    """A question file, and the ask that stands for it."""

    question: FileQuestion
    ask_id: str
    answer: bytes = b""
    """What was written to its answer's file."""


class _Odd(NamedTuple):
    """A file that is not taken, as it was when it was looked at."""

    stamp: tuple[int, ...]
    since: float
    told: bool


class Collector:
    """The questions and answers of one project."""

    def __init__(
        self, store: Store, helpers: Helpers, caller: Caller, tell: Callable[[Happening], None]
    ) -> None:
        """`caller` is the person in whose name it listens; their asks are the agents'."""
        self._store, self._helpers, self._caller, self._tell = store, helpers, caller, tell
        self.registry = Registry(helpers)
        self._known: dict[str, _Known] = {}
        self._odd: dict[str, _Odd] = {}
        self._foreign: dict[str, tuple[int, ...]] = {}
        self._stamps: tuple[int, int] = (0, 0)
        self._scanned_at = float("-inf")

    @property
    def waiting(self) -> list[FileQuestion]:
        """What agents wait for now."""
        return [one.question for one in self._known.values() if not one.answer]

    def look(self, *, rung: bool) -> None:
        """Look at the files if they may have changed; `rung`: the store may have."""
        stamps = (self._helpers.questions.stamp(), self._helpers.answers.stamp())
        now = self._store.monotonic()
        due = now - self._scanned_at >= _RESCAN_SECONDS
        unsettled = any(not odd.told for odd in self._odd.values())
        if stamps == self._stamps and not due and not rung and not unsettled:
            return
        self._stamps = stamps
        self._scanned_at = now
        names = set(self._helpers.questions.names())
        self._drop_gone(names)
        for name in sorted(names - self._known.keys()):
            self._take_in(name)
        self._write_back()
        self._look_for_foreign()
        self.registry.write(self.waiting, self._store.now())

    # Questions

    def _take_in(self, file: str) -> None:
        stamp = self._helpers.questions.file_stamp(file)
        odd = self._odd.get(file)
        if odd and odd.told and odd.stamp == stamp:
            return
        if file.startswith(".tmp."):
            return
        name = parse_name(file)
        try:
            question = self._read(file, name)
        except FileNotFoundError:
            return
        except UsageError as error:
            self._refuse(file, name, str(error), stamp)
            return
        self._odd.pop(file, None)
        self._ask(question)

    def _read(self, file: str, name: Name | None) -> FileQuestion:
        if name is None:
            raise UsageError("its name is not that of a question")
        return parse_question(name, self._helpers.questions.read(file))

    def _refuse(self, file: str, name: Name | None, why: str, stamp: tuple[int, ...]) -> None:
        """Once it stays as it is: somebody may still be writing it."""
        now, odd = self._store.monotonic(), self._odd.get(file)
        if odd is None or odd.stamp != stamp:
            self._odd[file] = _Odd(stamp, now, told=False)
            return
        if now - odd.since < _STILL_BEING_WRITTEN_SECONDS:
            return
        self._odd[file] = odd._replace(told=True)
        self._tell(Happening("refused", file, why))
        if name:
            content = file_questions.refusal_file(name, why, self._store.now())
            self._helpers.answers.write(name.answer, content)

    def _ask(self, question: FileQuestion) -> None:
        left, now = question.left(self._store.now()), self._store.now()
        name = question.name
        if left <= 0 and not self._has_ask(name):
            self._known[name.file] = _Known(question, "", b"-")
            why = "nobody listened before its time was over"
            content = file_questions.refusal_file(name, why, now, "timed_out")
            self._helpers.answers.write(name.answer, content)
            self._tell(Happening("timed_out", question.agent_name, why))
            return
        try:
            opened = asking.ask(
                self._store, _request(question, max(left, 1.0)), self._origin(question),
                self._agent(name), self._key(name),
            )  # fmt: skip
        except StoreTroubleError:
            raise
        except GateError as error:
            self._known[name.file] = _Known(question, "", b"-")
            content = file_questions.refusal_file(name, str(error), now)
            self._helpers.answers.write(name.answer, content)
            self._tell(Happening("refused", name.file, str(error)))
            return
        self._known[name.file] = _Known(question, opened.ask.id)
        self.registry.asked(question, now)
        if not opened.attached:
            self._tell(Happening("queued", question.agent_name, question.content))

    def _has_ask(self, name: Name) -> bool:
        return self._store.asks.with_key(self._key(name)) is not None

    def _key(self, name: Name) -> str:
        return f"file:{self._helpers.project}:{name.id}"

    def _origin(self, question: FileQuestion) -> Origin:
        return Origin(
            project=self._helpers.project,
            cwd=question.folder or self._helpers.project,
            agent=question.agent_name,
            session=f"{_CLI}/{question.name.agent}",
            sponsor=self._caller.principal,
        )

    def _agent(self, name: Name) -> Caller:
        seen = Sighting(_CLI, name.agent, f"it asked by the file {name.file}")
        return self._caller._replace(agent=seen, verified=False, via="file")

    def _drop_gone(self, names: set[str]) -> None:
        """A question that its agent took away is nobody's any more."""
        for file in [file for file in self._known if file not in names]:
            known = self._known.pop(file)
            ask = self._store.asks.get(known.ask_id) if known.ask_id else None
            if ask and ask.pending:
                why = "withdrawn by its agent"
                permitting.retire(self._store, ask, self._agent(known.question.name), why)
                self._tell(
                    Happening("withdrawn", known.question.agent_name, known.question.content)
                )
            elif ask and not self._helpers.answers.file_stamp(known.question.name.answer):
                self._taken(known, ask)
        for file in [file for file in self._odd if file not in names]:
            del self._odd[file]

    # Answers

    def _write_back(self) -> None:
        for file, known in list(self._known.items()):
            if not known.ask_id:
                continue
            ask = self._store.asks.get(known.ask_id)
            if ask is None or (ask := sweeping.fall_due(self._store, ask)).pending:
                continue
            name = known.question.name
            if known.answer:
                if not self._helpers.answers.file_stamp(name.answer):
                    self._taken(known, ask)
                continue
            text = "" if ask.status != "answered" else answer_text(ask, ask.value)
            content = file_questions.answer_file(name, ask, text)
            if not ask.delivered_at:
                self._helpers.answers.write(name.answer, content)
            self._known[file] = known._replace(answer=content)
            self.registry.answered(name.agent, self._store.now())
            self._tell(Happening(ask.status, known.question.agent_name, text or ask.note))

    def _taken(self, known: _Known, ask: Ask) -> None:
        """Its agent has removed the answer, which it does once it has printed it."""
        waiting.take(self._store, ask, f"agent:{_CLI}/{known.question.name.agent}")

    def _look_for_foreign(self) -> None:
        """Answers that nobody here wrote are told of, and left alone: they settle nothing."""
        ours = {known.question.name.answer: known.answer for known in self._known.values()}
        refused = {name.answer for file in self._odd if (name := parse_name(file))}
        present = set(self._helpers.answers.names())
        self._foreign = {file: stamp for file, stamp in self._foreign.items() if file in present}
        for file in sorted(present - refused):
            stamp = self._helpers.answers.file_stamp(file)
            if file.startswith(".tmp.") or self._foreign.get(file) == stamp:
                continue
            if not self._is_ours(file, ours.get(file, b"")):
                self._foreign[file] = stamp
                where = self._helpers.answers.path
                words = f"{inert_line(file, 120)} in {inert_line(where)} was not written by gate"
                origin = Origin(self._helpers.project, agent="gate")
                telling.tell(self._store, origin, self._caller, words)
                self._tell(Happening("foreign", file, words))

    def _is_ours(self, name: str, written: bytes) -> bool:
        if not written:
            return False
        try:
            return written == b"-" or self._helpers.answers.read(name) == written
        except (OSError, UsageError):
            return False


def _request(question: FileQuestion, left: float) -> Request:
    options = {"yesno": YES_OR_NO, "select": question.options}.get(question.type, ())
    return Request(
        question.content,
        "choice" if options else "text",
        options,
        priority=question.priority,
        expires_seconds=left,
        hard=True,
    )
