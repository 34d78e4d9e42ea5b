"""`AsyncGate`: the async twin of `Gate`. Its waits occupy no thread each."""

from __future__ import annotations

import asyncio
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast, overload

from gatebell.api.asked_back import list_new_messages, send_reply
from gatebell.api.gate import Gate
from gatebell.api.gate_arguments import must_be_function, read_timeout
from gatebell.api.human import Human, convert_session
from gatebell.api.keywords import suggest_options
from gatebell.api.replay_check import must_be_recorded
from gatebell.api.unawaited import refuse_unawaited
from gatebell.api.waits.server_waits import ServerWaits
from gatebell.api.waits.store_waits import StoreWaits
from gatebell.domain.enums import AskKind

if TYPE_CHECKING:
    import os
    from collections.abc import Awaitable, Callable, Sequence
    from typing import Self, Unpack

    from gatebell.api.human import HandleStatus
    from gatebell.api.session_options import InteractiveOptions
    from gatebell.domain.asks.ask_options import AskOptions
    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.asks.outcomes import Approval, Choice, Form, Outcome, Session, Text
    from gatebell.domain.asks.times import Seconds
    from gatebell.ports.store import Store
    from gatebell.services.sessions.ask_session import AskVisit

    AsyncReply = Callable[[str], str | Awaitable[str]]
    """Gets the message of a person who asks back; returns the reply, or awaits it."""

_T = TypeVar("_T")


@refuse_unawaited("gate")
@suggest_options
class AsyncGate:
    """Ask people, and answer asks, from an async program; the twin of `Gate`.

    Args:
        store: a store, or the path of one; without it, the inbox of the user, or the server that
            GATE_SERVER names
        agent: the name that people see as the asker
        token: the personal token to answer with

    Example:
        async with AsyncGate() as gate:
            if await gate.approve("Deploy build 42?", timeout=3600):
                deploy()
    """

    def __init__(
        self,
        store: Store | str | os.PathLike[str] | None = None,
        *,
        agent: str = "",
        token: str = "",
    ) -> None:
        self.gate = Gate(store, agent=agent, token=token)
        requests = self.gate.backend.waiting_requests()
        self._waits = ServerWaits(requests) if requests else StoreWaits(self.gate.store)
        self._taking: set[asyncio.Future[None]] = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """End all waits; calls that still wait raise a UsageError."""
        await asyncio.gather(*self._taking)
        await self._waits.close()

    async def approve(
        self, prompt: str, *, reply: AsyncReply | None = None, **options: Unpack[AskOptions]
    ) -> Approval:
        """Ask for an approval, and await it; as `Gate.approve`."""
        must_be_function(reply)
        ask_id = await asyncio.to_thread(self.gate.open, prompt, AskKind.APPROVAL, **options)
        return cast("Approval", await self.wait(ask_id, reply=reply))

    @overload
    async def choose(
        self,
        prompt: str,
        options: Sequence[str],
        *,
        multiple: Literal[False] = False,
        reply: AsyncReply | None = None,
        **more: Unpack[AskOptions],
    ) -> Choice[str]: ...

    @overload
    async def choose(
        self,
        prompt: str,
        options: Sequence[str],
        *,
        multiple: Literal[True],
        reply: AsyncReply | None = None,
        **more: Unpack[AskOptions],
    ) -> Choice[list[str]]: ...

    @overload
    async def choose(
        self,
        prompt: str,
        options: Sequence[str],
        *,
        multiple: bool,
        reply: AsyncReply | None = None,
        **more: Unpack[AskOptions],
    ) -> Choice: ...

    async def choose(
        self,
        prompt: str,
        options: Sequence[str],
        *,
        multiple: bool = False,
        reply: AsyncReply | None = None,
        **more: Unpack[AskOptions],
    ) -> Choice:
        """Let a person choose among options, and await the choice; as `Gate.choose`."""
        must_be_function(reply)
        ask_id = await self.open(prompt, AskKind.CHOICE, options=options, multiple=multiple, **more)
        return cast("Choice", await self.wait(ask_id, reply=reply))

    @overload
    async def ask(
        self, prompt: str, *, reply: AsyncReply | None = None, **options: Unpack[AskOptions]
    ) -> Text: ...

    @overload
    async def ask(
        self,
        prompt: str,
        *,
        returns: type[_T],
        reply: AsyncReply | None = None,
        **options: Unpack[AskOptions],
    ) -> Form[_T]: ...

    @overload
    async def ask(
        self,
        prompt: str,
        *,
        returns: object,
        reply: AsyncReply | None = None,
        **options: Unpack[AskOptions],
    ) -> Form: ...

    async def ask(
        self,
        prompt: str,
        *,
        returns: object = None,
        reply: AsyncReply | None = None,
        **options: Unpack[AskOptions],
    ) -> Outcome:
        """Ask for a text, or for a value of some type, and await it; as `Gate.ask`."""
        must_be_function(reply)
        kind = AskKind.TEXT if returns is None or returns is str else AskKind.FORM
        ask_id = await self.open(prompt, kind, returns=returns, **options)
        return await self.wait(ask_id, reply=reply, returns=returns)

    async def open(
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
        """Ask without waiting; return the ask's id, as `Gate.open`."""
        return await asyncio.to_thread(
            self.gate.open,
            prompt,
            kind,
            options=options,
            multiple=multiple,
            returns=returns,
            assume=assume,
            **more,
        )

    async def wait(
        self,
        ask_id: str,
        timeout: Seconds | None = None,  # noqa: ASYNC109 - the outcome is pending, not an error
        *,
        reply: AsyncReply | None = None,
        returns: object = None,
    ) -> Outcome:
        """Await an ask that was opened before; as `Gate.wait`.

        A wait that is cancelled takes nothing: the next one gets the answer.
        """
        must_be_recorded()
        must_be_function(reply)
        loop = asyncio.get_running_loop()
        until = None if timeout is None else loop.time() + read_timeout(timeout)
        while True:
            left = None if until is None else max(0.0, until - loop.time())
            ask = await self._waits.wait(ask_id, left, hears=reply is not None)
            if reply and ask.pending and ask.asked_back > ask.heard:
                await self._reply(ask, reply)
                continue
            return await self._hand_over(ask, returns)

    async def _reply(self, ask: Ask, reply: AsyncReply) -> None:
        backend, caller = self.gate.backend, await asyncio.to_thread(self.gate.caller)
        for message in await asyncio.to_thread(list_new_messages, backend, ask):
            words = reply(message.text)
            text = words if isinstance(words, str) else await words
            await asyncio.to_thread(send_reply, backend, caller, ask, text)
        await asyncio.to_thread(backend.hear, ask)

    async def _hand_over(self, ask: Ask, returns: object) -> Outcome:
        outcome = await asyncio.to_thread(self.gate.read, ask, returns)
        # Not awaited: a caller that is cancelled here must not take an answer it never got.
        taking = asyncio.get_running_loop().run_in_executor(None, self.gate.take, ask)
        self._taking.add(taking)
        taking.add_done_callback(self._taking.discard)
        return outcome

    @cached_property
    def human(self) -> AsyncHuman:
        """The handle for sessions, which asks one thing at a time; see docs/sessions.md."""
        return AsyncHuman(self)

    async def answer(
        self,
        ask_id: str,
        value: Any,
        *,
        note: str = "",
        key: str = "",
        digest: str | None = None,
        attachments: Sequence[str | os.PathLike[str]] = (),
    ) -> Ask:
        """Answer an ask, as the person who runs this program; as `Gate.answer`."""
        return await asyncio.to_thread(
            self.gate.answer,
            ask_id,
            value,
            note=note,
            key=key,
            digest=digest,
            attachments=attachments,
        )

    async def cancel(self, ask_id: str, reason: str = "") -> Ask:
        """Cancel an ask that is pending, and return it."""
        return await asyncio.to_thread(self.gate.cancel, ask_id, reason)

    async def pending(self, project: str | None = None, limit: int = 100) -> list[Ask]:
        """Return the pending asks: most urgent first, then oldest."""
        return await asyncio.to_thread(self.gate.pending, project, limit)


@refuse_unawaited("gate.human")
@suggest_options
class AsyncHuman:
    """The async twin of `Human`; its waits occupy no thread."""

    def __init__(self, inbox: AsyncGate) -> None:
        self._inbox = inbox
        self._human = Human(inbox.gate)

    @property
    def status(self) -> HandleStatus:
        """`idle`, `pending` or `resolved`: how far the last ask is."""
        return self._human.status

    @property
    def ask_id(self) -> str | None:
        """The id of the last ask; None before the first."""
        return self._human.ask_id

    async def ask(
        self, prompt: str, options: Sequence[str] = (), **more: Unpack[AskOptions]
    ) -> Outcome:
        """Ask for a text, or with options for one of them; as `Human.ask`."""
        ask_id = await asyncio.to_thread(self._human.open, prompt, options, **more)
        return await self._inbox.wait(ask_id)

    async def ask_interactive(self, prompt: str, **options: Unpack[InteractiveOptions]) -> Session:
        """Ask a question that a person works out with an agent; as `Human.ask_interactive`."""
        ask_id, expected = await asyncio.to_thread(self._human.open_interactive, prompt, options)
        # This occupies a thread only while a person at this terminal is in the session.
        await asyncio.to_thread(self._human.open_here, ask_id)
        return convert_session(await self._inbox.wait(ask_id), expected)

    async def wait(self, ask_id: str, returns: object = None) -> Session:
        """Await a session that was asked for before, even if that process has died."""
        expected = await asyncio.to_thread(self._human.expect, ask_id, returns)
        return convert_session(await self._inbox.wait(ask_id), expected)

    async def cancel(self, reason: str = "") -> Ask:
        """Cancel the pending ask; the waiting call returns `cancelled`."""
        return await asyncio.to_thread(self._human.cancel, reason)

    async def request_interactive(
        self, prompt: str, config: InteractiveOptions | None = None
    ) -> str:
        """Ask for a session without waiting; return the ask's id."""
        return await asyncio.to_thread(self._human.request_interactive, prompt, config)

    async def list_pending(self, kind: str | None = None) -> list[Ask]:
        """Return the pending asks of all askers, or those of one kind."""
        return await asyncio.to_thread(self._human.list_pending, kind)

    async def claim(self, ask_id: str, cli: str = "", session: str = "") -> AskVisit:
        """Take a session, so that no other process opens it; as `Human.claim`."""
        return await asyncio.to_thread(self._human.claim, ask_id, cli, session)

    async def release(self, ask_id: str) -> None:
        """Give a session back without a decision; the ask stays pending."""
        await asyncio.to_thread(self._human.release, ask_id)

    async def complete_interactive(
        self,
        ask_id: str,
        outcome: str,
        response: Any = None,
        transcript: str | None = None,
        duration_ms: float | None = None,
    ) -> Ask:
        """Give a session back with its outcome; as `Human.complete_interactive`."""
        given = (ask_id, outcome, response, transcript, duration_ms)
        return await asyncio.to_thread(self._human.complete_interactive, *given)
