"""The tools: each turns an agent's call into a use case, and its result into plain text."""

from __future__ import annotations

import json
import os
import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NamedTuple

from gatebell.app import background, wiring
from gatebell.domain.asks.asks import Origin, settled_sentence
from gatebell.domain.asks.elicitation import Quotation
from gatebell.domain.asks.gone_askers import MARK, WAITER_GONE
from gatebell.domain.asks.outcomes import answer_text
from gatebell.domain.asks.requests import Request
from gatebell.domain.enums import AskKind, AskStatus
from gatebell.domain.runs.signals import parse_signal
from gatebell.domain.text.suggestions import suggest
from gatebell.errors import NotAnsweredError, UsageError
from gatebell.mcp import decision_form
from gatebell.mcp.attachments import attach_files, save_files
from gatebell.mcp.clients import Client, add_session, describe_client
from gatebell.mcp.heartbeat import heartbeat
from gatebell.mcp.schemas import PROPERTIES
from gatebell.ports.calls.waiting_calls import Held

if TYPE_CHECKING:
    from collections.abc import Callable

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.people.principals import Caller
    from gatebell.mcp.decision_form import Form
    from gatebell.mcp.server import Progress
    from gatebell.ports.backends.backend import Backend

_ASK_AGAIN = "Ask the same question again with ask_human to get its answer."
_CALL_AGAIN = "Make the same call again: the decision counts for that one."
# The reasons by which clients say that a call ran out of time, and was not stopped by a person.
_OUT_OF_TIME = ("timed out", "timeout")

Text = tuple[str, "Callable[[], object] | None"]


class Work(NamedTuple):
    """One call in progress."""

    client: Client
    meta: dict[str, Any]
    progress: Progress
    asks: list[str]
    """The asks that it opened, to withdraw them if the call is cancelled."""
    cancelled: list[str]
    """The reason, if it was cancelled."""
    withdraw_always: bool
    """The answer is not needed once the agent is gone."""


class Tools:
    """The tools of one client."""

    def __init__(self, limit_seconds: float) -> None:
        self._limit = limit_seconds
        self._client = Client(session=os.urandom(8).hex())
        self._working: dict[Any, Work] = {}
        self._lock = threading.Lock()
        self._opened: Backend | None = None

    def meet(self, info: Any, capabilities: Any) -> None:
        """Keep the name and the abilities that the client sent."""
        self._client = describe_client(self._client, info, capabilities)

    def _backend(self) -> Backend:
        with self._lock:
            if self._opened is None:
                self._opened = wiring.open_backend()
            return self._opened

    def begin(
        self, request: str | int, name: str, meta: dict[str, Any], progress: Progress
    ) -> Work | None:
        """Register a call before the work on it; None while its id is in use."""
        work = Work(add_session(self._client, meta), meta, progress, [], [], name == "approve")
        with self._lock:
            if request in self._working:
                return None
            self._working[request] = work
        return work

    def call(self, work: Work, name: str, given: dict[str, Any]) -> Text | Form:
        """Return the result of a call, or a form that the host must show first."""
        tools: dict[str, Callable[[Work, dict[str, Any]], Text | Form]] = {
            "ask_human": self._ask_human,
            "approve": self._approve,
            "signal": self._signal,
            "decide": self._decide,
            "notify_human": self._notify_human,
            "inbox_status": self._inbox_status,
        }
        takes = PROPERTIES[name]
        if unknown := sorted(set(given) - takes):
            near = suggest(unknown[0], takes) or "."
            all_ = ", ".join(sorted(takes))
            raise UsageError(f"{name} has no parameter {unknown[0]}{near} It takes {all_}")
        made = tools[name](work, given)
        if name == "approve" or not isinstance(made, tuple) or not isinstance(made[0], str):
            return made
        return self._add_answers(work, made)

    def _add_answers(self, work: Work, made: Text) -> Text:
        """Add the answers of background asks that have come for this session."""
        origin, caller = self._asker(work)
        found = background.collect(self._backend(), origin, caller)
        if found is None:
            return made
        text, handed_over = made

        def done() -> None:
            if handed_over:
                handed_over()
            found.done()

        return f"{text}\n\n{found.text}", done

    def finish(self, request: str | int, work: Work) -> bool:
        """Remove a call; return whether the client still waits for its result."""
        with self._lock:
            waits = self._working.get(request) is work
            if waits:
                del self._working[request]
            return waits

    def cancel(self, request: Any, reason: str) -> None:
        """Withdraw the asks of a call that the client gave up, unless the call only ran out of time."""
        with self._lock:
            work = self._working.pop(request, None)
        out_of_time = any(word in reason.lower() for word in _OUT_OF_TIME)
        if work and (work.withdraw_always or not out_of_time):
            work.cancelled.append(f"the agent gave the call up{f': {reason}' if reason else ''}")
            self._withdraw(work)

    def abandon(self) -> None:
        """Keep the questions of a client that is gone; withdraw its approvals."""
        with self._lock:
            left = [work for work in self._working.values() if work.withdraw_always]
            self._working.clear()
        for work in left:
            work.cancelled.append(f"{work.client.cli} is gone")
            self._withdraw(work)

    def _note_opened(self, work: Work, ask_id: str) -> None:
        """Note a new ask. Both orders of the race between open and cancel are handled here."""
        work.asks.append(ask_id)
        if work.cancelled:
            self._withdraw(work)

    def _withdraw(self, work: Work) -> None:
        backend, (_, caller) = self._backend(), self._asker(work)
        for ask_id in work.asks:
            ask = backend.get(ask_id)
            if ask.pending:
                backend.retire(ask, caller, work.cancelled[0])

    def _asker(self, work: Work) -> tuple[Origin, Caller]:
        because = f"a tool of {work.client.cli} was called"
        caller = wiring.agent_caller(work.client.cli, work.client.session, "mcp", because)
        call_id = work.meta.get("claudecode/toolUseId") or work.meta.get("callId") or ""
        folder = os.environ.get("CLAUDE_PROJECT_DIR")
        origin = wiring.origin(caller, folder=folder)
        return origin._replace(tool_use_id=str(call_id)), caller

    def _ask_human(self, work: Work, given: dict[str, Any]) -> Text:
        origin, caller = self._asker(work)
        if reply_to := given.get("reply_to"):
            return self._reply(work, _text(reply_to), _text(given.get("reply", "")))
        several = given.get("questions")
        if several is not None and (not isinstance(several, list) or not several):
            raise UsageError("questions is a list of at least one question")
        goes_on = _goes_on(given, several or [given])
        more = {
            "priority": given.get("urgency", "normal"),
            # A question in the background stays open without a host that waits.
            "expires_seconds": (
                None if goes_on and "timeout" not in given else self._seconds(given.get("timeout"))
            ),
            "activity": wiring.summarise_activity(origin),
            "assume": _text(given.get("assume") or "") if goes_on else None,
        }
        requests = [_request(one, more) for one in (several or [given])]
        where = wiring.move_to_project(origin)
        backend = self._backend()
        requests = [
            attach_files(backend, request, one.get("attachments"), origin)
            for request, one in zip(requests, several or [given], strict=True)
        ]
        asks = [backend.ask(request, where, caller).ask for request in requests]
        if goes_on:
            return self._go_on(asks, origin), None
        for ask in asks:
            self._note_opened(work, ask.id)
        return self._wait(work, asks, caller)

    def _go_on(self, asks: list[Ask], origin: Origin) -> str:
        """Note where the answers go; return what the agent must know about them."""
        backend, lines = self._backend(), []
        for ask in asks:
            if ask.assume is None:
                lines.append(f"{ask.id} was asked before, to wait for it: ask again without wait")
                continue
            background.expect(backend, ask, origin, os.getppid())
            assumed = f' Until then you go on with: "{ask.assume}"' if ask.assume else ""
            lines.append(f"{ask.id} is asked and not answered yet.{assumed}")
        lines.append("Each answer comes to you once, by itself, after a tool call or a turn.")
        return "\n".join(lines)

    def _reply(self, work: Work, ask_id: str, text: str) -> Text:
        origin, caller = self._asker(work)
        backend = self._backend()
        ask = backend.get(ask_id)
        if not backend.is_of_session(ask, origin):
            raise UsageError(f"{ask.id} was asked by another session: only that session can reply")
        ask = backend.reply(ask.id, caller, text)
        if ask.question.call:
            return "Your reply was sent. Make the same call again to wait for the answer.", None
        self._note_opened(work, ask.id)
        return self._wait(work, [ask], caller)

    def _seconds(self, timeout: Any) -> float:
        """Return how long a question waits: at most the limit of the host."""
        if timeout is None:
            return self._limit
        is_number = isinstance(timeout, int | float) and not isinstance(timeout, bool)
        if not is_number or not timeout > 0:
            raise UsageError(f"timeout must be a number of seconds above 0, got {timeout!r}")
        return min(float(timeout), self._limit)

    def _wait(self, work: Work, asks: list[Ask], caller: Caller) -> Text:
        """Wait for all asks; with several, the text names each."""
        backend = self._backend()
        store = backend.store
        # Until the result is sent: a hook must not hand the answer over, too.
        alone = ExitStack()
        for ask in asks:
            if ask.assume is not None:
                alone.enter_context(background.waiting(backend, ask.id))
        with ExitStack() as stack:
            stack.enter_context(heartbeat(work.progress, work.asks))
            for ask in asks:
                if store:
                    # They are waited for one after the other, but all of them from now on.
                    stack.enter_context(store.machine.waiting(ask.id))
            asks = [_wait_for(backend, ask.id, self._limit) for ask in asks]
        if open_ones := [ask for ask in asks if ask.pending]:
            return _asked_back(backend, open_ones[0]), lambda: backend.hear(open_ones[0])
        asks = [backend.reveal(ask, "")[0] for ask in asks]
        texts = [_describe_answer(ask) + save_files(backend, ask) for ask in asks]
        if len(asks) > 1:
            texts = [
                f"{ask.question.prompt}\n{text}" for ask, text in zip(asks, texts, strict=True)
            ]
        if not any(map(_has_answer, asks)):
            raise NotAnsweredError("\n\n".join(texts))

        def handed_over() -> None:
            for ask in asks:
                backend.take(ask, caller.actor)
            alone.close()

        return "\n\n".join(texts), handed_over

    def _approve(self, work: Work, given: dict[str, Any]) -> Text:
        """Reply in the format of the host's permission prompts; any error is a denial."""
        origin, caller = self._asker(work)
        call = wiring.call(_text(given.get("tool_name")), given.get("input"), origin.cwd)
        call_id = given.get("tool_use_id")
        if isinstance(call_id, str) and call_id:
            origin = origin._replace(tool_use_id=call_id)
        backend = self._backend()
        host = wiring.client_host(origin, work.asks, work.cancelled)
        held = Held(call, origin, self._limit, host)
        with heartbeat(work.progress, work.asks):
            decided = backend.decide(held, caller)
        if decided.allow:
            reply = {"behavior": "allow", "updatedInput": decided.input or given.get("input")}
        else:
            message = decided.message or "No person decided this, so it does not happen."
            reply = {"behavior": "deny", "message": message}
        return json.dumps(reply), lambda: backend.hand_over(decided, held)

    def _signal(self, work: Work, given: dict[str, Any]) -> Text:
        origin, caller = self._asker(work)
        status = _text(given.get("status"))
        signal = parse_signal(given)
        if signal is None:
            raise UsageError("a signal needs a status: a word, for example DONE or NEEDS_HUMAN")
        backend = self._backend()
        store = backend.store
        if store and (visit := decision_form.find_open_visit(store)):
            backend.signal(origin, caller, status, signal.own_words)
            return decision_form.SIGNALLED.format(status=status, id=visit.ask_id), None
        if store and (turn_id := os.environ.get("GATE_TURN", "")):
            # Imported here: only a flow's own agent needs it.
            from gatebell.services.notifications import notes

            said = notes.offer(store, turn_id, signal)
            backend.signal(origin, caller, status, signal.own_words)
            return said, None
        backend.signal(origin, caller, status, signal.own_words)
        if signal.question:
            options = list(signal.options) if len(signal.options) > 1 else []
            asked = {"question": signal.question, "options": options}
            return self._ask_human(work, asked | {"context": signal.context or None})
        return f"Recorded: {status}", None

    def _decide(self, work: Work, given: dict[str, Any]) -> Text | Form:
        _, caller = self._asker(work)
        backend, reason = self._backend(), _text(given.get("reason") or "")
        proposal = Quotation(work.client.cli, _text(given.get("proposal")), reason)
        text = f"proposes: {proposal.words}" + (f"\nbecause: {reason}" if reason else "")
        ask = backend.reply(_text(given.get("id")), caller, text)
        store = backend.store
        visit = decision_form.find_open_visit(store) if store else None
        if store is None or visit is None or visit.ask_id != ask.id or not work.client.shows_forms:
            return f"Recorded as a proposal. A person decides {ask.id}.", None
        made = decision_form.form(store, ask, visit, work.client.cli, proposal)
        return (made, None) if isinstance(made, str) else made

    def _notify_human(self, work: Work, given: dict[str, Any]) -> Text:
        origin, caller = self._asker(work)
        self._backend().tell(origin, caller, _text(given.get("message")))
        return "Sent to the inbox. No answer is expected.", None

    def _inbox_status(self, work: Work, given: dict[str, Any]) -> Text:
        backend = self._backend()
        origin, _ = self._asker(work)
        if ask_id := given.get("id"):
            ask = backend.get(_text(ask_id))
            is_open = ask.assume is None or ask.pending or ask.delivered_at
            if not is_open and ask.id in background.list_own(backend, origin):
                # Its answer is added to this result.
                return f"{ask.id} has ended.", None
            return self._describe(work, ask), None
        waits = backend.pending_of_session(origin)
        gone = [ask for ask in waits if backend.is_waiter_gone(ask)]
        lines = [f"{ask.id}: {MARK if ask in gone else ''}{ask.question.prompt}" for ask in waits]
        lines += dict.fromkeys(_advise_asker(ask) for ask in gone)
        return "\n".join(lines) or "This session waits for nothing.", None

    def _describe(self, work: Work, ask: Ask) -> str:
        """The status of an ask, and how the agent that asked it gets its answer."""
        backend, (origin, _) = self._backend(), self._asker(work)
        is_gone = backend.is_waiter_gone(ask)
        hint = f" {_advise_asker(ask)}" if backend.is_of_session(ask, origin) else ""
        gone = f"{WAITER_GONE}{hint}" if is_gone else ""
        if ask.pending:
            return f"{ask.id} is waiting for a person{f'. {gone}' if gone else ''}"
        return f"{_describe_answer(ask)}\n{gone}".rstrip()


def _goes_on(given: dict[str, Any], questions: list[Any]) -> bool:
    """Return whether the agent does not wait."""
    waits, assumed = given.get("wait", True), given.get("assume")
    if not isinstance(waits, bool):
        raise UsageError(f"wait must be true or false, got {waits!r}")
    if waits and assumed is not None:
        raise UsageError("assume says what you do without waiting: add wait=false, or leave it out")
    if waits:
        return False
    defaults = [one for one in questions if isinstance(one, dict) and one.get("default")]
    if defaults:
        raise UsageError("with wait=false there is no default: say in assume what you go on with")
    if assumed and len(questions) > 1:
        raise UsageError("assume belongs to one question: ask the others in calls of their own")
    return True


def _request(given: Any, more: dict[str, Any]) -> Request:
    if not isinstance(given, dict) or not isinstance(given.get("question"), str):
        raise UsageError("a question must be a text: ask_human(question=…)")
    options, schema = given.get("options") or [], given.get("schema")
    if not isinstance(options, list):
        raise UsageError("options must be a list of texts")
    return Request(
        prompt=given["question"],
        kind=given.get("kind") or _suggest_kind(schema, options),
        options=tuple(options),
        multiple=bool(given.get("multiple")),
        schema=schema,
        context=given.get("context"),
        default=given.get("default"),
        hard=True,
        **more,
    )


def _advise_asker(ask: Ask) -> str:
    """What its agent does to get an answer that no process waits for."""
    return _CALL_AGAIN if ask.question.call else _ASK_AGAIN


def _suggest_kind(schema: Any, options: list[Any]) -> AskKind:
    if schema:
        return AskKind.FORM
    return AskKind.CHOICE if options else AskKind.TEXT


def _text(given: Any) -> str:
    if not isinstance(given, str):
        raise UsageError(f"expected a text, got {given!r}")
    return given


def _has_answer(ask: Ask) -> bool:
    """Whether a person answered it, or its default counts."""
    return ask.status == AskStatus.ANSWERED or ask.value is not None


def _describe_answer(ask: Ask) -> str:
    """Describe the answer for an agent."""
    if not _has_answer(ask):
        return f"NOT ANSWERED: {settled_sentence(ask)}"
    text = ask.decision or answer_text(ask, ask.value)
    default = " (the default: no person answered)" if ask.status == AskStatus.TIMED_OUT else ""
    return f"{text}{default}" + (f"\nnote: {ask.note}" if ask.note else "")


def _wait_for(backend: Backend, ask_id: str, seconds: float) -> Ask:
    for ask in backend.follow(ask_id, seconds):  # noqa: B007  the last one is the result
        pass
    return ask


def _asked_back(backend: Backend, ask: Ask) -> str:
    said = [message.text for message in backend.messages(ask.id) if not message.by_asker]
    words = "\n".join(said[ask.heard - ask.asked_back :]) if ask.asked_back > ask.heard else ""
    if not words:
        return (
            f"NOT ANSWERED YET: {ask.id} is still waiting. Ask the same again to continue waiting."
        )
    return (
        f"NOT ANSWERED YET. A person asks you about {ask.id} first:\n{words}\n"
        f'Reply with ask_human(reply_to="{ask.id}", reply=…): that call waits for the answer.'
    )
