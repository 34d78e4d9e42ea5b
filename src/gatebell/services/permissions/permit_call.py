"""Whether a tool call may run: a rule says so at once, or a person is asked.

An approval is used once: whoever holds the call takes the answer by a conditional write
just before it is passed on to the host, and a second call never gets the first one's yes.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from gatebell.domain.asks.asks import OTHER, last_settler, make_id, settled_sentence
from gatebell.domain.asks.outcomes import answer_text
from gatebell.domain.audit.events import Event, EventKind
from gatebell.domain.digests import canonical
from gatebell.domain.enums import AskKind, AskStatus, Decision, RuleKind
from gatebell.domain.permissions.calls import Call, headline
from gatebell.domain.permissions.rules import (
    Rule,
    build_used_event,
    covers,
    forbids,
    in_scope,
    leaves,
)
from gatebell.domain.records import NamedTuple
from gatebell.errors import AlreadySettledError, UsageError
from gatebell.services.asks import create_ask, wait_for_ask
from gatebell.services.asks.create_ask import Request

if TYPE_CHECKING:
    from datetime import datetime

    from gatebell.domain.asks.asks import Ask, Origin
    from gatebell.domain.people.principals import Caller
    from gatebell.ports.store import Store
    from gatebell.ports.waiting_calls import CallHost

# What is left of the host's patience is for telling the host.
# The tool by which Claude Code lets an agent ask its person.
_QUESTIONS = "AskUserQuestion"
_SHARE_OF_PATIENCE = 0.9
_MAX_HEADLINE_LENGTH = 10_000


class Permission(NamedTuple):
    """What the host is told. `allow` is None when nothing was decided."""

    allow: bool | None
    message: str = ""
    """Goes to the agent, word for word."""
    input: dict[str, Any] | None = None
    """What takes the place of the call's input."""
    to_take: tuple[Ask, ...] = ()
    """Answers to be recorded as taken once the host has been told."""
    edited_by: str = ""
    """The ask in whose answer a person wrote that input."""


class Held(NamedTuple):
    """A call on its way to a decision."""

    call: Call
    origin: Origin
    limit_seconds: float
    """How long the host waits."""
    host: CallHost
    guess: str = ""
    """The id that `host` found for the call. Another call may have it: no answer is bound to it."""
    project: str = ""
    """The folder beyond which the host asks, where that is not the project of the origin."""
    folders: tuple[str, ...] = ()
    """Where the session also is, beside the call's own folder: gates of projects there hold."""
    remind_every_seconds: float | None = None

    @property
    def user(self) -> str:
        """Who uses the answer: this call, and no other of its session."""
        return f"agent:{self.origin.session}#{self.origin.tool_use_id}"

    def identify(self) -> Held:
        return self if self.origin.tool_use_id else self._replace(guess=self.host.find_call_id())

    @property
    def shown_origin(self) -> Origin:
        """With the guess, by which people and logs find the call of an ask."""
        return self.origin._replace(tool_use_id=self.origin.tool_use_id or self.guess)

    @property
    def patience_seconds(self) -> float:
        return self.limit_seconds * _SHARE_OF_PATIENCE


def by_rule(
    store: Store,
    call: Call,
    origin: Origin,
    project: str = "",
    folders: tuple[str, ...] = (),
) -> Permission | None:
    """What the rules say. A denial wins over a grant; a grant is counted as it is used."""
    rules = _rules(store, call, origin, folders)
    for rule in rules:
        if rule.kind == RuleKind.DENY and forbids(rule, call):
            return Permission(allow=False, message=f"A person has ruled this out: {rule.pattern}")
    gates = [rule for rule in rules if rule.kind == RuleKind.ASK and forbids(rule, call)]
    projects = [os.path.realpath(one) for one in (origin.project, project) if one]
    beyond = projects if leaves(call, projects) else []
    for rule in rules:
        if (
            rule.kind == RuleKind.GRANT
            and covers(rule, call)
            and _passes(store, rule, gates, beyond)
        ):
            event = build_used_event(rule, call, f"agent:{origin.session}")
            if store.rules.use(rule.id, [event]):
                return Permission(allow=True)
    return None


def _passes(store: Store, grant: Rule, gates: list[Rule], beyond: list[str]) -> bool:
    """A grant opens no gate that its person did not see: its own call must have met it, too.

    The gate of a write beyond these folders is among them, though no pattern can say it.
    """
    if grant.identity or not (gates or beyond):
        return True
    asked = store.asks.get(grant.ask_id)
    met = asked.question.call if asked else None
    if met is None or (beyond and not leaves(met, beyond)):
        return False
    return all(forbids(gate, met) for gate in gates)


def is_gated(store: Store, call: Call, origin: Origin, folders: tuple[str, ...] = ()) -> bool:
    """Whether a person must be asked about this call."""
    rules = _rules(store, call, origin, folders)
    return any(rule.kind != RuleKind.GRANT and forbids(rule, call) for rule in rules)


def _rules(store: Store, call: Call, origin: Origin, folders: tuple[str, ...]) -> list[Rule]:
    real = {os.path.realpath(folder) for folder in (origin.cwd, *folders) if folder}
    places = [origin._replace(cwd=folder) for folder in real]
    return [
        rule
        for rule in store.rules.in_force()
        if in_scope(rule, origin, call) or _holds_in(rule, places, call)
    ]


def _holds_in(rule: Rule, places: list[Origin], call: Call) -> bool:
    """A strict rule of a project holds by whichever path the project is reached."""
    if rule.kind == RuleKind.GRANT or not rule.project:
        return False
    real = rule._replace(project=os.path.realpath(rule.project))
    return any(in_scope(real, place, call) for place in places)


def decide(store: Store, held: Held, caller: Caller) -> Permission:
    """Hold the call until it is decided, here or elsewhere, or the host loses patience."""
    if ruled := by_rule(store, held.call, held.origin, held.project, held.folders):
        return ruled
    until = store.monotonic() + held.patience_seconds
    held = held.identify()
    if held.call.tool == _QUESTIONS:
        return _answer_questions(store, held, caller, until)
    while (left := until - store.monotonic()) > 0:
        ask = _open(store, held, caller, left)
        held.host.note_ask(ask.id)
        if ask.pending or _is_for(ask, held, store.now()):
            permission = _outcome(store, _wait(store, ask, held, caller, left), held)
            if permission:
                return _for_same_file(permission, held.call)
        else:
            wait_for_ask.take(store, ask, _build_gone_key(held))
    return Permission(allow=False, message="Nobody decided in time")


def find_real_path(call: Call) -> str:
    """The file that the call is about, after all links; empty: it is about none."""
    return call.path and os.path.realpath(os.path.join(call.cwd, os.path.expanduser(call.path)))


def _for_same_file(permission: Permission, call: Call) -> Permission:
    """A link may have been moved during the wait, and the yes was for the file that was shown."""
    now = find_real_path(call)
    if not permission.allow or not call.real_path or now == call.real_path:
        return permission
    moved = f"{call.path} led to {call.real_path} and now leads to {now}, so the yes is not used"
    return Permission(allow=False, message=f"{moved}. Make the call again: a person is asked anew.")


def _is_for(ask: Ask, held: Held, now: datetime) -> bool:
    """Whether an answer that nobody took may be this call's: made again after a crash.

    Not when the first call came to an end without it, as by a no in the host's own dialog, and
    not after the time in which it would have counted.
    """
    first, clock = ask.origin.tool_use_id, ask.deadlines
    if first and first == held.origin.tool_use_id:
        return True
    late = clock.expires_at is not None and clock.expires_at <= now
    return not late and not (first and held.host.has_result(first))


def _build_gone_key(held: Held) -> str:
    return f"agent:{held.origin.session}#gone"


def defer(store: Store, held: Held, caller: Caller) -> Permission | None:
    """Decide at once if there is an answer; None: the host may put this call off.

    A host that puts off two calls of one session loses one of them, so while one is being
    decided every other one is denied, and the agent is told to come back.
    """
    if ruled := by_rule(store, held.call, held.origin, held.project, held.folders):
        return ruled
    if not held.origin.tool_use_id:
        raise UsageError("a call without an id cannot be put off")
    while True:
        ask = _open(store, held, caller, None)
        same = ask.question.call and ask.question.call.identity == held.call.identity
        if not same or ask.origin.tool_use_id != held.origin.tool_use_id:
            if not ask.pending:
                # The host comes back for a call before it makes another: that one is gone.
                wait_for_ask.take(store, ask, _build_gone_key(held))
                continue
            held_up = f"held: {ask.id} is being decided; call this again afterwards"
            return Permission(allow=False, message=held_up)
        ask = wait_for_ask.wait(store, ask.id, 0)
        if ask.pending and ask.asked_back <= ask.heard:
            return None
        if permission := _outcome(store, ask, held):
            return permission


def hand_over(store: Store, permission: Permission, held: Held) -> None:
    """The host has been told: the answers that this came of are taken."""
    for ask in permission.to_take:
        wait_for_ask.take(store, ask, held.user)


def _answer_questions(store: Store, held: Held, caller: Caller, until: float) -> Permission:
    """The questions of a host's own tool for asking, answered in the inbox."""
    asks = [
        create_ask.ask(store, request, held.shown_origin, caller).ask for request in _requests(held)
    ]
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
    answers = {ask.question.prompt: answer_text(ask, ask.value).replace("\n", ", ") for ask in asks}
    return Permission(True, "", {**held.call.input, "answers": answers}, tuple(asks))


def _requests(held: Held) -> list[Request]:
    """The host's questions as asks, if they have the form that is known."""
    questions, activity = held.call.input.get("questions"), held.host.describe_activity()
    try:
        return [
            Request(
                prompt=one["question"],
                kind=AskKind.CHOICE,
                options=(*(option["label"] for option in one["options"]), OTHER),
                multiple=bool(one.get("multiSelect")),
                context={o["label"]: o.get("description", "") for o in one["options"]},
                activity=activity,
                expires_seconds=held.patience_seconds,
                hard=True,
                remind_every_seconds=held.remind_every_seconds,
            )
            for one in questions or ()
        ]
    except (TypeError, KeyError, AttributeError):
        raise UsageError("the host's questions have an unknown form") from None


def _open(store: Store, held: Held, caller: Caller, seconds: float | None) -> Ask:
    """The ask about this call; without a time, the call was put off and uses up no patience."""
    prompt = headline(held.call)
    request = Request(
        # The whole call is shown beneath it, however long it is.
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
    """Withdraw an ask that was decided elsewhere, unless somebody was faster."""
    try:
        return create_ask.withdraw(store, ask.id, caller, reason)
    except AlreadySettledError:
        return create_ask.get(store, ask.id)


def _outcome(store: Store, ask: Ask, held: Held) -> Permission | None:
    """What the state of the ask means for this call; None: it must be asked again."""
    if ask.pending and ask.asked_back > ask.heard:
        return _pass_on(store, ask)
    if ask.pending or ask.status == AskStatus.CANCELLED:
        return Permission(allow=None)
    if ask.status == AskStatus.TIMED_OUT:
        return Permission(allow=False, message=f"Nobody decided in time: {settled_sentence(ask)}")
    if not wait_for_ask.take(store, ask, held.user) and not _is_ours(store, ask, held):
        return None
    if ask.decision == Decision.APPROVED:
        if ask.value:
            return Permission(allow=True, input=ask.value["input"], edited_by=ask.id)
        return Permission(allow=True)
    words = f": {ask.note}" if ask.note else ""
    return Permission(allow=False, message=f"A person said no to this{words}")


def instead(store: Store, ask_id: str, held: Held, edited: Call) -> Permission:
    """For a host that does not take an edited input: the agent makes that call itself, once."""
    ask = create_ask.get(store, ask_id)
    now = store.now()
    made_by, origin = last_settler(ask), held.origin
    rule = Rule(
        make_id(6, os.urandom(16), "g-"), RuleKind.GRANT, edited.pattern, made_by, now, edited.identity,
        origin.project, origin.session, uses_left=1, ask_id=ask.id,
    )  # fmt: skip
    content = {"pattern": rule.pattern, "identity": rule.identity, "ask": ask.id, "via": "answer"}
    store.rules.add([rule], [Event(EventKind.GRANT_MADE, rule.id, made_by, content)])
    said = f"A person allows something else instead. Call {edited.tool} with exactly this input:"
    return Permission(allow=False, message=f"{said}\n{canonical(edited.input)}")


def _is_ours(store: Store, ask: Ask, held: Held) -> bool:
    """The same call may ask by two doors at once, and may hear its answer twice.

    Only the host knows which calls are the same, so only an id that it gave counts.
    """
    return bool(held.origin.tool_use_id) and create_ask.get(store, ask.id).delivered_to == held.user


def _pass_on(store: Store, ask: Ask) -> Permission:
    """The person's question goes to the agent; nothing is decided by it."""
    words = wait_for_ask.new_messages(store, ask)
    wait_for_ask.hear(store, ask)
    return Permission(
        allow=False,
        message=f"NOT DECIDED YET ({ask.id}). A person asks about this first:\n{words}\n"
        f"Reply with: gate reply {ask.id} TEXT (or the ask_human tool with reply_to), "
        "then make the same call again.",
    )
