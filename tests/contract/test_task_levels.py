"""Each store finds the levels of a tree of tasks."""

from __future__ import annotations

import pytest
from tests.support.people import a_person
from tests.support.task_records import add_task

from gatebell.services.tasks import backlog


@pytest.mark.proves("TASK-120")
def test_level_of_the_tree_is_found_and_counted(store):
    top, urgent = add_task(store, "top"), add_task(store, "urgent", priority=0)
    done, last = add_task(store, "done", priority=0), add_task(store, "last", priority=4)
    part, over = add_task(store, parent=top.id), add_task(store, parent=top.id, priority=0)
    add_task(store, "elsewhere", "/other")
    add_task(store, "stranger", "/other", parent=top.id)
    for task in (done, over):
        backlog.close(store, task.id, a_person())

    def ids(parent, limit=9, *, closed):
        return [task.id for task in store.tasks.level("/p", parent, limit, closed=closed)]

    assert ids("", closed=False) == [urgent.id, top.id, last.id]
    assert ids("", closed=True) == [urgent.id, top.id, last.id, done.id]
    assert ids("", 2, closed=True) == [urgent.id, top.id]
    assert ids(top.id, closed=False) == [part.id]
    assert ids(top.id, closed=True) == [part.id, over.id]
    assert ids(part.id, closed=True) == []
    how_many = store.tasks.how_many
    assert (how_many("/p", closed=False), how_many("/p", closed=True)) == (4, 6)
    assert (how_many("/p", "", closed=False), how_many("/p", "", closed=True)) == (3, 4)
    assert (how_many("/p", top.id, closed=False), how_many("/p", top.id, closed=True)) == (1, 2)
    assert how_many("/nowhere", closed=True) == 0
