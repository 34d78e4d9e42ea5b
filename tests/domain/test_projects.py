"""Keys of projects: names and addresses, and the rules that they scope."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from gatebell.domain.asks.asks import Origin
from gatebell.domain.enums import RuleKind
from gatebell.domain.permissions.calls import make_call
from gatebell.domain.permissions.rules import Rule, in_scope
from gatebell.domain.projects import normalise_remote, parse_name

CALL = make_call("Bash", {"command": "git push"}, "/laptop/shop")
KEY, OTHER = "git.example.org/acme/shop", "git.example.org/acme/secret"


@pytest.mark.proves("HOST-21")
@pytest.mark.parametrize(
    "address",
    [
        "https://git.example.org/acme/shop.git",
        "https://git.example.org:443/acme/shop/",
        "https://ada:secret@git.example.org/acme/shop.git?x=1",
        "http://git.example.org:80/acme/shop",
        "ssh://git@git.example.org/acme/shop.git",
        "ssh://git@GIT.example.org:22/acme/shop",
        "git@git.example.org:acme/shop.git",
        "git.example.org:/acme/shop",
        "git://git.example.org:9418/acme/shop",
        "git+ssh://git@git.example.org/acme/shop",
    ],
)
def test_each_spelling_of_an_address_gives_one_key(address):
    assert normalise_remote(address) == KEY


@pytest.mark.proves("HOST-21")
@pytest.mark.parametrize(
    "address",
    ["", "/srv/git/shop.git", "../shop", "file:///srv/shop", "C/x:y", "https://", "https://host/",
     ":acme/shop", "ext::sh -c evil", "https://host/a\0b", "https://host/a\x1b[31m", f"https://h/{'x' * 300}"],
)  # fmt: skip
def test_address_that_hosts_do_not_share_gives_no_key(address):
    assert normalise_remote(address) == ""


@pytest.mark.proves("HOST-20")
def test_name_is_one_printable_line():
    assert parse_name(" shop \nmore\n") == "name:shop"
    assert parse_name("git.example.org/acme/shop") != KEY, "a name never equals an address"
    for wrong in ("", "\n", " \nshop", "a\tb", "a\x1b[2J", "\u202eshop", "x" * 201):
        assert parse_name(wrong) == ""


def a_rule(kind, project="/laptop/shop", key=KEY):
    now = datetime(2026, 1, 1, tzinfo=UTC)
    return Rule("r-1", kind, "Bash(git push)", "person:ada", now, project=project, project_key=key)


@pytest.mark.proves("HOST-24")
@pytest.mark.parametrize("kind", [RuleKind.ASK, RuleKind.DENY])
def test_gate_holds_in_every_clone(kind):
    clone = Origin("/ci/build-7", "/ci/build-7/src", project_key=KEY)
    assert in_scope(a_rule(kind), clone, CALL)
    assert not in_scope(a_rule(kind), clone._replace(project_key=OTHER), CALL)
    assert not in_scope(a_rule(kind, key=""), clone._replace(project_key=""), CALL)
    # An edited key does not remove the gate of the folder itself.
    edited = Origin("/laptop/shop", "/laptop/shop", project_key=OTHER)
    assert in_scope(a_rule(kind), edited, CALL)


@pytest.mark.proves("HOST-25")
def test_grant_needs_its_folder_and_its_key():
    grant = a_rule(RuleKind.GRANT)
    here = Origin("/laptop/shop", "/laptop/shop", project_key=KEY)
    assert in_scope(grant, here, CALL)
    assert not in_scope(grant, here._replace(project="/laptop/evil"), CALL), "a borrowed key"
    assert not in_scope(grant, here._replace(project_key=OTHER), CALL), "the path of another host"
    assert in_scope(grant._replace(project_key=""), here, CALL), "made by an older version"
