"""The answer files: ours repeat the store, and all others are foreign."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from gatebell.domain.asks import file_questions
from gatebell.domain.asks.asks import Notice
from gatebell.domain.asks.outcomes import answer_text
from gatebell.domain.enums import AskStatus, NoticeKind, StrEnum
from gatebell.domain.notifications.notes import Note
from gatebell.domain.text.display import inert_line, storable
from gatebell.errors import UsageError
from gatebell.file_protocol.folders import TEMPORARY

if TYPE_CHECKING:
    from collections.abc import Callable

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.asks.file_questions import Name
    from gatebell.file_protocol.folders import Helpers
    from gatebell.ports.store import Store

SESSIONS = "files/"
"""The prefix of the sessions of agents that ask by files."""
_MAX_NAMED = 20


class HappeningKind(StrEnum):
    """An event: of a question, a file (`refused`), answers (`foreign`), folders (`repaired`)
    or a project (`held` by another listener)."""

    QUEUED = "queued"
    ANSWERED = "answered"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"
    STATUS = "status"
    REFUSED = "refused"
    FOREIGN = "foreign"
    REPAIRED = "repaired"
    HELD = "held"
    PROBLEM = "problem"


class Happening(NamedTuple):
    """An event that is shown to the people who watch a listener."""

    what: HappeningKind
    who: str
    words: str
    ask: Ask | None = None


def key_of(project: str, name: Name) -> str:
    """Return the key under which the ask of a question file is opened."""
    return f"file:{project}:{name.id}"


def build_answer(name: Name, ask: Ask) -> bytes:
    """Build the answer file for a settled ask."""
    text = answer_text(ask, ask.value) if ask.status == AskStatus.ANSWERED else ""
    return file_questions.answer_file(name, ask, text)


class Answers:
    """The answer folder of one project."""

    def __init__(self, store: Store, helpers: Helpers, tell: Callable[[Happening], None]) -> None:
        self._store, self._helpers, self._tell = store, helpers, tell
        self._judged: dict[str, tuple[int, ...]] = {}

    def look(self, until: float) -> bool:
        """Report files that gate did not write, and leave them; return whether all were checked."""
        folder = self._helpers.answers
        present = [one for one in folder.names() if not one.startswith(TEMPORARY)]
        self._judged = {one: self._judged[one] for one in present if one in self._judged}
        found, is_through = [], True
        for file in present:
            if self._store.monotonic() > until:
                is_through = False
                break
            stamp = folder.file_stamp(file)
            if stamp and self._judged.get(file) != stamp:
                self._judged[file] = stamp
                if not self.is_ours(file):
                    found.append((file, stamp))
        self._report(found)
        return is_through

    def is_ours(self, file: str) -> bool:
        """Return whether a file repeats the store, or says that the question was not asked."""
        name = file_questions.parse_answer_name(file)
        try:
            content = self._helpers.answers.read(file)
            ask_id = file_questions.read_answered_ask(content)
        except FileNotFoundError:
            return True
        except UsageError:
            return False
        if name is None:
            return False
        if not ask_id:
            asked = self._store.asks.with_key(key_of(self._helpers.project, name))
            return asked is None or not asked.pending
        ask = self._store.asks.get(ask_id)
        return (
            ask is not None
            and not ask.pending
            and ask.origin.project == self._helpers.project
            and ask.origin.session == f"{SESSIONS}{name.agent}"
            and content == build_answer(name, ask)
        )

    def _report(self, found: list[tuple[str, tuple[int, ...]]]) -> None:
        """Write a note and an event for files that no listener has reported yet."""
        where, new = self._helpers.answers.path, []
        for file, stamp in found:
            event = file_questions.foreign(os.path.join(where, file), stamp)
            before = [one.event.content for one in self._store.audit.of_subject(event.subject)]
            if event.content not in before:
                new.append((file, event))
        if not new:
            return
        names = ", ".join(inert_line(file, 120) for file, _ in new[:_MAX_NAMED])
        more = f" and {len(new) - _MAX_NAMED} more" if len(new) > _MAX_NAMED else ""
        words = f"not written by gate, so not an answer: {names}{more} in {where}"
        note = Note("gate", self._helpers.project, storable(words), self._store.now())
        self._store.notes.add(note, [event for _, event in new], [Notice(NoticeKind.NOTE, "")])
        self._tell(Happening(HappeningKind.FOREIGN, "gate", words))
