"""HTTP for clients that count their requests: ask and wait in one, and rules with an ETag."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from tests.support.people import a_person
from tests.support.server_world import server_world
from tests.support.waiting import eventually

from gatebell.domain.asks.answers import Given
from gatebell.services.asks import answer_ask, ask_messages
from gatebell.services.people import manage_people
from gatebell.services.permissions import manage_rules

__all__ = ["server_world"]

ADA = a_person("ada")


@pytest.fixture
def client(server_world):
    """Return requests with the token of an agent, which may only ask."""
    with httpx.Client(base_url=server_world.web.url, timeout=30) as made:
        made.headers["authorization"] = f"Bearer {server_world.tokens['agent']}"
        yield made


@pytest.fixture
def waiting(server_world, client):
    """Send an ask that waits; return its future response and its id, once the server waits."""
    with ThreadPoolExecutor(2) as pool:

        def send(prompt, seconds=50, key="", **more):
            before = {ask.id for ask in server_world.store.asks.pending(99, None)}
            headers = {"idempotency-key": key} if key else {}
            response = pool.submit(
                client.post, f"/api/asks?wait={seconds}", json={"prompt": prompt, **more},
                headers=headers,
            )  # fmt: skip
            hub = server_world.web._hub
            new = lambda: {a.id for a in server_world.store.asks.pending(99, None)} - before  # noqa: E731
            eventually(lambda: response.done() or any(one in hub.waits for one in new()))
            return response, next(iter(new()), "")

        yield send


@pytest.mark.proves("SRV-51")
def test_one_request_opens_and_waits(server_world, client, waiting):
    response, ask_id = waiting("Which port?")
    answer_ask.answer(server_world.store, ask_id, ADA, Given("8080"))
    got = response.result()
    assert (got.status_code, got.json()["ask"]["id"]) == (201, ask_id)
    # As after `wait`: its asker sees that it is answered, and gets the answer by taking it.
    assert (got.json()["ask"]["status"], got.json()["ask"]["value"]) == ("answered", None)
    assert client.post(f"/api/asks/{ask_id}/take").json()["value"] == "8080"


@pytest.mark.proves("SRV-51")
def test_same_key_finds_the_first_ask(server_world, client, waiting):
    # Nothing answers in this time, so the client would have lost it.
    lost = client.post(
        "/api/asks?wait=1", json={"prompt": "Which disk?"}, headers={"idempotency-key": "k1"}
    )
    assert lost.json()["ask"]["status"] == "pending"
    ask_id = lost.json()["ask"]["id"]
    answer_ask.answer(server_world.store, ask_id, ADA, Given("sda"))
    again, _ = waiting("Which disk?", key="k1")
    assert again.result().status_code == 200 and again.result().json()["attached"] is True
    assert again.result().json()["ask"]["id"] == ask_id
    assert again.result().json()["ask"]["status"] == "answered"


@pytest.mark.proves("SRV-51")
def test_person_who_asks_back_ends_the_wait(server_world, waiting):
    response, ask_id = waiting("Which branch?")
    ask_messages.ask_back(server_world.store, ask_id, ADA, "of which project?")
    assert response.result().json()["ask"]["asked_back"] == 1


@pytest.mark.proves("SRV-51")
def test_secret_is_opened_without_waiting(client):
    got = client.post("/api/asks?wait=50", json={"prompt": "The password?", "secret": True})
    assert got.status_code == 201 and got.json()["token"]
    assert got.elapsed.total_seconds() < 25


@pytest.mark.proves("SRV-51")
@pytest.mark.parametrize("given", ["56", "-1", "x", "1.5"])
def test_wait_has_limits(client, given):
    got = client.post(f"/api/asks?wait={given}", json={"prompt": "Which?"})
    assert got.status_code == 400 and "wait: seconds to wait" in got.json()["detail"]


@pytest.mark.proves("SRV-51")
def test_revoked_token_gets_no_reply(server_world, client, waiting):
    root = a_person("root")
    token = manage_people.token(server_world.store, root, "ci", ("ask",), "short")
    client.headers["authorization"] = f"Bearer {token}"
    response, ask_id = waiting("Which key?")
    [made] = [one for one in server_world.store.people.tokens() if one.label == "short"]
    manage_people.revoke(server_world.store, root, made.id)
    answer_ask.answer(server_world.store, ask_id, ADA, Given("k"))
    assert response.result().status_code == 401


@pytest.mark.proves("SRV-52")
def test_rules_have_an_etag(server_world, client):
    client.headers["authorization"] = f"Bearer {server_world.tokens['ada']}"
    first = client.get("/api/rules")
    tag = first.headers["etag"]
    assert first.status_code == 200 and tag.startswith('"') and tag.endswith('"')
    assert first.headers["cache-control"] == "private, no-cache"
    for given in (tag, f'"other", W/{tag}', "*"):
        same = client.get("/api/rules", headers={"if-none-match": given})
        assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", tag)
    manage_rules.add(server_world.store, ADA, "ask", "", "Bash(rm *)")
    changed = client.get("/api/rules", headers={"if-none-match": tag})
    assert changed.status_code == 200 and changed.headers["etag"] != tag
    assert changed.json()[-1]["pattern"] == "Bash(rm *)"


@pytest.mark.proves("SRV-52")
def test_asking_token_gets_no_etag(client):
    for headers in ({}, {"if-none-match": "*"}):
        refused = client.get("/api/rules", headers=headers)
        assert refused.status_code == 403 and "etag" not in refused.headers
