"""The HTTP API, as an agent and as a person's program use it."""

from __future__ import annotations

import json
import threading

import jsonschema_rs
import pytest
from tests.support.people import a_person
from tests.support.waiting import eventually
from tests.support.web_inbox import URL, inbox

from gatebell.domain.digests import text_digest
from gatebell.services.people import manage_logins, manage_people
from gatebell.web import rate_limits
from gatebell.web.api.openapi import DOCUMENT
from gatebell.web.context import COOKIE
from gatebell.web.rate_limits import Rate
from gatebell.web.routes import API

__all__ = ["inbox"]


@pytest.mark.proves("WEB-20", "WEB-3")
def test_agent_asks_waits_and_takes_the_answer_over_http(inbox):
    token = inbox.token("ask")
    with inbox.running() as server:
        server.headers["authorization"] = f"Bearer {token}"
        body = {"prompt": "Deploy?", "kind": "approval", "agent": "release-bot", "session": "s1"}
        opened = server.post("/api/asks", json=body)
        assert opened.status_code == 201, opened.text
        ask_id = opened.json()["ask"]["id"]
        got = []
        waiting = threading.Thread(
            target=lambda: got.append(server.get(f"/api/asks/{ask_id}/wait?seconds=30"))
        )
        waiting.start()
        answered = inbox.client("answer", "read", name="bob").post(
            f"/api/asks/{ask_id}/answers", json={"value": "yes", "note": "go"}
        )
        assert answered.status_code == 201, answered.text
        waiting.join(20)
        told = got[0].json()["ask"]
        assert (told["status"], told["decision"], told["note"]) == ("answered", None, "")
        taken = server.post(f"/api/asks/{ask_id}/take", json={})
        assert taken.json()["decision"] == "approved" and taken.json()["note"] == "go"
        assert server.get(f"/api/asks/{ask_id}").json()["decision"] == "approved"
    ask = inbox.store.asks.get(ask_id)
    assert ask.delivered_at and ask.delivered_to.startswith("agent:http-")
    assert (ask.settled_by, ask.settled_via) == ("person:bob", "http")
    assert ask.origin.started_by == "person:ada" and ask.origin.agent == "release-bot"


@pytest.mark.proves("WEB-3", "WEB-12")
def test_asking_token_sees_its_own_asks_and_answers_nothing(inbox):
    foreign = inbox.ask("Whose?")
    agent, other = inbox.client("ask"), inbox.client("ask", name="bob")
    own = agent.post("/api/asks", json={"prompt": "Mine?"}).json()["ask"]["id"]
    assert agent.get(f"/api/asks/{own}").status_code == 200
    for client, ask_id in ((agent, foreign.id), (other, own)):
        for path in (
            f"/api/asks/{ask_id}",
            f"/api/asks/{ask_id}/wait",
            f"/api/asks/{ask_id}/messages",
        ):
            assert client.get(path).status_code == 404, path
        assert client.post(f"/api/asks/{ask_id}/take", json={}).status_code == 404
        assert client.post(f"/api/asks/{ask_id}/cancel", json={}).status_code == 404
        assert client.post(f"/api/asks/{ask_id}/messages", json={"text": "x"}).status_code == 404
    assert agent.post(f"/api/asks/{own}/answers", json={"value": "me"}).status_code == 403
    assert agent.get("/api/asks").status_code == 403
    assert agent.get("/api/events").status_code == 403
    assert inbox.store.asks.get(own).pending


@pytest.mark.proves("WEB-22")
def test_retried_ask_is_the_same_and_keys_are_separate(inbox):
    agent, other = inbox.client("ask"), inbox.client("ask", name="bob")
    key = {"idempotency-key": "k1"}
    first = agent.post("/api/asks", json={"prompt": "Once?"}, headers=key)
    again = agent.post("/api/asks", json={"prompt": "Once?"}, headers=key)
    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json()["ask"]["id"] == first.json()["ask"]["id"] and again.json()["attached"]
    changed = agent.post("/api/asks", json={"prompt": "Twice?"}, headers=key)
    assert changed.status_code == 403 and "key" in changed.json()["detail"]
    foreign = other.post("/api/asks", json={"prompt": "Once?"}, headers=key)
    assert foreign.status_code == 201
    assert len(inbox.store.asks.pending(9)) == 2


@pytest.mark.proves("WEB-22")
def test_retried_answer_settles_once(inbox):
    ask, client = inbox.ask(), inbox.client("answer")
    key = {"idempotency-key": "k1"}
    for _ in range(2):
        given = client.post(f"/api/asks/{ask.id}/answers", json={"value": "so"}, headers=key)
        assert given.status_code == 201 and given.json()["value"] == "so"
    late = client.post(f"/api/asks/{ask.id}/answers", json={"value": "no"}, headers=key)
    assert late.status_code == 403
    assert [one.outcome for one in inbox.store.asks.answers(ask.id)] == ["settled"]


@pytest.mark.proves("WEB-21")
def test_errors_are_problem_documents_with_next_steps(inbox):
    ask, client = inbox.ask("Yes?", "approval"), inbox.client("read", "answer", "ask")
    path = f"/api/asks/{ask.id}/answers"
    cases = [
        (client.get("/api/asks/a-zzzz"), 404, "gate inbox"),
        (client.post(path, json={"value": "maybe"}), 422, "yes or no"),
        (client.post(path, json={"value": "yes", "digest": "0"}), 403, "is not the question"),
        (client.post(path, json={"vaule": "yes"}), 400, "value"),
        (client.post(path, content="{"), 415, "JSON"),
        (client.post(path, content="{", headers={"content-type": "application/json"}), 400, "JSON"),
        (client.post("/api/asks", json={"prompt": "  "}), 400, "prompt"),
        (client.get("/api/asks?limit=0"), 400, "limit"),
        (client.get("/api/nowhere"), 404, "nothing at this address"),
        (client.delete("/api/asks"), 405, "Not Allowed"),
        (inbox.client().get("/api/asks"), 401, "sign in"),
        (client.get("/api/people"), 403, "admin"),
    ]
    inbox.answer(ask, "no")
    cases.append((client.post(path, json={"value": "yes"}), 409, "person:bob"))
    for response, status, words in cases:
        assert response.status_code == status, response.text
        assert response.headers["content-type"] == "application/problem+json"
        document = response.json()
        assert document["status"] == status and words in document["detail"], document
    assert inbox.get(ask).decision == "rejected"


@pytest.mark.proves("WEB-23")
def test_one_answer_settles_only_asks_that_are_alike(inbox):
    asks = [inbox.ask("Which port?") for _ in range(3)]
    other = inbox.ask("Which host?")
    client = inbox.client("answer")
    shown = [{"id": ask.id, "digest": ask.digest} for ask in asks]
    mixed = client.post("/api/answers", json={"asks": [*shown, {"id": other.id, "digest": other.digest}], "value": "80"})  # fmt: skip
    assert mixed.status_code == 403 and other.id in mixed.json()["detail"]
    inbox.answer(asks[1], "81")
    given = client.post("/api/answers", json={"asks": shown, "value": "80"})
    assert [one["status"] for one in given.json()] == ["answered"] * 3
    assert [bool(one["problem"]) for one in given.json()] == [False, True, False]
    assert [inbox.get(ask).value for ask in asks] == ["80", "81", "80"]


@pytest.mark.proves("WEB-20")
def test_talk_drafts_cancelling_and_the_trail(inbox):
    agent, person = inbox.client("ask"), inbox.client("read", "answer", name="bob")
    ask_id = agent.post("/api/asks", json={"prompt": "Which?", "expires_seconds": 60}).json()["ask"]["id"]  # fmt: skip
    assert (
        person.post(f"/api/asks/{ask_id}/messages", json={"text": "which what?"}).status_code == 200
    )
    called = agent.get(f"/api/asks/{ask_id}/wait?seconds=0&hears=true").json()
    assert called["asked_back"] == "which what?"
    talk = agent.post(f"/api/asks/{ask_id}/messages", json={"text": "the port"}).json()
    assert [one["by_asker"] for one in talk] == [False, True]
    assert agent.get(f"/api/asks/{ask_id}/wait?seconds=0&hears=true").json()["asked_back"] == ""
    assert person.put(f"/api/asks/{ask_id}/draft", json={"text": "perh"}).status_code == 204
    assert person.get(f"/api/asks/{ask_id}/draft").json() == {"text": "perh"}
    held = inbox.store.asks.get(ask_id).deadlines
    assert held.moved_seconds == 60
    assert agent.post(f"/api/asks/{ask_id}/cancel", json={"reason": "found it"}).json()["status"] == "cancelled"  # fmt: skip
    kinds = [one["kind"] for one in person.get(f"/api/asks/{ask_id}/events").json()]
    assert kinds == ["ask.opened", "ask.asked_back", "ask.replied", "ask.held", "ask.cancelled"]
    assert [one["id"] for one in person.get("/api/asks?status=settled&search=whi").json()] == [
        ask_id
    ]
    assert len(person.get("/api/events?after=2&limit=2").json()) == 2
    inbox.ask()
    assert person.get("/api/counts").json() == [{"project": "/p", "waiting": 1}]


@pytest.mark.proves("WEB-20")
def test_secret_is_handed_to_its_asker_alone_and_once(inbox):
    agent, person = inbox.client("ask"), inbox.client("read", "answer", name="bob")
    opened = agent.post("/api/asks", json={"prompt": "Password?", "secret": True}).json()
    ask_id, secret_token = opened["ask"]["id"], opened["token"]
    person.post(f"/api/asks/{ask_id}/answers", json={"value": "hunter2"})
    assert "hunter2" not in person.get(f"/api/asks/{ask_id}").text
    assert "hunter2" not in agent.get(f"/api/asks/{ask_id}/wait").text
    assert agent.post(f"/api/asks/{ask_id}/take", json={}).status_code == 403
    assert person.post(f"/api/asks/{ask_id}/take", json={"token": secret_token}).status_code == 403
    taken = agent.post(f"/api/asks/{ask_id}/take", json={"token": secret_token})
    assert taken.json()["value"] == "hunter2"
    again = agent.post(f"/api/asks/{ask_id}/take", json={"token": secret_token})
    assert again.status_code == 403 and "already taken" in again.text


@pytest.mark.proves("WEB-24")
def test_people_and_tokens_are_managed_by_admins(inbox):
    admin = inbox.client("admin")
    made = admin.post("/api/people", json={"name": "zoe", "scopes": ["read"], "label": "wall"})
    assert made.status_code == 201
    zoe = inbox.client(token=made.json()["token"])
    assert zoe.get("/api/asks").status_code == 200 and zoe.get("/api/people").status_code == 403
    (listed,) = [one for one in admin.get("/api/people").json()["tokens"] if one["person"] == "zoe"]
    assert listed["label"] == "wall" and made.json()["token"] not in json.dumps(listed)
    assert admin.delete(f"/api/tokens/{listed['id']}").status_code == 204
    assert zoe.get("/api/asks").status_code == 401
    more = admin.post("/api/people/zoe/tokens", json={}).json()["token"]
    assert inbox.client(token=more).get("/api/asks").status_code == 200
    assert admin.delete("/api/people/zoe").status_code == 204
    assert inbox.client(token=more).get("/api/asks").status_code == 401


@pytest.mark.proves("WEB-25")
def test_document_describes_every_api_route_and_is_valid(inbox):
    shown = inbox.client().get("/api/openapi.json").json()
    assert shown == json.loads(json.dumps(DOCUMENT))
    described = {(m.upper(), path) for path, ops in shown["paths"].items() for m in ops}
    assert described == {(row.method, row.path) for row in API}
    for row in API:
        for schema in (row.body, row.gives[1], *(query[1] for query in row.query)):
            if schema is not None:
                jsonschema_rs.meta.validate(schema)


@pytest.mark.proves("WEB-13")
@pytest.mark.parametrize("way", ["/login", "/link/0123"])
def test_guessing_is_slowed_down_and_keeps_others_in(inbox, way):
    client = inbox.client()
    client.headers["origin"] = URL
    codes = [client.post(way, data={"token": f"t{n}"}).status_code for n in range(12)]
    assert codes[0] == 403 and codes[-1] == 429
    slow = client.post(way, data={"token": "t"})
    assert int(slow.headers["retry-after"]) > 0
    client.follow_redirects = False
    assert client.post("/login", data={"token": inbox.token("read")}).status_code == 303
    inbox.clock.advance(60)
    assert client.post(way, data={"token": "t"}).status_code == 403


@pytest.mark.proves("WEB-13", "WEB-95")
def test_wrong_sign_ins_lock_no_person_out(inbox, monkeypatch):
    monkeypatch.setattr(rate_limits, "RATES", dict.fromkeys(rate_limits.RATES, Rate(10, 10)))
    client = inbox.client()
    client.headers["origin"] = URL
    client.follow_redirects = False
    codes = {client.post("/login", data={"token": "wrong"}).status_code for _ in range(33)}
    assert codes == {403, 429}
    assert {client.get("/login").status_code for _ in range(33)} == {200}
    assert client.post("/login", data={"token": inbox.token("read")}).status_code == 303


@pytest.mark.proves("WEB-13")
def test_flood_of_asks_slows_only_its_own_token(inbox):
    agent, other = inbox.client("ask"), inbox.client("ask", name="bob")
    codes = [agent.post("/api/asks", json={"prompt": f"{n}?"}).status_code for n in range(510)]
    assert codes[499] == 201 and codes[-1] == 429
    assert other.post("/api/asks", json={"prompt": "Me?"}).status_code == 201


@pytest.mark.proves("WEB-26")
def test_ready_says_whether_changes_are_delivered(inbox):
    with inbox.running() as server:
        assert server.get("/api/health").json() == {"status": "ok"}
        assert server.get("/api/ready").json() == {"status": "ready"}
    assert inbox.client().get("/api/health").json() == {"status": "ok"}
    stopped = inbox.client().get("/api/ready")
    assert stopped.status_code == 503 and "another one" in stopped.json()["detail"]


@pytest.mark.proves("WEB-75")
def test_token_that_asked_cannot_answer(inbox):
    token = inbox.token("ask", "answer", "read")
    client = inbox.client(token=token)
    for kind, value in (("approval", "yes"), ("text", "so")):
        ask = client.post("/api/asks", json={"prompt": "May I?", "kind": kind}).json()["ask"]
        shown = [{"id": ask["id"], "digest": ask["digest"]}]
        given = client.post(f"/api/asks/{ask['id']}/answers", json={"value": value})
        assert given.status_code == 403 and "asked with this token" in given.json()["detail"]
        (batch,) = client.post("/api/answers", json={"asks": shown, "value": value}).json()
        assert batch["status"] == "pending" and "asked with this token" in batch["problem"]
        secret = manage_logins.enter_by_token(inbox.store, token, {})
        page = inbox.browser()
        page.cookies.set(COOKIE, secret)
        form = {"value": value, "text": value, "digest": ask["digest"], "csrf": text_digest(f"csrf {secret}")}  # fmt: skip
        assert page.post(f"/asks/{ask['id']}/answer", data=form).status_code == 403
        assert inbox.store.asks.get(ask["id"]).pending
        other = inbox.client("answer").post(f"/api/asks/{ask['id']}/answers", json={"value": value})
        assert other.status_code == 201


@pytest.mark.proves("WEB-12")
def test_token_that_may_only_answer_is_shown_no_list(inbox):
    ask = inbox.ask("This one?", "approval")
    inbox.ask("Another secret plan")
    client = inbox.client("answer")
    refused = client.post(f"/asks/{ask.id}/answer", data={"value": "perhaps", "digest": ask.digest})
    assert refused.status_code == 422 and "This one?" in refused.text
    assert "Another secret plan" not in refused.text


@pytest.mark.proves("WEB-75", "LAW-4")
def test_one_yes_serves_one_request_however_it_is_read(inbox):
    agent = inbox.client("ask", "read")
    body = {"prompt": "Deploy?", "kind": "approval", "session": "nightly"}
    first = agent.post("/api/asks", json=body).json()["ask"]
    inbox.client("answer").post(f"/api/asks/{first['id']}/answers", json={"value": "yes"})
    again = agent.post("/api/asks", json=body).json()
    assert again["attached"] and again["ask"]["decision"] is None
    for path in (f"/api/asks/{first['id']}", f"/api/asks/{first['id']}/wait"):
        assert '"decision":"approved"' not in agent.get(path).text
    assert agent.post(f"/api/asks/{first['id']}/take", json={}).json()["decision"] == "approved"
    third = agent.post("/api/asks", json=body)
    assert third.status_code == 201 and third.json()["ask"]["status"] == "pending"


@pytest.mark.proves("WEB-80")
def test_sealed_login_changes_nothing_without_its_seal(inbox):
    ask = inbox.ask("Deploy?", "approval")
    link = manage_logins.make_link(inbox.store, a_person())
    secret = manage_logins.enter_by_link(inbox.store, link, {}, seal="s" * 64)
    page, proof = inbox.browser(), text_digest(f"csrf {secret}")
    page.cookies.set(COOKIE, secret)
    form = {"value": "yes", "digest": ask.digest, "csrf": proof}
    assert page.get(f"/asks/{ask.id}").status_code == 200
    for seal in ({}, {"seal": "t" * 64}):
        assert page.post(f"/asks/{ask.id}/answer", data=form | seal).status_code == 403
    headers = {"x-csrf-token": proof}
    path = f"/api/asks/{ask.id}/answers"
    assert page.post(path, json={"value": "yes"}, headers=headers).status_code == 403
    assert inbox.get(ask).pending
    headers["x-seal"] = "s" * 64
    assert page.post(path, json={"value": "maybe"}, headers=headers).status_code == 422
    answered = page.post(f"/asks/{ask.id}/answer", data=form | {"seal": "s" * 64})
    assert answered.status_code == 303 and inbox.get(ask).decision == "approved"


@pytest.mark.proves("WEB-12", "WEB-18")
def test_small_things_an_attacker_tried(inbox):
    ask, agent, reader = inbox.ask(), inbox.client("ask"), inbox.client("read", "answer", "ask")
    assert ask.id not in agent.get("/api/asks/a-").text
    assert reader.get(f"/api/events?after={'0' * 20}{'9' * 30}").status_code == 400
    long_key = {"idempotency-key": "k" * 201}
    given = reader.post(f"/api/asks/{ask.id}/answers", json={"value": "x"}, headers=long_key)
    assert given.status_code == 400 and inbox.get(ask).pending
    much = agent.post("/api/asks", json={"prompt": "Read all this?", "context": "x" * 200_000})
    assert much.status_code == 413


@pytest.mark.proves("WEB-4")
def test_token_revoked_during_its_wait_learns_nothing(inbox):
    token = inbox.token("read")
    ask = inbox.ask("Which?")
    with inbox.running() as server:
        server.headers["authorization"] = f"Bearer {token}"
        got = []
        path = f"/api/asks/{ask.id}/wait?seconds=30"
        waiting = threading.Thread(target=lambda: got.append(server.get(path)))
        waiting.start()
        eventually(lambda: ask.id in inbox.desk.hub.waits)
        manage_people.remove(inbox.store, a_person(), "ada")
        inbox.answer(ask, "this one")
        waiting.join(20)
    assert got[0].status_code == 401 and "this one" not in got[0].text


@pytest.mark.proves("NTF-26")
def test_reminders_over_http_are_a_minute_apart(inbox):
    client = inbox.client("ask")
    refused = client.post("/api/asks", json={"prompt": "Why?", "remind_every_seconds": 59})
    assert refused.status_code == 400 and "remind_every_seconds" in refused.text
    opened = client.post("/api/asks", json={"prompt": "Why?", "remind_every_seconds": 60})
    assert opened.status_code == 201


@pytest.mark.proves("NTF-28")
def test_list_does_not_wait_for_everything_due(inbox):
    for number in range(201):
        inbox.ask(f"Question {number}?", expires_seconds=1)
    reader = inbox.client("read")
    inbox.clock.advance(9)
    assert [len(reader.get("/api/asks").json()) for _ in range(2)] == [1, 0]


@pytest.mark.proves("WEB-21")
def test_mistakes_of_newcomers_get_helpful_answers(inbox):
    ask, client = inbox.ask(), inbox.client("read", "answer")
    assert "that token" in inbox.client(token="gate_wrong").get("/api/asks").json()["detail"]
    assert "pending or settled" in client.get("/api/asks?status=bogus").json()["detail"]
    assert client.post(f"/api/asks/{ask.id}/cancel").json()["status"] == "cancelled"
    assert client.post(f"/api/asks/{ask.id}/answers").status_code == 415
    unknown = inbox.browser().get("/nonsense")
    assert unknown.status_code == 404 and unknown.headers["content-type"].startswith("text/html")


@pytest.mark.proves("WEB-52")
def test_user_who_cannot_decide_learns_it_first(inbox):
    for name in ("ada", "bob"):
        inbox.token("answer", name=name)
    ask = inbox.ask("Deploy?", "approval", requirement={"all": ["ada", "bob"]})
    assert "You cannot decide this" in inbox.browser("carol").get(f"/asks/{ask.id}").text
    inbox.client("answer", "read").post(f"/api/asks/{ask.id}/answers", json={"value": "yes"})
    page = inbox.browser("carol").get(f"/asks/{ask.id}").text
    assert "So far: ada approved" in page
