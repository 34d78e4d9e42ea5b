"""Hold a tool call by a server. Nothing is kept for later: without a server the answer is no."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any

from gatebell.adapters.remote.http import StoppedError
from gatebell.adapters.remote.wire_format import WAIT_SECONDS, build_origin
from gatebell.domain.asks.outcomes import answer_text
from gatebell.domain.enums import AgentCli, AskStatus
from gatebell.domain.permissions.host_questions import QUESTIONS, build_requests
from gatebell.errors import FrozenError, GateError, ServerError
from gatebell.ports.calls.waiting_calls import Permission
from gatebell.services.permissions.same_call import for_same_file, identify, is_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from gatebell.adapters.remote.backend import RemoteBackend
    from gatebell.adapters.remote.http import Http
    from gatebell.domain.asks.asks import Ask, Origin
    from gatebell.domain.people.principals import Caller
    from gatebell.domain.permissions.calls import Call
    from gatebell.ports.calls.waiting_calls import Held

_SHARE_OF_LIMIT = 0.25
_MAX_REQUEST_SECONDS = 10.0
# A server that restarts is back by then. Longer, and the agent is told no.
_SHARE_OF_OUTAGE = 0.1
_MAX_OUTAGE_SECONDS = 10.0
_PAUSE_SECONDS = 0.25
_ATTEMPTS = 3
_LOOK_SECONDS = 1.0


def decide(backend: RemoteBackend, http: Http, held: Held, caller: Caller) -> Permission:
    """Hold the call until it is decided, here or elsewhere, or the host's time limit ends."""
    until = time.monotonic() + held.patience_seconds
    try:
        return _decide(backend, http, held, caller, until)
    except FrozenError as error:
        return Permission(allow=False, message=str(error))
    except GateError as error:
        return Permission(
            allow=False, message=f"No person could be asked, so this is a no: {error}"
        )


def _decide(
    backend: RemoteBackend, http: Http, held: Held, caller: Caller, until: float
) -> Permission:
    """Ask the rules first, because the id and the activity of a call take a moment to find."""
    ruled = _post_once_lifted(
        held, until, partial(_post, http, "/api/permissions", held, caller, {"only_rules": True})
    )
    if ruled["permission"]:
        return _read_permission(ruled["permission"])
    held = identify(held)
    if held.call.tool == QUESTIONS:
        return _answer_questions(backend, held, caller, until)
    activity = held.host.describe_activity()
    while (left := until - time.monotonic()) > 0:
        more = {"activity": activity, "seconds": left}
        found = _post_once_lifted(
            held, until, partial(_post, http, "/api/permissions", held, caller, more)
        )
        if found["permission"]:
            return _read_permission(found["permission"])
        ask = backend.read(found["ask"])
        held.host.note_ask(ask.id)
        if not ask.pending and not is_for(ask, held, backend.now()):
            _post(http, f"/api/permissions/{ask.id}/use", held, caller, {"drop": True})
            continue
        ask = _wait(backend, ask, held, caller, left)
        used = _post_once_lifted(held, until, partial(_use, http, ask, held, caller))
        if used["permission"]:
            return for_same_file(_read_permission(used["permission"]), held.call)
    return Permission(allow=False, message="No person decided in time")


def _post_once_lifted(held: Held, until: float, post: Callable[[], Any]) -> Any:
    """Send a request again until the server no longer says that everything is frozen."""
    while words := (found := post()).get("frozen"):
        held.host.note_wait()
        if held.host.find_reason_to_stop():
            return {"permission": {"allow": None, "message": "", "input": None}}
        if time.monotonic() >= until:
            raise FrozenError(words)
        time.sleep(_LOOK_SECONDS)
    return found


def _wait(backend: RemoteBackend, ask: Ask, held: Held, caller: Caller, seconds: float) -> Ask:
    until = time.monotonic() + seconds
    reason = held.host.find_reason_to_stop() if ask.pending else ""
    outage = min(_MAX_OUTAGE_SECONDS, held.limit_seconds * _SHARE_OF_OUTAGE)
    longest = min(WAIT_SECONDS, held.limit_seconds * _SHARE_OF_LIMIT)
    silent_since = None
    while not reason and ask.pending:
        left = until - time.monotonic()
        if left <= 0 or ask.asked_back > ask.heard:
            return ask
        whole = max(1, int(min(left, longest)))
        due = time.monotonic() + whole
        try:
            # A server that hangs is noticed when this is over, so a short limit needs short waits.
            ask = backend.wait_once(ask.id, whole, host=held.host, slack_seconds=outage)
            silent_since = None
        except StoppedError as stopped:
            reason = str(stopped)
        except ServerError:
            now = time.monotonic()
            # Until its response was due, a silent server was only waiting.
            silent_since = silent_since or min(now, due)
            if now - silent_since >= outage or now >= until:
                raise
            time.sleep(_PAUSE_SECONDS)
            reason = held.host.find_reason_to_stop()
    return backend.retire(ask, caller, reason) if reason else ask


def _use(http: Http, ask: Ask, held: Held, caller: Caller) -> Any:
    """Use the answer for this call. The same call may ask again, and gets the same answer."""
    is_codex = held.origin.session.startswith(f"{AgentCli.CODEX}/")
    # Seen: Codex takes no edited input, and Claude Code none that meets a rule to ask.
    edits = "yes" if caller.via == "mcp" else "no" if is_codex else "unless_gated"
    for attempt in range(_ATTEMPTS):
        try:
            return _post(http, f"/api/permissions/{ask.id}/use", held, caller, {"edits": edits})
        except ServerError:
            if attempt == _ATTEMPTS - 1:
                raise
            time.sleep(_PAUSE_SECONDS)
    raise AssertionError


def _answer_questions(
    backend: RemoteBackend, held: Held, caller: Caller, until: float
) -> Permission:
    """Ask the questions of the host's own question tool in the inbox, and return the answers."""
    requests = build_requests(
        held.call, held.host.describe_activity(), held.patience_seconds, held.remind_every_seconds
    )
    asks = [backend.ask(request, held.shown_origin, caller).ask for request in requests]
    for ask in asks:
        held.host.note_ask(ask.id)
    asks = [_wait(backend, ask, held, caller, until - time.monotonic()) for ask in asks]
    for ask in asks:
        if ask.pending and ask.asked_back > ask.heard:
            said = [one.text for one in backend.messages(ask.id) if not one.by_asker]
            backend.hear(ask)
            return Permission(allow=False, message=f"NOT DECIDED YET ({ask.id}). A person asks:\n"
                              f"{said[-1]}\nReply with: gate reply {ask.id} TEXT")  # fmt: skip
    if not asks or any(ask.status != AskStatus.ANSWERED for ask in asks):
        for ask in asks:
            if ask.pending:
                backend.retire(ask, caller, "another of its questions was not answered")
        return Permission(allow=None)
    taken = [backend.reveal(ask, "") for ask in asks]
    answers = {
        ask.question.prompt: answer_text(ask, value).replace("\n", ", ") for ask, value in taken
    }
    return Permission(True, "", {**held.call.input, "answers": answers})


def defer(http: Http, held: Held, caller: Caller) -> Permission | None:
    more = {"activity": held.host.describe_activity(), "defer": True}
    found = _post(http, "/api/permissions", held, caller, more)["permission"]
    return _read_permission(found) if found else None


def is_gated(
    http: Http, call: Call, origin: Origin, folders: tuple[str, ...], *, is_harmless: bool
) -> bool:
    body = build_origin(origin) | {"call": call._asdict(), "folders": list(filter(None, folders))}
    if is_harmless:
        # Left out otherwise: servers of older versions do not know it.
        body["is_harmless"] = True
    return bool(http.send("POST", "/api/permissions/gated", body)["gated"])


def _post(http: Http, path: str, held: Held, caller: Caller, more: dict[str, Any]) -> Any:
    body = build_origin(held.origin) | {
        "call": held.call._asdict(),
        "guess": held.guess,
        "outside_of": held.project,
        "folders": list(filter(None, held.folders)),
    }
    if held.is_harmless:
        # Left out otherwise: servers of older versions do not know them.
        body |= {"is_harmless": True, "runs_ungated": held.runs_ungated}
    if held.remind_every_seconds is not None:
        body["remind_every_seconds"] = held.remind_every_seconds
    seconds = min(_MAX_REQUEST_SECONDS, held.limit_seconds * _SHARE_OF_LIMIT)
    return http.send("POST", path, body | more, seconds=seconds, via=caller.via)


def _read_permission(document: dict[str, Any]) -> Permission:
    return Permission(document["allow"], document["message"], document["input"])
