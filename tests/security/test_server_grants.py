"""Attacks by which an agent would use a person's grant that was given to another (level 1)."""

from __future__ import annotations

import json

import pytest
from tests.support.people import a_person
from tests.support.server_world import server_world
from tests.support.web_requests import send
from tests.support.web_server import push

from gatebell.domain.asks.answers import Given
from gatebell.domain.permissions.rules import Scope
from gatebell.services.asks import answer_ask
from gatebell.services.people import manage_people
from gatebell.services.permissions import manage_rules

__all__ = ["server_world"]

CALL = {"tool": "Bash", "input": {"command": "make"}, "cwd": "/p", "branch": "main"}
PLACE = {"project": "/p", "project_key": "shop", "session": "claude:s1"}
# What the agent claims about itself, and the token that it uses.
CLAIMS = {
    "with another token": (PLACE, "other"),
    "with another token of the same person": (PLACE, "second"),
    "with another token and no session": ({"project": "/p", "project_key": "shop"}, "other"),
    "without the key of the project": ({"project": "/p", "session": "claude:s1"}, "agent"),
    "with another key": (PLACE | {"project_key": "mine"}, "agent"),
    "in another folder with the same key": (PLACE | {"project": "/q"}, "agent"),
    "in a folder below": (PLACE | {"project": "/p/below"}, "agent"),
    "by another way to the folder": (PLACE | {"project": "/p/../p"}, "agent"),
    "without a project": ({"project_key": "shop", "session": "claude:s1"}, "agent"),
}


@pytest.fixture(scope="module")
def grants(server_world):
    """Grants for an hour, a branch and some uses, made by answers to the agent's calls."""
    root, store = a_person("root"), server_world.store
    server_world.tokens["other"] = manage_people.add(store, root, "other", ("ask",))
    server_world.tokens["second"] = manage_people.token(store, root, "ci", ("ask",))
    manage_rules.set_gates(store, a_person("ada"), "", ["Bash(make*)"])
    for word, command in (("hour", "make"), ("branch", "make all"), ("99", "make it")):
        body = PLACE | {"call": CALL | {"input": {"command": command}}, "tool_use_id": word}
        held = _hold(server_world, "agent", body)
        person = a_person("ada")._replace(verified=True)
        answer_ask.answer(store, held["ask"]["id"], person, Given("yes", scope=Scope(word)))
    return server_world


def _hold(world, token, body):
    status, said = send(world.web.port, "POST", "/api/permissions", world.tokens[token], body)
    assert status < 300, said
    return json.loads(said)


@pytest.mark.proves("REMOTE-21", "REMOTE-12", "LAW-3")
@pytest.mark.parametrize("command", ["make", "make all", "make it"])
@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.replace(" ", "-"))
def test_grant_of_another_is_not_used(grants, claim, command):
    place, token = CLAIMS[claim]
    body = place | {"call": CALL | {"input": {"command": command}}, "only_rules": True}
    assert _hold(grants, token, body)["permission"] is None
    assert _hold(grants, "agent", body | PLACE)["permission"]["allow"] is True


@pytest.mark.proves("REMOTE-21")
def test_grant_of_the_servers_machine_holds_only_there(grants):
    """An agent elsewhere that claims to work in a folder of the server gets none of its grants."""
    store, ask = grants.store, push(grants.web, project="/here")
    person = a_person("ada")._replace(verified=True)
    answer_ask.answer(store, ask.id, person, Given("yes", scope=Scope("hour")))
    call = ask.question.call
    body = {"call": call._asdict(), "project": "/here", "only_rules": True}
    assert call.identity in {rule.identity for rule in manage_rules.grants(store)}
    assert _hold(grants, "agent", body)["permission"] is None
