"""Hostile files of agents, and machines that fail."""

from __future__ import annotations

import os
import resource
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
from tests.support.file_project import Project
from tests.support.people import a_person

from gatebell.cli.asks import ask_loop
from gatebell.cli.asks.ask_loop import Bringer
from gatebell.errors import StoreError
from gatebell.file_protocol import folders
from gatebell.file_protocol.folders import Helpers
from gatebell.file_protocol.listener import HeldError, Listener
from gatebell.ports.dialogs import VALUE, Reply
from gatebell.services.asks import answer_ask
from gatebell.testing import FakeClock
from gatebell.testing.store import MemoryStore


@pytest.fixture
def project(tmp_path):
    (tmp_path / "project").mkdir()
    return Project(tmp_path / "project", MemoryStore(FakeClock()))


def listener_in(project, *others):
    told = []
    projects = [project.path, *(other.path for other in others)]
    listener = Listener(
        project.store, lambda: projects, a_person(), lambda *one: told.append(one[1])
    )
    return listener, told


@pytest.mark.proves("FILE-141")
def test_fault_in_one_project_does_not_block_another(project, tmp_path, monkeypatch):
    (tmp_path / "other").mkdir()
    other = Project(tmp_path / "other", project.store)
    at = int(project.store.now().timestamp())
    counted = f'"started_at": 1, "last_seen": {at}, "questions_asked": {"9" * 4_300}'
    agent = '{"agent_id": "agent_1", "name": "x", "working_dir": "", ' + counted + "}"
    project.write("agent_1.json", agent.encode(), "agents")
    listener, told = listener_in(project, other)
    project.ask("One?")
    other.ask("Two?")
    listener.look()
    assert sorted(ask.question.prompt for ask in project.pending) == ["One?", "Two?"]
    assert project.read("agents", "agent_1.json")["questions_asked"] == 1
    # And a fault that no code expects.
    names = folders.Folder.names

    def broken(self):
        if self.path.startswith(project.path):
            raise ZeroDivisionError("a bug")
        return names(self)

    monkeypatch.setattr(folders.Folder, "names", broken)
    other.ask("Three?", "agent_3")
    project.clock.advance(5)
    listener.look()
    assert "Three?" in [ask.question.prompt for ask in project.pending]
    assert [one.words for one in told if one.what == "problem"] == ["ZeroDivisionError: a bug"]
    listener.leave()


@pytest.mark.proves("FILE-142")
def test_question_among_very_many_files_is_not_withdrawn(project, monkeypatch):
    monkeypatch.setattr(folders, "MAX_NAMES", 3)
    question = project.ask()
    project.look()
    for number in range(30):
        project.write(f"q_{number}", b"")
    project.look(5)
    project.start().look(5)
    (ask,) = project.pending
    assert "some are not read" in project.words("problem")[0]
    os.unlink(project.at("questions", question))
    project.start().look(5)
    assert project.store.asks.get(ask.id).note == "withdrawn by its agent"


@pytest.mark.proves("FILE-143", "LAW-4")
def test_stale_unfetched_answer_does_not_answer_a_later_question(project):
    killed, withdrawn = project.ask("Go on?", type="yesno"), project.ask("Delete?", type="yesno")
    project.look()
    asks = project.pending
    for ask in asks:
        project.say("yes", ask)
    project.look()
    os.unlink(project.at("questions", withdrawn))
    project.look(299)
    at_once = project.ask("Go on?", type="yesno")
    project.look()
    assert project.read_answer(at_once) == project.read_answer(killed) == ("answered", "yes")
    project.clock.advance(10)
    later = [project.ask(words, type="yesno") for words in ("Go on?", "Delete?")]
    project.look()
    assert [project.read_answer(one) for one in later] == [None, None]
    assert sorted(ask.question.prompt for ask in project.pending) == ["Delete?", "Go on?"]
    # The agents still get their answers.
    assert project.read_answer(killed) == project.read_answer(at_once) == ("answered", "yes")
    assert {project.store.asks.get(ask.id).delivered_to for ask in asks} == {"nobody"}
    assert project.words("foreign") == []


@pytest.mark.proves("FILE-146")
def test_removed_lock_is_taken_again_by_one_process(project):
    first, told = listener_in(project)
    second, _ = listener_in(project)
    first.look()
    began = os.stat(project.at(".listener.pid")).st_ctime_ns
    project.clock.advance(5)
    first.look()
    assert os.stat(project.at(".listener.pid")).st_ctime_ns == began
    os.unlink(project.at(".listener.lock"))
    project.clock.advance(5)
    first.look()
    with pytest.raises(HeldError):
        second.begin(project.path)
    # Another process is faster.
    os.unlink(project.at(".listener.lock"))
    helpers = Helpers(project.path)
    assert helpers.hold()
    project.write("../.listener.pid", b"1\n")
    project.clock.advance(5)
    first.look()
    assert first.projects == set() and "(process 1)" in told[-1].words
    assert helpers.holder() == 1
    helpers.close()


@pytest.mark.proves("FILE-149")
def test_listener_may_have_many_files_open(project):
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, before[1]))
    try:
        listener_in(project)
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 1_024
        with open(os.devnull, "rb") as next_one:
            number = next_one.fileno()
        resource.setrlimit(resource.RLIMIT_NOFILE, (number, before[1]))
        # The message must not ask to remove a valid folder.
        with pytest.raises(OSError, match="Too many open files"):
            Helpers(project.path)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


class Screen:
    def __init__(self):
        self.said = []

    def say(self, *lines):
        self.said += lines

    def hold(self, _):
        pass

    def go_on(self):
        pass


class Windows:
    """Answer each window with the same words, and record the shown text."""

    def __init__(self):
        self.shown = []

    def ask(self, showing):
        self.shown.append(showing)
        return Reply(VALUE, "all my words", digest=showing.digest)

    def close(self):
        pass


@pytest.mark.proves("FILE-148", "LAW-6")
def test_typed_answer_is_shown_again_after_a_store_error(project, monkeypatch):
    project.ask("Which?")
    project.look()
    screen, windows = Screen(), Windows()
    monkeypatch.setattr(ask_loop.wiring, "dialog", lambda _: windows)
    here, interrupts = [project.path], SimpleNamespace(heard=nullcontext)
    bringer = Bringer(
        project.store, a_person(), lambda: here, screen, interrupts, "zenity", at_terminal=False
    )
    real = answer_ask.answer

    def broken(*_, **__):
        raise StoreError("it was busy")

    monkeypatch.setattr(answer_ask, "answer", broken)
    assert bringer._bring_up_next() is False
    assert any("Not recorded" in line for line in screen.said)
    assert "Refused" not in str(screen.said) and len(project.pending) == 1
    monkeypatch.setattr(answer_ask, "answer", real)
    assert bringer._bring_up_next() is False
    project.clock.advance(61)
    assert bringer._bring_up_next() is True
    assert [one.typed for one in windows.shown] == ["", "all my words"]
    assert project.pending == []
    monkeypatch.setattr(type(project.store.asks), "pending", broken)
    assert bringer._bring_up_next() is bringer._bring_up_next() is False
    assert screen.said.count("it was busy") == 2
