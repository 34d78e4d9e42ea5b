"""The async twin of `Gate`. However many asks wait, one thread watches for all of them."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from gatebell.api import gate
from gatebell.api.human import Human, session
from gatebell.domain.enums import AskKind
from gatebell.errors import UsageError
from gatebell.services.asks import wait_for_ask
from gatebell.services.sessions.lost_visits import is_visited
from gatebell.services.watcher import Watcher

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self, Unpack

    from gatebell.api.session_options import InteractiveOptions
    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.asks.outcomes import Approval, Choice, Outcome, Session
    from gatebell.ports.store import Store
    from gatebell.services.sessions.ask_session import AskVisit

_LOOK_AGAIN_SECONDS = 1.0


class AsyncGate:
    """`async with AsyncGate() as gate: await gate.approve("Deploy?")`; or close it yourself."""

    def __init__(
        self, store: Store | str | None = None, *, agent: str = "", token: str = ""
    ) -> None:
        self.gate = gate.Gate(store, agent=agent, token=token)
        self._waiters: dict[str, set[asyncio.Event]] = {}
        self._watcher: Watcher | None = None
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None
        self._taking: set[asyncio.Future[None]] = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Stop watching; whoever still waits is told so."""
        await asyncio.gather(*self._taking)
        if self._watcher and self._thread:
            self._watcher.stop()
            await asyncio.to_thread(self._thread.join)
        self._fail(UsageError("this AsyncGate is closed"))

    def _watch(self) -> None:
        """Start the one thread that watches for every wait."""
        if self._failure:
            raise self._failure
        if self._watcher:
            return
        self._watcher = Watcher(self.gate.store)
        watched = (self._watcher, asyncio.get_running_loop())
        self._thread = threading.Thread(
            target=self._follow, args=watched, name="gatebell-watcher", daemon=True
        )
        self._thread.start()

    def _follow(self, watcher: Watcher, loop: asyncio.AbstractEventLoop) -> None:
        # A loop that was closed took all waits with it.
        with suppress(RuntimeError):
            try:
                for ids in watcher.changes():
                    loop.call_soon_threadsafe(self._wake, ids)
            except BaseException as error:
                # All waits must end: they are not woken any more.
                loop.call_soon_threadsafe(self._fail, error)

    def _wake(self, ids: frozenset[str]) -> None:
        for ask_id in ids & self._waiters.keys():
            for changed in self._waiters[ask_id]:
                changed.set()

    def _fail(self, error: BaseException) -> None:
        self._failure = self._failure or error
        self._wake(frozenset(self._waiters))

    async def ask(
        self, prompt: str, kind: str = AskKind.TEXT, *, options: Sequence[str] = (), **more: Any
    ) -> Outcome:
        """Ask and await the answer."""
        return await self.wait(await self.open(prompt, kind, options=options, **more))

    async def approve(self, prompt: str, **more: Any) -> Approval:
        return cast("Approval", await self.ask(prompt, AskKind.APPROVAL, **more))

    async def choose(self, prompt: str, options: Sequence[str], **more: Any) -> Choice:
        return cast("Choice", await self.ask(prompt, AskKind.CHOICE, options=options, **more))

    async def open(
        self, prompt: str, kind: str = AskKind.TEXT, *, options: Sequence[str] = (), **more: Any
    ) -> str:
        return await asyncio.to_thread(self.gate.open, prompt, kind, options=options, **more)

    async def wait(self, ask_id: str) -> Outcome:
        """Await an ask that was opened before."""
        self._watch()
        changed = asyncio.Event()
        waiters = self._waiters.setdefault(ask_id, set())
        waiters.add(changed)
        try:
            while True:
                changed.clear()
                if self._failure:
                    raise self._failure
                ask = await asyncio.to_thread(
                    wait_for_ask.wait, self.gate.store, ask_id, 0, hears=False
                )
                if not ask.pending and await asyncio.to_thread(
                    wait_for_ask.is_ready, self.gate.store, ask
                ):
                    return await self._hand_over(ask)
                # Of a harness that was killed in its visit nobody tells.
                lasts = ask.pending and not await asyncio.to_thread(
                    is_visited, self.gate.store, ask
                )
                patience = None if lasts else _LOOK_AGAIN_SECONDS
                with suppress(TimeoutError):
                    await asyncio.wait_for(changed.wait(), patience)
        finally:
            waiters.discard(changed)
            if not waiters:
                self._waiters.pop(ask_id, None)

    async def _hand_over(self, ask: Ask) -> Outcome:
        outcome = await asyncio.to_thread(self.gate.read, ask)
        # Not awaited: whoever is cancelled here must not have taken what they never got.
        taking = asyncio.get_running_loop().run_in_executor(None, self.gate.take, ask)
        self._taking.add(taking)
        taking.add_done_callback(self._taking.discard)
        return outcome

    @cached_property
    def human(self) -> AsyncHuman:
        """The handle for sessions, and for asking one thing at a time; see docs/sessions.md."""
        return AsyncHuman(self)

    async def answer(self, ask_id: str, value: Any, **more: Any) -> Ask:
        return await asyncio.to_thread(self.gate.answer, ask_id, value, **more)

    async def cancel(self, ask_id: str, reason: str = "") -> Ask:
        return await asyncio.to_thread(self.gate.cancel, ask_id, reason)

    async def pending(self, project: str | None = None, limit: int = 100) -> list[Ask]:
        return await asyncio.to_thread(self.gate.pending, project, limit)


class AsyncHuman:
    """The async twin of `Human`, beside whose waits there is no thread either."""

    def __init__(self, inbox: AsyncGate) -> None:
        self._inbox = inbox
        self._human = Human(inbox.gate)

    @property
    def status(self) -> str:
        """`idle`, `pending` or `resolved`, of what was asked last."""
        return self._human.status

    @property
    def session_id(self) -> str | None:
        return self._human.session_id

    async def ask(self, prompt: str, options: Sequence[str] = (), **more: Any) -> Outcome:
        ask_id = await asyncio.to_thread(self._human.open, prompt, options, **more)
        return await self._inbox.wait(ask_id)

    async def ask_interactive(self, prompt: str, **options: Unpack[InteractiveOptions]) -> Session:
        """What a person and an agent come to."""
        ask_id, wanted = await asyncio.to_thread(self._human.open_interactive, prompt, options)
        # A thread only while somebody at this terminal is in the session.
        await asyncio.to_thread(self._human.sit_here, ask_id)
        return session(await self._inbox.wait(ask_id), wanted)

    async def wait(self, ask_id: str, outcome: object = None) -> Session:
        """Of a session that was asked for before, also by a process that has died since."""
        wanted = await asyncio.to_thread(self._human.wanted, ask_id, outcome)
        return session(await self._inbox.wait(ask_id), wanted)

    async def cancel(self, reason: str = "") -> Ask:
        return await asyncio.to_thread(self._human.cancel, reason)

    async def request_interactive(
        self, prompt: str, config: InteractiveOptions | None = None
    ) -> str:
        return await asyncio.to_thread(self._human.request_interactive, prompt, config)

    async def list_pending(self, kind: str | None = None) -> list[Ask]:
        return await asyncio.to_thread(self._human.list_pending, kind)

    async def claim(self, ask_id: str, cli: str = "", session: str = "") -> AskVisit:
        return await asyncio.to_thread(self._human.claim, ask_id, cli, session)

    async def release(self, ask_id: str) -> None:
        await asyncio.to_thread(self._human.release, ask_id)

    async def complete_interactive(
        self,
        ask_id: str,
        outcome: str,
        response: Any = None,
        transcript: str | None = None,
        duration_ms: float | None = None,
    ) -> Ask:
        given = (ask_id, outcome, response, transcript, duration_ms)
        return await asyncio.to_thread(self._human.complete_interactive, *given)
