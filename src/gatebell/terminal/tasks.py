"""Tasks as lines of a terminal: lists, and one task with its questions and answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.domain.asks.context_text import context_text
from gatebell.domain.asks.outcomes import answer_text
from gatebell.domain.audit.events import EventKind
from gatebell.domain.enums import AnswerOutcome, AskStatus, RunState, TaskState
from gatebell.domain.tasks.task_forms import format_wait
from gatebell.domain.text.display import SHOWN_CHARACTERS, cell, frame, inert_line
from gatebell.services.tasks import backlog
from gatebell.terminal import task_runs
from gatebell.terminal.asks import activity_lines, answer_lines
from gatebell.terminal.runs import format_ago, label_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.runs.runs import Run
    from gatebell.domain.tasks.tasks import Task
    from gatebell.ports.store import Store
    from gatebell.services.tasks.backlog import Exchange

    Paint = Callable[[str, str], str]

ICONS, COLOURS = task_runs.ICONS, task_runs.COLOURS
AWAITING = "Awaiting Human Input:"
_HOLDS = {TaskState.AWAITING_INPUT: "awaiting your answer"}
_SIZE_COLUMNS = 6
_LEAST_TITLE = 16


def pending_asks(store: Store, task: Task) -> list[Ask]:
    """Return the pending asks of a task; one in progress may have them for permissions."""
    return backlog.pending(store, task) if task.worked_on else []


def list_lines(
    store: Store, tasks: Sequence[Task], now: datetime, width: int, paint: Paint
) -> list[str]:
    """Return lines `ICON ID  P2  SIZE  TITLE`, with the open question or needs below each."""
    ids = max((len(task.id) for task in tasks), default=0)
    lines: list[str] = []
    for task in tasks:
        below = _format_below(store, task, now, ids + 5, width)
        lines += [_format_line(task, ids, width, paint), *below]
        if below and task.state == TaskState.AWAITING_INPUT:
            lines.append("")
    return lines[:-1] if lines and not lines[-1] else lines


def _format_line(task: Task, ids: int, width: int, paint: Paint) -> str:
    icon = paint(cell(ICONS[task.state], 2), COLOURS[task.state])
    head = f"{icon} {task.id:{ids}}  P{task.priority}  {task.size:{_SIZE_COLUMNS}}  "
    room, words = width - ids - _SIZE_COLUMNS - 11, _list_words(task)
    while words and room - len(", ".join(words)) - 4 < _LEAST_TITLE:
        words.pop()
    listed = f"[{', '.join(words)}]" if words else ""
    title = inert_line(task.title, max(_LEAST_TITLE, room - len(listed) - 2 * bool(words)))
    return f"{head}{title}  {paint(listed, 'dim')}" if words else f"{head}{title}"


def _list_words(task: Task) -> list[str]:
    """Return the state unless it is open, the run or person that has it, and the role."""
    state = "answered" if task.answered_at else "" if task.state == TaskState.OPEN else task.state
    who = f"run {task.run}" if task.run else task.claimed_by
    who = who if task.state == TaskState.IN_PROGRESS else ""
    return [inert_line(word, 30) for word in (state, who, task.role) if word]


def _format_below(store: Store, task: Task, now: datetime, indent: int, width: int) -> list[str]:
    room = max(20, width - indent)
    lines = []
    for ask in pending_asks(store, task):
        lines.append(f"❓ {inert_line(ask.question.prompt, room - 3)}")
        if options := " | ".join(ask.question.options):
            lines.append(f"Options: {inert_line(options, room - 9)}")
        if context := context_text(ask.question.context):
            lines.append(f"Context: {inert_line(' '.join(context.split()), room - 9)}")
        lines.append(f"Asked: {format_ago((now - ask.opened_at).total_seconds())}")
    if task.state == TaskState.OPEN and task.unmet:
        lines.append(inert_line(describe_needs(store, task), room))
    if task.state in (TaskState.BLOCKED, TaskState.DEFERRED, TaskState.FAILED) and task.status:
        lines.append(inert_line(task.status, room))
    return [f"{'':{indent}}{line}" for line in lines]


def describe_needs(store: Store, task: Task) -> str:
    """Return `waits for tm-x (awaiting your answer)`."""
    there = {one.id: one.state for one in backlog.waiting_for(store, task)}
    gone = [one for one in task.needs if one not in there and store.tasks.get(one) is None]
    known = [f"{name} ({_HOLDS.get(state, state)})" for name, state in there.items()]
    return f"waits for {', '.join([*known, *(f'{name} (deleted)' for name in gone)])}"


def show_lines(store: Store, task: Task, now: datetime, width: int, paint: Paint) -> list[str]:
    """Return the lines of a task with its questions and answers."""
    first, *more = frame(task.title, width - len(task.id) - 2, bar="")
    head = [f"{task.id}  {first}", *(f"{'':{len(task.id)}}  {line}" for line in more)]
    state = paint(f"{ICONS[task.state]} {task.state}", COLOURS[task.state])
    kind = f"P{task.priority}  {task.size}  {task.type}"
    role = f"  role {inert_line(task.role, 40)}" if task.role else ""
    lines = [paint(line, "bold") for line in head]
    lines += [f"{state}  {kind}{role}", *_format_facts(store, task, now, width)]
    for name in ("description", "summary", "details"):
        if text := getattr(task, name):
            lines += ["", paint(name.capitalize(), "bold")]
            lines += frame(text, width, most=SHOWN_CHARACTERS)
    return lines + history_lines(store, task, now, width, paint)


def _format_facts(store: Store, task: Task, now: datetime, width: int) -> list[str]:
    made = f"{task.created_at:%Y-%m-%d %H:%M} UTC by {describe_creator(store, task)}"
    changed = format_ago((now - task.updated_at).total_seconds())
    lines = [*label_lines("Created", made, width), f"Changed: {changed}"]
    for name, text in _list_facts(store, task):
        lines += label_lines(name, text, width) if text else []
    kin = (
        ("Part of", [found] if (found := store.tasks.get(task.parent)) else []),
        ("Parts", store.tasks.beneath(task.id)),
        ("Needs", [one for name in task.needs if (one := store.tasks.get(name))]),
        ("Needed by", store.tasks.needing(task.id)),
    )
    for name, others in kin:
        lines += [f"{name}:"] if others else []
        lines += [f"  {format_task(one, width - 2)}" for one in others]
    if task.state == TaskState.OPEN and task.unmet:
        lines.append(inert_line(f"It {describe_needs(store, task)}", width))
    return lines


def describe_creator(store: Store, task: Task) -> str:
    """Return `person:ada, by agent:claude/s1` if an agent created it for her."""
    trail = store.audit.of_subject(task.id)
    actor = next((one.event.actor for one in trail if one.event.kind == EventKind.TASK_CREATED), "")
    by_agent = actor.startswith("agent:")
    return f"{task.created_by}, by {actor}" if by_agent else task.created_by


def _list_facts(store: Store, task: Task) -> list[tuple[str, str]]:
    runs = store.runs.of_task(task.id)
    last = runs[-1] if runs else None
    sure = "" if task.confidence is None else f"{task.confidence:.0%}"
    is_done = task.state == TaskState.CLOSED and last and last.state == RunState.COMPLETED
    return [
        ("Project", task.project),
        ("Status", task.status),
        ("Confidence", sure),
        ("Claimed by", task.claimed_by),
        ("Test", f"{task.test_command} (from {task.test_from})" if task.test_command else ""),
        ("Answer within", format_wait(task)),
        ("On timeout", task.on_timeout),
        ("Runs", ", ".join(_describe_run(store, run) for run in runs)),
        ("Branch", task.branch or (last.branch if last and not is_done else "")),
        ("Folder", last.folder if last else ""),
    ]


def _describe_run(store: Store, run: Run) -> str:
    end = task_runs.end_of(store, run)
    return f"{run.id} {end.state if end else run.state} (gate show {run.id})"


def format_task(task: Task, width: int) -> str:
    """Return `ID [STATE] ICON TITLE`, as in the tree; an open task has no icon."""
    icon = "" if task.state == TaskState.OPEN else f"{ICONS[task.state]} "
    head = f"{task.id} [{task.state}] {icon}"
    return f"{head}{inert_line(task.title, max(_LEAST_TITLE, width - len(head) - 1))}"


def history_lines(store: Store, task: Task, now: datetime, width: int, paint: Paint) -> list[str]:
    """Return the questions of a task with the answers of people and agents."""
    lines: list[str] = []
    for number, asked in enumerate(backlog.history(store, task), 1):
        age = format_ago((now - asked.asked_at).total_seconds())
        of = f", run {asked.run}" if asked.run else ""
        head = f"Question {number}, asked {age} ({asked.ask_id}{of})"
        lines += ["", paint(head, "bold"), *frame(asked.question, width)]
        if context := context_text(asked.context):
            lines += ["Context:", *frame(context, width, most=SHOWN_CHARACTERS)]
        lines += _pending_lines(store, asked, width, paint)
        lines += _format_answer(asked, width) + refused_lines(store, asked.ask_id, width)
    return lines


def _pending_lines(store: Store, asked: Exchange, width: int, paint: Paint) -> list[str]:
    """Return the options and the activity of a question that is still pending."""
    ask = store.asks.get(asked.ask_id) if asked.status == AskStatus.PENDING else None
    return answer_lines(ask, width) + activity_lines(ask, width, paint) if ask else []


def _format_answer(asked: Exchange, width: int) -> list[str]:
    if asked.status == AskStatus.PENDING:
        return ["Not answered yet."]
    at = f" at {asked.answered_at:%Y-%m-%d %H:%M:%S} UTC" if asked.answered_at else ""
    by = f" by {inert_line(asked.who, 60)}" if asked.who else ""
    lines = [f"{asked.status.replace('_', ' ').capitalize()}{by}{at}:"]
    said = "\n".join(text for text in (asked.answer, asked.note) if text)
    return lines + frame(said, width) if said else [lines[0].removesuffix(":")]


def refused_lines(store: Store, ask_id: str, width: int) -> list[str]:
    """Return the answers to an ask that did not count: agents' proposals, late answers."""
    ask = store.asks.get(ask_id)
    lines: list[str] = []
    for one in store.asks.answers(ask_id) if ask else []:
        if ask and one.outcome in (AnswerOutcome.REFUSED, AnswerOutcome.LATE):
            kind = "Proposed" if one.principal.startswith("agent:") else "Not counted"
            said = f"{answer_text(ask, one.value)}\n{one.note}".rstrip()
            lines.append(f"{kind}, from {inert_line(one.principal, max(20, width - 20))}:")
            lines += frame(f"{said}\n({one.reason})", width)
    return lines
