"""Answer a task that waits for you.

Without a text, in a terminal, your editor opens with the question; only the text below the line
counts. gate list --awaiting lists the tasks that wait; --all goes through them one by one.
Example: gate respond tm-4f2 "Use the staging database"
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from gatebell.app import project_files, wiring
from gatebell.app.environment import project_key
from gatebell.cli.asks.values import build_other, parse_answer, warn_of_secret
from gatebell.cli.identity import add_identity, caller, read_text
from gatebell.cli.runs.left_runs import tell_if_left
from gatebell.cli.screen import add_colour, can_prompt, columns, describe_recorded, print_json
from gatebell.cli.tasks.tasks_screen import PROJECT, find_project
from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.asks import settled_sentence
from gatebell.domain.asks.context_text import context_text
from gatebell.domain.asks.documents import ask_document, task_document
from gatebell.domain.asks.templates import fill, own_variables
from gatebell.domain.enums import AskKind
from gatebell.domain.text.display import SHOWN_CHARACTERS, frame, inert_line
from gatebell.errors import (
    AlreadySettledError,
    InvalidAnswerError,
    RefusedError,
    UsageError,
)
from gatebell.services import members
from gatebell.services.asks import create_ask
from gatebell.services.asks.answer_ask import answer, draft, save_draft
from gatebell.services.asks.apply_deadlines import fall_due, sweep
from gatebell.services.tasks import backlog
from gatebell.terminal.asks import activity_lines, answer_lines
from gatebell.terminal.runs import label_lines
from gatebell.terminal.tasks import pending_asks

if TYPE_CHECKING:
    import argparse

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.people.principals import Caller
    from gatebell.domain.tasks.tasks import Task
    from gatebell.ports.backend import Backend
    from gatebell.ports.store import Store

_NOT_YET = 11
_MAX = 1_000
_STOP = "q"
_EMPTY = "Response cannot be empty"


class Waiting(NamedTuple):
    """An ask to answer, and the task that asks it."""

    ask: Ask
    task: Task | None

    @property
    def title(self) -> str:
        return self.task.title if self.task else self.ask.id


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("id", nargs="?", default="", help="a task (tm- is optional), an ask, or a run's number")
    add("text", nargs="*", help="the answer: words, yes or no, an option, or JSON")
    add("-e", "--edit", action="store_true", help="write the answer in $VISUAL or $EDITOR")
    add("--other", metavar="TEXT", help="choose Other… with this text")
    add("--file", metavar="F", help="read the answer from a file, or - for standard input")
    add("--note", default="", metavar="TEXT", help="a note beside the answer, for example a reason")
    add("--all", action="store_true", help="go through all waiting tasks; Enter skips, q stops")
    add("--template", metavar="NAME", help="use a prepared answer (gate template)")
    add(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a variable of the template; repeat it",
    )
    add("--project", metavar="DIR", help=f"with --all: {PROJECT}")
    add_identity(parser)
    add("--json", action="store_true", help="print one JSON object (docs/json.md)")


def run(args: argparse.Namespace) -> int:
    given = [bool(args.text), args.other is not None, bool(args.file), bool(args.template)]
    if sum(given) > 1 or (args.other is not None and args.edit):
        raise UsageError("give the answer once: a text, --other, --file or --template")
    if args.set and not args.template:
        raise UsageError("--set needs a template; add --template NAME")
    if args.all:
        if args.id or any(given) or args.json or args.note:
            raise UsageError("--all prompts for each answer; give no id, answer, --note or --json")
        return _respond_to_all(args)
    if not args.id:
        raise UsageError("name a task: gate respond ID (gate list --awaiting lists them), or --all")
    store = wiring.open_store()
    who = caller(store, args)
    waiting = _find(store, args.id)
    ask = fall_due(store, waiting.ask)
    if not ask.pending and not any(given):
        raise AlreadySettledError(_describe_not_awaiting(waiting.task, settled_sentence(ask)))
    if not any(given) and not args.edit and not can_prompt():
        raise UsageError(f"cannot prompt without a terminal; run: gate respond {args.id} TEXT")
    if not any(given) and not args.edit and not _is_plain_text(ask):
        if args.note:
            raise UsageError(f"--note needs an answer: gate respond {args.id} yes --note TEXT")
        return _prompt(store, who, waiting)
    if ask.pending and not args.json:
        print("\n".join(_question_lines(ask)))
        sys.stdout.flush()
    value = _read_value(store, who, waiting, args)
    return _record(store, who, waiting, Given(value, args.note), as_json=args.json)


def _find(store: Store, text: str) -> Waiting:
    """Return the ask that the id of a task or ask, or the number of a run, means."""
    name = text.strip().lower()
    is_number = name.isascii() and name.isdecimal() and len(name) <= create_ask.MAX_DIGITS
    run = store.runs.get(int(name)) if is_number else None
    if name.startswith("a-") or (run and not run.task):
        ask = create_ask.find(store, name)
        return Waiting(ask, store.tasks.get(ask.origin.task) if ask.origin.task else None)
    task = backlog.get(store, run.task if run else name)
    if pending_asks(store, task):
        return Waiting(create_ask.find(store, task.id), task)
    asked = backlog.history(store, task)
    if not asked:
        raise RefusedError(_describe_not_awaiting(task, f"gate task show {task.id}"))
    return Waiting(create_ask.get(store, asked[-1].ask_id), task)


def _describe_not_awaiting(task: Task | None, more: str) -> str:
    head = f"Task {task.id} is not awaiting input (state: {task.state}): " if task else ""
    return head + more


def _is_plain_text(ask: Ask) -> bool:
    return ask.question.answered_as == AskKind.TEXT and not ask.question.secret


def _question_lines(ask: Ask) -> list[str]:
    lines = ["", *label_lines("Question", ask.question.prompt, columns())]
    if context := context_text(ask.question.context):
        lines += ["", "Context:", *frame(context, columns(), most=SHOWN_CHARACTERS)]
    # A yes is for this activity, not for the agent's description of it.
    lines += activity_lines(ask, columns(), add_colour)
    return [*lines, *answer_lines(ask, columns()), ""]


def _read_value(store: Store, who: Caller, waiting: Waiting, args: argparse.Namespace) -> Any:
    if args.other is not None:
        return build_other(waiting.ask, args.other)
    words = _read_words(store, who, waiting, args)
    if args.edit or words is None:
        return _edit_answer(store, who, waiting, " ".join(words or []))
    if not any(word.strip() for word in words):
        raise InvalidAnswerError(_EMPTY)
    question = waiting.ask.question
    several = question.answered_as == AskKind.CHOICE and question.multiple
    return parse_answer(waiting.ask, words if several else [" ".join(words)])


def _read_words(
    store: Store, who: Caller, waiting: Waiting, args: argparse.Namespace
) -> list[str] | None:
    """Return the given answer, or None to write it in the editor."""
    if args.template:
        text = _fill_template(store, who, waiting, args)
    elif args.file:
        text = read_text(args.file).rstrip("\n")
    else:
        if args.text:
            warn_of_secret(waiting.ask)
        return args.text or None
    is_choice = waiting.ask.question.answered_as == AskKind.CHOICE
    return text.splitlines() if is_choice else [text]


def _fill_template(store: Store, who: Caller, waiting: Waiting, args: argparse.Namespace) -> str:
    ask, task = waiting
    project = task.project if task else ask.origin.project
    values = {
        "title": waiting.title,
        "id": task.id if task else ask.id,
        "question": ask.question.prompt,
        "context": context_text(ask.question.context),
        "role": (task.role if task else "") or ask.origin.agent,
        "person": who.name,
        "date": f"{store.now():%Y-%m-%d}",
    }
    return fill(
        project_files.template(project, args.template).text, values | own_variables(args.set)
    )


def _edit_answer(store: Store, who: Caller, waiting: Waiting, start: str) -> Any:
    from gatebell.cli.asks.editor import write_in_editor

    backend = wiring.local_backend(store)
    value = write_in_editor(backend, who, waiting.ask, start, title=waiting.title)
    if value is None:
        raise InvalidAnswerError(_EMPTY)
    return value


def _record(store: Store, who: Caller, waiting: Waiting, given: Given, *, as_json: bool) -> int:
    shown = given._replace(digest=waiting.ask.digest)
    try:
        _, after = answer(store, waiting.ask.id, who, shown)
    except AlreadySettledError as error:
        task = waiting.task and backlog.get(store, waiting.task.id)
        raise AlreadySettledError(_describe_not_awaiting(task, str(error))) from None
    if not as_json:
        _report_recorded(wiring.local_backend(store), after)
        return 0
    task = backlog.get(store, waiting.task.id) if waiting.task else None
    worker = members.has_worker(store)
    document = {"ask": ask_document(after), "task": task and task_document(task)}
    print_json(document | {"worker": worker})
    return 0


def _report_recorded(backend: Backend, ask: Ask) -> None:
    """Report that an answer is recorded, and the real next step."""
    store = backend.store
    assert store, "tasks are answered on the store of this machine"
    task = store.tasks.get(ask.origin.task) if ask.origin.task else None
    if task is None or ask.pending:
        print(describe_recorded(ask))
        tell_if_left(backend, ask)
        return
    print(add_colour(f"✓ Response recorded for task {task.id}", "green"))
    if pending_asks(store, task):
        print(f"  Task has another question: gate respond {task.id}")
    elif not task.run:
        print("  The person or agent that claimed the task goes on with it")
    elif members.has_worker(store):
        print("  Task returned to 'open' state and will be picked up by worker")
    else:
        print("  Task returned to 'open' state; no worker is running. Start one: gate worker")


def _prompt(store: Store, who: Caller, waiting: Waiting) -> int:
    from gatebell.cli.asks.prompts import prompt_for

    backend = wiring.local_backend(store)
    try:
        return 0 if prompt_for(backend, who, waiting.ask, tell=_report_recorded) else _NOT_YET
    except KeyboardInterrupt:
        return _NOT_YET


def _respond_to_all(args: argparse.Namespace) -> int:
    if not can_prompt():
        raise UsageError("--all needs a terminal; in a script: gate respond ID TEXT")
    store = wiring.open_store()
    who = caller(store, args)
    project = find_project(store, args.project)
    seen: set[str] = set()
    answered = 0
    try:
        while left := [one for one in _list_waiting(store, project) if one.ask.id not in seen]:
            seen.add(left[0].ask.id)
            head = f"{len(seen)} of {len(seen) + len(left) - 1}"
            title = inert_line(
                f"{left[0].task and left[0].task.id}  {left[0].title}", columns() - 12
            )
            print(f"\n{add_colour(head, 'dim')}  {title}")
            answered += _answer_one(store, who, left[0], edit=args.edit)
    except KeyboardInterrupt:
        print("Stopped.")
    still = len(_list_waiting(store, project))
    if seen:
        print(f"\n{answered} answered, {still} still waiting.")
    else:
        print(f"Nothing is waiting in {inert_line(project)}.")
    return 0


def _list_waiting(store: Store, project: str) -> list[Waiting]:
    sweep(store)
    return [
        Waiting(ask, task)
        for task in store.tasks.page(project, "awaiting", _MAX, project_key(project))
        for ask in pending_asks(store, task)
    ]


def _answer_one(store: Store, who: Caller, waiting: Waiting, *, edit: bool) -> bool:
    from gatebell.cli.asks.editor import write_in_editor
    from gatebell.cli.asks.prompts import prompt_for

    backend = wiring.local_backend(store)
    if not edit or not _is_plain_text(waiting.ask):
        return prompt_for(backend, who, waiting.ask, leave=_STOP, tell=_report_recorded)
    before = draft(store, waiting.ask.id, who)
    try:
        value = write_in_editor(backend, who, waiting.ask, title=waiting.title)
    except InvalidAnswerError as error:
        print(f"gate: {error}", file=sys.stderr)
        value = None
    if value == _STOP:
        save_draft(store, waiting.ask.id, who, before)
        raise KeyboardInterrupt
    if value is None:
        print(f"Not answered; {waiting.ask.id} is still waiting.")
        return False
    _record(store, who, waiting, Given(value), as_json=False)
    return True
