"""Tasks: seven states, their moves, and the people who may make them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import product

import pytest
from hypothesis import given, strategies as st
from tests.support.people import a_person, an_agent

from gatebell.domain.asks.asks import iso, parse_priority
from gatebell.domain.asks.documents import task_document
from gatebell.domain.asks.owners import describe_owner
from gatebell.domain.audit.events import Event
from gatebell.domain.enums import TaskState
from gatebell.domain.runs import resumption, runs
from gatebell.domain.runs.runs import Run
from gatebell.domain.tasks import tasks
from gatebell.domain.tasks.tasks import MOVES, Task
from gatebell.errors import AgentRefusedError, GateError, RefusedError, UsageError

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)
ADA = a_person("ada")
# The origin of a step in the audit trail.
BY_ADA = {"via": "cli", "evidence": {"uid": 1000}}
ONE_LINE = (
    "expected a title of one line and at most 500 characters: move the rest to the description"
)
NO_WAIT = "expected a time for the answer such as 90s, 5m, 2h or 3d, got {} seconds"


def a_task(**more):
    return Task("tm-abc", "Do it", "/p", NOW, NOW, "person:ada")._replace(**more)


def a_run(state="ready", **more):
    return Run(4, "work_task", "b", "d", "p", "/p", "person:ada", NOW, state=state, **more)


@pytest.mark.proves("TASK-167", "TASK-286", "S3-9", "S3-11", "S3-B16", "LAW-10")
@pytest.mark.parametrize(("before", "after"), list(product(TaskState, TaskState)))
def test_every_legal_move_works_and_no_other(before, after):
    task = a_task(state=before)
    if after in MOVES[before]:
        moved = tasks.move(task, after, ADA, LATER, "why").task
        assert (moved.state, moved.status, moved.version) == (after, "why", 2)
        assert (moved.closed_at is not None) == (after == "closed")
    else:
        told = f"is {before} and cannot become {after}"
        told = f"is already {after}" if before == after else told
        with pytest.raises(RefusedError, match=told) as refused:
            tasks.move(task, after, ADA, LATER)
        is_over = before in ("blocked", "deferred", "failed", "closed")
        way = "reopen" if is_over and before != after else "show"
        assert str(refused.value).endswith(f": gate task {way} {task.id}")


@pytest.mark.proves("TASK-167")
def test_task_states_have_their_moves():
    assert MOVES["closed"] == ("open",)
    assert MOVES["deferred"] == ("open", "closed")
    assert "awaiting_input" not in (*MOVES["open"], *MOVES["failed"], *MOVES["blocked"])
    assert len(TaskState) == 7


@pytest.mark.proves("TASK-168")
@given(st.lists(st.sampled_from(["claim", "park", "wake", "end", "stop", "resume"]), max_size=30))
def test_however_a_run_lives_its_task_can_follow(steps):
    run, task = a_run(task="tm-abc"), a_task(run=4)
    for step in steps:
        try:
            if step == "claim" and run.state in ("ready", "waiting_human", "running"):
                run = runs.claim(run, "b/1/1", LATER).run
            elif step == "park" and run.state == "running":
                run = runs.park(run, [], []).run
            elif step == "wake" and run.state in ("waiting_human", "running"):
                run = runs.release(run).run
            elif step == "end" and run.state == "running":
                run = runs.complete(run, {"state": "blocked"}, NOW).run
            elif step == "stop":
                run = runs.stop(run, ADA, "enough", NOW).run
            elif step == "resume":
                run = resumption.resume(run, [], [], ADA).run
        except GateError:
            continue
        if change := tasks.follow(task, run, LATER):
            task = change.task
    expected = {
        "ready": "open", "running": "in_progress", "waiting_human": "awaiting_input",
        "completed": "blocked", "stuck": "failed",
    }  # fmt: skip
    assert task.state == expected[run.state]


@pytest.mark.proves("TASK-168")
def test_unchanged_fields_are_not_reported():
    assert tasks.follow(a_task(run=4), a_run(), NOW) is None
    assert tasks.follow(a_task(run=5), a_run("failed"), NOW) is None


@pytest.mark.proves("TASK-169", "S3-B22")
def test_person_who_ends_a_run_chooses_the_state():
    stopped = a_run("stuck", reason="enough", ended_at=NOW)
    change = tasks.follow(a_task(run=4, state="awaiting_input"), stopped, LATER, "closed")
    assert (change.task.state, change.task.status) == ("closed", "enough")
    assert change.events[0].kind == "task.closed"


@pytest.mark.proves("TASK-318", "LAW-9")
def test_trail_says_why_a_run_left_its_task():
    why = {"state": "failed", "status": "nobody answered in time" + "." * 9_000}
    change = tasks.follow(a_task(run=4, state="in_progress"), a_run("completed", result=why), LATER)
    assert change.task.status == why["status"]
    assert change.events[0].content["reason"] == why["status"][:1_000]


@pytest.mark.proves("TASK-328")
@pytest.mark.parametrize("result", [None, "closed", {}, {"state": "done"}, {"state": None}])
def test_result_that_cannot_be_read_closes_nothing(result):
    over = a_run("completed", result=result)
    assert tasks.follow(a_task(run=4, state="in_progress"), over, LATER).task.state == "failed"


@pytest.mark.proves("TASK-170", "S3-P9", "S3-B3")
@pytest.mark.parametrize("more", [{"state": "awaiting_input"}, {"state": "in_progress"}, {}])
def test_agent_cannot_move_a_task_that_a_run_holds(more):
    task = a_task(run=4, **more)
    with pytest.raises(AgentRefusedError) as refused:
        tasks.move(task, "closed", an_agent(), NOW)
    waits = "waits for a person" if "awaiting_input" in more.values() else "is in progress"
    assert str(refused.value) == (
        f"tm-abc {waits}, and an agent seems to be at work here (the variable CLAUDECODE is set): "
        "agents may propose, people decide"
    )
    with pytest.raises(AgentRefusedError):
        tasks.change_task(task, task._replace(title="Another"), an_agent(), NOW)
    assert tasks.move(task, "closed", a_person("ada", verified=True), NOW)
    assert tasks.move(task, "closed", an_agent()._replace(verified=True), NOW)


@pytest.mark.proves("TASK-170")
def test_agent_moves_only_tasks_it_claimed():
    agent = an_agent("s1")
    mine = tasks.claim(a_task(), agent, NOW).task
    assert (mine.state, mine.claimed_by) == ("in_progress", "agent:claude/s1")
    assert tasks.move(mine, "closed", agent, NOW).task.state == "closed"
    with pytest.raises(AgentRefusedError):
        tasks.move(mine, "closed", an_agent("s2"), NOW)
    assert tasks.move(a_task(), "deferred", agent, NOW)


@pytest.mark.proves("TASK-171")
def test_only_a_ready_unclaimed_task_is_claimed():
    with pytest.raises(RefusedError, match="already in progress by run 4"):
        tasks.claim(a_task(run=4, state="in_progress"), ADA, NOW)
    with pytest.raises(RefusedError, match="already in progress by person:bob"):
        tasks.claim(a_task(state="in_progress", claimed_by="person:bob"), ADA, NOW)
    with pytest.raises(RefusedError, match="needs tm-x first"):
        tasks.claim(a_task(needs=("tm-x",), unmet=1), ADA, NOW)
    with pytest.raises(RefusedError, match="cannot become in_progress"):
        tasks.claim(a_task(state="closed"), ADA, NOW)


@pytest.mark.proves("TASK-172", "S3-B8")
@pytest.mark.parametrize("state", [one for one in TaskState if one != "in_progress"])
def test_only_who_has_claimed_a_task_asks_for_it(state):
    with pytest.raises(RefusedError, match="only a task that was claimed by hand"):
        tasks.ask_by_hand(a_task(state=state), NOW)


@pytest.mark.proves("TASK-172")
def test_claimed_task_waits_and_continues():
    claimed = tasks.claim(a_task(), ADA, NOW).task
    asked = tasks.ask_by_hand(claimed, LATER)
    waiting = asked.task
    assert waiting.state == "awaiting_input"
    came_from = {"from": "in_progress"}
    assert asked.events == (Event("task.awaiting_input", "tm-abc", "person:ada", came_from),)
    heard = tasks.hear_by_hand(waiting, LATER)
    assert heard.task.state == "in_progress"
    came_from = {"from": "awaiting_input"}
    assert heard.events == (Event("task.in_progress", "tm-abc", "gate", came_from),)
    assert tasks.hear_by_hand(claimed, LATER) is None
    with pytest.raises(RefusedError):
        tasks.ask_by_hand(claimed._replace(run=4), NOW)


@pytest.mark.proves("TASK-173", "S3-P1", "S3-B24")
@pytest.mark.parametrize(
    ("given", "number"),
    [("P0", 0), ("p4", 4), ("critical", 0), ("urgent", 0), ("high", 1), ("medium", 2),
     ("normal", 2), ("low", 3), ("backlog", 4), (3, 3), (" 1 ", 1)],
)  # fmt: skip
def test_priorities_are_read_in_every_spelling(given, number):
    assert parse_priority(given) == number


@pytest.mark.proves("TASK-173")
@pytest.mark.parametrize("given", ["P5", "p", "-1", "", "highest", "p00", "phigh", 9])
def test_invalid_priority_is_refused(given):
    with pytest.raises(UsageError):
        parse_priority(given)


@pytest.mark.proves("TASK-174")
@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"title": "  "}, "a task needs a title: gate task create TITLE"),
        ({"title": "a\nb"}, ONE_LINE),
        ({"title": "a" * 501}, ONE_LINE),
        (
            {"description": "a" * 200_001},
            "the description is longer than 200000 characters: shorten it",
        ),
        (
            {"test_command": "a" * 200_001},
            "the test command is longer than 200000 characters: shorten it",
        ),
        ({"size": "huge"}, "expected small or medium or large for size, got 'huge'"),
        ({"type": "epic"}, "expected task or bug or chore for type, got 'epic'"),
        ({"on_timeout": "explode"}, "expected fail or defer for on timeout, got 'explode'"),
        ({"priority": 5}, "expected a priority from 0 (urgent) to 4 (backlog), got 5"),
        (
            {"needs": tuple(map(str, range(201)))},
            "a task can need at most 200 other tasks: remove some",
        ),
        ({"answer_within_seconds": 0}, NO_WAIT.format("0")),
        ({"answer_within_seconds": -1.0}, NO_WAIT.format("-1")),
        ({"answer_within_seconds": 1e9}, NO_WAIT.format("1e+09")),
    ],
)
def test_invalid_task_fields_are_refused(more, words):
    with pytest.raises(UsageError) as refused:
        tasks.check_task(a_task(**more))
    assert str(refused.value) == words


@pytest.mark.proves("TASK-174", "TASK-258")
@pytest.mark.parametrize(
    "more",
    [
        {"title": "a" * 500},
        {"description": "a" * 200_000, "details": "a" * 200_000},
        {"needs": tuple(map(str, range(200)))},
        {"answer_within_seconds": 0.5},
        {"answer_within_seconds": 1e9 - 1},
        {"size": "large", "type": "chore", "on_timeout": "defer", "priority": 4},
    ],
)
def test_task_at_its_limits_is_taken(more):
    assert tasks.check_task(a_task(**more)) == a_task(**more)


@pytest.mark.proves("TASK-174")
def test_change_is_reported_by_its_name():
    change = tasks.change_task(a_task(), a_task(title="New", role="docs"), ADA, LATER)
    told = {"changed": ["title", "role"], **BY_ADA}
    assert change.events == (Event("task.changed", "tm-abc", "person:ada", told),)
    assert (change.task.version, change.task.updated_at) == (2, LATER)


@pytest.mark.proves("TASK-174", "LAW-9")
def test_trail_tells_who_made_and_moved_a_task():
    made = tasks.create_task(a_task(), ADA)
    told = {"title": "Do it", **BY_ADA}
    assert made.events == (Event("task.created", "tm-abc", "person:ada", told),)
    closed = tasks.move(a_task(answered_at=NOW), "closed", ADA, LATER, "done by hand")
    told = {"from": "open", "reason": "done by hand", **BY_ADA}
    assert closed.events == (Event("task.closed", "tm-abc", "person:ada", told),)
    assert (closed.task.closed_at, closed.task.answered_at) == (LATER, None)
    assert tasks.move(a_task(status="old"), "deferred", ADA, LATER).task.status == ""


@pytest.mark.proves("TASK-154", "TASK-170")
def test_task_is_ready_or_worked_on():
    assert a_task().ready and not a_task().worked_on
    assert not a_task(unmet=1).ready and not a_task(state="closed").ready
    # The first run of a store has the number 1.
    assert a_task(run=1).worked_on and not a_task(state="closed", run=1).worked_on


@pytest.mark.proves("TASK-255")
def test_only_a_person_changes_a_persons_test_command():
    mine = a_task(test_command="make test", test_from="person:ada")
    other = mine._replace(test_command="true")
    with pytest.raises(AgentRefusedError):
        tasks.change_task(mine, other, an_agent(), NOW)
    assert tasks.change_task(mine, other, ADA, NOW).task.test_command == "true"
    assert tasks.change_task(mine, mine._replace(title="New"), an_agent(), NOW).task.title == "New"
    agents = {"test_from": "agent:claude/s1"}
    change = tasks.change_task(mine._replace(**agents), other._replace(**agents), an_agent(), NOW)
    assert change.task.test_command == "true"


@pytest.mark.proves("TASK-156", "TASK-233")
def test_taking_up_a_task_ends_its_claim():
    answered = a_task(claimed_by="person:ada", answered_at=NOW)
    assert tasks.take_up(answered, LATER) == a_task(version=2, updated_at=LATER)


@pytest.mark.proves("TASK-157", "TASK-233")
def test_task_that_follows_its_run_is_reported():
    waits = a_task(run=4, state="awaiting_input", status="old")
    opened = tasks.follow(waits, a_run("ready", reason="Which?"), LATER)
    assert opened.task == waits._replace(
        state="open", status="", answered_at=LATER, version=2, updated_at=LATER
    )
    told = {"from": "awaiting_input", "run": 4, "reason": ""}
    assert opened.events == (Event("task.open", "tm-abc", "gate", told),)
    begun = tasks.follow(opened.task, a_run("running"), LATER).task
    assert (begun.state, begun.answered_at, begun.closed_at) == ("in_progress", None, None)


@pytest.mark.proves("TASK-159")
def test_result_of_a_run_becomes_its_tasks():
    words = {"summary": "s", "details": "d", "status": "merged", "branch": "task/tm-abc"}
    result = {"state": "closed", "confidence": 0.5, **words}
    begun = a_task(run=4, state="in_progress")
    closed = tasks.follow(begun, a_run("completed", result=result), LATER).task
    assert closed == begun._replace(
        state="closed", closed_at=LATER, confidence=0.5, version=2, updated_at=LATER, **words
    )
    bare = tasks.follow(begun, a_run("completed", result={"state": "failed"}), LATER).task
    assert (bare.summary, bare.details, bare.status, bare.branch) == ("", "", "", "")
    assert bare.closed_at is None


@pytest.mark.proves("TASK-150", "TASK-157")
def test_new_task_has_only_the_given_fields():
    # The runs of each store hold the name of the flow.
    assert tasks.FLOW == "work_task"
    bare = tasks.create_task(a_task(), ADA).task
    assert {name for name, value in bare._asdict().items() if value} == {
        *("id", "title", "project", "created_at", "updated_at", "created_by"),
        *("priority", "size", "type", "state", "version"),
    }


@pytest.mark.proves("TASK-261")
def test_long_circle_is_shown_by_both_ends():
    way = [f"tm-{number}" for number in range(13)]
    assert tasks.format_way(way[:12]) == " → ".join(way[:12])
    assert tasks.format_way(way) == " → ".join([*way[:10], "…", "tm-11", "tm-12"])


@pytest.mark.proves("TASK-175")
def test_circle_of_any_length_is_found():
    needs = {"a": ("b", "c"), "b": (), "c": ("d", "b"), "d": ("a",)}
    assert tasks.circle("a", needs.__getitem__) == ["a", "c", "d", "a"]
    assert tasks.circle("b", needs.__getitem__) == []
    assert tasks.circle("x", lambda _: ("x",)) == ["x", "x"]


@pytest.mark.proves("TASK-175")
def test_circle_beside_the_path_ends_the_search():
    needs = {"a": ("b",), "b": ("c",), "c": ("b",)}
    assert tasks.circle("a", needs.__getitem__) == []


@pytest.mark.proves("TASK-157", "CLI-3")
def test_task_as_json_has_fields_times_and_readiness():
    document = task_document(a_task(needs=("tm-x",), more={"odd": 1}))
    assert (document["id"], document["needs"], document["ready"]) == ("tm-abc", ["tm-x"], True)
    assert (document["created_at"], document["closed_at"]) == (iso(NOW), None)
    assert "version" not in document


@pytest.mark.proves("TASK-172")
@pytest.mark.parametrize(
    ("owner", "words"), [("run:4/2", "run 4"), ("task:tm-abc", "tm-abc"), ("job:7", "job:7")]
)
def test_whom_an_ask_holds_up_is_said_in_words(owner, words):
    assert describe_owner(owner) == words
