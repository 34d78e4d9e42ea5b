"""One project in several folders: its key, its inbox, its backlog and its rules."""

from __future__ import annotations

import os
import subprocess

import pytest
from tests.support.people import a_person, an_agent

from gatebell.adapters.files.backlog_settings import BacklogFiles
from gatebell.adapters.git.project_keys import find_key
from gatebell.app import environment, wiring
from gatebell.domain.asks.asks import Ask, Origin, question_digest, record_digest
from gatebell.domain.asks.questions import make_question
from gatebell.domain.enums import RuleKind
from gatebell.domain.permissions.calls import make_call
from gatebell.services.asks import create_ask
from gatebell.services.asks.create_ask import Request
from gatebell.services.permissions import manage_rules, permit_call
from gatebell.services.tasks import backlog
from gatebell.services.tasks.scheduler import TaskScheduler
from gatebell.testing import MemoryStore

ADA = a_person("ada")
ADDRESS, KEY = "git@git.example.org:acme/shop.git", "git.example.org/acme/shop"
CALL = make_call("Bash", {"command": "git push"}, "/p")


@pytest.fixture(autouse=True)
def host(monkeypatch):
    monkeypatch.setenv("GATE_HOST", "laptop")


def make_clone(folder, address=ADDRESS):
    subprocess.run(["git", "init", "-q", folder], check=True)
    if address:
        words = ["git", "-C", folder, "remote", "add", "origin", address]
        subprocess.run(words, check=True)
    return str(folder)


def write(folder, name, text):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


@pytest.mark.proves("HOST-20")
def test_key_is_name_then_address_then_folder(tmp_path):
    clone = make_clone(tmp_path / "clone")
    assert find_key(clone) == environment.project_key(clone) == KEY
    write(clone, ".gate/project", "shop\n")
    assert find_key(clone) == "name:shop"
    alone = make_clone(tmp_path / "alone", "")
    assert find_key(alone) == f"laptop:{alone}" and find_key("") == ""
    write(
        alone,
        ".git/config",
        '[remote "Origin"]\nurl = x:y\n[Remote "origin"]\n\tURL = "h:/p.git"\n',
    )
    assert find_key(alone) == "h/p"
    local = make_clone(tmp_path / "local", str(tmp_path / "clone"))
    assert find_key(local) == f"laptop:{local}", "a path is not shared by hosts"


@pytest.mark.proves("HOST-20")
def test_worktree_has_the_key_of_its_repository(tmp_path):
    clone = make_clone(tmp_path / "clone")
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(
        ["git", "-C", clone, *who, "commit", "-q", "--allow-empty", "-m", "x"], check=True
    )
    beside = str(tmp_path / "beside")
    subprocess.run(["git", "-C", clone, "worktree", "add", "-q", beside], check=True)
    assert find_key(beside) == KEY


@pytest.mark.proves("HOST-22")
@pytest.mark.parametrize("name", [".git/config", ".gate/project"])
@pytest.mark.parametrize("how", ["link", "pipe", "folder", "huge", "bytes"])
def test_strange_files_give_no_key(tmp_path, name, how):
    folder = str(tmp_path / "p")
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path))
    if how == "link":
        write(tmp_path, "elsewhere", f'shop\n[remote "origin"]\nurl = {ADDRESS}\n')
        os.symlink(tmp_path / "elsewhere", path)
    elif how == "pipe":
        os.mkfifo(path)
    elif how == "folder":
        os.mkdir(path)
    elif how == "huge":
        write(folder, name, f'{"x" * 200_000}\n[remote "origin"]\nurl = {ADDRESS}\n')
    else:
        with open(path, "wb") as file:
            file.write(b'\x00\xff\n[remote "origin"]\nurl = \xff\x00\n')
    assert find_key(folder) == f"laptop:{folder}"


def ask_in(store, folder, session="s1"):
    origin = wiring.origin(an_agent(session), folder=folder)
    return create_ask.ask(store, Request(f"Question of {folder}?"), origin, an_agent(session)).ask


@pytest.mark.proves("HOST-23")
def test_project_inbox_has_asks_of_all_clones(tmp_path):
    store = MemoryStore()
    one, two = make_clone(tmp_path / "one"), make_clone(tmp_path / "two")
    other = make_clone(tmp_path / "other", "h:other")
    first, second = ask_in(store, one), ask_in(store, two)
    ask_in(store, other)
    old = create_ask.ask(store, Request("Of an older version?"), Origin(two), ADA).ask
    for folder in (one, two):
        found = store.asks.pending(9, folder, find_key(folder))
        assert [ask.id for ask in found if ask.id != old.id] == [first.id, second.id]
        assert (old.id in [ask.id for ask in found]) == (folder == two)
    assert [ask.id for ask in store.asks.pending(9, one)] == [first.id]
    assert dict(store.asks.waiting_counts()) == {one: 2, two: 1, other: 1}
    assert store.asks.get(first.id).origin.project_key == KEY


@pytest.mark.proves("HOST-23", "HOST-26")
def test_backlog_is_shared_and_worked_on_in_place(tmp_path):
    store = MemoryStore()
    one, two = make_clone(tmp_path / "one"), make_clone(tmp_path / "two")
    late = backlog.create(store, one, ADA, {"title": "later"}, KEY)
    store.clock.advance(1)
    old = backlog.create(store, two, ADA, {"title": "old", "priority": 3})
    first = backlog.create(store, two, ADA, {"title": "first", "priority": 0}, KEY)
    for which in ("unfinished", "all", "ready"):
        page = store.tasks.page(two, which, 9, KEY)
        assert [task.id for task in page] == [first.id, late.id, old.id]
    assert len(store.tasks.page(two, "all", 2, KEY)) == 2
    assert [task.id for task in store.tasks.level(one, "", 9, closed=True, key=KEY)] == [
        first.id, late.id, old.id,
    ]  # fmt: skip
    assert store.tasks.how_many(one, closed=True, key=KEY) == 3
    assert store.tasks.how_many(one, closed=True) == 1
    assert [task.id for task in store.tasks.page(one, "all", 9)] == [late.id]
    scheduler = TaskScheduler(store, BacklogFiles(), "digest", [one])
    taken = scheduler.take_up()
    assert (taken.task, taken.project, taken.project_key) == (first.id, one, KEY)
    assert backlog.get(store, first.id).project == two, "the task stays where it was created"
    # An agent of this run edits the settings of the repository.
    evil = backlog.create(store, "/secret", ADA, {"title": "x", "priority": 0}, "h/secret")
    subprocess.run(["git", "-C", one, "remote", "set-url", "origin", "h:secret"], check=True)
    assert find_key(one) == "h/secret" and scheduler.take_up().task == late.id
    assert backlog.get(store, evil.id).run == 0


@pytest.mark.proves("HOST-24", "HOST-25")
def test_borrowed_key_gets_gates_but_no_grants(tmp_path):
    store = MemoryStore()
    shop, evil = make_clone(tmp_path / "shop"), make_clone(tmp_path / "evil", "h:evil")
    manage_rules.add(store, ADA, RuleKind.ASK, shop, "Bash(git push *)", KEY)
    where = wiring.origin(an_agent("s1"), folder=shop)
    grant = manage_rules.rules.Rule(
        "g-1", RuleKind.GRANT, CALL.pattern, "person:ada", store.now(), CALL.identity, shop,
        project_key=KEY,
    )  # fmt: skip
    store.rules.add([grant], [])
    assert permit_call.by_rule(store, CALL, where).allow
    for name, text in (
        (".git/config", f'[remote "origin"]\nurl = {ADDRESS}\n'),
        (".gate/project", "shop"),
    ):
        write(shop, ".gate/project", "shop") if name == ".gate/project" else None
        write(evil, name, text)
        borrowed = wiring.origin(an_agent("s2"), folder=evil)
        assert borrowed.project_key == find_key(shop) != f"laptop:{evil}"
        assert permit_call.by_rule(store, CALL, borrowed) is None
    os.remove(os.path.join(evil, ".gate/project"))
    assert permit_call.is_gated(store, CALL, wiring.origin(an_agent("s2"), folder=evil))


@pytest.mark.proves("HOST-27")
def test_digests_of_older_asks_stay():
    store = MemoryStore()
    question = make_question("text", "Go?")
    origin = Origin("/p", "/p", "claude", "claude/s1", "", "person:ada", "run:1/1")
    old = Ask("a-222", question, origin, store.now(), question_digest(question, origin))
    assert record_digest(old) == record_digest(old._replace(origin=Origin(*origin[:7])))
    keyed = old._replace(origin=origin._replace(project_key=KEY))
    tasked = old._replace(origin=origin._replace(task=KEY))
    assert len({record_digest(one) for one in (old, keyed, tasked)}) == 3
    assert question_digest(question, keyed.origin) == old.digest
