"""The pages of the inbox: asks, history and numbers; each works without JavaScript."""

from __future__ import annotations

import os
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from starlette.responses import RedirectResponse, Response

from gatebell.domain.asks.forms import faults, has_hidden
from gatebell.domain.asks.headings import list_heading
from gatebell.domain.asks.history_filters import EVERYTHING, OUTCOMES, parse_filter
from gatebell.domain.asks.owners import describe_owner, run_of
from gatebell.domain.stats import describe_stats
from gatebell.domain.text.display import inert_line
from gatebell.errors import AlreadySettledError, GateError, UsageError
from gatebell.services.asks import answer_ask, ask_messages, create_ask
from gatebell.services.asks.apply_deadlines import apply_due, fall_due
from gatebell.services.stats import read_stats
from gatebell.web import charts
from gatebell.web.asks import answer_fields, ask_views, attached, forms
from gatebell.web.asks.answer_fields import field, number
from gatebell.web.people.devices import describe_devices
from gatebell.web.problems import problem_of
from gatebell.web.rendering import page, render_part

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markupsafe import Markup
    from starlette.datastructures import FormData

    from gatebell.domain.asks.answers import Given
    from gatebell.domain.asks.asks import Ask
    from gatebell.web.asks.answer_fields import Typed
    from gatebell.web.context import WebRequest

_SETTLED_COUNTED = 2000
_WAITING_COUNTED = 2000
_MAX_TITLE = 60
_RUN_PAGE = "run"
_FILTERS = ("q", "outcome", "agent", "project", "person", "since", "until")


def inbox(web_request: WebRequest) -> Response:
    """Show the first waiting ask; with `list`, or if nothing waits, only the list."""
    store, caller = web_request.store, web_request.caller
    if "list" not in web_request.query:
        waiting = ask_views.list_pending(store)
        mine = (one for one in waiting if ask_views.is_open_for(store, one, caller))
        if first := next(mine, None):
            return _open(web_request, first)
    seq = store.audit.head().seq
    data = ask_views.inbox(web_request) | {"ask": None, "done": _done(web_request), "seq": seq}
    data |= describe_devices(web_request)
    return page(web_request, "inbox.html", "gatebell", **data)


def ask(web_request: WebRequest) -> Response:
    return _open(web_request, create_ask.look_up(web_request.store, web_request.path["id"]))


def _open(web_request: WebRequest, one: Ask) -> Response:
    seq = web_request.store.audit.head().seq
    found = fall_due(web_request.store, one)
    kept = answer_ask.draft(web_request.store, found.id, web_request.caller)
    return _ask_page(
        web_request, found, answer_fields.from_draft(found, kept), kept=bool(kept), seq=seq
    )


def _done(web_request: WebRequest) -> list[dict[str, Any]]:
    """Return the answers that were just recorded."""
    return ask_views.done(web_request, web_request.query.get("done", "").split(","))


def render_answer(web_request: WebRequest, found: Ask) -> Markup:
    """Render the question of an ask and its form, for another page; it is bound as on its own."""
    kept = answer_ask.draft(web_request.store, found.id, web_request.caller)
    what = answer_fields.from_draft(found, kept)
    data = ask_views.ask(web_request, found) | _form_fields(found, what, kept=bool(kept))
    return render_part(web_request, "run_ask.html", **data, opened_in=_RUN_PAGE)


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
    fields = _form_fields(found, what, status, problem=problem, late=late, kept=kept, unsaid=unsaid)
    data = (
        ask_views.inbox(web_request)
        | ask_views.ask(web_request, found)
        | fields
        | {"done": [] if problem else _done(web_request), "seq": seq}
        | {"opened_in": _find_page(web_request)}
        | describe_devices(web_request)
    )
    title = inert_line(list_heading(found), _MAX_TITLE)
    return page(web_request, "inbox.html", f"{title} · gatebell", status, **data)


def _form_fields(
    found: Ask,
    what: Typed,
    status: int = 200,
    *,
    problem: str = "",
    late: bool = False,
    kept: bool = False,
    unsaid: str = "",
) -> dict[str, Any]:
    """Return what the form of an answer shows besides its ask."""
    schema, call = found.question.schema, found.question.call
    wrong = (
        faults(schema, what.value) if status == HTTPStatus.UNPROCESSABLE_ENTITY and schema else []
    )
    is_new = what.value is None and status == HTTPStatus.OK
    form = forms.render(schema, what.value, wrong, is_new=is_new) if schema is not None else None
    return {
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
        "edit_field": answer_fields.edit_field(call) if call else "",
        "reaches": _reaches(found),
        "OTHER": answer_fields.OTHER,
    }


def _find_page(web_request: WebRequest) -> str:
    """Return the page that the form was on; empty for that of the ask."""
    return field(web_request.form, "opened_in") if web_request.form is not None else ""


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
    return create_ask.get(web_request.store, web_request.path["id"]), web_request.sent_form


def answer(web_request: WebRequest) -> Response:
    """Do what the pressed button says: answer, ask back, or withdraw."""
    found, form = _find(web_request)
    word = field(form, "value")
    if word == answer_fields.BACK:
        return _ask_back(web_request, found, field(form, "back"))
    if word == answer_fields.WITHDRAW:
        return _withdraw(web_request, found, field(form, "reason"))
    what = answer_fields.read_typed(found, form)
    if word == answer_fields.STAY or forms.wants_more(form):
        return _ask_page(web_request, found, what)
    waiting = ask_views.list_pending(web_request.store)
    try:
        what = what._replace(attached=attached.keep_posted(web_request, form))
        given = answer_fields.read_given(found, form)._replace(attachments=what.attached)
        ids = _give(web_request, found, given, what.also)
    except AlreadySettledError as error:
        current = create_ask.get(web_request.store, found.id)
        return _ask_page(web_request, current, what, 409, problem=str(error), late=True)
    except GateError as error:
        status = 422 if isinstance(error, UsageError) else problem_of(error).status
        return _ask_page(web_request, found, what, status, problem=str(error))
    run = run_of(found.origin.owner)
    if run and _find_page(web_request) == _RUN_PAGE:
        return RedirectResponse(f"/runs/{run}", 303)
    return RedirectResponse(f"{_next(web_request, waiting, found)}?done={','.join(ids)}", 303)


def _next(web_request: WebRequest, waiting: Sequence[Ask], answered: Ask) -> str:
    """Return the address of the ask after this one in the list, or of the inbox."""
    order = [one.id for one in waiting]
    at = order.index(answered.id) if answered.id in order else 0
    store, caller = web_request.store, web_request.caller
    still = {one.id: one for one in store.asks.pending(ask_views.MAX_LISTED)}
    later = (still[one] for one in (*order[at:], *order[:at]) if one in still)
    mine = (one for one in later if one.id != answered.id)
    following = next((one for one in mine if ask_views.is_open_for(store, one, caller)), None)
    return f"/asks/{following.id}" if following else "/"


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


def _ask_back(web_request: WebRequest, found: Ask, text: str) -> Response:
    """Send words to the asker without an answer."""
    try:
        ask_messages.ask_back(web_request.store, found.id, web_request.caller, text)
    except (AlreadySettledError, UsageError) as error:
        return _unsaid(web_request, found, error, unsaid=text)
    return RedirectResponse(f"/asks/{found.id}#talk", 303)


def _withdraw(web_request: WebRequest, found: Ask, reason: str) -> Response:
    try:
        create_ask.cancel(web_request.store, found.id, web_request.caller, reason)
    except AlreadySettledError as error:
        return _unsaid(web_request, found, error, unsaid=reason)
    return RedirectResponse(f"/asks/{found.id}", 303)


def _unsaid(web_request: WebRequest, found: Ask, error: GateError, unsaid: str) -> Response:
    """Show the ask as it is now, with the words that were not sent."""
    current = create_ask.get(web_request.store, found.id)
    kept = answer_fields.from_draft(
        current, answer_ask.draft(web_request.store, found.id, web_request.caller)
    )
    status = 422 if isinstance(error, UsageError) else problem_of(error).status
    return _ask_page(web_request, current, kept, status, problem=str(error), unsaid=unsaid)


def draft(web_request: WebRequest) -> Response:
    found, form = _find(web_request)
    text = answer_fields.draft(found, answer_fields.read_typed(found, form))
    answer_ask.save_draft(web_request.store, found.id, web_request.caller, text)
    return Response(status_code=204)


def history(web_request: WebRequest) -> Response:
    """Show settled asks, and the fields of the filter as they were sent."""
    query, store = web_request.query, web_request.store
    limit = number(query.get("limit", ""), 100, 1000)
    given = {name: query.get(name, "") for name in _FILTERS}
    apply_due(store)
    status, problem, wanted = 200, "", EVERYTHING
    try:
        wanted = parse_filter(given | {"search": given["q"]}, store.now())
    except UsageError as error:
        status, problem = 422, str(error)
    found = [] if problem else store.asks.list_settled(limit + 1, wanted)
    larger = min(1000, limit * 4) if len(found) > limit and limit < 1000 else 0
    sent = {name: text for name, text in given.items() if text}
    data: dict[str, Any] = {
        "past": ask_views.past(found[:limit]),
        "more": f"/history?{urlencode(sent | {'limit': larger}, errors='replace')}"
        if larger
        else "",
        "search": given["q"],
        "given": given,
        "filtered": sent,
        "problem": problem,
        "outcomes": OUTCOMES,
    }
    return page(web_request, "history.html", "History · gatebell", status, **data)


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
    stats = describe_stats(read_stats(store))
    return page(web_request, "numbers.html", "Numbers · gatebell", charts=made, stats=stats)
