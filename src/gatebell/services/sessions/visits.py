"""People's visits in the session of an ask: whether one is open, and their results.

The asker gets nothing before the last visit has ended. After that the results never change.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gatebell.domain.asks.outcomes import Visits, sum_up
from gatebell.domain.enums import AskKind
from gatebell.domain.sessions.visits import LOST, find_transcript_gap
from gatebell.errors import GateError
from gatebell.ports.results import Done
from gatebell.services.asks.create_ask import get
from gatebell.services.sessions import presence

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.asks.questions import Question
    from gatebell.domain.sessions.proposals import Proposal
    from gatebell.domain.sessions.visits import Visit
    from gatebell.ports.agents import Host, Hosts, Talk
    from gatebell.ports.store import Store

_MAX_TRANSCRIPT_CHARACTERS = 1_000_000
_NOTHING_SAID = "its log was empty when the result was handed over"


def is_open(store: Store, ask: Ask) -> bool:
    """Return whether a person is in the session of an ask now."""
    if ask.question.kind != AskKind.SESSION:
        return False
    return any(not one.ended_at and presence.holds(store, one) for one in store.asks.visits(ask.id))


def list_visits(store: Store, ask_id: str) -> list[Visit]:
    """Return every visit in the session of an ask; one whose process died counts as lost."""
    found = store.asks.visits(ask_id)
    return [
        one if one.ended_at or presence.holds(store, one) else one._replace(end=LOST)
        for one in found
    ]


def summary(store: Store, ask: Ask, hosts: Hosts) -> Visits:
    """Return the results of the visits of a settled ask, also if a harness was killed."""
    _close_lost(store, ask, hosts)
    return sum_up(ask, store.asks.visits(ask.id))


def _close_lost(store: Store, ask: Ask, hosts: Hosts) -> None:
    """Keep the log of a visit whose harness was killed, once.

    The result that the asker got must not change, even if the agent writes its log later (law 5).
    """
    # Imported here: only session asks need it, and most asks are of other kinds.
    from gatebell.domain.sessions import changes
    from gatebell.services.sessions.lost_visits import close_lost

    while True:
        ask = close_lost(store, get(store, ask.id))
        found = store.asks.visits(ask.id)
        if not found or not _is_log_unread(ask, found[-1]):
            return
        session, words = read_log(store, ask, found, hosts)
        problem = "" if words else _NOTHING_SAID
        told = found[-1]._replace(session=session, transcript=words, problem=problem)
        if isinstance(store.asks.change(changes.update_visit(ask, told), ask.version), Done):
            return


def _is_log_unread(ask: Ask, last: Visit) -> bool:
    """Return whether the log of a lost visit was not read yet."""
    return last.end == LOST and not (last.transcript or last.problem) and _is_captured(ask)


def _is_captured(ask: Ask) -> bool:
    return bool(ask.question.session and ask.question.session.capture_transcript)


def read_log(store: Store, ask: Ask, visits: Sequence[Visit], hosts: Hosts) -> tuple[str, str]:
    """Return the conversation of the last visit, and the part since the last transcript."""
    last = visits[-1]
    if not _is_captured(ask):
        return last.session, ""
    try:
        host = hosts.open(last.cli)
    except GateError:
        # The visit was in the user's own harness, whose log is unknown.
        return last.session, ""
    from gatebell.domain.sessions import session_prompt

    session = last.session or host.found_session(session_prompt.mark(ask.id), last.started_at)
    return session, transcript(talk(store, host, session, ask.id, find_transcript_gap(visits)))


def files_folder(store_path: str, ask_id: str) -> str:
    """Return the folder for the files of a session ask: beside the store, private to the user."""
    return os.path.join(f"{os.path.abspath(store_path)}-sessions", ask_id)


def first_words(store: Store, ask_id: str) -> str:
    """Return the first prompt for the agent of a session."""
    from gatebell.domain.sessions import session_prompt

    return session_prompt.first_words(
        ask_id, os.path.join(files_folder(store.local_path, ask_id), session_prompt.PROMPT_FILE)
    )


def talk(store: Store, host: Host, session: str, ask_id: str, since: datetime) -> Talk | None:
    """Return the conversation; drop our first prompt, which the log lists as the person's."""
    found, ours = host.talk(session, since), first_words(store, ask_id)
    return found and found._replace(said=[one for one in found.said if one.text != ours])


def propose_answer(
    question: Question, found: Talk | None, ours: Sequence[str] = ()
) -> Proposal | None:
    """Return the answer that a conversation suggests; repeated words of `ours` suggest nothing."""
    if found is None:
        return None
    # Imported here: only needed when a person has just left a session.
    from gatebell.domain.sessions.proposals import propose

    options, multiple, schema = question.options, question.multiple, question.schema
    return propose(found.said, question.answered_as, options, multiple, schema, ours)


def transcript(found: Talk | None) -> str:
    """Return a conversation as text, with secrets masked."""
    if found is None:
        return ""
    from gatebell.domain.text.display import storable
    from gatebell.domain.text.redaction import redact

    lines = [f"{one.speaker}: {one.text}" for one in found.said]
    return storable(redact("\n\n".join(lines))[-_MAX_TRANSCRIPT_CHARACTERS:])
