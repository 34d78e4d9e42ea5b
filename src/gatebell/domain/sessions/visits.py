"""Sittings: on which terms a question is worked out in a session, and people's stays in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.domain.enums import AskKind, VisitEnd
from gatebell.domain.records import NamedTuple
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
"""The kind of answer that each kind of outcome is."""

ENDS = {
    VisitEnd.LEFT: "left",
    VisitEnd.TIME: "its time was up",
    VisitEnd.FAILED: "it failed",
    VisitEnd.LOST: "their gate continue died",
    VisitEnd.STOPPED: "it was settled or stopped meanwhile",
}
"""How a sitting can end, in words."""

LOST = VisitEnd.LOST
"""How a visit ended whose harness was killed."""
FAILED = VisitEnd.FAILED
"""How an ask is settled whose session could not be had."""
VIA = "session"
GRACE_SECONDS = 60.0
"""What somebody is given to come to an end when the time of a session is up."""

_COMES_OF_IT = {
    AskKind.APPROVAL: "approve or reject",
    AskKind.CHOICE: "one of the options",
    AskKind.TEXT: "words",
    AskKind.FORM: "a form filled in",
}
_FOREVER_SECONDS = 1e9
_MAX_PROCESSES = 5
_MAX_PROCESS_CHARACTERS = 100


class Terms(NamedTuple):
    """How a session ask is worked out."""

    answer: AskKind = AskKind.TEXT
    """What comes of it: `approval`, `choice`, `text` or `form`."""
    system_prompt: str = ""
    model: str = "sonnet"
    cwd: str = ""
    """Where the session is opened, seen from where it was asked; nothing: there."""
    mcp_config: str = ""
    """A file that names more tools for the agent, seen from where it was asked."""
    session_seconds: float | None = None
    """How long people may stay, all their sittings together."""
    capture_transcript: bool = False
    resume_session: str = ""
    """The conversation that it goes on with, as `Session.session_id` names it."""
    max_attempts: int = 0
    """After so many sittings that failed nobody tries again; 0: a person decides that."""


class Visit(NamedTuple):
    """One person's stay in the session of an ask."""

    id: str
    """All that the session starts carries it in GATE_TURN."""
    ask_id: str
    number: int
    by: str
    cli: str
    session: str
    """The agent's own conversation; empty until it is known."""
    process: str
    """Who opened it, and waits for its end."""
    started_at: datetime
    program: str = ""
    """The agent's program, once it runs."""
    ended_at: datetime | None = None
    end: VisitEnd | Literal[""] = ""
    """`left`; `time`: it was up; `failed`: the program did not do it; `lost`: whoever opened it
    died; `stopped`: the ask was settled meanwhile."""
    problem: str = ""
    """Why it failed, or why a lost one has no transcript."""
    transcript: str = ""
    expires_at: datetime | None = None
    """When the ask would have expired, had they not come."""

    @property
    def conversation(self) -> str:
        return f"{self.cli}/{self.session}"


def make_terms(terms: Terms) -> Terms:
    """Terms that make sense, or a UsageError that says why they do not."""
    if terms.answer not in ANSWERS.values():
        kinds = ", ".join(ANSWERS)
        raise UsageError(f"'{terms.answer}' is no outcome of a session; there are {kinds}")
    texts = (terms.system_prompt, terms.model, terms.cwd, terms.mcp_config, terms.resume_session)
    if not all(isinstance(text, str) for text in texts):
        raise UsageError("system_prompt, model, cwd, mcp_config and resume_session are texts")
    seconds, attempts = terms.session_seconds, terms.max_attempts
    if seconds is not None and not (
        isinstance(seconds, int | float) and 0 < seconds < _FOREVER_SECONDS
    ):
        raise UsageError(f"session_seconds is a number of seconds above 0, not {seconds!r}")
    if type(attempts) is not int or attempts < 0:
        raise UsageError(f"max_attempts is a whole number, not {attempts!r}")
    return terms._replace(answer=AskKind(terms.answer))


def seconds_used(visits: Sequence[Visit], now: datetime) -> float:
    """How long people have been in the session so far; of one who died in it nobody knows.

    Nobody was in it for less than no time, however the clock was set meanwhile.
    """
    known = [one for one in visits if one.end != LOST]
    lasted = (((one.ended_at or now) - one.started_at).total_seconds() for one in known)
    return sum((max(0.0, seconds) for seconds in lasted), 0.0)


def untold_since(visits: Sequence[Visit]) -> datetime:
    """Since when what was said stands in no transcript: the last, or who died just before it."""
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
    """(program, session) that a new sitting goes on with, if there is one."""
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
    holder: Visit | Turn, ask_id: str, orphans: Sequence[str], now: datetime
) -> str:
    """Who is in a session, and what to do about it.

    `orphans` name the processes that live in it though its holder's own is gone.
    """
    since = f"{holder.started_at:%Y-%m-%d %H:%M:%S} UTC"
    ago = age((now - holder.started_at).total_seconds())
    if orphans:
        where = f"its gate continue is gone, but {_living(orphans)}: end that"
    else:
        where = f"in process {holder.process.split('/')[1]}: wait until they leave"
    return (
        f"{inert_line(holder.by, 80)} has this session open since {since} ({ago} ago), {where}, "
        f"or answer without it: gate answer {ask_id}"
    )


def agent_at_work(turn: Turn, ask_id: str) -> str:
    """Why a session cannot be opened in which an agent works by itself, and what to do."""
    pid = turn.process.split("/")[1] if turn.process else "?"
    return (
        f"{inert_line(turn.role, 80)} is at work in this session now (process {pid}): wait until it "
        f"needs you, end it with gate stop {turn.run}, or answer without it: gate answer {ask_id}"
    )


def left_behind(ask_id: str, orphans: Sequence[str]) -> str:
    """Why the asker of a session still waits though its visitor is gone, and what to do."""
    return f"the visitor of {ask_id} is gone, but {_living(orphans)}: end that, or wait for its end"


def _living(orphans: Sequence[str]) -> str:
    shown = [inert_line(one, _MAX_PROCESS_CHARACTERS) for one in orphans[:_MAX_PROCESSES]]
    more = len(orphans) - len(shown)
    return f"process {', '.join(shown)}{f' and {more} more' if more else ''} of it lives"


def facts(terms: Terms, folder: str) -> list[tuple[str, str]]:
    """What people should know of a session before they open it, by name."""
    told = [("Comes of it", _COMES_OF_IT[terms.answer]), ("Model", terms.model)]
    told += [("Folder", terms.cwd or folder), ("More tools", terms.mcp_config)]
    told.append(("Goes on with", terms.resume_session))
    if terms.session_seconds is not None:
        told.append(("Time", f"{age(terms.session_seconds)}, all visits together"))
    told.append(("Transcript", "what is said is kept" if terms.capture_transcript else ""))
    if terms.max_attempts:
        told.append(("Attempts", f"given up after {terms.max_attempts} that failed"))
    return [(name, text) for name, text in told if text]


def stay(visit: Visit, now: datetime, orphans: Sequence[str] = ()) -> str:
    """One sitting as a sentence: who, with what, for how long, and how it ended.

    No process recorded when a lost one ended, so only its begin is told. `orphans` name the
    processes that live in it though its holder's own is gone.
    """
    lasted = f"for {age(((visit.ended_at or now) - visit.started_at).total_seconds())}"
    since = f"since {visit.started_at:%Y-%m-%d %H:%M:%S} UTC"
    who = f"{inert_line(visit.by, 80)} with {inert_line(visit.cli, 40)}"
    if orphans:
        return f"{who}, {since}: {ENDS[LOST]}, but {_living(orphans)}: end that"
    if not visit.end:
        return f"{who}, in it now, {lasted}"
    why = f": {inert_line(visit.problem, 200)}" if visit.problem else ""
    return f"{who}, {since if visit.end == LOST else lasted}: {ENDS[visit.end]}{why}"
