"""Callers for tests: a person, an agent."""

from __future__ import annotations

from gatebell.domain.people.principals import Caller, Sighting, person


def a_person(name: str = "ada", *, verified: bool = False) -> Caller:
    return Caller(person(name), verified, "cli", None, {"uid": 1000})


def an_agent(session: str = "s1", cli: str = "claude") -> Caller:
    sighting = Sighting(cli, session, "the variable CLAUDECODE is set")
    return Caller(person("ada"), False, "cli", sighting, {"uid": 1000})
