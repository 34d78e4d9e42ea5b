"""Decide whether a tool call may run: by a rule at once, or by asking a person.

An approval is used once. The process that holds the call takes the answer by a conditional write
just before it tells the host. So a second call never uses the approval of the first.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gatebell.domain.asks.asks import last_settler, make_id, settled_sentence
from gatebell.domain.asks.outcomes import answer_text
from gatebell.domain.audit.events import Event, EventKind
from gatebell.domain.digests import canonical
from gatebell.domain.enums import AskKind, AskStatus, Decision, RuleKind
from gatebell.domain.people.logins import client_of
from gatebell.domain.permissions.acts import GATED_ACTS
from gatebell.domain.permissions.calls import Call, headline
from gatebell.domain.permissions.host_questions import QUESTIONS, build_requests
from gatebell.domain.permissions.rules import (
    Rule,
    build_used_event,
    forbids,
    in_scope,
    leaves,
    lets_pass,
)
from gatebell.errors import AlreadySettledError, FrozenError, UsageError
from gatebell.ports.calls.waiting_calls import Held as Held, Permission as Permission  # noqa: PLC0414  exported
from gatebell.services import freezes
from gatebell.services.asks import create_ask, wait_for_ask
from gatebell.services.asks.create_ask import Request
from gatebell.services.permissions.same_call import for_same_file, identify, is_for

if TYPE_CHECKING:
    from gatebell.domain.asks.asks import Ask, Origin
    from gatebell.domain.people.principals import Caller
    from gatebell.ports.store import Store

_MAX_HEADLINE_LENGTH = 10_000


def by_rule(
    store: Store,
    call: Call,
    origin: Origin,
    project: str = "",
    folders: tuple[str, ...] = (),
    *,
    is_harmless: bool = False,
    runs_ungated: bool = False,
) -> Permission | None:
    """Decide by the rules. A denial wins over a grant; the use of a grant is counted.

    A harmless call that only a default gate held passes, as it would without that gate. While
    everything is frozen, no grant can be used.
    """
    rules = _rules(store, call, origin, folders)
    for rule in rules:
        if rule.kind == RuleKind.DENY and forbids(rule, call):
            return Permission(
                allow=False, message=f"A person denied this by a rule: {rule.pattern}"
            )
    gates = [rule for rule in rules if rule.kind == RuleKind.ASK and forbids(rule, call)]
    if is_harmless:
        gates = [rule for rule in gates if rule.pattern not in GATED_ACTS]
        if runs_ungated and not gates:
            return Permission(allow=True)
    projects = [os.path.realpath(one) for one in (origin.project, project) if one]
    beyond = projects if leaves(call, projects) else []
    for rule in rules:
        if (
            rule.kind == RuleKind.GRANT
            and lets_pass(rule, call)
            and _is_same_client(store, rule, origin)
            and _passes(store, rule, gates, beyond)
        ):
            event = build_used_event(rule, call, f"agent:{origin.session}")
            if store.rules.use(rule.id, [event]):
                return Permission(allow=True)
    return None


def _is_same_client(store: Store, grant: Rule, origin: Origin) -> bool:
    """Return whether a grant was made for this machine, or for the token of this machine.

    The same path on another machine is another folder, and its agent only claims to work there.
    """
    asked = store.asks.get(grant.ask_id) if grant.ask_id else None
    return client_of(asked.origin.session if asked else "") == client_of(origin.session)


def _passes(store: Store, grant: Rule, gates: list[Rule], beyond: list[str]) -> bool:
    """Return whether a grant covers all gates of this call.

    A grant passes only gates that its own call met, because its person saw only those. One of them
    can be the gate for writes outside of these folders, although no pattern expresses it.
    """
    if grant.identity or not (gates or beyond):
        return True
    asked = store.asks.get(grant.ask_id)
    met = asked.question.call if asked else None
    if met is None or (beyond and not leaves(met, beyond)):
        return False
    return all(forbids(gate, met) for gate in gates)


def list_standing(store: Store, call: Call, origin: Origin) -> list[Rule]:
    """Return the grants without an end by which such a call would pass, if it were harmless."""
    rules = _rules(store, call, origin, ())
    gates = [
        rule
        for rule in rules
        if rule.kind == RuleKind.ASK and rule.pattern not in GATED_ACTS and forbids(rule, call)
    ]
    return [
        rule
        for rule in rules
        if rule.is_standing
        and lets_pass(rule, call)
        and _is_same_client(store, rule, origin)
        and _passes(store, rule, gates, [])
    ]


def is_gated(
    store: Store,
    call: Call,
    origin: Origin,
    folders: tuple[str, ...] = (),
    *,
    is_harmless: bool = False,
) -> bool:
    """Return whether a person must be asked about this call."""
    return any(
        rule.kind != RuleKind.GRANT
        and forbids(rule, call)
        and not (is_harmless and rule.pattern in GATED_ACTS)
        for rule in _rules(store, call, origin, folders)
    )


def by_rule_of(store: Store, held: Held) -> Permission | None:
    """Decide a held call by the rules."""
    return by_rule(
        store,
        held.call,
        held.origin,
        held.project,
        held.folders,
        is_harmless=held.is_harmless,
        runs_ungated=held.runs_ungated,
    )


def _rules(store: Store, call: Call, origin: Origin, folders: tuple[str, ...]) -> list[Rule]:
    real = {os.path.realpath(folder) for folder in (origin.cwd, *folders) if folder}
    places = [origin._replace(cwd=folder) for folder in real]
    return [
        rule
        for rule in store.rules.in_force()
        if in_scope(rule, origin, call) or _holds_in(rule, places, call)
    ]


def _holds_in(rule: Rule, places: list[Origin], call: Call) -> bool:
    """Return whether a gate or denial applies, by any path to its project."""
    if rule.kind == RuleKind.GRANT or not rule.project:
        return False
    real = rule._replace(project=os.path.realpath(rule.project))
    return any(in_scope(real, place, call) for place in places)


def decide(store: Store, held: Held, caller: Caller) -> Permission:
    """Hold the call until it is decided, here or elsewhere, or the host's time limit ends.

    While everything is frozen the call waits: no rule and no answer gives a yes.
    """
    until = store.monotonic() + held.patience_seconds
    try:
        if freezes.hold(store, held.host, until):
            return Permission(allow=None)
        return _decide(store, held, caller, until)
    except FrozenError as error:
        return Permission(allow=False, message=str(error))


def _decide(store: Store, held: Held, caller: Caller, until: float) -> Permission:
    if ruled := by_rule_of(store, held):
        return ruled
    held = identify(held)
    if held.call.tool == QUESTIONS:
        return _answer_questions(store, held, caller, until)
    while (left := until - store.monotonic()) > 0:
        ask = _open(store, held, caller, left)
        held.host.note_ask(ask.id)
        if ask.pending or is_for(ask, held, store.now()):
            ask = _wait(store, ask, held, caller, left)
            if permission := _use_once_lifted(store, ask, held, until):
                return for_same_file(permission, held.call)
        else:
            drop(store, ask, held)
    return Permission(allow=False, message="No person decided in time")


def _use_once_lifted(store: Store, ask: Ask, held: Held, until: float) -> Permission | None:
    """Use the answer; a yes that comes while everything is frozen waits with its call."""
    while True:
        try:
            return use(store, ask, held)
        except FrozenError:
            if freezes.hold(store, held.host, until):
                return Permission(allow=None)


def hold(store: Store, held: Held, caller: Caller, seconds: float | None) -> Permission | Ask:
    """Decide by a rule, or open the ask about this call; without `seconds`, for a deferred call.

    For a host on another machine, which waits there and then calls `use`.
    """
    ruled = by_rule_of(store, held)
    return ruled or _open(store, held, caller, seconds)


def drop(store: Store, ask: Ask, held: Held) -> None:
    """Record that the call ended without the answer to its ask, so that no other call uses it."""
    wait_for_ask.take(store, ask, f"agent:{held.origin.session}#gone")


def defer(store: Store, held: Held, caller: Caller) -> Permission | None:
    """Decide at once if there is an answer; None: the host may defer this call.

    A host that defers two calls of one session loses one of them. So while one call is being
    decided, every other call is denied with a message to try again later. So is every call while
    everything is frozen: no answer would wake a call that is deferred for that.
    """
    try:
        freezes.must_be_lifted(store)
        return _defer(store, held, caller)
    except FrozenError as error:
        return Permission(allow=False, message=str(error))


def _defer(store: Store, held: Held, caller: Caller) -> Permission | None:
    if ruled := by_rule_of(store, held):
        return ruled
    if not held.origin.tool_use_id:
        raise UsageError("a call without an id cannot be deferred")
    while True:
        ask = _open(store, held, caller, None)
        same = ask.question.call and ask.question.call.identity == held.call.identity
        if not same or ask.origin.tool_use_id != held.origin.tool_use_id:
            if not ask.pending:
                # The host continues a deferred call before it makes another, so the old call is
                # gone.
                drop(store, ask, held)
                continue
            held_up = f"held: {ask.id} is being decided; call this again afterwards"
            return Permission(allow=False, message=held_up)
        ask = wait_for_ask.wait(store, ask.id, 0)
        if ask.pending and ask.asked_back <= ask.heard:
            return None
        if permission := use(store, ask, held):
            return permission


def hand_over(store: Store, permission: Permission, held: Held) -> None:
    """Record the answers as taken, after the host got the decision."""
    for ask in permission.to_take:
        wait_for_ask.take(store, ask, held.user)


def _answer_questions(store: Store, held: Held, caller: Caller, until: float) -> Permission:
    """Ask the questions of the host's own question tool in the inbox, and return the answers."""
    requests = build_requests(
        held.call, held.host.describe_activity(), held.patience_seconds, held.remind_every_seconds
    )
    asks = [create_ask.ask(store, request, held.shown_origin, caller).ask for request in requests]
    for ask in asks:
        held.host.note_ask(ask.id)
    asks = [_wait(store, ask, held, caller, until - store.monotonic()) for ask in asks]
    if any(ask.pending and ask.asked_back > ask.heard for ask in asks):
        return next(_pass_on(store, ask) for ask in asks if ask.asked_back > ask.heard)
    if not asks or any(ask.status != AskStatus.ANSWERED for ask in asks):
        for ask in asks:
            if ask.pending:
                retire(store, ask, caller, "another of its questions was not answered")
        return Permission(allow=None)
    if freezes.hold(store, held.host, until):
        return Permission(allow=None)
    answers = {ask.question.prompt: answer_text(ask, ask.value).replace("\n", ", ") for ask in asks}
    return Permission(True, "", {**held.call.input, "answers": answers}, tuple(asks))


def _open(store: Store, held: Held, caller: Caller, seconds: float | None) -> Ask:
    """Open the ask about this call; without `seconds`, for a deferred call without a limit."""
    prompt = headline(held.call)
    request = Request(
        # The whole call is shown below the prompt, at any length.
        prompt=f"{prompt[:_MAX_HEADLINE_LENGTH]}…"
        if len(prompt) > _MAX_HEADLINE_LENGTH
        else prompt,
        kind=AskKind.APPROVAL,
        call=held.call,
        deferred=seconds is None,
        activity=held.host.describe_activity(),
        expires_seconds=seconds,
        hard=seconds is not None,
        remind_every_seconds=held.remind_every_seconds,
    )
    return create_ask.ask(store, request, held.shown_origin, caller).ask


def _wait(store: Store, ask: Ask, held: Held, caller: Caller, seconds: float) -> Ask:
    until = store.monotonic() + max(0.0, seconds)
    reason = held.host.find_reason_to_stop() if ask.pending else ""
    while not reason:
        left = until - store.monotonic()
        ask = wait_for_ask.wait(store, ask.id, min(left, wait_for_ask.LOOK_AROUND_SECONDS))
        if left <= 0 or wait_for_ask.is_over(store, ask):
            return ask
        reason = held.host.find_reason_to_stop()
    return retire(store, ask, caller, reason)


def retire(store: Store, ask: Ask, caller: Caller, reason: str) -> Ask:
    """Withdraw an ask that was decided elsewhere, unless it was settled first."""
    try:
        return create_ask.withdraw(store, ask.id, caller, reason)
    except AlreadySettledError:
        return create_ask.get(store, ask.id)


def use(store: Store, ask: Ask, held: Held) -> Permission | None:
    """Return the decision that the ask gives for this call; None: ask again.

    Raises:
        FrozenError: It is a yes, and everything is frozen. The answer is not used.
    """
    if ask.pending and ask.asked_back > ask.heard:
        return _pass_on(store, ask)
    if ask.pending or ask.status == AskStatus.CANCELLED:
        return Permission(allow=None)
    if ask.status == AskStatus.TIMED_OUT:
        return Permission(
            allow=False, message=f"No person decided in time: {settled_sentence(ask)}"
        )
    is_yes = ask.decision == Decision.APPROVED
    if is_yes:
        freezes.must_be_lifted(store)
    is_first = wait_for_ask.take(store, ask, held.user, unless_frozen=is_yes)
    if not is_first and not _is_ours(store, ask, held):
        return None
    if is_yes:
        if ask.value:
            edited = ask.value["input"]
            return Permission(allow=True, input=edited, edited_by=ask.id, again=not is_first)
        return Permission(allow=True)
    words = f": {ask.note}" if ask.note else ""
    return Permission(allow=False, message=f"A person said no to this{words}")


def instead(store: Store, ask_id: str, held: Held, edited: Call) -> Permission:
    """Deny, with the edited input as text: this host cannot take it, so the agent calls again."""
    ask = create_ask.get(store, ask_id)
    now = store.now()
    made_by, origin = last_settler(ask), held.origin
    rule = Rule(
        make_id(6, os.urandom(16), "g-"), RuleKind.GRANT, edited.pattern, made_by, now, edited.identity,
        origin.project, origin.session, uses_left=1, ask_id=ask.id,
        project_key=origin.project_key,
    )  # fmt: skip
    content = {"pattern": rule.pattern, "identity": rule.identity, "ask": ask.id, "via": "answer"}
    store.rules.add([rule], [Event(EventKind.GRANT_MADE, rule.id, made_by, content)])
    said = f"A person allows something else instead. Call {edited.tool} with exactly this input:"
    return Permission(allow=False, message=f"{said}\n{canonical(edited.input)}")


def _is_ours(store: Store, ask: Ask, held: Held) -> bool:
    """Return whether this call may use the answer.

    The same call may ask through two faces at once, and may get its answer twice. Only the host
    knows which calls are the same, so only an id from the host counts.
    """
    return bool(held.origin.tool_use_id) and create_ask.get(store, ask.id).delivered_to == held.user


def _pass_on(store: Store, ask: Ask) -> Permission:
    """Pass the person's question to the agent; this decides nothing."""
    words = wait_for_ask.new_messages(store, ask)
    wait_for_ask.hear(store, ask)
    return Permission(
        allow=False,
        message=f"NOT DECIDED YET ({ask.id}). A person asks about this first:\n{words}\n"
        f"Reply with: gate reply {ask.id} TEXT (or the ask_human tool with reply_to), "
        "then make the same call again.",
    )
