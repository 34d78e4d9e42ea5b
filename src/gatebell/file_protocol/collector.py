"""Collects the questions that agents ask by files, and writes the answers back.

The store is the truth: after a kill, a new collector finds the ask of every question by its key,
and writes missing answers again. Files never settle anything.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from gatebell.domain.asks import file_questions
from gatebell.domain.asks.file_questions import (
    FileQuestion,
    parse_name,
    parse_question,
)
from gatebell.domain.enums import AskStatus, StrEnum
from gatebell.errors import GateError, StoreError, UsageError
from gatebell.file_protocol import folders
from gatebell.file_protocol.answers import Answers, Happening, HappeningKind, build_answer
from gatebell.file_protocol.asker import FileAsker, is_from_file
from gatebell.file_protocol.registry import Registry
from gatebell.services.asks import apply_deadlines, wait_for_ask
from gatebell.services.permissions import permit_call

if TYPE_CHECKING:
    from collections.abc import Callable

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.asks.file_questions import Name
    from gatebell.domain.people.principals import Caller
    from gatebell.file_protocol.folders import Helpers
    from gatebell.ports.store import Store

MAX_WAITING = 500
"""Limit of one project; further questions stay in their files until there is room."""
_RESCAN_SECONDS = 3.0
_STILL_BEING_WRITTEN_SECONDS = 1.0
# The script removes its draft in a second process, which may be slow on a busy machine.
_STILL_BEING_LINKED_SECONDS = 5.0
# Then answers are written back before the next files are read.
_AT_ONCE_SECONDS = 0.2
_MAX_SETTLED = 500
_KEPT = timedelta(days=1)
_NOT_TOLD = "its old script cannot show this: move scripts/ask-human.sh away, then run gate init"


class _FileState(StrEnum):
    """The progress of a question in a file."""

    WAITING = "waiting"
    WRITTEN = "written"
    """Its answer is in its file."""
    TAKEN = "taken"
    OVER = "over"
    """No answer is written."""


class _Known(NamedTuple):
    """A question file and its ask."""

    question: FileQuestion
    stamp: tuple[int, ...]
    ask: Ask
    state: _FileState = _FileState.WAITING
    left_at: float | None = None
    """When the question of an original script was gone while its answer was still there."""


class _Odd(NamedTuple):
    """A file that was not accepted, as it was when it was read."""

    stamp: tuple[int, ...]
    since: float
    told: bool


class Collector:
    """The questions and answers of one project."""

    def __init__(
        self, store: Store, helpers: Helpers, caller: Caller, tell: Callable[[Happening], None]
    ) -> None:
        """`caller` is the person in whose name it listens; the agents' asks are opened for them."""
        self._store, self._helpers, self._tell = store, helpers, tell
        self._asker = FileAsker(store, helpers.project, caller)
        self.registry = Registry(helpers)
        self._answers = Answers(store, helpers, tell)
        self._known: dict[str, _Known] = {}
        self._odd: dict[str, _Odd] = {}
        self._problems: dict[str, str] = {}
        self._stamps: tuple[int, int] = (0, 0)
        self._scanned_at = float("-inf")
        self._again = False
        self._has_caught_up = False

    @property
    def waiting(self) -> list[FileQuestion]:
        """Return the questions for which agents wait now."""
        return [one.question for one in self._known.values() if one.state == _FileState.WAITING]

    def look(self, changed: frozenset[str] | None = None) -> None:
        """Check the files if they may have changed, and the `changed` asks (None: all asks)."""
        stamps = (self._helpers.questions.stamp(), self._helpers.answers.stamp())
        now = self._store.monotonic()
        due = now - self._scanned_at >= _RESCAN_SECONDS
        # Once more after a change: the next change may have the same time stamp.
        has_moved = stamps != self._stamps or self._again
        self._again = stamps != self._stamps
        self._stamps = stamps
        if due or has_moved:
            self._scanned_at = now if due else self._scanned_at
            self._scan(due)
        self._write_back(None if due else changed)
        if due or has_moved or changed is None or changed:
            self.registry.write(self.waiting, self._store.now())

    # Questions

    def _scan(self, due: bool) -> None:
        names = self._helpers.questions.names()
        if len(names) >= folders.MAX_NAMES:
            self._complain("names", f"more than {len(names)} files in questions: some are not read")
        present = {name for name in names if name.startswith("q_")}
        self._drop_gone(present)
        until = self._store.monotonic() + _AT_ONCE_SECONDS
        room = MAX_WAITING - len(self.waiting)
        # New files first: unreadable ones must not delay them.
        unknown = sorted(present - self._known.keys(), key=lambda file: (file in self._odd, file))
        for file in unknown:
            if not room:
                self._complain(
                    "", f"more than {MAX_WAITING} questions wait: the others wait in files"
                )
                break
            if self._store.monotonic() > until:
                self._again = True
                break
            odd = self._odd.get(file)
            if odd is None or not odd.told or due:
                room -= self._take_in(file)
        else:
            self._catch_up()
        self._again |= not self._answers.look(until)

    def _take_in(self, file: str) -> bool:
        """Open the ask of a question file; return False if it is not a valid question."""
        stamp, odd = self._helpers.questions.file_stamp(file), self._odd.get(file)
        if not stamp or (odd and odd.told and odd.stamp == stamp):
            return False
        name = parse_name(file)
        try:
            question = self._read(name, file)
            left = question.left(self._store.now())
            if left <= 0 and self._store.asks.with_key(self._asker.key(question.name)) is None:
                self._turn_away(
                    file,
                    stamp,
                    "its time was over before a listener started",
                    HappeningKind.TIMED_OUT,
                )
                return False
            ask, is_new = self._asker.open(question, max(left, 1.0))
        except FileNotFoundError:
            return False
        except UsageError as error:
            self._wait_for_rest(file, stamp, error)
            return False
        except StoreError:
            raise
        except GateError as error:
            self._turn_away(file, stamp, str(error))
            return False
        self._odd.pop(file, None)
        self._known[file] = _Known(question, stamp, ask)
        self.registry.record_question(question, self._store.now(), is_new=is_new)
        return True

    def _read(self, name: Name | None, file: str) -> FileQuestion:
        if name is None:
            raise UsageError("its name is not the name of a question")
        return parse_question(name, self._helpers.questions.read(file))

    def _wait_for_rest(self, file: str, stamp: tuple[int, ...], why: UsageError) -> None:
        """Refuse a file once it stays unchanged: its writer may not be done yet."""
        now, odd = self._store.monotonic(), self._odd.get(file)
        is_linked = isinstance(why, folders.SeveralNamesError)
        patience = _STILL_BEING_LINKED_SECONDS if is_linked else _STILL_BEING_WRITTEN_SECONDS
        if odd is None or odd.stamp != stamp:
            self._odd[file] = _Odd(stamp, now, told=False)
            self._again = True
        elif now - odd.since < patience:
            self._again = True
        else:
            self._turn_away(file, stamp, str(why))

    def _turn_away(
        self,
        file: str,
        stamp: tuple[int, ...],
        why: str,
        status: HappeningKind = HappeningKind.REFUSED,
    ) -> None:
        self._odd[file] = _Odd(stamp, self._store.monotonic(), told=True)
        name = parse_name(file)
        is_original = name is not None and name.is_original
        hint = f"; {_NOT_TOLD}" if is_original and status == HappeningKind.REFUSED else ""
        self._tell(Happening(status, file, f"{why}{hint}"))
        # The original script would print a refusal as an answer, so it runs into its own time limit.
        if name and not is_original:
            content = file_questions.refusal_file(name, why, self._store.now(), status)
            self._write_answer(name, content)

    def _drop_gone(self, present: set[str]) -> None:
        for file in [file for file in self._odd if file not in present]:
            del self._odd[file]
        # By name: of very many files, not all are listed.
        for file, known in list(self._known.items()):
            if not self._is_same(file, known) and not self._is_leaving(file, known):
                self._let_go(file, known)

    def _is_leaving(self, file: str, known: _Known) -> bool:
        """Return whether an original script is cleaning up: question first, then answer."""
        name, now = known.question.name, self._store.monotonic()
        is_read = (
            name.is_original and known.state == _FileState.WRITTEN and not self._is_there(file)
        )
        if not is_read or not self._helpers.answers.file_stamp(name.answer):
            return False
        left_at = now if known.left_at is None else known.left_at
        self._known[file] = known._replace(left_at=left_at)
        self._again = True
        return now - left_at < _STILL_BEING_WRITTEN_SECONDS

    def _is_there(self, file: str) -> bool:
        return bool(self._helpers.questions.file_stamp(file))

    def _is_same(self, file: str, known: _Known) -> bool:
        """Return whether a file still has the same question."""
        stamp = self._helpers.questions.file_stamp(file)
        if stamp == known.stamp:
            return True
        try:
            if self._read(known.question.name, file) != known.question:
                return False
        except (OSError, UsageError):
            return False
        self._known[file] = known._replace(stamp=stamp)
        return True

    def _let_go(self, file: str, known: _Known) -> None:
        """Withdraw the ask of a question that its agent removed."""
        del self._known[file]
        ask = self._store.asks.get(known.ask.id)
        name = known.question.name
        if ask is None:
            return
        if ask.pending:
            # The same agent may wait for it by another file.
            if not any(other.ask.id == ask.id for other in self._known.values()):
                self._withdraw(ask, name)
        elif known.state == _FileState.WRITTEN and not self._helpers.answers.file_stamp(
            name.answer
        ):
            self._take(ask)
        elif self._answers.is_ours(name.answer):
            # No agent fetches this answer any more; the store keeps it.
            self._helpers.answers.remove(name.answer)

    def _withdraw(self, ask: Ask, name: Name) -> None:
        permit_call.retire(self._store, ask, self._asker.agent(name), "withdrawn by its agent")

    def _take(self, ask: Ask) -> None:
        """Record that the agent has removed the answer, which it does after printing it."""
        wait_for_ask.take(self._store, ask, f"agent:{ask.origin.session}")

    def _catch_up(self) -> None:
        """Process, once, the changes that agents made while no listener ran."""
        if self._has_caught_up:
            return
        self._has_caught_up = True
        known = {one.ask.id for one in self._known.values()}
        asks = self._store.asks.pending(MAX_WAITING * 2, self._helpers.project)
        for ask in [*asks, *self._store.asks.list_settled(_MAX_SETTLED)]:
            name = parse_name(ask.origin.tool_use_id)
            is_here = ask.origin.project == self._helpers.project
            if name is None or ask.id in known or not is_here or not is_from_file(ask):
                continue
            if ask.pending:
                # A file that exists but was not listed still waits.
                if name.file in self._odd or not self._is_there(name.file):
                    self._withdraw(ask, name)
            elif not self._helpers.answers.file_stamp(name.answer):
                self._take(ask)

    # Answers

    def _write_back(self, changed: frozenset[str] | None) -> None:
        for file, known in list(self._known.items()):
            is_new = changed is None or known.ask.id in changed or not known.ask.pending
            if known.state == _FileState.WAITING and is_new:
                ask = self._store.asks.get(known.ask.id) or known.ask
                if not (ask := apply_deadlines.fall_due(self._store, ask)).pending:
                    self._answer(file, known, ask)
            elif known.state == _FileState.WRITTEN:
                self._look_after(file, known)

    def _answer(self, file: str, known: _Known, ask: Ask) -> None:
        name = known.question.name
        if name.is_original and ask.status != AskStatus.ANSWERED:
            # Its script would print any file as an answer; without a file it ends with an error.
            self._helpers.questions.remove(file)
            self._known[file] = known._replace(ask=ask, state=_FileState.OVER)
        elif self._write_answer(name, build_answer(name, ask)):
            self._known[file] = known._replace(ask=ask, state=_FileState.WRITTEN)
            self.registry.record_answer(name.agent, ask.settled_at or self._store.now())

    def _look_after(self, file: str, known: _Known) -> None:
        """Check a written answer until its agent has taken it, or no longer can."""
        name, ask = known.question.name, known.ask
        if not self._helpers.answers.file_stamp(name.answer):
            self._take(ask)
            self._known[file] = known._replace(state=_FileState.TAKEN)
        elif ask.settled_at and self._store.now() - ask.settled_at > _KEPT:
            self._helpers.questions.remove(file)
            self._helpers.answers.remove(name.answer)

    def _write_answer(self, name: Name, content: bytes) -> bool:
        """Write an answer file; return False if that fails, so that other answers go on."""
        try:
            self._helpers.answers.publish(name.answer, content)
        except OSError as error:
            why = f"{name.answer} cannot be written: {error.strerror}"
            self._complain(name.answer, why)
            return False
        self._problems.pop(name.answer, None)
        return True

    def _complain(self, what: str, why: str) -> None:
        """Report each problem once."""
        if self._problems.get(what) != why:
            self._problems[what] = why
            self._tell(Happening(HappeningKind.PROBLEM, self._helpers.project, why))
