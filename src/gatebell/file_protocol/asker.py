"""Opens the ask of a question that an agent wrote into a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.app.environment import project_key
from gatebell.domain.asks.asks import Origin
from gatebell.domain.asks.file_questions import YES_OR_NO, FileQuestion, QuestionType
from gatebell.domain.enums import AskKind
from gatebell.domain.people.principals import Sighting
from gatebell.errors import GateError
from gatebell.file_protocol.answers import SESSIONS, key_of
from gatebell.services.asks import create_ask, wait_for_ask
from gatebell.services.asks.create_ask import Request

if TYPE_CHECKING:
    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.asks.file_questions import Name
    from gatebell.domain.people.principals import Caller
    from gatebell.ports.store import Store

_NO_READER = "nobody"


class FileAsker:
    """Asks for the agents of one project, in the name of the person who listens."""

    def __init__(self, store: Store, project: str, caller: Caller) -> None:
        self._store, self._project, self._caller = store, project, caller

    def open(self, question: FileQuestion, left: float) -> tuple[Ask, bool]:
        """Open the ask of a question with `left` seconds; return it, and whether it is new."""
        name = question.name
        origin = self._build_origin(question)
        request, agent, key = _build_request(question, left), self.agent(name), self.key(name)
        opened = create_ask.ask(self._store, request, origin, agent, key)
        if opened.attached and self._is_stale(opened.ask, key):
            # Its agent is gone, and the next one in this terminal may ask with the same words.
            wait_for_ask.take(self._store, opened.ask, _NO_READER)
            opened = create_ask.ask(self._store, request, origin, agent, key)
        if opened.ask.origin.session != origin.session:
            raise GateError("its id was used by another agent: use a new id")
        return opened.ask, not opened.attached

    def key(self, name: Name) -> str:
        return key_of(self._project, name)

    def agent(self, name: Name) -> Caller:
        """Return the agent that asks."""
        cli = SESSIONS.rstrip("/")
        seen = Sighting(cli, name.agent, f"it asked by the file {name.file}")
        return self._caller._replace(agent=seen, verified=False, via="file")

    def _is_stale(self, ask: Ask, key: str) -> bool:
        """Return whether the answer belongs to another question, whose time is over."""
        expires_at = ask.deadlines.expires_at
        is_over = not ask.pending and expires_at is not None and expires_at <= self._store.now()
        return is_over and self._store.asks.with_key(key) is None

    def _build_origin(self, question: FileQuestion) -> Origin:
        return Origin(
            project=self._project,
            cwd=question.folder or self._project,
            agent=question.agent_name,
            session=f"{SESSIONS}{question.name.agent}",
            tool_use_id=question.name.file,
            started_by=self._caller.principal,
            project_key=project_key(self._project),
        )


def is_from_file(ask: Ask) -> bool:
    return ask.origin.session.startswith(SESSIONS)


def _build_request(question: FileQuestion, left: float) -> Request:
    options = {QuestionType.YESNO: YES_OR_NO, QuestionType.SELECT: question.options}.get(
        question.type, ()
    )
    return Request(
        question.content,
        AskKind.CHOICE if options else AskKind.TEXT,
        options,
        priority=question.priority,
        expires_seconds=left,
        hard=True,
    )
