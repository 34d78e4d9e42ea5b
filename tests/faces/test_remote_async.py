"""`AsyncGate` with a server: the same verbs as on a store, and no thread for each wait."""

from __future__ import annotations

import asyncio
import os

import pytest
from tests.support.people import a_person
from tests.support.server_world import server_world
from tests.support.waiting import eventually

from gatebell import AsyncGate
from gatebell.domain.asks.answers import Given
from gatebell.errors import NotFoundError, ServerError, UsageError
from gatebell.services.asks import answer_ask, ask_messages

__all__ = ["server_world"]

ADA = a_person("ada")._replace(token_id="t-ada")


@pytest.fixture
def gate_of(server_world, monkeypatch):
    """Return an AsyncGate of a machine that has only a token of the server."""

    def make(whose="agent"):
        for name in ("GATE_STORE", "CLAUDECODE", "CLAUDE_CODE_SESSION_ID"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("GATE_SERVER", server_world.web.url)
        monkeypatch.setenv("GATE_TOKEN", server_world.tokens[whose])
        return AsyncGate(agent="deployer", token=server_world.tokens[whose])

    return make


async def until_waiting(server_world, number):
    """Wait until so many requests of this process wait on the server."""
    await asyncio.to_thread(eventually, lambda: len(server_world.web._hub.waits) >= number)


@pytest.mark.proves("REMOTE-51")
def test_async_program_gets_answers(server_world, gate_of):
    async def work():
        async with gate_of() as gate:
            # A loop has at most 32 threads: with one for each wait, not all would reach the server.
            opened = [await gate.open(f"Which {n}?") for n in range(40)]
            waits = [asyncio.create_task(gate.wait(one)) for one in opened]
            await until_waiting(server_world, 40)
            for one in opened:
                await asyncio.to_thread(
                    answer_ask.answer, server_world.store, one, ADA, Given(f"about {one}")
                )
            texts = [(await wait).value for wait in waits]
            assert texts == [f"about {one}" for one in opened]
        return opened

    opened = asyncio.run(work())
    # The server records it after it has sent its response.
    eventually(lambda: all(server_world.get(one).delivered_at for one in opened))


@pytest.mark.proves("REMOTE-51")
def test_async_program_replies_to_a_person(server_world, gate_of):
    async def about(text):
        return f"about {text}"

    async def work():
        async with gate_of() as gate:
            approving = asyncio.create_task(gate.approve("Deploy 7?", reply=about))
            await until_waiting(server_world, 1)
            [ask] = [
                a
                for a in server_world.store.asks.pending(99, None)
                if a.question.prompt == "Deploy 7?"
            ]
            ask_messages.ask_back(server_world.store, ask.id, ADA, "which branch")
            messages = server_world.store.asks.messages
            await asyncio.to_thread(eventually, lambda: len(messages(ask.id)) == 2)
            answer_ask.answer(server_world.store, ask.id, ADA, Given("yes"))
            approval = await approving
            assert approval and approval.settled_by == "person:ada"
            assert messages(ask.id)[1].text == "about which branch"

    asyncio.run(work())


@pytest.mark.proves("REMOTE-51")
def test_cancelled_wait_takes_nothing(server_world, gate_of):
    async def work():
        async with gate_of() as gate:
            ask_id = await gate.open("Which port?")
            wait = asyncio.create_task(gate.wait(ask_id))
            await until_waiting(server_world, 1)
            wait.cancel()
            with pytest.raises(asyncio.CancelledError):
                await wait
            assert server_world.get(ask_id).pending
            assert (await gate.wait(ask_id, 0)).status == "pending"
            answer_ask.answer(server_world.store, ask_id, ADA, Given("8080"))
            assert not server_world.get(ask_id).delivered_at
            assert (await gate.wait(ask_id)).value == "8080"

    asyncio.run(work())
    # The cancelled request has left the server, too.
    eventually(lambda: len(server_world.web._hub.waits) == 0)


@pytest.mark.proves("REMOTE-51")
def test_async_program_answers_lists_and_cancels(server_world, gate_of):
    mine = server_world.ask("Which name?")

    async def answer():
        async with gate_of("ada") as gate:
            assert mine in [ask.id for ask in await gate.pending()]
            assert (await gate.answer(mine, "gatebell")).settled_by == "person:ada"

    async def cancel():
        async with gate_of() as gate:
            ask_id = await gate.open("Never mind?")
            assert (await gate.cancel(ask_id, "not needed")).status == "cancelled"
            assert (await gate.wait(ask_id)).status == "cancelled"
            with pytest.raises(NotFoundError):
                await gate.wait("a-zzzz", 1)

    asyncio.run(answer())
    asyncio.run(cancel())


@pytest.mark.proves("REMOTE-51")
def test_closed_gate_ends_its_waits(server_world, gate_of):
    async def work():
        gate = gate_of()
        wait = asyncio.create_task(gate.wait(await gate.open("Still there?")))
        await until_waiting(server_world, 1)
        await gate.close()
        with pytest.raises(UsageError, match="this AsyncGate is closed"):
            await wait
        with pytest.raises(UsageError, match="this AsyncGate is closed"):
            await gate.wait("a-222")

    asyncio.run(work())


@pytest.mark.proves("REMOTE-51")
def test_wait_goes_on_after_an_outage(server_world, gate_of):
    async def work():
        async with gate_of() as gate:
            ask_id = await gate.open("Which disk?")
            wait = asyncio.create_task(gate.wait(ask_id))
            await until_waiting(server_world, 1)
            await asyncio.to_thread(server_world.web.stop)
            await asyncio.to_thread(server_world.web.start)
            await until_waiting(server_world, 1)
            answer_ask.answer(server_world.store, ask_id, ADA, Given("sda"))
            assert (await wait).value == "sda"

    asyncio.run(work())


@pytest.mark.proves("REMOTE-51")
def test_wait_with_a_limit_fails_without_a_server(gate_of, monkeypatch):
    gate_of()
    monkeypatch.setenv("GATE_SERVER", "http://127.0.0.1:9")

    async def work():
        async with AsyncGate(token="gb_x") as gate:
            with pytest.raises(ServerError, match="cannot be reached"):
                await gate.wait("a-222", 0.1)

    asyncio.run(work())
    assert os.environ["GATE_SERVER"].endswith(":9")
