"""Where the session of an ask can be opened."""

from __future__ import annotations

import pytest
from tests.support.session_asks import ADA

from gatebell.domain.asks.asks import Origin
from gatebell.domain.sessions.visits import Terms
from gatebell.errors import RefusedError
from gatebell.services.asks import create_ask
from gatebell.services.asks.create_ask import Request
from gatebell.services.sessions import session_place
from gatebell.testing import MemoryStore


@pytest.fixture
def store():
    return MemoryStore()


def open_ask(store, cwd, host="", terms=None, session=""):
    caller = ADA._replace(evidence={"host": host} if host else {})
    request = Request("Is it good?", "session", session=terms or Terms("approval"))
    return create_ask.ask(store, request, Origin(cwd=cwd, session=session), caller).ask


@pytest.mark.proves("REMOTE-53")
def test_session_opens_on_the_host_that_asked(store):
    here = open_ask(store, "/nowhere")
    session_place.must_be_of_this_host(store, here)
    assert session_place.find_host(store.audit.of_subject(here.id)) == store.machine.host
    there = open_ask(store, "/nowhere", "laptop\n\x1b[1m")
    with pytest.raises(RefusedError) as refused:
        session_place.must_be_of_this_host(store, there)
    said = str(refused.value)
    assert "works in /nowhere on laptop" in said and "\n" not in said and "\x1b" not in said
    assert f"gate continue {there.id} there" in said and f"gate answer {there.id}" in said


@pytest.mark.proves("REMOTE-53")
def test_shared_folder_opens_on_each_of_its_hosts(store, tmp_path):
    (tmp_path / "sub").mkdir()
    shared = open_ask(store, str(tmp_path), "other", Terms("approval", cwd="sub"))
    assert session_place.find_folder(shared) == str(tmp_path / "sub")
    session_place.must_be_of_this_host(store, shared)
    # A client names its own folder, which may exist here by chance.
    client = open_ask(store, str(tmp_path), "other", session="http-t1/s")
    with pytest.raises(RefusedError):
        session_place.must_be_of_this_host(store, client)


@pytest.mark.proves("REMOTE-53")
def test_ask_of_an_older_version_names_no_host(store):
    ask = open_ask(store, "")
    assert session_place.find_host([]) == ""
    said = session_place.describe_place(ask, "")
    assert "works in a folder on the machine that asked" in said
