"""Links, logins and the scopes of tokens."""

from __future__ import annotations

import pytest
from tests.support.people import a_person, an_agent
from tests.support.stores import make_lasting

from gatebell.app import wiring
from gatebell.errors import AgentRefusedError, NotFoundError, RefusedError, UsageError
from gatebell.services.people import manage_logins, manage_people
from gatebell.testing import MemoryStore


@pytest.fixture
def store():
    return MemoryStore()


@pytest.mark.proves("WEB-1", "WEB-2")
def test_link_lets_the_os_user_in_once(store):
    link = manage_logins.make_link(store, a_person())
    assert manage_logins.find_link(store, link).person == "ada"
    login = manage_logins.enter_by_link(store, link, {"address": "127.0.0.1"})
    found = manage_logins.whose_login(store, login)
    assert (found.person, found.verified, found.scopes) == (
        "ada",
        False,
        ("ask", "answer", "read", "admin", "metrics"),
    )
    with pytest.raises(RefusedError, match="gate link"):
        manage_logins.enter_by_link(store, link, {})
    manage_logins.leave(store, login, found)
    assert manage_logins.whose_login(store, login) is None
    kinds = [entry.event.kind for entry in store.audit.entries()]
    assert kinds == ["link.made", "login.made", "login.ended"]


@pytest.mark.proves("WEB-1")
def test_link_expires_after_a_quarter_of_an_hour(store):
    link = manage_logins.make_link(store, a_person())
    store.clock.advance(15 * 60)
    with pytest.raises(RefusedError, match="15 minutes"):
        manage_logins.enter_by_link(store, link, {})


@pytest.mark.proves("WEB-1")
def test_no_agent_makes_a_link_for_its_person(store):
    make_lasting(store)
    with pytest.raises(AgentRefusedError, match="your own terminal"):
        manage_logins.make_link(store, an_agent())
    assert store.audit.head().seq == 0


@pytest.mark.proves("WEB-3", "WEB-4")
def test_token_works_within_its_scopes_until_revoked(store):
    token = manage_people.add(store, a_person(), "zoe", ["read"], "wall display")
    login = manage_logins.enter_by_token(store, f" {token}\n", {})
    found = manage_logins.whose_login(store, login)
    assert (found.person, found.verified, found.scopes) == ("zoe", True, ("read",))
    (listed,) = store.people.tokens()
    assert listed.label == "wall display" and listed.id == found.token_id
    manage_people.revoke(store, a_person(), listed.id)
    assert manage_logins.whose_login(store, login) is None
    with pytest.raises(RefusedError, match="token is unknown"):
        manage_logins.enter_by_token(store, token, {})
    with pytest.raises(NotFoundError):
        manage_people.revoke(store, a_person(), listed.id)


@pytest.mark.proves("WEB-3")
def test_token_that_may_only_ask_cannot_answer(store):
    token = manage_people.add(store, a_person(), "zoe", ["ask"])
    with pytest.raises(RefusedError, match="may only ask, not answer"):
        wiring.caller(store, "cli", token, "zoe")
    for scopes in ([], ["ask", "everything"]):
        with pytest.raises(UsageError, match="scopes"):
            manage_people.token(store, a_person(), "zoe", scopes)


@pytest.mark.proves("WEB-4")
def test_link_by_token_has_the_scopes_of_the_token(store):
    secret = manage_people.add(store, a_person(), "zoe")
    zoe = a_person("zoe", verified=True)._replace(token_id=manage_people.whose(store, secret).id)
    link = manage_logins.make_link(store, zoe)
    found = manage_logins.whose_login(store, manage_logins.enter_by_link(store, link, {}))
    assert found.verified and found.scopes == ("ask", "answer", "read")
    manage_people.remove(store, a_person(), "zoe")
    assert store.people.tokens() == []


@pytest.mark.proves("WEB-4")
def test_revoked_token_creates_neither_link_nor_login(store):
    secret = manage_people.add(store, a_person(), "zoe", ["answer"])
    zoe = a_person("zoe", verified=True)._replace(token_id=manage_people.whose(store, secret).id)
    by_token = store.people.by_token
    store.people.by_token = lambda digest: (by_token(digest), manage_people.remove(store, a_person(), "zoe"))[0]  # fmt: skip
    with pytest.raises(RefusedError, match="was revoked"):
        manage_logins.enter_by_token(store, secret, {})
    with pytest.raises(RefusedError, match="was revoked"):
        manage_logins.make_link(store, zoe)


@pytest.mark.proves("WEB-2", "SETUP-11")
def test_personal_link_needs_a_token(store):
    with pytest.raises(RefusedError, match="token"):
        manage_logins.link_to(store, "https://g", a_person(), personal=True)
    made = manage_logins.link_to(store, "https://g", a_person(verified=True), personal=True)
    secret = made.removeprefix("https://g/link/")
    assert manage_logins.find_link(store, secret).verified
    assert manage_logins.link_to(store, "https://g", a_person()).startswith("https://g/link/")


@pytest.mark.proves("WEB-3")
def test_revoked_token_makes_no_link(store):
    manage_people.add(store, a_person(), "zoe")
    (token,) = store.people.tokens()
    zoe = a_person("zoe", verified=True)._replace(token_id=token.id)
    assert manage_logins.make_link(store, zoe)
    manage_people.revoke(store, a_person(), token.id)
    before = store.audit.head().seq
    with pytest.raises(RefusedError, match="was revoked"):
        manage_logins.make_link(store, zoe)
    assert store.audit.head().seq == before
