"""`Gate`: asking and answering from Python."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast, overload

from gatebell.api.asked_back import list_new_messages, send_reply
from gatebell.api.gate_arguments import (
    build_request,
    must_be_function,
    open_given_store,
    read_timeout,
)
from gatebell.api.keywords import suggest_options
from gatebell.api.replay_check import must_be_recorded
from gatebell.app import environment, wiring
from gatebell.domain.arguments import must_be_count, must_be_text
from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.outcomes import outcome as outcome_of
from gatebell.domain.enums import AskKind, AskStatus
from gatebell.errors import UsageError
from gatebell.services.asks import wait_for_ask

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence
    from typing import Unpack

    from gatebell.api.backlog import Backlog
    from gatebell.api.human import Human
    from gatebell.domain.asks.ask_options import AskOptions
    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.asks.attachments import Attachment
    from gatebell.domain.asks.outcomes import Approval, Choice, Form, Outcome, Text
    from gatebell.domain.asks.requests import Request
    from gatebell.domain.asks.times import Seconds
    from gatebell.domain.people.principals import Caller
    from gatebell.ports.backends.backend import Backend
    from gatebell.ports.store import Store

    Reply = Callable[[str], str]
    """Gets the message of a person who asks back; returns the reply."""

_T = TypeVar("_T")


@suggest_options
class Gate:
    """Ask people, and answer asks, from a program.

    Args:
        store: a store, or the path of one; without it, the inbox of the user, or the server that
            GATE_SERVER names
        agent: the name that people see as the asker
        token: the personal token to answer with

    Example:
        gate = Gate()
        if gate.approve("Deploy build 42?", timeout=3600):
            deploy()
    """

    def __init__(
        self,
        store: Store | str | os.PathLike[str] | None = None,
        *,
        agent: str = "",
        token: str = "",
    ) -> None:
        must_be_text(agent, "agent")
        must_be_text(token, "token")
        self._agent = agent
        self.token = token
        self._tokens: dict[str, str] = {}
        self.backend: Backend
        if store is None:
            self.backend = wiring.open_backend(token)
        else:
            self.backend = wiring.local_backend(open_given_store(store))

    @property
    def store(self) -> Store:
        """The store of this machine.

        Raises:
            UsageError: A server keeps the asks; sessions, tasks and runs need a store.
        """
        found = self.backend.store
        if found is None:
            raise UsageError(
                f"this needs a store on this machine, and {self.backend.name} keeps your asks: "
                "name a store, as in Gate('PATH')"
            )
        return found

    @cached_property
    def human(self) -> Human:
        """The handle for sessions, which asks one thing at a time; see docs/sessions.md."""
        from gatebell.api.human import Human  # most programs open no sessions

        return Human(self)

    @cached_property
    def tasks(self) -> Backlog:
        """The backlog of the project around this program; see docs/backlog.md."""
        # Imported here: most programs have no tasks.
        from gatebell.api.backlog import Backlog

        return Backlog(self)

    def approve(
        self, prompt: str, *, reply: Reply | None = None, **options: Unpack[AskOptions]
    ) -> Approval:
        """Ask for an approval, and wait for it.

        Args:
            prompt: the question
            reply: answers a person who asks back; the ask goes on waiting
            options: `context`, `timeout` and all others of `AskOptions`

        Returns:
            The approval: true when, and only when, a person approved.

        Raises:
            UnknownOptionError: An option does not exist.
            UsageError: An option has a value that it cannot have.

        Example:
            approval = gate.approve("Deploy?", context={"tests": "green"})
            print(bool(approval), approval.reason)
        """
        must_be_function(reply)
        ask_id = self._open("approve", prompt, AskKind.APPROVAL, options, "reply")
        return cast("Approval", self.wait(ask_id, reply=reply))

    @overload
    def choose(
        self,
        prompt: str,
        options: Sequence[str],
        *,
        multiple: Literal[False] = False,
        reply: Reply | None = None,
        **more: Unpack[AskOptions],
    ) -> Choice[str]: ...

    @overload
    def choose(
        self,
        prompt: str,
        options: Sequence[str],
        *,
        multiple: Literal[True],
        reply: Reply | None = None,
        **more: Unpack[AskOptions],
    ) -> Choice[list[str]]: ...

    @overload
    def choose(
        self,
        prompt: str,
        options: Sequence[str],
        *,
        multiple: bool,
        reply: Reply | None = None,
        **more: Unpack[AskOptions],
    ) -> Choice: ...

    def choose(
        self,
        prompt: str,
        options: Sequence[str],
        *,
        multiple: bool = False,
        reply: Reply | None = None,
        **more: Unpack[AskOptions],
    ) -> Choice:
        """Let a person choose among options, and wait for the choice.

        Args:
            prompt: the question
            options: the options; a last one `Other…` lets people write their own
            multiple: let them choose several; the value is then a list
            reply: answers a person who asks back; the ask goes on waiting
            more: `context`, `timeout` and all others of `AskOptions`

        Example:
            colour = gate.choose("Which colour?", ["Red", "Blue"]).value
        """
        must_be_function(reply)
        beside = ("multiple", "reply")
        ask_id = self._open(
            "choose", prompt, AskKind.CHOICE, more, *beside, options=options, multiple=multiple
        )
        return cast("Choice", self.wait(ask_id, reply=reply))

    @overload
    def ask(
        self, prompt: str, *, reply: Reply | None = None, **options: Unpack[AskOptions]
    ) -> Text: ...

    @overload
    def ask(
        self,
        prompt: str,
        *,
        returns: type[_T],
        reply: Reply | None = None,
        **options: Unpack[AskOptions],
    ) -> Form[_T]: ...

    @overload
    def ask(
        self,
        prompt: str,
        *,
        returns: object,
        reply: Reply | None = None,
        **options: Unpack[AskOptions],
    ) -> Form: ...

    def ask(
        self,
        prompt: str,
        *,
        returns: object = None,
        reply: Reply | None = None,
        **options: Unpack[AskOptions],
    ) -> Outcome:
        """Ask for a text, or for a value of some type, and wait for it.

        Args:
            prompt: the question
            returns: a type, dataclass, TypedDict, NamedTuple, pydantic model or JSON Schema.
                People fill in a form, and the value is of that type. Without it, or with `str`,
                the value is a text.
            reply: answers a person who asks back; the ask goes on waiting
            options: `context`, `timeout` and all others of `AskOptions`

        Raises:
            UsageError: JSON Schema cannot describe the type.

        Example:
            name = gate.ask("Which name?").value
            size = gate.ask("How many replicas?", returns=int).value
        """
        must_be_function(reply)
        kind = AskKind.TEXT if returns is None or returns is str else AskKind.FORM
        ask_id = self._open("ask", prompt, kind, options, "returns", "reply", returns=returns)
        return self.wait(ask_id, reply=reply, returns=returns)

    def open(
        self,
        prompt: str,
        kind: str = AskKind.TEXT,
        *,
        options: Sequence[str] = (),
        multiple: bool = False,
        returns: object = None,
        assume: str | None = None,
        **more: Unpack[AskOptions],
    ) -> str:
        """Ask without waiting.

        Args:
            prompt: the question
            kind: `text`, `approval`, `choice` or `form`
            options: the options of a choice
            multiple: let people choose several options
            returns: the type of a form, as in `ask`
            assume: what this program goes on with until then, shown to people
            more: `context`, `timeout` and all others of `AskOptions`

        Returns:
            The ask's id, for `wait`, `cancel` and `gate answer`.

        Example:
            ask_id = gate.open("Deploy?", "approval")
            outcome = gate.wait(ask_id, timeout=10)
        """
        beside = ("kind", "options", "multiple", "returns", "assume")
        shape = {"options": options, "multiple": multiple, "returns": returns}
        return self._open("open", prompt, kind, more, *beside, assume=assume, **shape)

    def _open(
        self,
        call: str,
        prompt: str,
        kind: str,
        given: AskOptions,
        *beside: str,
        assume: str | None = None,
        **more: Any,
    ) -> str:
        request, owner = build_request(call, prompt, kind, given, beside, **more)
        must_be_recorded(request.kind)
        files = self._attach(given.get("attachments", ()))
        return self.send(request._replace(attachments=files, assume=assume), owner)

    def _attach(self, paths: Sequence[str | os.PathLike[str]]) -> tuple[Attachment, ...]:
        if not paths:
            return ()
        # Imported here and below: most asks have no files.
        from gatebell.app.attached_files import attach

        return attach(self.backend, paths)

    def send(self, request: Request, owner: str = "") -> str:
        """Open an ask from a request; return its id."""
        must_be_recorded(request.kind)
        caller = self.caller()
        origin = wiring.move_to_project(wiring.origin(caller, self._agent, owner))
        if request.session:
            # Imported here: most asks are not sessions.
            from gatebell.services.sessions.session_check import check_terms

            check_terms(request.session, origin.cwd, wiring.hosts())
        opened = self.backend.ask(request, origin, caller)
        if opened.token:
            self._tokens[opened.ask.id] = opened.token
        return opened.ask.id

    def wait(
        self,
        ask_id: str,
        timeout: Seconds | None = None,
        *,
        reply: Reply | None = None,
        returns: object = None,
    ) -> Outcome:
        """Wait for an ask that was opened before, in this process or in another.

        Args:
            ask_id: the ask's id
            timeout: how long to wait; without it, until the ask is settled
            reply: answers a person who asks back
            returns: the type of a form, as in `ask`

        Returns:
            The outcome; its status is `pending` when the time is over.

        Raises:
            NotFoundError: The ask does not exist.
        """
        must_be_recorded()
        must_be_function(reply)
        backend = self.backend
        until = None if timeout is None else backend.monotonic() + read_timeout(timeout)
        while True:
            left = None if until is None else until - backend.monotonic()
            for ask in backend.follow(ask_id, left, hears=reply is not None):  # noqa: B007  the last
                pass
            if reply and ask.pending and ask.asked_back > ask.heard:
                self._reply(ask, reply)
                continue
            outcome = self.read(ask, returns)
            self.take(ask)
            return outcome

    def read(self, ask: Ask, returns: object = None) -> Outcome:
        """Return the outcome of an ask, without recording that it was handed over."""
        ask, value = self.backend.reveal(ask, self._tokens.get(ask.id, ""))
        if self.backend.store is None:
            outcome = outcome_of(ask, value)
        else:
            outcome = wait_for_ask.outcome(self.store, ask, value, wiring.hosts())
        if ask.answer_attachments and ask.status == AskStatus.ANSWERED:
            from gatebell.app.attached_files import receive

            outcome.attachments = receive(self.backend, ask)
        if returns is not None and ask.question.kind == AskKind.FORM:
            from gatebell.api.schemas import expect_form

            outcome.convert_by(expect_form(returns).convert)
        return outcome

    def take(self, ask: Ask) -> None:
        """Record that the answer was handed over."""
        self.backend.take(ask, self.caller().actor)

    def _reply(self, ask: Ask, reply: Reply) -> None:
        for message in list_new_messages(self.backend, ask):
            send_reply(self.backend, self.caller(), ask, reply(message.text))
        self.backend.hear(ask)

    def answer(
        self,
        ask_id: str,
        value: Any,
        *,
        note: str = "",
        key: str = "",
        digest: str | None = None,
        attachments: Sequence[str | os.PathLike[str]] = (),
    ) -> Ask:
        """Answer an ask, as the person who runs this program.

        Args:
            ask_id: the ask's id
            value: the answer; an approval takes True and False, too
            note: a reason beside the answer
            key: a name for this attempt; the same answer under the same key counts once
            digest: the digest of the question that the person saw
            attachments: paths of files that belong to the answer

        Returns:
            The ask after the answer: settled, or still short of votes.

        Raises:
            AlreadySettledError: Another answer was faster.
            InvalidAnswerError: The value does not fit the question.
            RefusedError: This caller may not answer it.
        """
        given = Given(value, note, digest, key, attachments=self._attach(attachments))
        return self.backend.answer(ask_id, self.caller(), given)

    def cancel(self, ask_id: str, reason: str = "") -> Ask:
        """Cancel an ask that is pending, and return it."""
        return self.backend.cancel(ask_id, self.caller(), reason)

    def pending(self, project: str | None = None, limit: int = 100) -> list[Ask]:
        """Return the pending asks: most urgent first, then oldest."""
        must_be_count(limit, "limit")
        key = environment.project_key(project) if project else ""
        return self.backend.pending(limit, project, key)

    def caller(self) -> Caller:
        """Return who runs this program."""
        return self.backend.caller("python", self.token)
