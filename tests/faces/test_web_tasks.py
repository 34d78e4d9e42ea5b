"""Tasks in the web inbox: the tree, the page of each task, and the same over HTTP."""

from __future__ import annotations

import pytest
from tests.support.markup import read, text_of
from tests.support.people import a_person
from tests.support.run_records import answer
from tests.support.task_records import add_task, add_tasks, asks, awaiting, taken_up
from tests.support.web_inbox import in_order, inbox

from gatebell.domain.asks.asks import Origin
from gatebell.domain.runs import runs
from gatebell.domain.runs.runs import RunChange
from gatebell.domain.tasks import tasks
from gatebell.domain.tasks.tasks import TaskChange
from gatebell.services.tasks import backlog
from gatebell.web.tasks import task_views

__all__ = ["inbox"]


def page_of(inbox, path):
    response = inbox.client("read").get(path)
    assert response.status_code == 200, response.text
    return response.text


def shown(inbox, path):
    """Return the words of a page, with single blanks."""
    return " ".join(text_of(page_of(inbox, path).partition("<main")[2]).split())


def links(inbox, path):
    return [given["href"] for tag, given in read(page_of(inbox, path)).elements if tag == "a"]


def titles(inbox, path="/tasks"):
    """Return the tasks of the tree, in their order."""
    found = read(page_of(inbox, path)).elements
    return [given["id"][3:] for tag, given in found if given.get("id", "").startswith("go-")]


@pytest.mark.proves("TASK-121")
def test_tree_shows_state_priority_run_question_and_blockers(inbox):
    store = inbox.store
    auth, ask = awaiting(store, "Sign in", "Cookie or token?", role="code")
    top = add_task(store, "Users", priority=1)
    backlog.update(store, auth.id, a_person(), {"parent": top.id})
    page = add_task(store, "Login page", parent=top.id, needs=[auth.id])
    hand = add_task(store, "Ask the lawyers")
    backlog.claim(store, hand.id, a_person("bob"))
    later = add_task(store, "Old importer", priority=4)
    backlog.defer(store, later.id, a_person(), "after the release")
    inbox.clock.advance(120)
    words = shown(inbox, "/tasks")
    in_order(words, "open P1", top.id, "Users", "2 parts, 1 awaiting an answer")
    in_order(words, "awaiting input P0", auth.id, "code run 1", "Sign in", "Cookie or token? 2m")
    in_order(words, "P2", page.id, "Login page", f"waits for {auth.id} (awaiting input)")
    in_order(words, "in progress P2", hand.id, "bob", "deferred P4", "after the release")
    assert titles(inbox) == [top.id, auth.id, page.id, hand.id, later.id]
    assert {f"/asks/{ask.id}", f"/tasks/{auth.id}", "/runs/1"} <= set(links(inbox, "/tasks"))
    assert f'<details id="parts-{top.id}" open>' in page_of(inbox, "/tasks")


@pytest.mark.proves("TASK-121")
def test_answered_tasks_are_marked_and_missing_needs_named(inbox):
    store = inbox.store
    task, ask = awaiting(store, "Sign in")
    answer(store, ask, "cookie")
    lost = store.tasks.get(add_task(store, "Lost").id)
    broken = lost._replace(needs=("tm-gone",), parent="tm-away", version=2)
    assert store.tasks.change(TaskChange(broken), lost)
    words = shown(inbox, "/tasks")
    in_order(words, "answered P0", task.id, "waits for tm-gone (not there)")
    assert not {"/tasks/tm-gone", "/tasks/tm-away"} & set(links(inbox, "/tasks"))
    assert "It waits for tm-gone (not there)" in shown(inbox, f"/tasks/{lost.id}")


@pytest.mark.proves("TASK-122")
def test_closed_tasks_without_open_children_are_hidden_by_default(inbox):
    store = inbox.store
    top, done = add_task(store, "Users"), add_task(store, "Set up")
    part = add_task(store, "Sign in", parent=top.id)
    for task in (top, done):
        backlog.close(store, task.id, a_person())
    assert titles(inbox) == [top.id, part.id]
    assert "Show 2 closed ones too" in shown(inbox, "/tasks")
    assert "/tasks?project=%2Fp&all=1" in links(inbox, "/tasks")
    assert titles(inbox, "/tasks?all=1") == [top.id, part.id, done.id]
    assert "Hide closed ones" in shown(inbox, "/tasks?all=1")
    backlog.close(store, part.id, a_person())
    assert "All 3 tasks are closed." in shown(inbox, "/tasks")


@pytest.mark.proves("TASK-122")
def test_project_is_chosen_and_those_with_questions_come_first(inbox):
    assert "gate task create TITLE" in shown(inbox, "/tasks")
    first = add_task(inbox.store, "First", "/a")
    assert "<select" not in page_of(inbox, "/tasks") and titles(inbox) == [first.id]
    waits, _ = awaiting(inbox.store, "Second", project="/b")
    words = shown(inbox, "/tasks")
    assert "/b (awaiting an answer)" in words and "/a (awaiting" not in words
    assert titles(inbox) == [waits.id]
    assert titles(inbox, "/tasks?project=/a") == [first.id]
    assert titles(inbox, "/tasks?project=/none") == []
    assert "<select" in page_of(inbox, "/tasks?project=/none")


@pytest.mark.proves("TASK-123")
def test_ten_thousand_tasks_show_the_first_and_a_count(inbox):
    store = inbox.store
    add_tasks(store, 9_998, priority=3)
    epic = add_task(store, "Epic", priority=4)
    now = store.now()
    parts = [
        tasks.Task(f"tm-p{n:03}", "Part", "/p", now, now, "person:ada", parent=epic.id, priority=4)
        for n in range(300)
    ]
    assert store.tasks.add([TaskChange(one) for one in parts])
    waits, _ = awaiting(store, "Asks", parent=epic.id)
    backlog.update(store, waits.id, a_person(), {"priority": 4})
    found = titles(inbox)
    assert len(found) == 52 and {waits.id, epic.id} <= set(found)
    words = shown(inbox, "/tasks")
    assert f"… 300 more of {epic.id}" in words and "1 part, 1 awaiting an answer" in words
    assert "52 are shown, 10,248 more are not." in words
    assert "/tasks?project=%2Fp&limit=200" in links(inbox, "/tasks")
    assert "All of them: gate task list" in shown(inbox, "/tasks?limit=1000")
    kin = shown(inbox, f"/tasks/{epic.id}")
    assert "… and 201 more: gate task show" in kin


@pytest.mark.proves("TASK-123")
def test_very_deep_tasks_restart_at_margin_and_circles_end(inbox):
    store = inbox.store
    line = [add_task(store, "0")]
    for n in range(1, 2 * task_views.DEEPEST + 1):
        line.append(add_task(store, str(n), parent=line[-1].id))
    assert titles(inbox) == [task.id for task in line]
    tree = task_views.tree(store, "/p", 100, closed=False)
    assert [node.seen.task.title for node in tree.nodes] == ["0", "8", "16"]
    assert [node.above and node.above.title for node in tree.nodes] == [None, "7", "15"]
    assert "/tasks/" + line[7].id in links(inbox, "/tasks")
    first = store.tasks.get(line[0].id)
    circle = first._replace(parent=line[-1].id, version=first.version + 1)
    assert store.tasks.change(TaskChange(circle), first)
    assert sorted(titles(inbox)) == sorted(task.id for task in line)


@pytest.mark.proves("TASK-124")
def test_task_page_has_texts_history_neighbours_runs_and_places(inbox):
    store = inbox.store
    needed = add_task(store, "Schema")
    backlog.close(store, needed.id, a_person())
    fields = {"description": "With **PKCE**.", "test_command": "make test", "role": "code"}
    top = add_task(store, "Users", priority=4)
    task = add_task(store, "Sign in", priority=0, parent=top.id, needs=[needed.id], **fields)
    part, after = add_task(store, "Form", parent=task.id), add_task(store, "Docs", needs=[task.id])
    run = taken_up(store, task)
    ask = asks(store, run, "Cookie or token?", context="For *phones*.")
    inbox.clock.advance(3600)
    answer(store, ask, "token", "mobile first", "bob")
    ready = store.runs.get(run.id)
    again = runs.claim(ready, "b/1/1", store.now())
    assert store.runs.change(again, ready)
    second = asks(store, again.run, "End old sessions?")
    words = shown(inbox, f"/tasks/{task.id}")
    in_order(words, task.id, "task · P0 · medium · code · made 1h ago by ada", "Sign in")
    in_order(words, "Awaiting input", "End old sessions?", "Run 1 waits with it.")
    in_order(words, "Description", "With PKCE.", "Questions and answers", "Asked 20", "in run 1")
    in_order(words, "settled 20", "answered by bob via web", "Cookie or token?", "token")
    in_order(words, "mobile first", "For phones.", "waiting", "End old sessions?")
    in_order(words, "Part of", top.id, "Parts", part.id, "Needs", needed.id, "Needed by", after.id)
    in_order(words, "run 1 waiting for a person", "make test", "from ada", "/p")
    wanted = {f"/asks/{ask.id}", f"/asks/{second.id}", "/runs/1", "/tasks?project=%2Fp"}
    assert wanted <= set(links(inbox, f"/tasks/{task.id}"))
    assert "<strong>PKCE</strong>" in page_of(inbox, f"/tasks/{task.id}")
    assert shown(inbox, f"/tasks/{task.id[3:].upper()}") == words


@pytest.mark.proves("TASK-124")
def test_closed_task_shows_summary_details_branch_and_confidence(inbox):
    store = inbox.store
    task = add_task(store, "Sign in")
    run = taken_up(store, task)
    result = {"state": "closed", "summary": "It works.", "details": "x" * 9000, "branch": "task/b"}
    over = {"state": "completed", "ended_at": store.now(), "folder": "/data/run-1"}
    ended = run._replace(**over, result=result | {"confidence": 0.9})
    assert store.runs.change(RunChange(ended), run)
    words = shown(inbox, f"/tasks/{task.id}")
    in_order(words, "Closed", "90 % sure", "Summary", "It works.", "Details", "The rest of it")
    in_order(words, "task/b", "/data/run-1", "Closed20")
    assert "works on it" not in words
    hand = add_task(store, "By hand")
    backlog.claim(store, hand.id, a_person("bob"))
    assert "bob works on it by hand." in shown(inbox, f"/tasks/{hand.id}")


@pytest.mark.proves("TASK-124")
def test_last_hundred_questions_are_shown(inbox):
    task = add_task(inbox.store, "Sign in")
    for n in range(103):
        inbox.ask(f"Question {n}?", origin=Origin("/p", session=f"claude/{n}", task=task.id))
    words = shown(inbox, f"/tasks/{task.id}").partition("Questions and answers")[2]
    assert "3 before these are not shown" in words
    assert "Question 2?" not in words and "Question 3?" in words and "Question 102?" in words


@pytest.mark.proves("TASK-125")
def test_ask_and_run_name_their_task_on_every_page(inbox):
    task, ask = awaiting(inbox.store, "Sign in")
    other = inbox.ask("Of no task?")
    link = f'href="/tasks/{task.id}">{task.id}: Sign in</a>'
    assert page_of(inbox, "/?list").count(f">{task.id}: Sign in<") == 1
    assert page_of(inbox, f"/asks/{ask.id}").partition("<main")[2].count(link) == 2
    assert f"/tasks/{task.id}" in links(inbox, "/runs/1")
    main = page_of(inbox, f"/asks/{other.id}").partition("<main")[2]
    assert "/tasks/" not in main
    gone = inbox.ask("Of one that is gone?", origin=Origin("/p", task="tm-gone"))
    assert "tm-gone" not in page_of(inbox, f"/asks/{gone.id}")


@pytest.mark.proves("TASK-125")
def test_question_of_many_tasks_names_the_first_three(inbox):
    made = [add_task(inbox.store, f"T{n}") for n in range(5)]
    for n, task in enumerate(made):
        inbox.ask("Same?", origin=Origin("/p", agent="x", session=f"claude/{n}", task=task.id))
    page = page_of(inbox, "/")
    assert [task.id in page for task in made].count(True) == 3
    assert "and 2 more tasks" in page


@pytest.mark.proves("TASK-126")
def test_tasks_over_http_are_listed_and_shown_with_history(inbox):
    store = inbox.store
    task, ask = awaiting(store, "Sign in", "Cookie or token?")
    open_, far = add_task(store, "Docs", needs=[task.id]), add_task(store, "Far", "/q")
    done = add_task(store, "Done")
    backlog.close(store, done.id, a_person())
    client = inbox.client("read")

    def ids(query=""):
        return [one["id"] for one in client.get(f"/api/tasks{query}").json()]

    assert ids() == [task.id, open_.id, far.id]
    assert ids("?project=/p") == [task.id, open_.id]
    assert ids("?project=/p&which=all") == [task.id, open_.id, done.id]
    assert ids("?which=awaiting") == [task.id] and ids("?which=ready") == [far.id]
    assert ids("?limit=2") == [task.id, open_.id] and ids("?project=/none") == []
    (listed,) = client.get("/api/tasks?which=awaiting").json()
    assert [one["question"] for one in listed["questions"]] == ["Cookie or token?"]
    answer(store, ask, "token", "", "bob")
    whole = client.get(f"/api/tasks/{task.id}").json()
    (asked,) = whole["history"]
    assert (asked["answer"], asked["who"], asked["run"]) == ("token", "person:bob", 1)
    assert [one["outcome"] for one in asked["answers"]] == ["settled"]
    assert (whole["runs"], whole["needed_by"], whole["parts"]) == ([1], [open_.id], [])
    assert client.get(f"/api/tasks/{open_.id}").json()["waits_for"] == [task.id]


@pytest.mark.proves("TASK-126", "WEB-21")
def test_wrong_requests_about_tasks_are_refused(inbox):
    task = add_task(inbox.store)
    client = inbox.client("read", "answer", "ask", "admin")
    for name in ("tm-none", "x", "%00", "tm-", "٣", "9" * 300):
        for path in (f"/api/tasks/{name}", f"/tasks/{name}"):
            assert client.get(path).status_code == 404, path
    assert client.get("/api/tasks?which=some").status_code == 400
    assert client.get("/api/tasks?limit=0").status_code == 400
    assert client.post("/tasks", json={}).status_code == 404, "without a project"
    for path in (f"/api/tasks/{task.id}", f"/tasks/{task.id}"):
        assert client.post(path, json={}).status_code == 405, path
    for send, path in ((client.post, "/api/tasks"), (client.patch, f"/api/tasks/{task.id}")):
        assert send(path, json={}).status_code == 400, path
        assert send(path, json={"title": "x", "state": "closed"}).status_code == 400, path
    assert inbox.store.tasks.get(task.id) == task
    assert inbox.client("ask").get("/api/tasks").status_code == 403
