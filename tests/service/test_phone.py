"""Bringing the inbox to a phone: its person and link, the way to it, and the test question."""

from __future__ import annotations

import pytest
from tests.support.people import a_person, an_agent
from tests.support.stores import make_lasting

from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.asks import Origin
from gatebell.domain.enums import TunnelKind, TunnelState
from gatebell.domain.phone.tunnels import Tunnel
from gatebell.errors import AgentRefusedError, RefusedError, UsageError
from gatebell.ports.phone import OpenTunnel
from gatebell.services.asks import answer_ask, create_ask
from gatebell.services.people import manage_logins, manage_people
from gatebell.services.phone import sign_in, trial_ask, ways
from gatebell.testing import MemoryStore

URL = "https://gate.example.org"


@pytest.fixture
def store():
    return MemoryStore()


class Programs:
    """The tunnel programs of a machine, each in the given state."""

    def __init__(self, **states):
        self.states = states

    def find(self, kind, port):
        state = self.states.get(kind, TunnelState.MISSING)
        return Tunnel(kind, state, URL if state == TunnelState.SERVING else "", "run tailscale up")

    def open(self, tunnel, port):
        return OpenTunnel(f"https://{tunnel.kind}.example.org", pid=port)


def secret_of(made):
    assert made.link.startswith(f"{URL}/link/")
    return made.link.rpartition("/")[2]


@pytest.mark.proves("SETUP-11")
def test_each_phone_has_its_own_token(store):
    first = sign_in.add_person(store, a_person(), "ada")
    assert sign_in.add_person(store, a_person(), "ada") is None
    made = [sign_in.make_link(store, a_person(), "ada", URL, token) for token in (first, None)]
    assert sign_in.count_phones(store, "ada") == 2 and sign_in.count_phones(store, "bob") == 0
    logins = [manage_logins.enter_by_link(store, secret_of(one), {}) for one in made]
    found = [manage_logins.whose_login(store, one) for one in logins]
    assert [(one.person, one.verified, one.token_id) for one in found] == [
        ("ada", True, one.token_id) for one in made
    ]
    with pytest.raises(RefusedError, match="gate link"):
        manage_logins.enter_by_link(store, secret_of(made[0]), {})
    manage_people.revoke(store, a_person(), made[0].token_id)
    assert manage_logins.whose_login(store, logins[0]) is None
    assert manage_logins.whose_login(store, logins[1]).person == "ada"
    assert sign_in.count_phones(store, "ada") == 1


@pytest.mark.proves("SETUP-5", "SETUP-11")
def test_phone_is_signed_in_for_its_person_only(store):
    make_lasting(store)
    token = sign_in.add_person(store, a_person(), "ada")
    sign_in.add_person(store, a_person(), "bob")
    with pytest.raises(RefusedError, match="does not belong to bob"):
        sign_in.make_link(store, a_person(), "bob", URL, token)
    for act in (
        lambda: sign_in.add_person(store, an_agent(), "cy"),
        lambda: sign_in.make_link(store, an_agent(), "ada", URL, None),
    ):
        with pytest.raises(AgentRefusedError):
            act()
    assert sign_in.count_phones(store, "ada") == 1


@pytest.mark.parametrize(
    ("user", "name"),
    [("ada", "ada"), ("DOM\\ada l", "DOMadal"), ("$!", "me"), ("a" * 90, "a" * 64)],
)
@pytest.mark.proves("SETUP-1")
def test_suggested_name_is_one_that_a_person_may_have(store, user, name):
    assert sign_in.suggest_name(user) == name
    assert sign_in.add_person(store, a_person(), name)


@pytest.mark.proves("SETUP-7")
def test_installed_programs_are_offered_and_used_as_they_are():
    both = Programs(tailscale=TunnelState.OFF, cloudflared=TunnelState.READY)
    assert [one.kind for one in ways.list_ways(both, 4283)] == ["tailscale", "cloudflared"]
    assert ways.list_ways(Programs(), 4283) == []
    with pytest.raises(UsageError, match="run tailscale up"):
        ways.open_way(both, TunnelKind.TAILSCALE, 4283)
    opened = ways.open_way(both, TunnelKind.CLOUDFLARED, 4283)
    assert opened == ("https://cloudflared.example.org", 4283)
    serving = Programs(tailscale=TunnelState.SERVING)
    assert ways.open_way(serving, TunnelKind.TAILSCALE, 4283) == (URL, 0)
    with pytest.raises(UsageError, match="not on the PATH"):
        ways.open_way(Programs(), TunnelKind.CLOUDFLARED, 4283)


@pytest.mark.proves("SETUP-12")
def test_address_of_a_proxy_is_plain_https():
    assert ways.open_way(Programs(), f" {URL.upper().replace('HTTPS', 'https')}/ ", 1).url == URL
    for wrong in (
        "http://gate.example.org",
        "https://",
        "gate.example.org",
        f"{URL}/a",
        "https://a@b",
    ):
        with pytest.raises(UsageError, match="such as https"):
            ways.check_own_address(wrong)


@pytest.mark.proves("SETUP-1", "SETUP-13")
def test_trial_question_is_taken_or_withdrawn(store):
    asked = trial_ask.send(store, a_person(), Origin("/p"))
    looks = trial_ask.follow(store, asked, 60)
    assert next(looks).pending
    answer_ask.answer(store, asked.id, a_person("bob"), Given("yes"))
    assert [one.decision for one in looks] == ["approved"]
    assert create_ask.get(store, asked.id).delivered_at
    # An answer that came first is not an error, and stays.
    trial_ask.withdraw(store, asked, a_person())
    assert create_ask.get(store, asked.id).decision == "approved"
    other = trial_ask.send(store, a_person(), Origin("/p"))
    assert [one.pending for one in trial_ask.follow(store, other, 0)] == [True]
    trial_ask.withdraw(store, other, a_person())
    assert create_ask.get(store, other.id).status == "cancelled"
    assert trial_ask.list_problems(store, other) == []
