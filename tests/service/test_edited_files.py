"""The file of a held call, as its page reads it."""

from __future__ import annotations

import os

import pytest
from tests.support.people import a_person

from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.asks import Origin
from gatebell.domain.people.logins import session_prefix
from gatebell.domain.permissions.calls import make_call
from gatebell.services.asks import answer_ask, create_ask
from gatebell.services.asks.create_ask import Request
from gatebell.services.permissions.edited_file import read_edited_file
from gatebell.services.permissions.same_call import find_real_path
from gatebell.testing import MemoryStore


@pytest.fixture
def project(tmp_path):
    made = tmp_path / "project"
    made.mkdir()
    (made / "a.txt").write_text("one\r\ntwo\n", newline="")
    (tmp_path / "secret").write_text("hush")
    return made


def ask(project, path, tool="Edit", session="", store=None):
    call = make_call(tool, {"file_path": str(path), "old_string": "o", "new_string": "n"})
    call = call._replace(real_path=find_real_path(call))
    origin = Origin(str(project), session=session)
    request = Request("Change it?", "approval", call=call)
    return create_ask.ask(store or MemoryStore(), request, origin, a_person()).ask


@pytest.mark.proves("WEB-111")
def test_file_of_the_project_is_read_unchanged(project):
    assert read_edited_file(ask(project, project / "a.txt")) == "one\r\ntwo\n"


@pytest.mark.proves("WEB-111")
def test_foreign_files_and_remote_calls_are_not_read(project):
    (project / "link").symlink_to(project.parent / "secret")
    os.mkfifo(project / "pipe")
    (project / "binary").write_bytes(b"\xff\0")
    (project / "long").write_text("x" * 1_000_001)
    for name in ("link", "pipe", "binary", "long", "missing", "../secret"):
        assert read_edited_file(ask(project, project / name)) is None, name
    assert read_edited_file(ask(project, project / "a.txt", tool="Read")) is None
    assert read_edited_file(ask(project, project / "a.txt", session=session_prefix("t1"))) is None
    assert read_edited_file(ask("", project / "a.txt")) is None


@pytest.mark.proves("WEB-111")
def test_link_that_appears_later_is_not_followed(project):
    inner = project / "inner"
    inner.mkdir()
    (inner / "secret").write_text("plain")
    asked = ask(project, inner / "secret")
    assert read_edited_file(asked) == "plain"
    inner.rename(project / "moved")
    inner.symlink_to(project.parent)
    assert read_edited_file(asked) is None


@pytest.mark.proves("WEB-111")
def test_file_of_a_decided_call_is_not_read(project):
    store = MemoryStore()
    asked = ask(project, project / "a.txt", store=store)
    answer_ask.answer(store, asked.id, a_person(), Given("yes"))
    assert read_edited_file(store.asks.get(asked.id)) is None
