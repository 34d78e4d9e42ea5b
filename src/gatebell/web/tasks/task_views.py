"""The views of tasks: a project's tree with its asks, and one task with related ones."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from gatebell.domain.asks.owners import run_of
from gatebell.domain.enums import TaskState
from gatebell.terminal import task_runs
from gatebell.terminal.task_tree import branches
from gatebell.terminal.tasks import ICONS, pending_asks
from gatebell.web.asks.long_texts import context, split_markdown
from gatebell.web.runs import timeline

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markupsafe import Markup

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.runs.runs import Run
    from gatebell.domain.tasks.tasks import Task
    from gatebell.ports.store import Store

DEEPEST = 8
"""How many levels are indented; deeper ones begin at the margin again."""
MAX_KIN = 100
_MAX_ASKED = 100
_MAX_HELD = 3


class Seen(NamedTuple):
    """A task in one line."""

    task: Task

    @property
    def icon(self) -> str:
        return ICONS[self.task.state]

    @property
    def word(self) -> str:
        return "answered" if self.task.answered_at else self.task.state.replace("_", " ")


class Held(NamedTuple):
    """A task that another task waits for."""

    id: str
    word: str
    """Its progress."""
    there: bool = True


class Node(NamedTuple):
    """A task of the tree, with its asks and the tasks below it."""

    seen: Seen
    asks: list[Ask]
    held: list[Held]
    held_more: int
    above: Task | None
    """Its parent, if it is not shown below it."""
    parts: list[Node]
    more: int
    """How many tasks below it are not shown."""

    @property
    def awaiting(self) -> int:
        """How many tasks below it wait for a person."""
        return sum(bool(one.asks) + one.awaiting for one in self.parts)


class Tree(NamedTuple):
    """The tasks of a project that a page shows."""

    nodes: list[Node]
    shown: int
    left: int
    """How many tasks are not shown."""


class Kin(NamedTuple):
    """The tasks that are related to one."""

    name: str
    tasks: list[Seen]
    more: int


class Asked(NamedTuple):
    """One question of a task and its outcome."""

    wait: timeline.Wait
    run: int
    context: tuple[Markup, Markup] | None


def tree(store: Store, project: str, limit: int, *, closed: bool) -> Tree:
    """Return waiting tasks, the first tasks in the store's order, and the first without a parent.

    A whole long backlog would take seconds; every level says how many are left out.
    """
    which = "all" if closed else "unfinished"
    found = {
        task.id: task
        for task in (
            *store.tasks.page(project, "awaiting", limit),
            *store.tasks.page(project, which, limit),
            *store.tasks.level(project, "", limit, closed=closed),
        )
    }
    tasks = sorted(_with_parents(store, project, found), key=_in_order)
    shown = sum(closed or task.state != TaskState.CLOSED for task in tasks)
    left = store.tasks.how_many(project, closed=closed) - shown
    return Tree(_nest(store, tasks, closed=closed), shown, max(0, left))


def _with_parents(store: Store, project: str, found: dict[str, Task]) -> list[Task]:
    """Return the tasks and their parents, up to the depth of a page."""
    there = dict(found)
    for task in found.values():
        one = task
        for _ in range(DEEPEST):
            if not one.parent or one.parent in there:
                break
            above = store.tasks.get(one.parent)
            if above is None or above.project != project:
                break
            there[above.id] = one = above
    return list(there.values())


def _in_order(task: Task) -> tuple[bool, bool, int]:
    return task.state == TaskState.CLOSED, task.answered_at is None, task.priority


def _nest(store: Store, tasks: Sequence[Task], *, closed: bool) -> list[Node]:
    beneath = Counter(task.parent for task in tasks)
    top: list[Node] = []
    way: dict[int, Node] = {}
    for branch in branches(tasks, closed=True):
        task, depth = branch.task, branch.depth
        all_ = store.tasks.how_many(task.project, task.id, closed=closed)
        is_top = depth % DEEPEST == 0
        above = store.tasks.get(task.parent) if is_top and task.parent else None
        way[depth] = node = _node(store, task, above, max(0, all_ - beneath[task.id]))
        (top if is_top else way[depth - 1].parts).append(node)
    return top


def _node(store: Store, task: Task, above: Task | None, more: int) -> Node:
    held = held_up(store, task)
    asks = pending_asks(store, task)
    return Node(Seen(task), asks, held[:_MAX_HELD], len(held[_MAX_HELD:]), above, [], more)


def held_up(store: Store, task: Task) -> list[Held]:
    """Describe why an open task cannot start."""
    if task.state != TaskState.OPEN or not task.unmet:
        return []
    there = {name: store.tasks.get(name) for name in task.needs}
    return [
        Held(name, Seen(one).word) if one else Held(name, "not there", there=False)
        for name, one in there.items()
        if one is None or one.state != TaskState.CLOSED
    ]


def kin(store: Store, task: Task) -> list[Kin]:
    """Return its parent, its parts, and dependencies both ways."""
    parent = store.tasks.get(task.parent)
    needed = [store.tasks.get(name) for name in task.needs]
    all_ = (
        _kin("Part of", [parent]),
        _kin("Parts", store.tasks.beneath(task.id)),
        _kin("Needs", needed),
        _kin("Needed by", store.tasks.needing(task.id)),
    )
    return [one for one in all_ if one.tasks]


def _kin(name: str, tasks: Sequence[Task | None]) -> Kin:
    there = [Seen(one) for one in tasks if one]
    return Kin(name, there[:MAX_KIN], len(there[MAX_KIN:]))


def list_asked(asks: Sequence[Ask]) -> tuple[list[Asked], int]:
    """Return the last questions of a task, and how many came before them."""
    shown = asks[-_MAX_ASKED:]
    made = [Asked(timeline.wait(ask), run_of(ask.origin.owner) or 0, context(ask)) for ask in shown]
    return made, len(asks) - len(shown)


def runs(store: Store, found: Sequence[Run]) -> list[tuple[Run, str]]:
    """Return the last runs of a task, the newest first, with the word for each state."""
    shown = reversed(found[-MAX_KIN:])
    return [(run, timeline.standing(run, task_runs.end_of(store, run)).word) for run in shown]


def texts(task: Task) -> list[tuple[str, tuple[Markup, Markup]]]:
    """Render the texts of people and agents about it."""
    names = ("summary", "details", "description")
    rest = f"gate task show {task.id}, or GET /api/tasks/{task.id}"
    return [
        (name.capitalize(), split_markdown(text, rest))
        for name in names
        if (text := getattr(task, name).strip())
    ]
