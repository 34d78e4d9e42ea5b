"""Tasks as lines of a terminal: lists, and one task with its questions and answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.domain.asks.context_text import context_text
from gatebell.domain.asks.outcomes import answer_text
from gatebell.domain.enums import AnswerOutcome, AskStatus, TaskState
from gatebell.domain.tasks.task_forms import format_wait
from gatebell.domain.text.display import SHOWN_CHARACTERS, cell, frame, inert_line
from gatebell.services.tasks import backlog
from gatebell.terminal import task_runs
from gatebell.terminal.asks import activity_lines, answer_lines
from gatebell.terminal.local_times import format_local
from gatebell.terminal.runs import format_ago, label_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from gatebell.domain.asks.answers import Answer
    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.tasks.seen_tasks import Exchange, RelatedTask, SeenTask, WholeTask
    from gatebell.domain.tasks.tasks import Task
    from gatebell.ports.store import Store

    Paint = Callable[[str, str], str]

ICONS, COLOURS = task_runs.ICONS, task_runs.COLOURS
AWAITING = "Awaiting Human Input:"
_HOLDS: dict[str, str] = {TaskState.AWAITING_INPUT: "awaiting your answer"}
_SIZE_COLUMNS = 6
_LEAST_TITLE = 16


def pending_asks(store: Store, task: Task) -> list[Ask]:
    """Return the pending asks of a task; one in progress may have them for permissions."""
    return backlog.pending(store, task) if task.worked_on else []


def list_lines(tasks: Sequence[SeenTask], now: datetime, width: int, paint: Paint) -> list[str]:
    """Return lines `ICON ID  P2  SIZE  TITLE`, with the open question or needs below each."""
    ids = max((len(seen.task.id) for seen in tasks), default=0)
    lines: list[str] = []
    for seen in tasks:
        below = _format_below(seen, now, ids + 5, width)
        lines += [_format_line(seen.task, ids, width, paint), *below]
        if below and seen.task.state == TaskState.AWAITING_INPUT:
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


def _format_below(seen: SeenTask, now: datetime, indent: int, width: int) -> list[str]:
    task, room = seen.task, max(20, width - indent)
    lines = []
    for asked in seen.questions:
        lines.append(f"❓ {inert_line(asked.question, room - 3)}")
        if options := " | ".join(asked.options):
            lines.append(f"Options: {inert_line(options, room - 9)}")
        if context := context_text(asked.context):
            lines.append(f"Context: {inert_line(' '.join(context.split()), room - 9)}")
        lines.append(f"Asked: {format_ago((now - asked.asked_at).total_seconds())}")
    if task.state == TaskState.OPEN and task.unmet:
        lines.append(inert_line(describe_needs(seen), room))
    if task.state in (TaskState.BLOCKED, TaskState.DEFERRED, TaskState.FAILED) and task.status:
        lines.append(inert_line(task.status, room))
    return [f"{'':{indent}}{line}" for line in lines]


def describe_needs(seen: SeenTask) -> str:
    """Return `waits for tm-x (awaiting your answer)`."""
    there = {one.id: one.state for one in seen.related}
    states = {name: there.get(name, "deleted") for name in seen.task.needs}
    # Those that were deleted come last.
    names = sorted(states, key=lambda name: name not in there)
    known = [
        f"{name} ({_HOLDS.get(states[name], states[name])})"
        for name in names
        if states[name] != TaskState.CLOSED
    ]
    return f"waits for {', '.join(known)}"


def show_lines(
    whole: WholeTask, asks: Sequence[Ask], now: datetime, width: int, paint: Paint
) -> list[str]:
    """Return the lines of a task with its questions and answers; `asks`: all of them."""
    task = whole.task
    first, *more = frame(task.title, width - len(task.id) - 2, bar="")
    head = [f"{task.id}  {first}", *(f"{'':{len(task.id)}}  {line}" for line in more)]
    state = paint(f"{ICONS[task.state]} {task.state}", COLOURS[task.state])
    kind = f"P{task.priority}  {task.size}  {task.type}"
    role = f"  role {inert_line(task.role, 40)}" if task.role else ""
    lines = [paint(line, "bold") for line in head]
    lines += [f"{state}  {kind}{role}", *_format_facts(whole, now, width)]
    for name in ("description", "summary", "details"):
        if text := getattr(task, name):
            lines += ["", paint(name.capitalize(), "bold")]
            lines += frame(text, width, most=SHOWN_CHARACTERS)
    return lines + _history_lines(whole, {ask.id: ask for ask in asks}, now, width, paint)


def _format_facts(whole: WholeTask, now: datetime, width: int) -> list[str]:
    task = whole.task
    made = f"{format_local(task.created_at)} by {_describe_creator(whole)}"
    changed = format_ago((now - task.updated_at).total_seconds())
    lines = [*label_lines("Created", made, width), f"Changed: {changed}"]
    for name, text in _list_facts(whole):
        lines += label_lines(name, text, width) if text else []
    there = {one.id: one for one in whole.seen.related}
    kin = (
        ("Part of", [task.parent]),
        ("Parts", whole.parts),
        ("Needs", task.needs),
        ("Needed by", whole.needed_by),
    )
    for name, ids in kin:
        others = [there[one] for one in ids if one in there]
        lines += [f"{name}:"] if others else []
        lines += [f"  {format_task(one, width - 2)}" for one in others]
    if task.state == TaskState.OPEN and task.unmet:
        lines.append(inert_line(f"It {describe_needs(whole.seen)}", width))
    return lines


def _describe_creator(whole: WholeTask) -> str:
    """Return `person:ada, by agent:claude/s1` if an agent created it for her."""
    by_agent, person = whole.made_by.startswith("agent:"), whole.task.created_by
    return f"{person}, by {whole.made_by}" if by_agent else person


def _list_facts(whole: WholeTask) -> list[tuple[str, str]]:
    task = whole.task
    last = whole.runs[-1] if whole.runs else None
    sure = "" if task.confidence is None else f"{task.confidence:.0%}"
    is_done = task.state == TaskState.CLOSED and last and last.completed
    runs = (f"{run.id} {run.state} (gate show {run.id})" for run in whole.runs)
    return [
        ("Project", task.project),
        ("Status", task.status),
        ("Confidence", sure),
        ("Claimed by", task.claimed_by),
        ("Test", f"{task.test_command} (from {task.test_from})" if task.test_command else ""),
        ("Answer within", format_wait(task)),
        ("On timeout", task.on_timeout),
        ("Runs", ", ".join(runs)),
        ("Branch", task.branch or (last.branch if last and not is_done else "")),
        ("Folder", last.folder if last else ""),
    ]


def format_task(task: Task | RelatedTask, width: int) -> str:
    """Return `ID [STATE] ICON TITLE`, as in the tree; an open task has no icon."""
    icon = "" if task.state == TaskState.OPEN else f"{ICONS[task.state]} "
    head = f"{task.id} [{task.state}] {icon}"
    return f"{head}{inert_line(task.title, max(_LEAST_TITLE, width - len(head) - 1))}"


def _history_lines(
    whole: WholeTask, asks: Mapping[str, Ask], now: datetime, width: int, paint: Paint
) -> list[str]:
    """Return the questions of a task with the answers of people and agents."""
    lines: list[str] = []
    for number, (asked, answers) in enumerate(whole.history, 1):
        age = format_ago((now - asked.asked_at).total_seconds())
        of = f", run {asked.run}" if asked.run else ""
        head = f"Question {number}, asked {age} ({asked.ask_id}{of})"
        lines += ["", paint(head, "bold"), *frame(asked.question, width)]
        if context := context_text(asked.context):
            lines += ["Context:", *frame(context, width, most=SHOWN_CHARACTERS)]
        ask = asks.get(asked.ask_id)
        if ask and asked.status == AskStatus.PENDING:
            lines += answer_lines(ask, width) + activity_lines(ask, width, paint)
        lines += _format_answer(asked, width)
        lines += _refused_lines(ask, answers, width) if ask else []
    return lines


def _format_answer(asked: Exchange, width: int) -> list[str]:
    if asked.status == AskStatus.PENDING:
        return ["Not answered yet."]
    at = f" at {format_local(asked.answered_at)}" if asked.answered_at else ""
    by = f" by {inert_line(asked.who, 60)}" if asked.who else ""
    lines = [f"{asked.status.replace('_', ' ').capitalize()}{by}{at}:"]
    said = "\n".join(text for text in (asked.answer, asked.note) if text)
    return lines + frame(said, width) if said else [lines[0].removesuffix(":")]


def _refused_lines(ask: Ask, answers: Sequence[Answer], width: int) -> list[str]:
    """Return the answers to an ask that did not count: agents' proposals, late answers."""
    lines: list[str] = []
    for one in answers:
        if one.outcome in (AnswerOutcome.REFUSED, AnswerOutcome.LATE):
            kind = "Proposed" if one.principal.startswith("agent:") else "Not counted"
            said = f"{answer_text(ask, one.value)}\n{one.note}".rstrip()
            lines.append(f"{kind}, from {inert_line(one.principal, max(20, width - 20))}:")
            lines += frame(f"{said}\n({one.reason})", width)
    return lines
