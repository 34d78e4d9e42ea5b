"""The pages: the inbox with its asks, history and numbers; each works without JavaScript."""

from __future__ import annotations

import os
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from starlette.responses import RedirectResponse, Response

from gatebell.domain.asks.forms import faults, has_hidden
from gatebell.domain.asks.owners import owner_in_words, run_of
from gatebell.errors import AlreadySettledError, GateError, UsageError
from gatebell.services.asks import answer_ask, ask_messages, create_ask
from gatebell.services.asks.apply_deadlines import apply_due, fall_due
from gatebell.web import charts
from gatebell.web.asks import answer_fields, ask_views, forms
from gatebell.web.asks.answer_fields import field, number
from gatebell.web.problems import problem_of
from gatebell.web.rendering import page

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.datastructures import FormData

    from gatebell.domain.asks.answers import Given
    from gatebell.domain.asks.asks import Ask
    from gatebell.web.asks.answer_fields import Typed
    from gatebell.web.context import Visit

_SETTLED_COUNTED = 2000
_WAITING_COUNTED = 2000


def inbox(visit: Visit) -> Response:
    """What is waiting, and what was just recorded."""
    seq = visit.store.audit.head().seq
    done = ask_views.done(visit, visit.query.get("done", "").split(","))
    data = ask_views.inbox(visit) | {"ask": None, "done": done, "seq": seq}
    return page(visit, "inbox.html", "gatebell", **data)


def ask(visit: Visit) -> Response:
    seq = visit.store.audit.head().seq
    found = fall_due(visit.store, create_ask.look_up(visit.store, visit.path["id"]))
    kept = answer_ask.draft(visit.store, found.id, visit.caller)
    return _ask_page(visit, found, answer_fields.from_draft(found, kept), kept=bool(kept), seq=seq)


def _ask_page(
    visit: Visit,
    found: Ask,
    what: Typed,
    status: int = 200,
    *,
    trouble: str = "",
    late: bool = False,
    kept: bool = False,
    seq: int = 0,
    unsaid: str = "",
) -> Response:
    schema, call = found.question.schema, found.question.call
    wrong = (
        faults(schema, what.value) if status == HTTPStatus.UNPROCESSABLE_ENTITY and schema else []
    )
    form = forms.render(schema, what.value, wrong) if schema is not None else None
    fields = {
        "typed": what,
        "trouble": trouble,
        "faults": form.wrong if form else [],
        "late": late,
        "unsaid": unsaid,
        "draft_kept": kept,
        "key": os.urandom(16).hex(),
        "hidden": found.question.secret or has_hidden(schema),
        "form": form and form.html,
        "edited": what.edited or (answer_fields.edit_begin(call) if call else ""),
        "reaches": _reaches(found),
        "OTHER": answer_fields.OTHER,
    }
    data = ask_views.inbox(visit) | ask_views.ask(visit, found) | fields | {"done": [], "seq": seq}
    return page(visit, "inbox.html", "gatebell", status, **data)


def _reaches(found: Ask) -> list[tuple[str, str]]:
    """How long a yes to a tool call can be made to last."""
    call, origin = found.question.call, found.origin
    if call is None or not origin.project or found.question.requirement.personal:
        return []
    named = origin.session and not origin.session.endswith("/")
    reaches = [("session", "for the rest of this session")] if named else []
    run = run_of(origin.owner)
    task = f"the task {owner_in_words(origin.owner)}" if run is None else f"this call of run {run}"
    reaches += [("task", f"for {task}")] if origin.owner else []
    reaches += [("branch", f"on the branch {call.branch}")] if call.branch else []
    return [*reaches, ("hour", "for an hour"), ("times", "for a number of times")]


def _find(visit: Visit) -> tuple[Ask, FormData]:
    assert visit.form is not None
    return create_ask.get(visit.store, visit.path["id"]), visit.form


def answer(visit: Visit) -> Response:
    found, form = _find(visit)
    what = answer_fields.read_typed(found, form)
    if forms.wants_more(form):
        return _ask_page(visit, found, what)
    try:
        ids = _give(visit, found, answer_fields.read_given(found, form), what.also)
    except AlreadySettledError as error:
        current = create_ask.get(visit.store, found.id)
        return _ask_page(visit, current, what, 409, trouble=str(error), late=True)
    except GateError as error:
        status = 422 if isinstance(error, UsageError) else problem_of(error).status
        return _ask_page(visit, found, what, status, trouble=str(error))
    return RedirectResponse(f"/?done={','.join(ids)}", 303)


def _give(visit: Visit, found: Ask, given: Given, also: Sequence[str]) -> list[str]:
    """Answer this ask and those that were ticked; returns the ids of all of them."""
    if not also:
        answer_ask.answer(visit.store, found.id, visit.caller, given)
        return [found.id]
    if given.scope:
        raise UsageError("a yes that reaches further is given to one ask: untick the others")
    shown = [(found.id, given.digest or ""), *(_pair(one) for one in also)]
    results = answer_ask.answer_alike(visit.store, shown, visit.caller, given)
    error = results[0][1]
    if error and not isinstance(error, AlreadySettledError):
        raise error
    return [one.id for one, _ in results]


def _pair(also: str) -> tuple[str, str]:
    ask_id, _, digest = also.partition(":")
    return ask_id, digest


def message(visit: Visit) -> Response:
    """Ask back: words to the asker that settle nothing."""
    found, form = _find(visit)
    text = field(form, "text")
    try:
        ask_messages.ask_back(visit.store, found.id, visit.caller, text)
    except (AlreadySettledError, UsageError) as error:
        return _unsaid(visit, found, error, text)
    return RedirectResponse(f"/asks/{found.id}#talk", 303)


def _unsaid(visit: Visit, found: Ask, error: GateError, text: str) -> Response:
    """The ask as it is now, with the words that reached nobody."""
    current = create_ask.get(visit.store, found.id)
    kept = answer_fields.from_draft(current, answer_ask.draft(visit.store, found.id, visit.caller))
    status = 422 if isinstance(error, UsageError) else problem_of(error).status
    return _ask_page(visit, current, kept, status, trouble=str(error), unsaid=text)


def draft(visit: Visit) -> Response:
    found, form = _find(visit)
    text = answer_fields.draft(found, answer_fields.read_typed(found, form))
    answer_ask.save_draft(visit.store, found.id, visit.caller, text)
    return Response(status_code=204)


def cancel(visit: Visit) -> Response:
    found, form = _find(visit)
    reason = field(form, "reason")
    try:
        create_ask.cancel(visit.store, found.id, visit.caller, reason)
    except AlreadySettledError as error:
        return _unsaid(visit, found, error, reason)
    return RedirectResponse(f"/asks/{found.id}", 303)


def history(visit: Visit) -> Response:
    limit, search = number(visit.query.get("limit", ""), 100, 1000), visit.query.get("q", "")
    apply_due(visit.store)
    found = visit.store.asks.list_settled(limit + 1, search)
    more = min(1000, limit * 4) if len(found) > limit and limit < 1000 else 0
    past = ask_views.past(found[:limit])
    return page(visit, "history.html", "History · gatebell", past=past, more=more, search=search)


def numbers(visit: Visit) -> Response:
    store, now = visit.store, visit.store.now()
    apply_due(store)
    waiting: list[Any] = [
        (project or "no project", float(number)) for project, number in store.asks.waiting_counts()
    ]
    by_age = ask_views.ages(store.asks.pending(_WAITING_COUNTED), now)
    times = ask_views.answer_times(store.asks.list_settled(_SETTLED_COUNTED), now)
    made = [
        charts.bars(waiting, "Waiting now, by project", "asks"),
        charts.bars(by_age, "Waiting now, by age", "asks"),
        charts.over_time(times, "Median time to an answer, by day", "minutes"),
    ]
    return page(visit, "numbers.html", "Numbers · gatebell", charts=made)
