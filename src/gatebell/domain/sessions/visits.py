"""The terms of session asks, and the visits of people to the sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.domain.enums import AskKind, VisitEnd
from gatebell.domain.records import NamedTuple
from gatebell.domain.runs.identities import parse_identity
from gatebell.domain.text.display import age, inert_line
from gatebell.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from typing import Literal

    from gatebell.domain.runs.runs import Turn

ANSWERS = {
    "approval": AskKind.APPROVAL,
    "selection": AskKind.CHOICE,
    "freeform": AskKind.TEXT,
    "structured": AskKind.FORM,
}
"""The kind of answer for each kind of outcome."""

ENDS = {
    VisitEnd.LEFT: "left",
    VisitEnd.TIME: "its time was up",
    VisitEnd.FAILED: "it failed",
    VisitEnd.LOST: "their gate continue died",
    VisitEnd.STOPPED: "the ask was settled or stopped",
}
"""How a visit can end, in words."""

LOST = VisitEnd.LOST
"""The end of a visit whose `gate continue` was killed."""
FAILED = VisitEnd.FAILED
"""How an ask is settled whose session could not be opened."""
VIA = "session"
GRACE_SECONDS = 60.0
"""The seconds that a person gets to finish when the time of a session is up."""

_RESULTS = {
    AskKind.APPROVAL: "approve or reject",
    AskKind.CHOICE: "one of the options",
    AskKind.TEXT: "a text",
    AskKind.FORM: "a completed form",
}
_FOREVER_SECONDS = 1e9
_MAX_PROCESSES = 5
_MAX_PROCESS_CHARACTERS = 100


class Terms(NamedTuple):
    """The terms of a session ask."""

    answer: AskKind = AskKind.TEXT
    """The kind of its answer: `approval`, `choice`, `text` or `form`."""
    system_prompt: str = ""
    model: str = "sonnet"
    cwd: str = ""
    """The folder of the session, relative to the asker's folder; empty: the asker's folder."""
    mcp_config: str = ""
    """A file with more tools for the agent, relative to the asker's folder."""
    session_seconds: float | None = None
    """The limit for all visits together."""
    capture_transcript: bool = False
    resume_session: str = ""
    """The conversation to go on with, as in `Session.session_id`."""
    max_attempts: int = 0
    """The number of failed visits after which the ask is given up; 0: a person decides."""


class Visit(NamedTuple):
    """One person's visit to the session of an ask."""

    id: str
    """All processes of the session have it in GATE_TURN."""
    ask_id: str
    number: int
    by: str
    cli: str
    session: str
    """The agent's own conversation; empty until it is known."""
    process: str
    """The process that opened it and waits for its end."""
    started_at: datetime
    program: str = ""
    """The agent's program, once it runs."""
    ended_at: datetime | None = None
    end: VisitEnd | Literal[""] = ""
    """`left`; `time`: the time was up; `failed`: the program failed; `lost`: the process that
    opened it died; `stopped`: the ask was settled during the visit."""
    problem: str = ""
    """Why it failed, or why a lost one has no transcript."""
    transcript: str = ""
    expires_at: datetime | None = None
    """The time when the ask would have expired without this visit."""

    @property
    def conversation(self) -> str:
        return f"{self.cli}/{self.session}"


def make_terms(terms: Terms) -> Terms:
    """Return valid terms, or raise a UsageError with the reason."""
    if terms.answer not in ANSWERS.values():
        kinds = ", ".join(ANSWERS)
        raise UsageError(f"expected an outcome of a session from {kinds}, got '{terms.answer}'")
    texts = (terms.system_prompt, terms.model, terms.cwd, terms.mcp_config, terms.resume_session)
    if not all(isinstance(text, str) for text in texts):
        raise UsageError(
            "expected texts for system_prompt, model, cwd, mcp_config and resume_session"
        )
    seconds, attempts = terms.session_seconds, terms.max_attempts
    if seconds is not None and not (
        isinstance(seconds, int | float) and 0 < seconds < _FOREVER_SECONDS
    ):
        raise UsageError(
            f"expected a number of seconds above 0 for session_seconds, got {seconds!r}"
        )
    if type(attempts) is not int or attempts < 0:
        raise UsageError(
            f"expected a whole number of at least 0 for max_attempts, got {attempts!r}"
        )
    return terms._replace(answer=AskKind(terms.answer))


def seconds_used(visits: Sequence[Visit], now: datetime) -> float:
    """Return the duration of all visits so far, without lost ones, whose end is unknown.

    A visit counts at least 0 seconds, even if the clock was set back.
    """
    known = [one for one in visits if one.end != LOST]
    lasted = (((one.ended_at or now) - one.started_at).total_seconds() for one in known)
    return sum((max(0.0, seconds) for seconds in lasted), 0.0)


def find_transcript_gap(visits: Sequence[Visit]) -> datetime:
    """Return the time from which no transcript exists: the last visit and lost ones before it."""
    *earlier, last = visits
    since = last.started_at
    for one in reversed(earlier):
        if one.end != LOST:
            break
        since = one.started_at
    return since


def seconds_left(terms: Terms, visits: Sequence[Visit], now: datetime) -> float | None:
    if terms.session_seconds is None:
        return None
    return max(0.0, terms.session_seconds - seconds_used(visits, now))


def conversation(terms: Terms, visits: Sequence[Visit], cli: str) -> tuple[str, str] | None:
    """Return the (program, session) that a new visit continues; None for a new conversation."""
    for one in reversed(visits):
        if one.session:
            return one.cli, one.session
    if not terms.resume_session:
        return None
    named, slash, session = terms.resume_session.partition("/")
    return (named, session) if slash else (cli, named)


def failures(visits: Sequence[Visit]) -> int:
    return sum(one.end == FAILED for one in visits)


def describe_holder(
    holder: Visit | Turn, ask_id: str, orphans: Sequence[str], now: datetime, host: str = ""
) -> str:
    """Return who has a session open, and what to do.

    `orphans` name the processes that still run in it although its `gate continue` has ended.
    `host`: the name of the holder's host, if it is not this one.
    """
    since = f"{holder.started_at:%Y-%m-%d %H:%M:%S} UTC"
    ago = age((now - holder.started_at).total_seconds())
    if orphans:
        where = f"its gate continue has ended, but {_describe_living(orphans)}: end that"
    else:
        where = f"in {_describe_process(holder.process, host)}: wait until they leave"
    return (
        f"{inert_line(holder.by, 80)} has had this session open since {since} ({ago} ago), {where}, "
        f"or answer without it: gate answer {ask_id}"
    )


def describe_working_agent(turn: Turn, ask_id: str, host: str = "") -> str:
    """Return why a session cannot be opened while its agent works, and what to do."""
    where = _describe_process(turn.process, host)
    return (
        f"{inert_line(turn.role, 80)} is at work in this session now ({where}): wait until it "
        f"needs you, end it with gate stop {turn.run}, or answer without it: gate answer {ask_id}"
    )


def describe_left_behind(ask_id: str, orphans: Sequence[str]) -> str:
    """Return why the asker still waits although its visitor has left, and what to do."""
    living = _describe_living(orphans)
    return f"the visitor of {ask_id} has left, but {living}: end that, or wait for it"


def _describe_process(process: str, host: str) -> str:
    pid = parse_identity(process).pid if process else "?"
    return f"process {pid}{f' on host {host}' if host else ''}"


def _describe_living(orphans: Sequence[str]) -> str:
    shown = [inert_line(one, _MAX_PROCESS_CHARACTERS) for one in orphans[:_MAX_PROCESSES]]
    more = len(orphans) - len(shown)
    return f"process {', '.join(shown)}{f' and {more} more' if more else ''} of it still runs"


def facts(terms: Terms, folder: str) -> list[tuple[str, str]]:
    """Return the facts that people need before they open a session, by name."""
    rows = [("Result", _RESULTS[terms.answer]), ("Model", terms.model)]
    rows += [("Folder", terms.cwd or folder), ("More tools", terms.mcp_config)]
    rows.append(("Continues", terms.resume_session))
    if terms.session_seconds is not None:
        rows.append(("Time", f"{age(terms.session_seconds)}, all visits together"))
    rows.append(("Transcript", "the conversation is kept" if terms.capture_transcript else ""))
    if terms.max_attempts:
        rows.append(("Attempts", f"given up after {terms.max_attempts} failed ones"))
    return [(name, text) for name, text in rows if text]


def stay(visit: Visit, now: datetime, orphans: Sequence[str] = ()) -> str:
    """Return one visit as a sentence: who, with which program, how long, and how it ended.

    The end of a lost visit is unknown, so only its start is given. `orphans` name the
    processes that still run in it although its `gate continue` has ended.
    """
    lasted = f"for {age(((visit.ended_at or now) - visit.started_at).total_seconds())}"
    since = f"since {visit.started_at:%Y-%m-%d %H:%M:%S} UTC"
    who = f"{inert_line(visit.by, 80)} with {inert_line(visit.cli, 40)}"
    if orphans:
        return f"{who}, {since}: {ENDS[LOST]}, but {_describe_living(orphans)}: end that"
    if not visit.end:
        return f"{who}, open now, {lasted}"
    why = f": {inert_line(visit.problem, 200)}" if visit.problem else ""
    return f"{who}, {since if visit.end == LOST else lasted}: {ENDS[visit.end]}{why}"
