"""Open an ask, or find the one that this session has already opened."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from gatebell.domain.arguments import must_be_flag, must_be_text
from gatebell.domain.asks import deadlines
from gatebell.domain.asks.answers import with_default
from gatebell.domain.asks.asks import (
    MAX_ACTIVITY_CHARACTERS,
    Ask,
    Origin,
    cancel as cancelled,
    id_length,
    make_id,
    open_ask,
    parse_priority,
    question_digest,
)
from gatebell.domain.asks.deadlines import Escalation
from gatebell.domain.asks.forms import has_hidden
from gatebell.domain.asks.owners import task_of
from gatebell.domain.asks.questions import make_question
from gatebell.domain.asks.requests import Opened as Opened, Request as Request  # noqa: PLC0414  exported
from gatebell.domain.asks.requirements import ANY_PERSON, make_requirement
from gatebell.domain.digests import token_digest
from gatebell.domain.people.principals import must_be_a_person
from gatebell.domain.permissions.calls import Call
from gatebell.domain.sessions.visits import Terms
from gatebell.domain.text.display import inert_line, plain, storable
from gatebell.domain.text.suggestions import suggest
from gatebell.errors import NotFoundError, RefusedError, UsageError
from gatebell.ports.results import Done

if TYPE_CHECKING:
    from datetime import datetime

    from gatebell.domain.asks.asks import Change
    from gatebell.domain.asks.attachments import Attachment
    from gatebell.domain.asks.questions import Question
    from gatebell.domain.asks.requirements import Requirement
    from gatebell.domain.people.principals import Caller
    from gatebell.ports.store import Store

MAX_DIGITS = 18
"""Maximum digits of a run number that a person types."""
_ASK, _TASK = "a-", "tm-"
_MAX_SHOWN = 40
MAX_ASSUMED_CHARACTERS = 2000


def ask(
    store: Store, request: Request, origin: Origin, caller: Caller, key: str = "", claimer: str = ""
) -> Opened:
    """Open an ask; a repeated request of the same agent session returns the first ask.

    So does a retry under the same key, even if the first ask was settled and taken. `claimer` is
    the person with whose token an agent asks, also for the tasks that this person has claimed.
    """
    _must_be_words(request)
    _must_know(store, request.escalations)
    question = _question(request, _requirement(store, request, caller))
    token = os.urandom(32).hex() if question.secret or has_hidden(question.schema) else ""
    new = _new(request, question, _known(origin), store.now(), token)
    # A request from another machine names its host.
    host = caller.evidence.get("host", store.machine.host) if request.session else ""
    while True:
        if task_of(new.origin.owner) and (same := _asked_by_hand(store, new, caller, claimer)):
            return Opened(same, "", attached=True)
        new = new._replace(id=make_id(id_length(store.asks.count()), os.urandom(16)))
        result = store.asks.open(open_ask(new, caller.actor, host), key)
        if isinstance(result, Done):
            return Opened(new, token, attached=False)
        if result.current and result.current.digest != new.digest and not new.deferred:
            raise RefusedError(
                f"the key was used for another ask, {result.current.id}: use a new key"
            )
        if result.current:
            return Opened(result.current, "", attached=True)


def _question(request: Request, requirement: Requirement) -> Question:
    """Return the checked question."""
    question = with_default(
        make_question(
            request.kind,
            storable(request.prompt),
            context=_read_json(request.context, "context"),
            options=tuple(map(storable, request.options)),
            multiple=request.multiple,
            schema=plain(request.schema),
            secret=request.secret,
            requirement=requirement,
            call=request.call and Call(*map(plain, request.call)),
            session=request.session and Terms(*map(plain, request.session)),
            attachments=_check_attachments(request) if request.attachments else (),
        ),
        _read_json(request.default, "default"),
    )
    if request.default is not None and request.expires_seconds is None:
        raise UsageError("a default takes effect when an ask times out: give it a timeout")
    if request.assume is not None:
        _must_fit_background(request, question)
    if request.confidence is not None and not 0 <= request.confidence <= 1:
        raise UsageError(f"expected a confidence from 0 to 1, got {request.confidence}")
    return question


def _must_fit_background(request: Request, question: Question) -> None:
    """Refuse a background ask whose agent could act without the yes, or miss the answer."""
    if question.gates and (request.assume or "").strip():
        raise UsageError(
            "a yes cannot be assumed: wait for this approval, or do other work until it comes"
        )
    if question.secret or has_hidden(question.schema) or question.session or question.call:
        raise UsageError("its asker must wait for a secret, a session or a tool call")
    if len(request.assume or "") > MAX_ASSUMED_CHARACTERS:
        raise UsageError(
            f"what is assumed is longer than {MAX_ASSUMED_CHARACTERS} characters: say it in one or "
            "two sentences"
        )


def _check_attachments(request: Request) -> tuple[Attachment, ...]:
    # Imported here: most asks have no files, and asking must be fast.
    from gatebell.domain.asks.attachments import must_fit

    must_fit(request.attachments, is_secret=request.secret or has_hidden(request.schema))
    return request.attachments


def _known(origin: Origin) -> Origin:
    """Return the origin with the task of its owner."""
    kept = Origin(*map(storable, origin))
    return kept._replace(task=task_of(kept.owner) or kept.task)


def _new(request: Request, question: Question, origin: Origin, now: datetime, token: str) -> Ask:
    """Build the ask, without an id yet."""
    return Ask(
        id="",
        question=question,
        origin=origin,
        opened_at=now,
        digest=question_digest(question, origin),
        priority=parse_priority(request.priority),
        # The store returns floats, and a digest differs for 1 and 1.0.
        confidence=None if request.confidence is None else float(request.confidence),
        deferred=request.deferred,
        activity=_without_secrets(request.activity),
        token_digest=token_digest(token) if token else "",
        assume=None if request.assume is None else storable(request.assume).strip(),
        deadlines=deadlines.start(
            now,
            request.expires_seconds,
            request.hard,
            request.remind_every_seconds,
            tuple(Escalation(after, storable(who)) for after, who in request.escalations),
        ),
    )


def _without_secrets(activity: str) -> str:
    """Return the activity with secrets masked, so that every face may show it."""
    if not activity:
        return ""
    # Imported here: most asks do not need it, and asking must be fast.
    from gatebell.domain.text.redaction import hide_secrets

    most = MAX_ACTIVITY_CHARACTERS
    return hide_secrets(storable(activity)[: 2 * most])[:most]


def _asked_by_hand(store: Store, new: Ask, caller: Caller, claimer: str) -> Ask | None:
    """Return the pending ask of the task's claimer with the same question; refuse other callers."""
    # Imported here: asking is frequent, and only some asks belong to tasks.
    from gatebell.domain.tasks.tasks import ask_by_hand

    task = store.tasks.get(new.origin.task)
    if task is None:
        raise NotFoundError(f"there is no task {new.origin.task}. List all: gate task list")
    waiting = [ask for ask in store.asks.of_task(task.id) if ask.pending]
    if waiting and waiting[0].digest == new.digest:
        return waiting[0]
    if waiting:
        raise RefusedError(f"{task.id} already waits for an answer to {waiting[0].id}")
    ask_by_hand(task, new.opened_at)
    if task.claimed_by not in (caller.actor, claimer or caller.actor):
        must_be_a_person(caller, f"asks for {task.id}, which {task.claimed_by} has claimed")
    return None


def _read_json(given: Any, name: str) -> Any:
    try:
        return plain(given)
    except UsageError as error:
        raise UsageError(
            f"{name} must be JSON (texts, numbers, True, False, None, lists and dicts): {error}"
        ) from None


def _must_be_words(request: Request) -> None:
    """Refuse values of wrong types early, because a program may pass anything."""
    must_be_text(request.prompt, "the question")
    must_be_text(request.kind, "kind")
    must_be_text(request.activity, "activity")
    must_be_text(request.assume or "", "assume")
    for option in request.options:
        must_be_text(option, "an option")
    for name in ("multiple", "secret", "hard"):
        must_be_flag(getattr(request, name), name)
    times = (request.expires_seconds, request.remind_every_seconds)
    if not all(time is None or type(time) in (int, float) for time in times):
        raise UsageError("a timeout, or a time for reminders, must be a number of seconds")
    if request.confidence is not None and type(request.confidence) not in (int, float):
        raise UsageError(f"confidence must be a number from 0 to 1, got {request.confidence!r}")


def _must_know(store: Store, escalations: tuple[Escalation, ...]) -> None:
    """Refuse escalations to unknown people: nothing would be sent."""
    if not escalations:
        return
    known = {person.name for person in store.people.all()} | set(store.people.groups())
    for step in escalations:
        if step.who not in known:
            who = storable(str(step.who))[:_MAX_SHOWN]
            near = suggest(who, known) or "."
            raise NotFoundError(
                f"there is no person or group {who!r} to notify{near} Add one: gate person add {who}"
            )


def _requirement(store: Store, request: Request, caller: Caller) -> Requirement:
    if not request.requirement:
        return ANY_PERSON
    requirement = make_requirement(request.requirement, store.people.groups())
    if requirement.not_author and caller.name not in {one.name for one in store.people.all()}:
        raise RefusedError(
            f"this ask excludes its author, but there is no person {caller.name}: "
            f"gate person add {caller.name}, so that their answers can be recognized"
        )
    if requirement.personal:
        known = {person.name for person in store.people.all() if person.tokens}
        unknown = [name for name in requirement.people if name not in known]
        needed = max(requirement.n, 1)
        if unknown or len(known) < needed:
            who = ", ".join(unknown) or f"{needed} people"
            raise RefusedError(
                f"this ask needs to know who answers, so {who} must have a personal token first: "
                "gate person add NAME"
            )
    return requirement


def cancel(store: Store, ask_id: str, caller: Caller, reason: str) -> Ask:
    """Withdraw a pending ask; for the ask of a task, only as a person or as the task's claimer."""
    task_id = get(store, ask_id).origin.task
    task = store.tasks.get(task_id) if task_id else None
    if task and task.worked_on and task.claimed_by != caller.actor:
        must_be_a_person(caller, f"withdraws what {task.id} asks")
    return withdraw(store, ask_id, caller, reason)


def withdraw(store: Store, ask_id: str, caller: Caller, reason: str) -> Ask:
    """Withdraw a pending ask, for its asker."""
    while True:
        change = cancelled(get(store, ask_id), caller, storable(reason), store.now())
        if isinstance(store.asks.change(change, change.ask.version - 1), Done):
            return change.ask


def withdrawals(store: Store, run_id: int, caller: Caller, reason: str) -> tuple[Change, ...]:
    """Return the changes that withdraw the pending asks of a run that ends."""
    now = store.now()
    return tuple(cancelled(ask, caller, reason, now) for ask in store.asks.pending_of_run(run_id))


def get(store: Store, ask_id: str) -> Ask:
    """Return the ask with exactly this id."""
    must_be_text(ask_id, "an ask's id", "an outcome has it as .ask_id, an Ask as .id")
    wanted = ask_id.lower()
    if found := store.asks.get(wanted):
        return found
    if (ids := _beginning(store, wanted)) and wanted:
        raise NotFoundError(f"{ask_id} is not a complete id: write {' or '.join(ids)}")
    raise NotFoundError(f"there is no ask {ask_id}. List pending asks: gate inbox")


def must_be_linked(store: Store, caller: Caller) -> None:
    """Refuse an account in a chat whose link has ended."""
    if caller.chat_link and store.chats.get(caller.chat_link) is None:
        raise RefusedError(f"this account does not answer for {caller.name} any more")


def find(store: Store, named: str) -> Ask:
    """Return the ask with exactly this id, or the only pending one of a task or run."""
    if named.lower().startswith(_TASK):
        return _ask_of_task(store, named.lower())
    # Complete ids come first: most commands do not name tasks.
    bare = "" if named.lower().startswith(_ASK) else _TASK + named.lower()
    if bare and store.tasks.get(bare) and _is_neither(store, named):
        return _ask_of_task(store, bare)
    run_id = _run_number(store, named)
    return get(store, named) if run_id is None else only_ask(store, run_id)


def only_ask(store: Store, run_id: int) -> Ask:
    """Return the only pending ask of a run."""
    if store.runs.get(run_id) is None:
        raise NotFoundError(f"there is no run {run_id}; gate list shows the runs")
    asks = store.asks.pending_of_run(run_id)
    if not asks:
        raise NotFoundError(f"run {run_id} waits for no answer. See: gate status {run_id}")
    return _only(asks, f"run {run_id}")


def _ask_of_task(store: Store, task_id: str) -> Ask:
    """Return the only pending ask of a task."""
    task = store.tasks.get(task_id)
    if task is None:
        raise NotFoundError(f"there is no task {task_id}. List all: gate task list")
    asks = [ask for ask in store.asks.of_task(task_id) if ask.pending]
    if not asks:
        raise NotFoundError(
            f"{task_id} waits for no answer (state: {task.state}). See: gate task show {task_id}"
        )
    return _only(asks, task_id)


def _only(asks: list[Ask], who: str) -> Ask:
    if len(asks) > 1:
        names = ", ".join(f"{ask.id} ({inert_line(ask.question.prompt, 40)})" for ask in asks)
        raise UsageError(f"{who} waits for several answers: name one of {names}")
    return asks[0]


def _run_number(store: Store, named: str) -> int | None:
    """Return the number of an existing run; None if it may be the start of an ask's id."""
    if not named.isdecimal() or not named.isascii() or len(named) > MAX_DIGITS:
        return None
    number = int(named)
    return None if store.runs.get(number) is None and _beginning(store, named) else number


def look_up(store: Store, abbreviation: str) -> Ask:
    """Return the ask whose id starts so, or the only pending one of a task or run; read only."""
    if (name := abbreviation.lower()).startswith(_TASK):
        tasks = store.tasks.matching(name, 6)
        if name not in tasks and len(tasks) > 1:
            raise UsageError(f"{name!r} matches {', '.join(tasks[:5])} …: write one of them")
        return _ask_of_task(store, tasks[0] if len(tasks) == 1 else name)
    is_bare = not name.startswith(_ASK) and store.tasks.matching(_TASK + name, 1)
    if is_bare and _is_neither(store, name):
        return look_up(store, _TASK + name)
    if (run_id := _run_number(store, abbreviation)) is not None:
        return only_ask(store, run_id)
    ids = _beginning(store, abbreviation.lower())
    if abbreviation.lower() not in ids and len(ids) > 1:
        raise UsageError(f"{abbreviation!r} matches {', '.join(ids)} …: write one of them")
    return get(store, ids[0] if len(ids) == 1 else abbreviation)


def _is_neither(store: Store, named: str) -> bool:
    """Return whether it can only be a task: not a run's number, not the start of an ask's id."""
    is_number = named.isascii() and named.isdecimal() and len(named) <= MAX_DIGITS
    is_run = is_number and store.runs.get(int(named)) is not None
    return bool(named) and not is_run and not _beginning(store, named.lower())


def _beginning(store: Store, wanted: str) -> list[str]:
    return store.asks.matching(wanted if wanted.startswith("a-") else f"a-{wanted}", 5)
