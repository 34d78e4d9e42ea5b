"""Routes by which hosts on other machines hold tool calls. The rules and the answers stay here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.responses import JSONResponse

from gatebell.domain.asks.asks import Origin
from gatebell.domain.people.principals import Sighting, person
from gatebell.domain.permissions.calls import Call, make_call
from gatebell.errors import FrozenError
from gatebell.ports.calls.waiting_calls import Held, Permission
from gatebell.services import freezes
from gatebell.services.asks.waiters import make_ask_document
from gatebell.services.permissions import permit_call
from gatebell.web.api.endpoints import find
from gatebell.web.problems import Problem

if TYPE_CHECKING:
    from starlette.responses import Response

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.people.principals import Caller
    from gatebell.ports.store import Store
    from gatebell.web.context import WebRequest

# The host itself waits, on its own machine; this is only for the length of its ask.
_MAX_SECONDS = 86_400.0


class _ToldHost:
    """A host on another machine: what it is asked here, it has said in its request."""

    def __init__(self, activity: str) -> None:
        self._activity = activity

    def describe_activity(self) -> str:
        return self._activity

    def find_reason_to_stop(self) -> str:
        return ""

    def has_result(self, call_id: str) -> bool:
        return False

    def note_ask(self, ask_id: str) -> None:
        """Do nothing: the response names the ask."""

    def note_wait(self) -> None:
        """Do nothing: the host waits on its own machine."""

    def find_call_id(self) -> str:
        return ""


def hold(web_request: WebRequest) -> Response:
    """Decide a call by a rule, or ask a person about it; not while everything is frozen."""
    try:
        freezes.must_be_lifted(web_request.store)
    except FrozenError as error:
        if not web_request.body.get("defer"):
            return _reply(None, frozen=str(error))
    return _hold(web_request)


def _hold(web_request: WebRequest) -> Response:
    body, store = web_request.body, web_request.store
    named = body.get("session", "")
    held, caller = _build_held(web_request), agent_caller(web_request, named)
    if body.get("only_rules"):
        return _reply(permit_call.by_rule_of(store, held))
    web_request.count_for_session(named, held.origin.session)
    if body.get("defer"):
        return _reply(permit_call.defer(store, held, caller))
    found = permit_call.hold(store, held, caller, body.get("seconds", _MAX_SECONDS))
    if isinstance(found, Permission):
        return _reply(found)
    shown = _show(store, found)
    return JSONResponse({"permission": None, "ask": shown, "frozen": ""}, 201)


def use(web_request: WebRequest) -> Response:
    """Use the answer for the call that asked: once, by a conditional write."""
    body, store, ask = web_request.body, web_request.store, find(web_request)
    held = _build_held(web_request)
    call = ask.question.call
    if not web_request.is_own_ask(ask) or call is None:
        raise Problem(403, f"another client holds the call of {ask.id}: only that client uses it")
    if call.identity != held.call.identity or ask.origin.session != held.origin.session:
        raise Problem(403, f"{ask.id} is about another call, so its answer does not count for this")
    if body.get("drop"):
        permit_call.drop(store, ask, held)
        return _reply(None)
    try:
        decided = permit_call.use(store, ask, held)
    except FrozenError as error:
        return _reply(None, frozen=str(error))
    if decided and decided.input and decided.edited_by:
        decided = _hand_over_edited(store, ask, held, decided, body.get("edits", "no"))
    return _reply(decided)


def _hand_over_edited(
    store: Store, ask: Ask, held: Held, decided: Permission, edits: str
) -> Permission:
    """Return an edited input in the way that the host can take it."""
    assert decided.input is not None
    same = make_call(held.call.tool, decided.input, held.call.cwd, held.call.branch)
    edited = same._replace(real_path=held.call.real_path if same.path == held.call.path else "")
    if edits == "yes":
        return decided
    if edits == "unless_gated" and not permit_call.is_gated(
        store, edited, held.origin, held.folders
    ):
        return decided
    if decided.again:
        # Its one permission was made when the answer was used.
        return Permission(allow=False, message="A person allowed something else, once, instead")
    return permit_call.instead(store, ask.id, held, edited)


def check_gates(web_request: WebRequest) -> Response:
    """Return whether a person must be asked about a call."""
    held = _build_held(web_request)
    gated = permit_call.is_gated(
        web_request.store, held.call, held.origin, held.folders, is_harmless=held.is_harmless
    )
    return JSONResponse({"gated": gated})


def show_gating(web_request: WebRequest) -> Response:
    """Return whether this store ever had a gate or a denial."""
    return JSONResponse({"had_gates": web_request.store.rules.had_gates()})


def agent_caller(web_request: WebRequest, session: str) -> Caller:
    """Return the caller as an agent: whatever else its token may do, it is not a person here."""
    prefix, _, name = web_request.session(session).partition("/")
    agent = Sighting(prefix, name, "it asked over HTTP")
    return web_request.caller._replace(verified=False, agent=agent)


def build_origin(web_request: WebRequest) -> Origin:
    """Return where a request of an agent comes from; its session belongs to its token."""
    body, who = web_request.body, web_request.who.person
    return Origin(
        project=body.get("project", ""),
        project_key=body.get("project_key", ""),
        cwd=body.get("cwd", ""),
        agent=web_request.name_asker(body.get("agent", "")),
        session=web_request.session(body.get("session", "")),
        tool_use_id=body.get("tool_use_id", ""),
        started_by=person(who),
    )


def _build_held(web_request: WebRequest) -> Held:
    body = web_request.body
    # It refuses a call that a person would see in another form than the host would run it.
    make_call(body["call"]["tool"], body["call"]["input"])
    return Held(
        Call(**body["call"]),
        build_origin(web_request),
        body.get("seconds", _MAX_SECONDS),
        _ToldHost(body.get("activity", "")),
        guess=body.get("guess", ""),
        project=body.get("outside_of", ""),
        folders=tuple(body.get("folders", ())),
        remind_every_seconds=body.get("remind_every_seconds"),
        is_harmless=body.get("is_harmless", False),
        runs_ungated=body.get("runs_ungated", False),
    )


def _reply(permission: Permission | None, frozen: str = "") -> Response:
    shown: dict[str, Any] | None = None
    if permission:
        shown = {name: getattr(permission, name) for name in ("allow", "message", "input")}
    return JSONResponse({"permission": shown, "ask": None, "frozen": frozen})


def _show(store: Store, ask: Ask) -> dict[str, Any]:
    """Return the ask without its decision, which only `use` gives."""
    return make_ask_document(store, ask) | {"decision": None, "value": None, "note": ""}
