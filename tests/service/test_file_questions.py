"""Questions in files: each is asked once and answered to its own agent only."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager

import pytest
from tests.support.file_project import Project
from tests.support.people import a_person

from gatebell.adapters.git.project_keys import find_key
from gatebell.adapters.system import processes
from gatebell.domain.asks.asks import Origin
from gatebell.errors import RefusedError, UsageError
from gatebell.file_protocol import collector, folders
from gatebell.file_protocol.collector import Collector
from gatebell.file_protocol.folders import Helpers, listener_of
from gatebell.file_protocol.listener import HeldError, Listener
from gatebell.file_protocol.registry import Registry
from gatebell.services.asks import create_ask
from gatebell.services.asks.create_ask import Request
from gatebell.testing.store import MemoryStore


@pytest.fixture
def project(tmp_path):
    (tmp_path / "project").mkdir()
    return Project(tmp_path / "project", MemoryStore())


@pytest.mark.proves("S4-29", "S4-39", "S4-3", "S4-8", "S4-81", "S4-82", "FILE-67")
def test_each_agent_gets_the_answer_to_its_own_question(project):
    first, second = project.ask("Which one?", "agent_1"), project.ask("How many?", "agent_2")
    project.look()
    by_prompt = {ask.question.prompt: ask for ask in project.pending}
    assert by_prompt["Which one?"].origin == Origin(
        project=project.path,
        cwd="/w",
        agent="Claude-agent_1",
        session="files/agent_1",
        tool_use_id=first,
        started_by="person:ada",
        project_key=find_key(project.path),
    )
    project.say("seven", by_prompt["How many?"])
    project.look()
    assert project.read_answer(second) == ("answered", "seven")
    assert project.read_answer(first) is None
    project.say("the blue one")
    project.look()
    assert project.read_answer(first) == ("answered", "the blue one")
    mode = os.stat(project.at("answers", f"a_{first[2:]}")).st_mode
    assert stat.S_IMODE(mode) == 0o600
    assert project.answer_of(first)["ask"] == by_prompt["Which one?"].id


@pytest.mark.proves("S4-20", "FILE-68")
def test_yes_or_no_is_a_choice_never_an_approval(project):
    yesno = project.ask("Go on?", type="yesno")
    project.look()
    ask = project.pending[0]
    assert (ask.question.kind, ask.question.options) == ("choice", ("yes", "no"))
    project.say("yes")
    select = project.ask("Which?", type="select", options=["A, or so", "B"], priority="urgent")
    project.look()
    assert project.read_answer(yesno) == ("answered", "yes")
    assert project.store.asks.get(ask.id).decision is None
    assert (project.pending[0].question.options, project.pending[0].priority) == (
        ("A, or so", "B"),
        0,
    )
    project.say("A, or so")
    project.look()
    assert project.read_answer(select) == ("answered", "A, or so")


@pytest.mark.proves("S4-B1", "FILE-69", "LAW-4")
def test_answer_is_taken_once_its_file_is_gone(project):
    question = project.ask()
    project.look()
    ask_id = project.say("Postgres")
    project.look()
    assert project.store.asks.get(ask_id).delivered_at is None
    assert project.fetch(question) == ("answered", "Postgres")
    project.look()
    taken = project.store.asks.get(ask_id)
    assert taken.delivered_to == "agent:files/agent_1"
    again = project.ask()
    project.look()
    assert project.read_answer(again) is None
    assert [ask.id for ask in project.pending] != [ask_id]


@pytest.mark.proves("FILE-69")
def test_answer_is_taken_even_if_its_question_stays(project):
    question = project.ask()
    project.look()
    ask_id = project.say("Postgres")
    project.look()
    os.unlink(project.at("answers", f"a_{question[2:]}"))
    project.look()
    assert project.store.asks.get(ask_id).delivered_at
    project.look(10)
    assert project.read_answer(question) is None


@pytest.mark.proves("S4-B18", "FILE-70")
def test_question_removed_by_its_agent_is_withdrawn(project):
    question = project.ask()
    project.look()
    ask = project.pending[0]
    os.unlink(project.at("questions", question))
    project.look()
    after = project.store.asks.get(ask.id)
    assert (after.status, after.note) == ("cancelled", "withdrawn by its agent")
    assert after.settled_by == "agent:files/agent_1"


@pytest.mark.proves("FILE-70")
def test_question_removed_while_unheard_is_withdrawn_at_start(project):
    question, other = project.ask(), project.ask("Other?", "agent_2")
    project.look()
    create_ask.ask(project.store, Request("By the shell?"), Origin(project.path), a_person())
    os.unlink(project.at("questions", question))
    project.start().look()
    assert sorted(ask.question.prompt for ask in project.pending) == ["By the shell?", "Other?"]
    project.say("x", next(a for a in project.pending if a.question.prompt == "Other?"))
    project.look()
    assert project.read_answer(other) == ("answered", "x")


@pytest.mark.proves("FILE-69", "FILE-71")
def test_answer_taken_while_unheard_is_recorded_at_start(project):
    question = project.ask()
    project.look()
    ask_id = project.say("Postgres")
    project.look()
    project.fetch(question)
    project.start().look()
    assert project.store.asks.get(ask_id).delivered_to == "agent:files/agent_1"


@pytest.mark.proves("S4-32")
def test_only_questions_directly_in_their_folder_are_read(project):
    asked = project.ask("Which?")
    os.mkdir(project.at("questions", "deeper"))
    os.rename(project.at("questions", asked), project.at("questions", "deeper", asked))
    project.write("note.json", {"id": "11111111", "content": "Which?"})
    project.look(3.0)
    project.look(3.0)
    assert project.pending == project.told == []


@pytest.mark.proves("S4-86", "S4-B29", "FILE-182")
def test_files_are_found_without_a_change_of_folder_time(project):
    project.look()
    project.look()
    # A network file system may return an old time of a folder.
    with expect_unchanged(project.at("questions")):
        question = project.ask("From afar?")
    project.look(0.5)
    assert project.pending == []
    project.look(3.0)
    assert [ask.question.prompt for ask in project.pending] == ["From afar?"]
    ask_id = project.say("yes")
    project.look()
    project.look()
    with expect_unchanged(project.at("questions")), expect_unchanged(project.at("answers")):
        assert project.fetch(question) == ("answered", "yes")
    project.look(3.0)
    assert project.store.asks.get(ask_id).delivered_at


@contextmanager
def expect_unchanged(folder):
    """Its modification time is unchanged."""
    before = os.stat(folder).st_mtime_ns
    yield
    os.utime(folder, ns=(before, before))


@pytest.mark.proves("S4-B17", "FILE-71")
def test_question_answered_while_unheard_is_found(project):
    early = project.ask("Before?")
    project.look()
    ask_id = project.say("yes, before")
    late = project.ask("Meanwhile?", "agent_2")
    project.start().look()
    assert project.read_answer(early) == ("answered", "yes, before")
    assert project.answer_of(early)["ask"] == ask_id
    assert [ask.question.prompt for ask in project.pending] == ["Meanwhile?"]
    project.say("now")
    project.start().look()
    assert project.read_answer(late) == ("answered", "now")


@pytest.mark.proves("FILE-71", "S4-84")
def test_question_found_repeatedly_is_asked_once(project):
    question = project.ask()
    for _ in range(4):
        project.start().look()
        project.look(5)
    assert len(project.pending) == 1
    assert project.read("agents", "agent_1.json")["questions_asked"] == 1
    project.say("once")
    for _ in range(3):
        project.start().look()
        assert project.read_answer(question) == ("answered", "once")
    assert project.words("foreign") == []


@pytest.mark.proves("FILE-71")
@pytest.mark.parametrize("steps", range(1, 44, 2))
def test_killed_collector_leaves_no_step_undone(project, steps, monkeypatch):
    """Count each call that writes as a step; after the given number, stop."""

    class Killed(BaseException):
        pass

    left = [steps]

    def count_step(verb):
        def step(*args, **kwargs):
            left[0] -= 1
            if left[0] < 0:
                raise Killed
            return verb(*args, **kwargs)

        return step

    with monkeypatch.context() as patch:
        for owner, name in (
            (project.store.asks, "open"),
            (project.store.asks, "change"),
            (os, "open"),
            (os, "replace"),
            (os, "link"),
            (os, "unlink"),
        ):
            patch.setattr(owner, name, count_step(getattr(owner, name)))
        try:
            first, second = _ask_and_answer(project)
        except Killed:
            first = second = None
    # The person and the agents act once; the collector starts from the beginning.
    project.start().look()
    if first is None:
        for file in os.listdir(project.at("questions")):
            if file.startswith("q_"):
                os.unlink(project.at("questions", file))
        project.look()
        first, second = _ask_and_answer(project)
    assert project.read_answer(first) == ("answered", "one")
    assert project.read_answer(second) == ("answered", "two")
    project.helpers.remove_temporary()
    assert not [name for name in os.listdir(project.at("answers")) if name.startswith(".tmp")]


def _ask_and_answer(project):
    first, second = project.ask("First?", "agent_1"), project.ask("Second?", "agent_2")
    project.look()
    for ask in project.pending:
        project.say("one" if ask.question.prompt == "First?" else "two", ask)
    project.look()
    return first, second


@pytest.mark.proves("S4-25", "S4-B19", "FILE-72")
def test_timeout_is_reported_and_a_late_answer_is_kept(project):
    question = project.ask(timeout=60)
    project.look()
    ask = project.pending[0]
    assert ask.deadlines.hard
    project.look(61)
    assert project.read_answer(question) == ("timed_out", "")
    with pytest.raises(Exception, match="timed out"):
        project.say("too late", ask)
    assert [one.outcome for one in project.store.asks.answers(ask.id)] == ["late"]
    project.look(5)
    assert project.read_answer(question) == ("timed_out", "")


@pytest.mark.proves("FILE-72")
def test_question_expired_before_listening_is_not_asked(project):
    question = project.ask(timeout=60)
    project.look(61)
    assert project.pending == []
    assert project.read_answer(question) == ("timed_out", "")
    assert "before a listener started" in project.answer_of(question)["reason"]
    project.start().look()
    assert project.words("foreign") == []


@pytest.mark.proves("FILE-72")
def test_question_expired_while_unheard_is_reported_as_expired(project):
    question = project.ask(timeout=60)
    project.look()
    project.clock.advance(100)
    project.start().look()
    assert project.read_answer(question) == ("timed_out", "")
    assert project.answer_of(question)["ask"]


@pytest.mark.proves("FILE-73")
def test_same_question_of_one_agent_is_one_ask(project):
    first, second = project.ask("Same?"), project.ask("Same?")
    project.look()
    assert len(project.pending) == 1
    os.unlink(project.at("questions", first))
    project.look()
    assert len(project.pending) == 1
    third = project.ask("Same?")
    project.look()
    project.say("both")
    project.look()
    assert project.read_answer(second) == project.read_answer(third) == ("answered", "both")
    project.fetch(second)
    project.look()
    assert project.read_answer(third) == ("answered", "both")
    assert project.words("foreign") == []


@pytest.mark.proves("FILE-73")
def test_repeated_question_gets_the_unfetched_answer_at_once(project):
    project.ask("Same?")
    project.look()
    project.say("already")
    project.look()
    again = project.ask("Same?")
    project.collector.look(frozenset())
    assert project.read_answer(again) == ("answered", "already")


@pytest.mark.proves("FILE-74")
def test_reused_id_with_other_content_or_agent_is_refused(project):
    first = project.ask("Which?", id="11111111-aaaa")
    project.look()
    other = project.ask("Something else?", id="11111111-aaaa", timestamp=1767225700)
    thief = project.ask("Which?", "agent_2", id="11111111-aaaa")
    project.look()
    assert project.read_answer(other) == project.read_answer(thief) == ("refused", "")
    project.say("this one")
    project.look()
    assert project.read_answer(first) == ("answered", "this one")
    assert project.read_answer(thief) == ("refused", "")
    assert len(project.words("refused")) == 2


@pytest.mark.proves("FILE-74")
def test_question_changed_in_its_file_is_withdrawn_and_refused(project):
    question = project.ask("May I look?", id="11111111-aaaa")
    project.look()
    shown = project.pending[0]
    project.ask("May I delete?", id="11111111-aaaa")
    project.look()
    assert project.store.asks.get(shown.id).status == "cancelled"
    assert project.read_answer(question) == ("refused", "")
    project.look(5)
    assert project.pending == []


@pytest.mark.proves("FILE-74")
def test_touched_file_stays_asked(project):
    question = project.ask()
    project.look()
    os.utime(project.at("questions", question), (1, 1))
    project.look(5)
    project.say("still there")
    project.look()
    assert project.read_answer(question) == ("answered", "still there")


@pytest.mark.proves("S4-33", "S4-34", "FILE-75")
def test_torn_file_is_waited_for_and_then_refused(project):
    name = "q_agent_1_1767225600_11111111.json"
    torn = project.write(name, b'{"id": "11111111", "content": "Whi')
    project.look()
    assert project.told == []
    project.look(0.5)
    project.ask("Which?", id="11111111")
    project.look()
    assert [ask.question.prompt for ask in project.pending] == ["Which?"]
    other = project.write("q_agent_2_1767225600_22222222.json", b"{")
    project.look()
    project.look(1.5)
    assert project.read_answer(other) == ("refused", "")
    assert "one JSON object in UTF-8" in project.answer_of(other)["reason"]
    assert len(project.words("refused")) == 1
    project.look(10)
    assert len(project.words("refused")) == 1
    project.start().look()
    project.look(1.5)
    assert project.words("foreign") == []
    assert torn == name


@pytest.mark.proves("FILE-62")
def test_select_without_options_is_refused_to_its_asker(project):
    question = project.ask(type="select")
    project.look()
    project.look(1.5)
    assert project.read_answer(question) == ("refused", "")
    assert "needs at least 2 options" in project.answer_of(question)["reason"]


@pytest.mark.proves("S4-B34", "FILE-76", "LAW-3")
def test_foreign_answer_settles_nothing_and_is_audited_once(project):
    question = project.ask()
    project.look()
    ask = project.pending[0]
    forged = {"id": question[-41:-5], "agent_id": "agent_1", "type": "answer", "content": "yes"}
    project.write(f"a_{question[2:]}", forged | {"status": "answered", "ask": ask.id}, "answers")
    project.write("a_agent_9_1_99999999.json", forged, "answers")
    project.write("notes.txt", b"hello", "answers")
    project.look()
    assert project.store.asks.get(ask.id).pending
    (words,) = project.words("foreign")
    assert all(name in words for name in ("notes.txt", "agent_9", f"a_{question[2:]}"))
    events = [e.event for e in project.store.audit.entries() if e.event.kind == "file.foreign"]
    assert len(events) == 3
    assert project.store.notes.newest(1)[0].text == words
    project.look(10)
    project.start().look()
    assert len(project.words("foreign")) == 1
    assert os.path.exists(project.at("answers", "notes.txt"))
    project.say("no")
    project.look()
    assert project.read_answer(question) == ("answered", "no")
    project.write(f"a_{question[2:]}", forged | {"status": "answered", "ask": ask.id}, "answers")
    project.look()
    assert len(project.words("foreign")) == 2


@pytest.mark.proves("FILE-76")
def test_answer_of_another_agent_is_foreign(project):
    question = project.ask("Which?", "agent_1")
    project.look()
    project.say("secret plan")
    project.look()
    with open(project.at("answers", f"a_{question[2:]}"), "rb") as file:
        content = file.read().replace(b"agent_1", b"agent_2")
    project.write(f"a_{question[2:]}".replace("agent_1", "agent_2"), content, "answers")
    project.look()
    assert len(project.words("foreign")) == 1
    assert "agent_2" in project.words("foreign")[0]


@pytest.mark.proves("FILE-76")
@pytest.mark.parametrize("status", ["refused", "timed_out"])
def test_forged_status_for_an_open_question_is_foreign(project, status):
    question = project.ask()
    project.look()
    forged = {"id": question[-41:-5], "agent_id": "agent_1", "content": "", "status": status}
    project.write(f"a_{question[2:]}", forged | {"ask": "", "reason": "no"}, "answers")
    project.look()
    (words,) = project.words("foreign")
    assert f"a_{question[2:]}" in words and project.pending
    project.say("yes")
    project.look()
    assert project.read_answer(question) == ("answered", "yes")


@pytest.mark.proves("S4-B33", "FILE-77", "S4-B18")
def test_unfetched_answer_is_removed_and_kept_in_the_store(project):
    withdrawn, forgotten = project.ask("One?", "agent_1"), project.ask("Two?", "agent_2")
    project.look()
    ids = [project.say("x", ask) for ask in project.pending]
    project.look()
    os.unlink(project.at("questions", withdrawn))
    project.look()
    assert project.read_answer(withdrawn) is None
    assert project.store.asks.get(ids[0]).delivered_at is None
    project.look(86_000)
    assert project.read_answer(forgotten) == ("answered", "x")
    project.look(1_000)
    project.look()
    assert os.listdir(project.at("questions")) == os.listdir(project.at("answers")) == []
    assert project.store.asks.get(ids[1]).value == "x"


@pytest.mark.proves("FILE-78")
def test_questions_over_the_limit_stay_in_their_files(project, monkeypatch):
    monkeypatch.setattr(collector, "MAX_WAITING", 3)
    for number in range(5):
        project.ask(f"Number {number}?", f"agent_{number}")
    project.look()
    project.look(5)
    assert len(project.pending) == 3
    assert len(project.words("problem")) == 1
    project.say("x")
    project.look(5)
    project.look(5)
    assert len(project.pending) == 3
    for _ in range(4):
        for ask in project.pending:
            project.say("x", ask)
        project.look(5)
    assert len([n for n in os.listdir(project.at("answers")) if n.startswith("a_")]) == 5


@pytest.mark.proves("S4-B27", "FILE-100")
def test_flood_of_files_does_not_delay_answers(project):
    question = project.ask("First?")
    project.look()
    project.say("x")
    for number in range(20):
        project.write(f"q_agent_9_1_{number:08}.json", b"no question")
    real = project.store.monotonic
    project.store.monotonic = lambda: project.clock.advance(0.05) or real()
    project.look()
    assert 0 < len(project.collector._odd) < 20
    assert project.read_answer(question) == ("answered", "x")
    for _ in range(20):
        project.look()
    assert len(project.collector._odd) == 20


@pytest.mark.proves("FILE-79")
def test_unwritable_answer_does_not_block_another(project):
    first, second = project.ask("One?", "agent_1"), project.ask("Two?", "agent_2")
    project.look()
    os.mkdir(project.at("answers", f"a_{first[2:]}"))
    for ask in project.pending:
        project.say("x", ask)
    project.look()
    project.look(5)
    assert project.read_answer(second) == ("answered", "x")
    assert len(project.words("problem")) == 1
    os.rmdir(project.at("answers", f"a_{first[2:]}"))
    project.look(5)
    assert project.read_answer(first) == ("answered", "x")


@pytest.mark.proves(
    "S4-5", "S4-11", "S4-27", "S4-28", "S4-41", "S4-42", "S4-B10", "FILE-80", "FLT-15"
)
def test_registry_lists_askers_in_the_original_format(project):
    first = project.ask("One?", "agent_4711")
    project.look()
    project.say("x")
    project.look(1)
    project.fetch(first)
    project.ask("Two?", "agent_4711")
    project.ask("Three?", "agent_s-1")
    project.look(1)
    at = int(project.store.now().timestamp())
    assert project.read("agents", "agent_4711.json") == {
        "agent_id": "agent_4711",
        "pid": 4711,
        "name": "Claude-agent_4711",
        "working_dir": "/w",
        "started_at": at - 2,
        "last_seen": at,
        "questions_asked": 2,
        "status": "waiting",
    }
    assert project.read("agents", "agent_s-1.json")["pid"] is None
    project.ask("Four?", "agent_s-1", pid=4712)
    project.ask("Five?", "agent_s-2", pid="4712")
    project.look()
    assert project.read("agents", "agent_s-1.json")["pid"] == 4712
    assert Registry(project.helpers).agents["agent_s-1"].pid == 4712
    assert project.read("agents", "agent_s-2.json")["pid"] is None
    for ask in project.pending:
        project.say("x", ask)
    project.look()
    assert project.read("agents", "agent_4711.json")["status"] == "active"
    project.look(120)
    assert project.read("agents", "agent_4711.json")["status"] == "idle"


@pytest.mark.proves("S4-12", "S4-13", "S4-44", "S4-80", "S4-B20", "S4-B21", "FILE-80")
def test_sessions_and_queue_have_files_of_their_own(project):
    project.ask("a" * 150, "agent_1", agent_name="")
    project.ask("Short?", "agent_2", type="yesno")
    project.look()
    at = int(project.store.now().timestamp())
    assert project.read("queue", "question_queue.json") == {
        "total_questions": 2,
        "active_agents": 2,
        "queue": [
            {
                "agent_name": "agent_1",
                "content": "a" * 100 + "...",
                "timestamp": at,
                "type": "text",
            },
            {"agent_name": "Claude-agent_2", "content": "Short?", "timestamp": at, "type": "yesno"},
        ],
    }
    sessions = project.read("agents", "active_sessions.json")["sessions"]
    assert [(one["agent_id"], one["status"]) for one in sessions] == [
        ("agent_1", "waiting"),
        ("agent_2", "waiting"),
    ]
    for ask in project.pending:
        project.say("yes", ask)
    project.look()
    assert project.read("queue", "question_queue.json")["total_questions"] == 0


@pytest.mark.proves("FILE-81")
def test_agents_silent_for_half_an_hour_leave_the_registry(project):
    question = project.ask("One?", "agent_1", timeout=7_200)
    project.ask("Two?", "agent_2", timeout=7_200)
    project.look()
    project.say("x", next(a for a in project.pending if a.origin.agent == "Claude-agent_2"))
    project.look()
    project.start().look(29 * 60)
    assert os.path.exists(project.at("agents", "agent_2.json"))
    project.look(61)
    assert not os.path.exists(project.at("agents", "agent_2.json"))
    assert project.read("agents", "agent_1.json")["status"] == "waiting"
    assert question in os.listdir(project.at("questions"))


@pytest.mark.proves("FILE-81")
def test_invalid_registry_files_are_left_unchanged(project):
    project.write("agent_7.json", b'{"agent_id": "agent_8"}', "agents")
    project.write("agent_8.json", b"[" * 10_000, "agents")
    project.write("agent_9.json", {"agent_id": "agent_9", "started_at": "now"}, "agents")
    os.mkdir(project.at("agents", "agent_1.json"))
    project.start()
    question = project.ask("One?", "agent_1")
    project.look()
    project.say("x")
    project.look()
    assert project.read_answer(question) == ("answered", "x")
    assert set(project.collector.registry.agents) == {"agent_1"}
    assert {"agent_7.json", "agent_8.json", "agent_9.json"} <= set(os.listdir(project.at("agents")))


@pytest.mark.proves("S4-30", "S4-72", "S4-87", "S4-B22", "FILE-82")
def test_folders_are_private_and_foreign_ones_are_refused(project, tmp_path):
    os.chmod(project.at(), 0o755)
    os.chmod(project.at("questions"), 0o777)
    os.rmdir(project.at("queue"))
    helpers = Helpers(project.path)
    assert len(helpers.repaired) == 3
    for name in ("", "questions", "answers", "agents", "queue"):
        assert stat.S_IMODE(os.stat(project.at(name)).st_mode) == 0o700
    helpers.close()
    os.rmdir(project.at("queue"))
    os.symlink(tmp_path, project.at("queue"))
    with pytest.raises(UsageError, match="queue is "):
        Helpers(project.path)
    with pytest.raises(UsageError, match="gate init"):
        Helpers(str(tmp_path))


@pytest.mark.proves("S4-48", "S4-B15", "S4-B16", "FILE-83")
def test_project_has_one_listener_whatever_the_pid_file_says(project):
    told = []
    with open(project.at(".listener.pid"), "w", encoding="utf-8") as file:
        file.write("1\n")
    assert listener_of(project.path) is None

    def make():
        return Listener(
            project.store, lambda: [project.path], a_person(), lambda *one: told.append(one)
        )

    first, second = make(), make()
    first.begin(project.path)
    assert listener_of(project.path) == os.getpid()
    with pytest.raises(HeldError, match=f"process {os.getpid()}") as error:
        second.begin(project.path)
    assert isinstance(error.value, RefusedError)
    second.look()
    assert [one.what for _, one in told] == ["held"]
    first.stop()
    first.listen()
    assert listener_of(project.path) is None
    assert not os.path.exists(project.at(".listener.pid"))
    second.begin(project.path)
    second.stop()
    second.listen()


@pytest.mark.proves("FILE-84")
def test_lock_that_is_a_link_is_not_followed(project, tmp_path):
    os.symlink(tmp_path / "made-outside", project.at(".listener.lock"))
    with pytest.raises(UsageError, match="not a file of gate"):
        Helpers(project.path).hold()
    assert not (tmp_path / "made-outside").exists()
    with pytest.raises(UsageError, match="not a file of gate"):
        listener_of(project.path)


@pytest.mark.proves("FLT-14", "LAW-10")
@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES])
def test_read_only_tree_is_named_not_its_lock(project, monkeypatch, number):
    helpers, made = Helpers(project.path), []

    def refuse(path, flags=0, *_args, **_more):
        made.append(path)
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(folders.os, "open", refuse)
    with pytest.raises(UsageError, match="cannot be written") as told:
        helpers.hold()
    monkeypatch.undo()
    assert made == [".listener.lock"] and ".listener.lock" not in str(told.value)
    assert "remove" not in str(told.value) and "gate inbox" in str(told.value)
    helpers.close()
    os.rmdir(project.at("queue"))
    monkeypatch.setattr(folders.os, "mkdir", refuse)
    with pytest.raises(UsageError, match="cannot be written"):
        Helpers(project.path)


@pytest.mark.proves("FLT-13")
def test_listener_writes_its_number_and_start(project):
    listener = Listener(project.store, lambda: [project.path], a_person(), lambda *_: None)
    listener.begin(project.path)
    with open(project.at(".listener.start"), encoding="ascii") as file:
        assert file.read().split() == [str(os.getpid()), processes.me().start]
    listener.stop()
    listener.listen()
    assert not os.path.exists(project.at(".listener.start"))


@pytest.mark.proves("FILE-85", "S4-35", "S4-40", "S4-50")
def test_listener_shows_asks_from_every_source(project):
    told = []
    listener = Listener(
        project.store, lambda: [project.path], a_person(), lambda *one: told.append(one)
    )
    listener.look()
    question = project.ask("By file?")
    listener.look()
    assert [one.words for _, one in told] == ["By file?"]
    create_ask.ask(
        project.store, Request("By shell?"), Origin(project.path, agent="bash"), a_person()
    )
    create_ask.ask(project.store, Request("Elsewhere?"), Origin("/other"), a_person())
    listener.look()
    project.say("x", next(a for a in project.pending if a.question.prompt == "By file?"))
    listener.look()
    os.unlink(project.at("questions", question))
    project.clock.advance(10)
    listener.look()
    seen = [(one.what, one.who, one.words) for _, one in told]
    assert seen == [
        ("queued", "Claude-agent_1", "By file?"),
        ("queued", "bash", "By shell?"),
        ("answered", "Claude-agent_1", "x"),
        ("status", "", "1 questions in queue, 2 active agents"),
    ]
    listener.stop()
    listener.listen()


@pytest.mark.proves("S4-B35", "FILE-86")
def test_whatever_goes_wrong_the_listener_goes_on(project, monkeypatch):
    told = []
    listener = Listener(
        project.store, lambda: [project.path], a_person(), lambda *one: told.append(one)
    )
    real, broken = Collector.look, [True]

    def look(self, changed=None):
        if broken:
            broken.clear()
            raise ZeroDivisionError("a bug")
        real(self, changed)
        listener.stop()

    monkeypatch.setattr(Collector, "look", look)
    listener.listen()
    assert [one.words for _, one in told if one.what == "problem"] == ["ZeroDivisionError: a bug"]


@pytest.mark.proves("FILE-87")
def test_projects_come_and_go_while_it_listens(project, tmp_path):
    told, projects = [], [project.path]
    listener = Listener(project.store, lambda: projects, a_person(), lambda *one: told.append(one))
    listener.look()
    assert listener.projects == {project.path}
    os.rename(project.at(), tmp_path / "moved")
    project.clock.advance(5)
    listener.look()
    assert listener.projects == set()
    assert not (tmp_path / "moved" / ".listener.pid").exists()
    os.symlink(tmp_path / "moved", project.at())
    project.clock.advance(5)
    listener.look()
    assert listener.projects == set()
    assert [one.what for _, one in told] == ["problem", "problem"]
    os.unlink(project.at())
    os.rename(tmp_path / "moved", project.at())
    project.clock.advance(5)
    listener.look()
    assert listener.projects == {project.path}
    listener.stop()
    listener.listen()


@pytest.mark.proves("FILE-88")
def test_listener_beside_gate_up_still_shows_and_takes_over(project):
    mine, theirs = [], []

    def make(told, helper):
        return Listener(
            project.store, lambda: [project.path], a_person(), lambda *one: told.append(one), helper
        )

    up, listener = make(theirs, int), make(mine, os.getpid)
    up.begin(project.path)
    listener.begin(project.path)
    assert listener.helped_projects == {project.path}
    project.ask()
    up.look()
    listener.look()
    assert [one.what for _, one in mine] == ["queued"]
    up.stop()
    up.listen()
    project.clock.advance(5)
    listener.look()
    assert (listener.projects, listener.helped_projects) == ({project.path}, set())
    listener.stop()
    listener.listen()
