"""Whether a tool call may run: a rule says so at once, or a person is asked.

An approval is used once: whoever holds the call takes the answer by a conditional write
just before it is passed on to the host, and a second call never gets the first one's yes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from humangate.domain.asks import settled_sentence
from humangate.domain.calls import Call, headline
from humangate.domain.outcomes import answer_text
from humangate.domain.rules import covers, forbids, in_scope, used
from humangate.errors import AlreadySettledError
from humangate.service import asking, waiting
from humangate.service.asking import Request

if TYPE_CHECKING:
    from collections.abc import Callable

    from humangate.domain.asks import Ask, Origin
    from humangate.domain.principals import Caller
    from humangate.domain.rules import Rule
    from humangate.doors.store import Store

# What is left of the host's patience is for telling the host.
_SHARE_OF_PATIENCE = 0.9


class Permission(NamedTuple):
    """What the host is told. `allow` is None when nothing was decided."""

    allow: bool | None
    message: str = ""
    """Goes to the agent, word for word."""
    input: dict[str, Any] | None = None
    """What takes the place of the call's input."""
    to_take: tuple[Ask, ...] = ()
    """Answers to be recorded as taken once the host has been told."""


class Held(NamedTuple):
    """A call on its way to a decision."""

    call: Call
    origin: Origin
    limit_seconds: float
    """How long the host waits."""
    going_on: Callable[[], str]
    elsewhere: Callable[[], str]
    """Why nobody needs to decide this any more, or nothing."""
    opened: Callable[[str], object] = lambda _: None
    """Told the id of every ask that this call waits for."""

    @property
    def user(self) -> str:
        """Who uses the answer: this call, and no other of its session."""
        return f"agent:{self.origin.session}#{self.origin.tool_use_id}"

    @property
    def patience_seconds(self) -> float:
        return self.limit_seconds * _SHARE_OF_PATIENCE


def by_rule(store: Store, call: Call, origin: Origin) -> Permission | None:
    """What the rules say. A denial wins over a grant; a grant is counted as it is used."""
    rules = _rules(store, call, origin)
    for rule in rules:
        if rule.kind == "deny" and forbids(rule, call):
            return Permission(allow=False, message=f"A person has ruled this out: {rule.pattern}")
    for rule in rules:
        if rule.kind == "grant" and covers(rule, call):
            event = used(rule, call, f"agent:{origin.session}")
            if store.rules.use(rule.id, [event]):
                return Permission(allow=True)
    return None


def gated(store: Store, call: Call, origin: Origin) -> bool:
    """Whether a person must be asked about this call."""
    rules = _rules(store, call, origin)
    return any(rule.kind != "grant" and forbids(rule, call) for rule in rules)


def _rules(store: Store, call: Call, origin: Origin) -> list[Rule]:
    return [rule for rule in store.rules.in_force() if in_scope(rule, origin, call)]


def decide(store: Store, held: Held, caller: Caller) -> Permission:
    """Hold the call until it is decided, here or elsewhere, or the host loses patience."""
    if ruled := by_rule(store, held.call, held.origin):
        return ruled
    while True:
        ask = _wait(store, _open(store, held, caller, deferred=False), held, caller)
        if permission := _outcome(store, ask, held):
            return permission


def defer(store: Store, held: Held, caller: Caller) -> Permission | None:
    """Decide at once if there is an answer; None: the host may put this call off.

    A host that puts off two calls of one session loses one of them, so while one is being
    decided every other one is denied, and the agent is told to come back.
    """
    if ruled := by_rule(store, held.call, held.origin):
        return ruled
    while True:
        ask = _open(store, held, caller, deferred=True)
        if ask.origin.tool_use_id != held.origin.tool_use_id:
            if not ask.pending:
                # The host comes back for a call before it makes another: that one is gone.
                waiting.take(store, ask, f"agent:{held.origin.session}#gone")
                continue
            held_up = f"held: {ask.id} is being decided; call this again afterwards"
            return Permission(allow=False, message=held_up)
        ask = waiting.wait(store, ask.id, 0)
        if ask.pending and ask.asked_back <= ask.heard:
            return None
        if permission := _outcome(store, ask, held):
            return permission


def answer_questions(store: Store, held: Held, caller: Caller) -> Permission:
    """The questions of a host's own tool for asking, answered in the inbox."""
    questions = held.call.input.get("questions")
    requests = [_question(one, held) for one in questions] if isinstance(questions, list) else []
    asks = [asking.ask(store, request, held.origin, caller).ask for request in requests]
    asks = [_wait(store, ask, held, caller) for ask in asks]
    if any(ask.pending and ask.asked_back > ask.heard for ask in asks):
        return next(_pass_on(store, ask) for ask in asks if ask.asked_back > ask.heard)
    if not asks or any(ask.status != "answered" for ask in asks):
        for ask in asks:
            if ask.pending:
                retire(store, ask, caller, "another of its questions was not answered")
        return Permission(allow=None)
    answers = {ask.question.prompt: answer_text(ask, ask.value).replace("\n", ", ") for ask in asks}
    return Permission(True, "", {**held.call.input, "answers": answers}, tuple(asks))


def _question(given: dict[str, Any], held: Held) -> Request:
    options = [option for option in given.get("options", []) if isinstance(option, dict)]
    return Request(
        prompt=given["question"],
        kind="choice",
        options=(*(option["label"] for option in options), "Other…"),
        multiple=bool(given.get("multiSelect")),
        context={option["label"]: option.get("description", "") for option in options},
        going_on=held.going_on(),
        expires_seconds=held.patience_seconds,
        hard=True,
    )


def _open(store: Store, held: Held, caller: Caller, *, deferred: bool) -> Ask:
    request = Request(
        prompt=headline(held.call),
        kind="approval",
        call=held.call,
        deferred=deferred,
        going_on=held.going_on(),
        # A call that was put off does not use up the host's patience.
        expires_seconds=None if deferred else held.patience_seconds,
        hard=not deferred,
    )
    return asking.ask(store, request, held.origin, caller).ask


def _wait(store: Store, ask: Ask, held: Held, caller: Caller) -> Ask:
    reason = ""

    def look() -> bool:
        nonlocal reason
        reason = held.elsewhere()
        return bool(reason)

    held.opened(ask.id)
    ask = waiting.wait_watching(store, ask.id, held.patience_seconds, look)
    return retire(store, ask, caller, reason) if ask.pending and reason else ask


def retire(store: Store, ask: Ask, caller: Caller, reason: str) -> Ask:
    """Withdraw an ask that was decided elsewhere, unless somebody was faster."""
    try:
        return asking.cancel(store, ask.id, caller, reason)
    except AlreadySettledError:
        return asking.get(store, ask.id)


def _outcome(store: Store, ask: Ask, held: Held) -> Permission | None:
    """What the state of the ask means for this call; None: it must be asked again."""
    if ask.pending and ask.asked_back > ask.heard:
        return _pass_on(store, ask)
    if ask.pending or ask.status == "cancelled":
        return Permission(allow=None)
    if ask.status == "timed_out":
        return Permission(allow=False, message=f"Nobody decided in time: {settled_sentence(ask)}")
    if not waiting.take(store, ask, held.user) and not _is_ours(store, ask, held):
        return None
    if ask.decision == "approved":
        return Permission(allow=True, input=ask.value["input"] if ask.value else None)
    words = f": {ask.note}" if ask.note else ""
    return Permission(allow=False, message=f"A person said no to this{words}")


def _is_ours(store: Store, ask: Ask, held: Held) -> bool:
    """The same call may ask by two doors at once, and may hear its answer twice."""
    return bool(held.origin.tool_use_id) and asking.get(store, ask.id).delivered_to == held.user


def _pass_on(store: Store, ask: Ask) -> Permission:
    """The person's question goes to the agent; nothing is decided by it."""
    words = waiting.new_messages(store, ask)
    waiting.hear(store, ask)
    return Permission(
        allow=False,
        message=f"NOT DECIDED YET ({ask.id}). A person asks about this first:\n{words}\n"
        f"Reply with: gate reply {ask.id} TEXT (or the ask_human tool with reply_to), "
        "then make the same call again.",
    )
