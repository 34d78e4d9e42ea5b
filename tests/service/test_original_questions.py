"""Questions of the original script: which ones our listener asks, answers or ignores."""

from __future__ import annotations

import json
import os

import pytest
from tests.support.file_project import Project
from tests.support.people import a_person

from gatebell.file_protocol.folders import Folder
from gatebell.services.asks import create_ask
from gatebell.testing import FakeClock
from gatebell.testing.store import MemoryStore

TIME = "1767225600123456789"
ASKED = f"q_agent_12_{TIME}_{TIME}_12_12.json"
ANSWERED = f"a_agent_12_{TIME}_12_12.json"


@pytest.fixture
def project(tmp_path):
    (tmp_path / "project").mkdir()
    return Project(tmp_path / "project", MemoryStore(FakeClock()))


def a_question(content="Which database?", **fields):
    return {
        "id": f"{TIME}_12_12",
        "agent_id": "agent_12",
        "agent_name": "Agent-bash-12",
        "working_dir": "/w",
        "timestamp": int(TIME),
        "type": "text",
        "content": content,
        "priority": "normal",
        "answered": False,
        "timeout": 300,
    } | fields


def ask(project, content="Which database?", **fields):
    project.write(ASKED, a_question(content, **fields))
    project.look()


def answers(project):
    return os.listdir(project.at("answers"))


@pytest.mark.proves("FILE-190", "FILE-68", "LAW-3")
def test_original_yes_is_a_choice_and_no_approval(project):
    ask(project, type="yesno")
    (asked,) = project.pending
    assert (asked.question.kind, asked.question.options) == ("choice", ("yes", "no"))
    assert asked.origin.session == "files/agent_12"
    project.say("yes")
    project.look()
    assert project.store.asks.get(asked.id).decision is None
    told = project.read("answers", ANSWERED)
    assert {key: told[key] for key in ("id", "agent_id", "type", "content")} == {
        "id": f"{TIME}_12_12",
        "agent_id": "agent_12",
        "type": "answer",
        "content": "yes",
    }
    project.start().look()
    assert project.words("foreign") == [] and project.pending == []


@pytest.mark.proves("FILE-195", "FILE-69")
def test_original_answer_is_taken_though_its_question_goes_first(project):
    ask(project)
    ask_id = project.say("Postgres")
    project.look()
    os.unlink(project.at("questions", ASKED))
    project.look()
    project.look(0.5)
    assert answers(project) == [ANSWERED]
    os.unlink(project.at("answers", ANSWERED))
    project.look()
    assert project.store.asks.get(ask_id).delivered_to == "agent:files/agent_12"


@pytest.mark.proves("FILE-195", "FILE-77", "S4-B18")
def test_original_answer_that_comes_too_late_is_tidied(project):
    ask(project)
    ask_id = project.say("Postgres")
    project.look()
    os.unlink(project.at("questions", ASKED))
    project.look()
    project.look(1.5)
    assert answers(project) == []
    assert project.store.asks.get(ask_id).delivered_at is None


@pytest.mark.proves("FILE-191", "LAW-3")
@pytest.mark.parametrize("how", ["cancelled", "timed_out"])
def test_original_question_without_an_answer_gets_no_file(project, how):
    ask(project, "Delete it?", type="yesno")
    (asked,) = project.pending
    if how == "cancelled":
        create_ask.cancel(project.store, asked.id, a_person("ada"), "not today")
    project.look(301 if how == "timed_out" else 0)
    assert project.store.asks.get(asked.id).status == how
    assert answers(project) == os.listdir(project.at("questions")) == []
    project.look(5)
    project.start().look(5)
    assert answers(project) == [] and project.pending == []


@pytest.mark.proves("FILE-191")
def test_original_question_that_expired_unheard_gets_no_file(project):
    project.clock.advance(400)
    ask(project)
    assert project.words("timed_out") == ["its time was over before a listener started"]
    assert answers(project) == project.pending == []


@pytest.mark.proves("FILE-191", "S4-B2", "S4-B3", "S4-B25")
@pytest.mark.parametrize(
    "content",
    [
        b'{"id": "1", "content": "Use "quotes"?"}',
        json.dumps(a_question()).encode()[:-1] + b', "content": "forged"}',
        a_question(id="other"),
        a_question(agent_id="agent_13"),
        a_question(type="approval"),
        a_question(type="select"),
        a_question(content=" "),
    ],
)
def test_original_question_that_is_refused_gets_no_file(project, content):
    project.write(ASKED, content)
    project.look()
    project.look(1.5)
    (words,) = project.words("refused")
    assert words.endswith("move scripts/ask-human.sh away, then run gate init")
    assert answers(project) == project.pending == []
    assert os.listdir(project.at("questions")) == [ASKED]


@pytest.mark.proves("FILE-61", "FILE-101", "S4-B34")
@pytest.mark.parametrize("kind", ["link", "hard link", "pipe", "folder", "too long"])
def test_original_name_opens_nothing_but_plain_files(project, tmp_path, kind):
    outside, path = tmp_path / "outside.json", project.at("questions", ASKED)
    outside.write_text(json.dumps(a_question("SECRET")), encoding="utf-8")
    make = {
        "link": lambda: os.symlink(outside, path),
        "hard link": lambda: os.link(outside, path),
        "pipe": lambda: os.mkfifo(path),
        "folder": lambda: os.mkdir(path),
        "too long": lambda: project.write(ASKED, a_question("x" * 2_000_000)),
    }
    make[kind]()
    project.look()
    project.look(6)
    assert len(project.words("refused")) == 1
    assert answers(project) == project.pending == []


@pytest.mark.proves("FILE-76", "LAW-3")
def test_forged_original_answer_settles_nothing(project):
    ask(project, type="yesno")
    (asked,) = project.pending
    forged = {"id": f"{TIME}_12_12", "agent_id": "agent_12", "timestamp": 1, "type": "answer"}
    project.write(ANSWERED, forged | {"content": "yes"}, "answers")
    project.write("a_agent_12_0f8fad5b.json", forged | {"content": "yes"}, "answers")
    project.look()
    assert project.store.asks.get(asked.id).pending
    (words,) = project.words("foreign")
    assert ANSWERED in words and "a_agent_12_0f8fad5b.json" in words
    project.say("no")
    project.look()
    assert project.read("answers", ANSWERED)["content"] == "no"


@pytest.mark.proves("FILE-194")
def test_question_that_is_being_linked_is_waited_for(project):
    name = "q_agent_1_1767225600_11111111.json"
    content = {"id": "11111111", "agent_id": "agent_1", "content": "Which?"}
    project.write(".tmp.draft", content)
    os.link(project.at("questions", ".tmp.draft"), project.at("questions", name))
    project.look()
    project.look(4)
    assert project.pending == project.told == []
    os.unlink(project.at("questions", ".tmp.draft"))
    project.look()
    assert [one.question.prompt for one in project.pending] == ["Which?"]


@pytest.mark.proves("FILE-194")
def test_answer_is_written_without_links_too(project, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError("no links here")

    monkeypatch.setattr(os, "link", refuse)
    ask(project)
    project.say("Postgres")
    project.look()
    assert project.read("answers", ANSWERED)["content"] == "Postgres"
    assert answers(project) == [ANSWERED]


@pytest.mark.proves("FILE-194")
def test_unwritable_answer_leaves_no_draft(tmp_path):
    folder = Folder(str(tmp_path), os.open(tmp_path, os.O_RDONLY))
    (tmp_path / "a_1").mkdir()
    with pytest.raises(OSError):
        folder.publish("a_1", b"x")
    folder.close()
    assert os.listdir(tmp_path) == ["a_1"]
