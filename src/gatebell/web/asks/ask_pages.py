"""The pages of the inbox: asks, history and numbers; each works without JavaScript."""

from __future__ import annotations

import os
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from starlette.responses import RedirectResponse, Response

from gatebell.domain.asks.forms import faults, has_hidden
from gatebell.domain.asks.owners import describe_owner, run_of
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
    from gatebell.web.context import WebRequest

_SETTLED_COUNTED = 2000
_WAITING_COUNTED = 2000


def inbox(web_request: WebRequest) -> Response:
    """Show the waiting asks, and the answers that were just recorded."""
    seq = web_request.store.audit.head().seq
    done = ask_views.done(web_request, web_request.query.get("done", "").split(","))
    data = ask_views.inbox(web_request) | {"ask": None, "done": done, "seq": seq}
    return page(web_request, "inbox.html", "gatebell", **data)


def ask(web_request: WebRequest) -> Response:
    seq = web_request.store.audit.head().seq
    found = fall_due(
        web_request.store, create_ask.look_up(web_request.store, web_request.path["id"])
    )
    kept = answer_ask.draft(web_request.store, found.id, web_request.caller)
    return _ask_page(
        web_request, found, answer_fields.from_draft(found, kept), kept=bool(kept), seq=seq
    )


def _ask_page(
    web_request: WebRequest,
    found: Ask,
    what: Typed,
    status: int = 200,
    *,
    problem: str = "",
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
        "problem": problem,
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
    data = (
        ask_views.inbox(web_request)
        | ask_views.ask(web_request, found)
        | fields
        | {"done": [], "seq": seq}
    )
    return page(web_request, "inbox.html", "gatebell", status, **data)


def _reaches(found: Ask) -> list[tuple[str, str]]:
    """List how long a yes to a tool call can last."""
    call, origin = found.question.call, found.origin
    if call is None or not origin.project or found.question.requirement.personal:
        return []
    named = origin.session and not origin.session.endswith("/")
    reaches = [("session", "for the rest of this session")] if named else []
    run = run_of(origin.owner)
    task = f"the task {describe_owner(origin.owner)}" if run is None else f"this call of run {run}"
    reaches += [("task", f"for {task}")] if origin.owner else []
    reaches += [("branch", f"on the branch {call.branch}")] if call.branch else []
    return [*reaches, ("hour", "for an hour"), ("times", "for a number of times")]


def _find(web_request: WebRequest) -> tuple[Ask, FormData]:
    assert web_request.form is not None
    return create_ask.get(web_request.store, web_request.path["id"]), web_request.form


def answer(web_request: WebRequest) -> Response:
    found, form = _find(web_request)
    what = answer_fields.read_typed(found, form)
    if forms.wants_more(form):
        return _ask_page(web_request, found, what)
    try:
        ids = _give(web_request, found, answer_fields.read_given(found, form), what.also)
    except AlreadySettledError as error:
        current = create_ask.get(web_request.store, found.id)
        return _ask_page(web_request, current, what, 409, problem=str(error), late=True)
    except GateError as error:
        status = 422 if isinstance(error, UsageError) else problem_of(error).status
        return _ask_page(web_request, found, what, status, problem=str(error))
    return RedirectResponse(f"/?done={','.join(ids)}", 303)


def _give(web_request: WebRequest, found: Ask, given: Given, also: Sequence[str]) -> list[str]:
    """Answer this ask and the selected ones; return all their ids."""
    if not also:
        answer_ask.answer(web_request.store, found.id, web_request.caller, given)
        return [found.id]
    if given.scope:
        raise UsageError("a yes with a longer reach is for one ask: deselect the others")
    shown = [(found.id, given.digest or ""), *(_pair(one) for one in also)]
    results = answer_ask.answer_alike(web_request.store, shown, web_request.caller, given)
    error = results[0][1]
    if error and not isinstance(error, AlreadySettledError):
        raise error
    return [one.id for one, _ in results]


def _pair(also: str) -> tuple[str, str]:
    ask_id, _, digest = also.partition(":")
    return ask_id, digest


def message(web_request: WebRequest) -> Response:
    """Ask back: send words to the asker without an answer."""
    found, form = _find(web_request)
    text = field(form, "text")
    try:
        ask_messages.ask_back(web_request.store, found.id, web_request.caller, text)
    except (AlreadySettledError, UsageError) as error:
        return _unsaid(web_request, found, error, text)
    return RedirectResponse(f"/asks/{found.id}#talk", 303)


def _unsaid(web_request: WebRequest, found: Ask, error: GateError, text: str) -> Response:
    """Show the ask as it is now, with the words that were not sent."""
    current = create_ask.get(web_request.store, found.id)
    kept = answer_fields.from_draft(
        current, answer_ask.draft(web_request.store, found.id, web_request.caller)
    )
    status = 422 if isinstance(error, UsageError) else problem_of(error).status
    return _ask_page(web_request, current, kept, status, problem=str(error), unsaid=text)


def draft(web_request: WebRequest) -> Response:
    found, form = _find(web_request)
    text = answer_fields.draft(found, answer_fields.read_typed(found, form))
    answer_ask.save_draft(web_request.store, found.id, web_request.caller, text)
    return Response(status_code=204)


def cancel(web_request: WebRequest) -> Response:
    found, form = _find(web_request)
    reason = field(form, "reason")
    try:
        create_ask.cancel(web_request.store, found.id, web_request.caller, reason)
    except AlreadySettledError as error:
        return _unsaid(web_request, found, error, reason)
    return RedirectResponse(f"/asks/{found.id}", 303)


def history(web_request: WebRequest) -> Response:
    limit, search = (
        number(web_request.query.get("limit", ""), 100, 1000),
        web_request.query.get("q", ""),
    )
    apply_due(web_request.store)
    found = web_request.store.asks.list_settled(limit + 1, search)
    more = min(1000, limit * 4) if len(found) > limit and limit < 1000 else 0
    past = ask_views.past(found[:limit])
    return page(
        web_request, "history.html", "History · gatebell", past=past, more=more, search=search
    )


def numbers(web_request: WebRequest) -> Response:
    store, now = web_request.store, web_request.store.now()
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
    return page(web_request, "numbers.html", "Numbers · gatebell", charts=made)
