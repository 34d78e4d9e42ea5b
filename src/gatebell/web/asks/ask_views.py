"""The views of asks, as plain data for the templates."""

from __future__ import annotations

from datetime import timedelta
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

from gatebell.domain.asks.asks import settled_word
from gatebell.domain.asks.duplicates import alike, groups
from gatebell.domain.asks.gone_askers import describe_background
from gatebell.domain.asks.headings import list_heading, option_meanings, short_heading
from gatebell.domain.asks.messages import warn_of_silence
from gatebell.domain.asks.outcomes import answer_text
from gatebell.domain.asks.owners import run_of
from gatebell.domain.asks.requirements import why_not
from gatebell.domain.enums import AnswerOutcome, AskStatus, Priority
from gatebell.domain.people.principals import is_person
from gatebell.domain.permissions.call_changes import relative
from gatebell.domain.permissions.calls import headline
from gatebell.domain.permissions.past_calls import describe_tally
from gatebell.domain.permissions.patterns import propose_pattern
from gatebell.domain.sessions import visits
from gatebell.domain.sessions.joined_sessions import path_of
from gatebell.domain.text.display import SHOWN_CHARACTERS, mark_blanks
from gatebell.services.asks.apply_deadlines import apply_due
from gatebell.services.asks.waiters import WAITER_GONE, describe_unheard, is_waiter_gone
from gatebell.services.people.trust import describe_trust
from gatebell.services.permissions.standing_rules import suggest_for
from gatebell.services.sessions import presence
from gatebell.services.sessions.visits import list_visits
from gatebell.web.asks import diffs, work_view
from gatebell.web.asks.activity_view import read_activity
from gatebell.web.asks.call_view import view_call
from gatebell.web.asks.long_texts import context, split_markdown, split_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from gatebell.domain.asks.answers import Answer
    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.audit.events import Entry
    from gatebell.domain.people.principals import Caller
    from gatebell.domain.runs.runs import Run
    from gatebell.domain.tasks.tasks import Task
    from gatebell.ports.store import Store
    from gatebell.web.asks.activity_view import Activity
    from gatebell.web.context import WebRequest

MAX_LISTED = 200
URGENCIES = tuple(priority.word for priority in Priority)
_NOTES_ARE_SHOWN = timedelta(hours=24)
_IS_ANSWERING = timedelta(seconds=60)
_MAX_NOTES = 20
_MAX_HEADING_LENGTH = 300
_FOLDED = 1_200
_DAYS = 14
_AGES = (("under 5 minutes", 300), ("5 to 60 minutes", 3600), ("1 to 24 hours", 86400))


class Listed(NamedTuple):
    """One line of the inbox: a question and all its askers."""

    asks: list[Ask]
    answering: list[str]
    """Other people who are writing an answer to it now."""
    tasks: list[Task]
    is_gone: bool = False
    """Whether no asker waits for it any more."""
    title: str = ""
    """The run that waits for it."""
    has_vote: bool = False
    """Whether the reader's own answer counts already."""

    @property
    def ask(self) -> Ask:
        return self.asks[0]

    @property
    def prompt(self) -> str:
        """The question; a file is named as in its project."""
        return list_heading(self.ask)

    @property
    def command(self) -> str:
        """The command, if the question is only whether it may run."""
        call = self.ask.question.call
        is_plain = call and self.ask.question.prompt == headline(call)
        return mark_blanks(call.command) if call and is_plain else ""

    @property
    def agents(self) -> str:
        return ", ".join(dict.fromkeys(ask.origin.agent or "an agent" for ask in self.asks))

    @property
    def ids(self) -> list[str]:
        return [ask.id for ask in self.asks]


def inbox(web_request: WebRequest) -> dict[str, Any]:
    """The list beside every page."""
    store, now = web_request.store, web_request.store.now()
    if "read" not in web_request.who.scopes:
        return {"listed": [], "shown": 0, "notes": [], "urgencies": URGENCIES}
    apply_due(store)
    pending = store.asks.pending(MAX_LISTED)
    writing = _answering(store, web_request.caller, now)
    listed = [
        (project, [_list_one(web_request, same, writing) for same in all_])
        for project, all_ in groups(pending)
    ]
    since = now - _NOTES_ARE_SHOWN
    notes = [note for note in store.notes.newest(_MAX_NOTES) if note.sent_at > since]
    return {"listed": listed, "shown": len(pending), "notes": notes, "urgencies": URGENCIES}


def _list_one(web_request: WebRequest, same: list[Ask], writing: dict[str, list[str]]) -> Listed:
    store = web_request.store
    run = work_view.find_run(store, same[0])
    return Listed(
        same,
        [who for one in same for who in writing.get(one.id, ())],
        tasks_of(store, same),
        all(is_waiter_gone(store, one) for one in same),
        work_view.name_run(store, run) if run else "",
        all(_has_vote(store, one, web_request.caller) for one in same),
    )


def list_pending(store: Store) -> list[Ask]:
    """Return the waiting asks in the order of the list."""
    apply_due(store)
    grouped = groups(store.asks.pending(MAX_LISTED))
    return [one for _, all_ in grouped for same in all_ for one in same]


def is_open_for(store: Store, one: Ask, caller: Caller) -> bool:
    """Return whether an answer of this person would count, and is not there yet."""
    return not _has_vote(store, one, caller) and not _find_bar(one, caller)


def _has_vote(store: Store, one: Ask, caller: Caller) -> bool:
    if not one.question.requirement.personal:
        return False
    return any(vote.principal == caller.actor for vote in _votes(store.asks.answers(one.id)))


def _find_bar(one: Ask, caller: Caller) -> str | None:
    return why_not(one.question.requirement, one.origin.started_by, one.origin.session, caller)


def tasks_of(store: Store, asks: Iterable[Ask]) -> list[Task]:
    """Return the tasks of the asks, each once."""
    names = dict.fromkeys(one.origin.task for one in asks if one.origin.task)
    return [task for name in names if (task := store.tasks.get(name))]


def _answering(store: Store, caller: Caller, now: datetime) -> dict[str, list[str]]:
    """Return by ask who else has saved a draft within the last minute."""
    found: dict[str, list[str]] = {}
    for ask_id, principal in store.asks.drafting(now - _IS_ANSWERING):
        if principal != caller.actor:
            found.setdefault(ask_id, []).append(principal.removeprefix("person:"))
    return found


def ask(web_request: WebRequest, one: Ask) -> dict[str, Any]:
    """Build the view of one ask."""
    store, question = web_request.store, one.question
    answers = store.asks.answers(one.id)
    heading = short_heading(one)
    run = work_view.find_run(store, one)
    activity = read_activity(one.activity, question.call)
    work = _work(store, one, run, activity) if run and not question.call else None
    pending = store.asks.pending(MAX_LISTED) if one.pending else []
    return {
        "ask": one,
        "of_run": _of_run(one),
        "unheard": WAITER_GONE if is_waiter_gone(store, one) else "",
        "tasks": tasks_of(store, [one]),
        "background": describe_background(one),
        "run_title": work_view.name_run(store, run) if run else "",
        "heading": heading if len(heading) <= _MAX_HEADING_LENGTH else "",
        "prompt": split_text(question.prompt),
        "call": view_call(one),
        "proposed": propose_pattern(question.call, store.now()) if question.call else "",
        "standing": _describe_suggestion(store, one),
        "session": _session(store, one),
        "context": context(one),
        "meanings": option_meanings(question),
        "work": work,
        "activity": _activity(activity, one, is_work=bool(work)),
        "talk": store.asks.messages(one.id),
        "has_silent_asker": bool(warn_of_silence(one)),
        "default": None if question.default is None else answer_text(one, question.default),
        "votes": _votes(answers) if question.requirement.personal else [],
        "barred": _find_bar(one, web_request.caller),
        "needs_token": question.requirement.personal and not web_request.who.verified,
        "trust": describe_trust(store, one),
        # Of one person on their own machine, no one doubts the name.
        "claims": question.gates and not web_request.who.verified and bool(store.people.all()),
        "answering": _answering(store, web_request.caller, store.now()).get(one.id, []),
        "alike": alike(one, pending),
        "outcome": _outcome(store, one, answers),
        "uncounted": [
            _describe_rejected(one, a)
            for a in answers
            if a.outcome in (AnswerOutcome.LATE, AnswerOutcome.REFUSED)
        ],
        "trail": [_step(entry) for entry in store.audit.of_subject(one.id)],
    }


def _describe_suggestion(store: Store, found: Ask) -> dict[str, str] | None:
    """Return the pattern that could be allowed for good, and what it would have answered."""
    if found.question.call is None or (suggested := suggest_for(store, found)) is None:
        return None
    tally = suggested.replay.tally
    return {
        "pattern": suggested.pattern.text,
        "total": str(tally.total),
        "decided": describe_tally(tally),
    }


def _session(store: Store, one: Ask) -> dict[str, Any]:
    """Describe the session of an ask and its visits."""
    terms = one.question.session
    if terms is None:
        return {}
    now = store.now()
    stays = [
        {
            "words": visits.stay(stay, now, presence.orphans(store, stay)),
            "said": stay.transcript[-SHOWN_CHARACTERS:],
        }
        for stay in list_visits(store, one.id)
    ]
    return {"facts": visits.facts(terms, one.origin.cwd), "stays": stays}


def _of_run(one: Ask) -> tuple[int, str] | None:
    """Return the run that waits for it, and its call."""
    run = run_of(one.origin.owner)
    return None if run is None else (run, path_of(one))


def _work(store: Store, one: Ask, run: Run, activity: Activity) -> dict[str, Any]:
    """Describe the work that a flow asks about."""
    who, words = work_view.last_words(store, run, one)
    how, prompt = f"GET /api/runs/{run.id}", run.prompt.strip()
    shown = {
        "text": split_markdown(prompt, how),
        "fold": prompt.partition("\n")[0] if len(prompt) > _FOLDED else "",
    }
    return {
        "prompt": shown if prompt else None,
        "who": who,
        "said": split_markdown(words, how) if words else None,
        "changes": diffs.render(activity.diff) if activity.of_run and activity.diff else None,
    }


def _activity(found: Activity, one: Ask, *, is_work: bool) -> dict[str, Any] | None:
    """Describe the activity of the asker, without the parts that the page shows elsewhere."""
    diff = "" if is_work and found.of_run else found.diff
    if not (found.task or found.said or found.commands or found.files or diff):
        return None
    how = f"gate show {one.id} --all"
    return {
        "task": found.task,
        "said": split_markdown(found.said, how) if found.said else None,
        "commands": [(tool, _name_file(one, what)) for tool, what in found.commands],
        "files": found.files,
        "diff": diffs.render(diff) if diff else None,
    }


def _name_file(one: Ask, what: str) -> str:
    """Return what a call was about; a file is named as in its project."""
    return relative(what, [one.origin.project, one.origin.cwd]) if what.startswith("/") else what


def _votes(answers: Iterable[Answer]) -> list[Answer]:
    """Return the last decision of each person whose answer counts."""
    counted = (
        one
        for one in answers
        if one.decision and one.outcome in (AnswerOutcome.COUNTED, AnswerOutcome.SETTLED)
    )
    return list({one.principal: one for one in counted}.values())


def _outcome(store: Store, one: Ask, answers: Iterable[Answer]) -> dict[str, Any] | None:
    if one.pending:
        return None
    settling = next((a for a in answers if a.outcome == AnswerOutcome.SETTLED), None)
    # Of one person on their own machine, no one doubts the name.
    doubts = bool(store.people.all()) and is_person(one.settled_by)
    claimed = doubts and bool(settling and not settling.verified)
    return {
        "word": settled_word(one),
        "claimed": claimed,
        "value": None if one.value is None else answer_text(one, one.value),
        "edited": bool(one.question.call and one.value),
    }


def _describe_rejected(one: Ask, answer: Answer) -> dict[str, Any]:
    """Describe an answer that did not count, with its text."""
    value = answer.decision or answer.value
    said = value if isinstance(value, str) else answer_text(one, value)
    return {"answer": answer, "said": said}


def _step(entry: Entry) -> dict[str, str]:
    noun, _, deed = entry.event.kind.partition(".")
    via = entry.event.content.get("via", "") if not entry.erased else ""
    return {
        "at": entry.at,
        "words": f"{noun} {deed.replace('_', ' ')}",
        "actor": entry.event.actor,
        "via": str(via or ""),
    }


def done(web_request: WebRequest, ids: Sequence[str]) -> list[dict[str, Any]]:
    """Describe the results of the answers that this person just gave."""
    lines = []
    for ask_id in ids[:MAX_LISTED]:
        found = web_request.store.asks.get(ask_id)
        mine = [
            a
            for a in web_request.store.asks.answers(ask_id)
            if a.principal == web_request.caller.actor
        ]
        if found and mine:
            said = "" if found.value is None else answer_text(found, found.value)
            lines.append(
                {
                    "ask": found,
                    "prompt": list_heading(found),
                    "answer": mine[-1],
                    "word": settled_word(found),
                    "said": said,
                    "unheard": describe_unheard(web_request.store, found),
                }
            )
    return lines


def past(asks: Iterable[Ask]) -> list[dict[str, Any]]:
    """List settled asks with their outcome and answer."""
    return [
        {
            "ask": one,
            "prompt": list_heading(one),
            "word": settled_word(one),
            "said": "" if one.value is None else answer_text(one, one.value),
        }
        for one in asks
    ]


def _seconds(one: Ask) -> float:
    return (one.settled_at - one.opened_at).total_seconds() if one.settled_at else 0.0


def ages(asks: Iterable[Ask], now: datetime) -> list[tuple[str, float]]:
    """Count the waiting asks by age."""
    counts = dict.fromkeys([name for name, _ in _AGES] + ["over a day"], 0.0)
    for one in asks:
        waited = (now - one.opened_at).total_seconds()
        counts[next((name for name, most in _AGES if waited < most), "over a day")] += 1
    return list(counts.items()) if any(counts.values()) else []


def answer_times(asks: Iterable[Ask], now: datetime) -> list[tuple[str, float | None]]:
    """Return the median time to an answer in minutes, for each of the last days."""
    days: dict[str, list[float]] = {
        f"{now - timedelta(days=back):%d %b}": [] for back in reversed(range(_DAYS))
    }
    first = (now - timedelta(days=_DAYS - 1)).date()
    for one in asks:
        if one.status == AskStatus.ANSWERED and one.settled_at and one.settled_at.date() >= first:
            days[f"{one.settled_at:%d %b}"].append(_seconds(one) / 60)
    return [(day, round(median(times), 1) if times else None) for day, times in days.items()]
