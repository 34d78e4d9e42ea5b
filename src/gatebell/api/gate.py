"""`Gate`: asking and answering from Python."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, TypedDict, cast

from gatebell.app import wiring
from gatebell.domain.asks import deadlines
from gatebell.domain.asks.answers import Given
from gatebell.domain.enums import AskKind
from gatebell.domain.lists import as_list
from gatebell.services.asks import (
    answer_ask,
    apply_deadlines,
    ask_messages,
    create_ask,
    wait_for_ask,
)
from gatebell.services.asks.create_ask import Request

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Unpack

    from gatebell.api.backlog import Backlog
    from gatebell.api.human import Human
    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.asks.outcomes import Approval, Choice, Outcome
    from gatebell.domain.people.principals import Caller
    from gatebell.ports.store import Store

    class AskOptions(TypedDict, total=False):
        """What every kind of ask may carry; see docs/python.md."""

        context: Any
        activity: str
        priority: int | str
        confidence: float
        default: Any
        multiple: bool
        schema: dict[str, Any]
        secret: bool
        requirement: Mapping[str, Any]
        expires_seconds: float
        hard: bool
        remind_every_seconds: float
        escalations: Sequence[tuple[float, str]]
        owner: str


class Gate:
    """The inbox, from a program. Give it a store or a path, or it takes the user's own."""

    def __init__(
        self, store: Store | str | None = None, *, agent: str = "", token: str = ""
    ) -> None:
        """`agent` is the name people see; `token` is the personal token to answer with."""
        self._agent = agent
        self.token = token
        self._tokens: dict[str, str] = {}
        self.store: Store = (
            wiring.open_store(store) if store is None or isinstance(store, str) else store
        )

    @cached_property
    def human(self) -> Human:
        """The handle for sessions, and for asking one thing at a time; see docs/sessions.md."""
        # Imported here: most programs open no sessions.
        from gatebell.api.human import Human

        return Human(self)

    @cached_property
    def tasks(self) -> Backlog:
        """The backlog of the project around this program; see docs/backlog.md."""
        # Imported here: most programs have no tasks.
        from gatebell.api.backlog import Backlog

        return Backlog(self)

    def ask(
        self,
        prompt: str,
        kind: str = AskKind.TEXT,
        *,
        options: Sequence[str] = (),
        reply: Callable[[str], str] | None = None,
        **more: Unpack[AskOptions],
    ) -> Outcome:
        """Ask and wait for the answer. `reply` is called with what a person asks back."""
        return self.wait(self.open(prompt, kind, options=options, **more), reply=reply)

    def approve(self, prompt: str, **more: Unpack[AskOptions]) -> Approval:
        """Ask for an approval: true when, and only when, a person approved."""
        return cast("Approval", self.ask(prompt, AskKind.APPROVAL, **more))

    def choose(self, prompt: str, options: Sequence[str], **more: Unpack[AskOptions]) -> Choice:
        """Let a person choose. A last option `Other…` lets them write their own."""
        return cast("Choice", self.ask(prompt, AskKind.CHOICE, options=options, **more))

    def open(
        self,
        prompt: str,
        kind: str = AskKind.TEXT,
        *,
        options: Sequence[str] = (),
        owner: str = "",
        **more: Any,
    ) -> str:
        """Ask without waiting; returns the id."""
        steps = deadlines.make_escalations(more.pop("escalations", ()))
        offered = as_list(options, "options")
        return self.send(Request(prompt, kind, offered, escalations=steps, **more), owner)

    def send(self, request: Request, owner: str = "") -> str:
        """Open an ask as it was put together; returns the id."""
        caller = self.caller()
        origin = wiring.in_its_project(wiring.origin(caller, self._agent, owner))
        if request.session:
            # Imported here: most asks are not sessions.
            from gatebell.services.sessions.session_check import check_terms

            check_terms(request.session, origin.cwd, wiring.hosts())
        opened = create_ask.ask(self.store, request, origin, caller)
        if opened.token:
            self._tokens[opened.ask.id] = opened.token
        return opened.ask.id

    def wait(
        self,
        ask_id: str,
        seconds: float | None = None,
        *,
        reply: Callable[[str], str] | None = None,
    ) -> Outcome:
        """Wait for an ask that was opened before; its status is `pending` if time runs out."""
        until = None if seconds is None else self.store.monotonic() + seconds
        while True:
            left = None if until is None else until - self.store.monotonic()
            ask = wait_for_ask.wait(self.store, ask_id, left, hears=reply is not None)
            if reply and ask.pending and ask.asked_back > ask.heard:
                self._reply(ask, reply)
                continue
            outcome = self.read(ask)
            self.take(ask)
            return outcome

    def read(self, ask: Ask) -> Outcome:
        """What an ask has come to, without recording that it was handed over."""
        value = wait_for_ask.reveal(self.store, ask, self._tokens.get(ask.id, ""))
        return wait_for_ask.outcome(self.store, ask, value, wiring.hosts())

    def take(self, ask: Ask) -> None:
        """Record that the answer was handed over."""
        wait_for_ask.take(self.store, ask, self.caller().actor)

    def _reply(self, ask: Ask, reply: Callable[[str], str]) -> None:
        messages = [m for m in self.store.asks.messages(ask.id) if not m.by_asker]
        for message in messages[ask.heard : ask.asked_back]:
            ask_messages.reply(self.store, ask.id, self.caller(), reply(message.text))
        wait_for_ask.hear(self.store, ask)

    def answer(
        self, ask_id: str, value: Any, *, note: str = "", key: str = "", digest: str | None = None
    ) -> Ask:
        """Answer an ask; returns it as it is after that, settled or still short of votes."""
        given = Given(value, note, digest, key)
        return answer_ask.answer(self.store, ask_id, self.caller(), given)[1]

    def cancel(self, ask_id: str, reason: str = "") -> Ask:
        """Withdraw an ask."""
        return create_ask.cancel(self.store, ask_id, self.caller(), reason)

    def pending(self, project: str | None = None, limit: int = 100) -> list[Ask]:
        """What is waiting: most urgent first, then oldest."""
        apply_deadlines.sweep(self.store)
        return self.store.asks.pending(limit, project)

    def caller(self) -> Caller:
        """Whoever runs this program."""
        return wiring.caller(self.store, "python", self.token)
