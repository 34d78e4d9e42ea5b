"""A grant by pattern never reaches beyond the project of its call."""

from __future__ import annotations

import pytest
from tests.support.call_hosts import PlannedHost
from tests.support.people import a_person, an_agent

from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.asks import Origin
from gatebell.domain.permissions.calls import make_call
from gatebell.domain.permissions.rules import Scope
from gatebell.services.asks import answer_ask
from gatebell.services.permissions import manage_rules, permit_call
from gatebell.services.permissions.permit_call import Held
from gatebell.testing import MemoryStore

ADA = a_person(verified=True)


@pytest.fixture
def store():
    return MemoryStore()


def write(path, folder, project=""):
    call = make_call("Write", {"file_path": str(path), "content": "x"}, str(folder))
    origin = Origin(str(folder), str(folder), "claude", "claude/s1", "t1", "person:ada")
    call = call._replace(real_path=str(path))
    return Held(call, origin, 600.0, PlannedHost(), project=str(project))


def grant(store, held, pattern):
    ask = permit_call._open(store, held, an_agent(), 60)
    scope = Scope("session", pattern)
    answer_ask.answer(store, ask.id, ADA, Given("yes", scope=scope))


def passes(store, held):
    return permit_call.by_rule(store, held.call, held.origin, held.project) is not None


@pytest.mark.proves("HOOK-30")
def test_pattern_grant_stays_in_its_project(store, tmp_path):
    project = tmp_path / "project"
    grant(store, write(project / "a.md", project), "Write(*.md)")
    assert passes(store, write(project / "deep" / "b.md", project))
    assert not passes(store, write(tmp_path / "evil.md", project))
    assert not passes(store, write(tmp_path / "project2" / "evil.md", project))


@pytest.mark.proves("HOOK-30")
def test_grant_of_an_outside_call_reaches_outside(store, tmp_path):
    project = tmp_path / "project"
    grant(store, write(tmp_path / "a.md", project), f"Write({tmp_path}/*.md)")
    assert passes(store, write(tmp_path / "b.md", project))
    assert not passes(store, write(tmp_path / "b.txt", project))


@pytest.mark.proves("HOOK-30")
def test_grant_stays_in_the_folder_of_the_session(store, tmp_path):
    """A host that was started in a subfolder asks about a path outside it."""
    sub = tmp_path / "sub"
    grant(store, write(sub / "a.md", tmp_path, sub), "Write(*.md)")
    assert passes(store, write(sub / "b.md", tmp_path, sub))
    assert not passes(store, write(tmp_path / "b.md", tmp_path, sub))


@pytest.mark.proves("HOOK-30")
def test_outside_grant_opens_no_other_gate(store, tmp_path):
    project = tmp_path / "project"
    manage_rules.set_gates(store, ADA, "", [f"Edit({tmp_path}/key.*)"])
    grant(store, write(tmp_path / "a.md", project), f"Write({tmp_path}/*)")
    assert passes(store, write(tmp_path / "b.md", project))
    assert not passes(store, write(tmp_path / "key.pem", project))


@pytest.mark.proves("HOOK-30")
def test_linked_project_is_the_same_project(store, tmp_path):
    project, link = tmp_path / "project", tmp_path / "link"
    project.mkdir()
    link.symlink_to(project)
    grant(store, write(project / "a.md", link), "Write(*.md)")
    assert passes(store, write(project / "b.md", link))
    assert not passes(store, write(tmp_path / "b.md", link))
