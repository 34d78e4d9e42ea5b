"""Answer a task that waits for you; gate answer does the same for everything that waits.

Without a text, in a terminal, your editor opens with the question; only the text below the line
counts. gate list --awaiting lists the tasks that wait; --all goes through them one by one.

Example: gate respond tm-4f2 "Use the staging database"
Example: gate respond --all
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from gatebell.app import project_files
from gatebell.app.environment import project_key
from gatebell.cli.asks.values import build_other, parse_answer, warn_of_secret
from gatebell.cli.identity import add_identity, open_backend, read_text
from gatebell.cli.runs.left_runs import tell_if_left
from gatebell.cli.screen import add_colour, can_prompt, columns, describe_recorded, print_json
from gatebell.cli.tasks.tasks_screen import PROJECT, find_project
from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.asks import settled_sentence
from gatebell.domain.asks.attachments import describe_files
from gatebell.domain.asks.context_text import context_text
from gatebell.domain.asks.documents import ask_document, task_document
from gatebell.domain.asks.owners import parse_run_number
from gatebell.domain.asks.templates import fill, own_variables
from gatebell.domain.enums import AskKind
from gatebell.domain.text.display import SHOWN_CHARACTERS, frame, inert_line
from gatebell.errors import (
    AlreadySettledError,
    InvalidAnswerError,
    NotFoundError,
    RefusedError,
    ServerError,
    UsageError,
)
from gatebell.terminal.asks import activity_lines, answer_lines
from gatebell.terminal.runs import label_lines

if TYPE_CHECKING:
    import argparse

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.people.principals import Caller
    from gatebell.domain.runs.runs import Run
    from gatebell.domain.tasks.tasks import Task
    from gatebell.ports.backends.backend import Backend

_NOT_YET = 11
_MAX = 1_000
STOP = "q"
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
    backend, who = open_backend(args)
    try:
        waiting = _find(backend, args.id)
    except ServerError as error:
        raise backend.keep_typed(error, args.id, _read_typed(args)) from None
    ask = waiting.ask
    if not ask.pending and not any(given):
        raise AlreadySettledError(_describe_not_awaiting(waiting.task, settled_sentence(ask)))
    if not any(given) and not args.edit and not can_prompt():
        raise UsageError(f"cannot prompt without a terminal; run: gate respond {args.id} TEXT")
    if not any(given) and not args.edit and not is_plain_text(ask):
        if args.note:
            raise UsageError(f"--note needs an answer: gate respond {args.id} yes --note TEXT")
        return _prompt(backend, who, waiting)
    if ask.pending and not args.json:
        print("\n".join(_question_lines(ask)))
        sys.stdout.flush()
    value = _read_value(backend, who, waiting, args)
    return _record(backend, who, waiting, Given(value, args.note), as_json=args.json)


def _read_typed(args: argparse.Namespace) -> str:
    """Return what the person wrote for this command, as text."""
    text = read_text(args.file) if args.file else " ".join(args.text) or args.other or ""
    return "\n".join(filter(None, [text, args.note]))


def _find(backend: Backend, text: str) -> Waiting:
    """Return the ask that the id of a task or ask, or the number of a run, means."""
    name = text.strip().lower()
    run = _find_run(backend, name)
    if name.startswith("a-") or (run and not run.task):
        ask = backend.find(name)
        return Waiting(ask, find_task(backend, ask))
    task = backend.task(run.task if run else name)
    asked = backend.asks_of_task(task.id)
    if task.worked_on and any(ask.pending for ask in asked):
        # Its deadline may have passed just now; of several asks the person names one.
        return Waiting(backend.find(task.id), task)
    if not asked:
        raise RefusedError(_describe_not_awaiting(task, f"gate task show {task.id}"))
    return Waiting(asked[-1], task)


def _find_run(backend: Backend, name: str) -> Run | None:
    number = parse_run_number(name)
    if number is None:
        return None
    try:
        return backend.run(number).run
    except NotFoundError:
        return None


def find_task(backend: Backend, ask: Ask) -> Task | None:
    """Return the task that asks; None if it asks for no task, or the task was deleted."""
    try:
        return backend.task(ask.origin.task) if ask.origin.task else None
    except NotFoundError:
        return None


def _describe_not_awaiting(task: Task | None, more: str) -> str:
    head = f"Task {task.id} is not awaiting input (state: {task.state}): " if task else ""
    return head + more


def is_plain_text(ask: Ask) -> bool:
    return ask.question.answered_as == AskKind.TEXT and not ask.question.secret


def _question_lines(ask: Ask) -> list[str]:
    lines = ["", *label_lines("Question", ask.question.prompt, columns())]
    if context := context_text(ask.question.context):
        lines += ["", "Context:", *frame(context, columns(), most=SHOWN_CHARACTERS)]
    if ask.question.attachments:
        lines += ["", *frame(describe_files(ask), columns())]
    # A yes is for this activity, not for the agent's description of it.
    lines += activity_lines(ask, columns(), add_colour)
    return [*lines, *answer_lines(ask, columns()), ""]


def _read_value(backend: Backend, who: Caller, waiting: Waiting, args: argparse.Namespace) -> Any:
    if args.other is not None:
        return build_other(waiting.ask, args.other)
    words = _read_words(backend, who, waiting, args)
    if args.edit or words is None:
        return _edit_answer(backend, who, waiting, " ".join(words or []))
    if not any(word.strip() for word in words):
        raise InvalidAnswerError(_EMPTY)
    question = waiting.ask.question
    several = question.answered_as == AskKind.CHOICE and question.multiple
    return parse_answer(waiting.ask, words if several else [" ".join(words)])


def _read_words(
    backend: Backend, who: Caller, waiting: Waiting, args: argparse.Namespace
) -> list[str] | None:
    """Return the given answer, or None to write it in the editor."""
    if args.template:
        text = fill_template(backend, who, waiting, args)
    elif args.file:
        text = read_text(args.file).rstrip("\n")
    else:
        if args.text:
            warn_of_secret(waiting.ask)
        return args.text or None
    is_choice = waiting.ask.question.answered_as == AskKind.CHOICE
    return text.splitlines() if is_choice else [text]


def fill_template(backend: Backend, who: Caller, waiting: Waiting, args: argparse.Namespace) -> str:
    ask, task = waiting
    values = {
        "title": waiting.title,
        "id": task.id if task else ask.id,
        "question": ask.question.prompt,
        "context": context_text(ask.question.context),
        "role": (task.role if task else "") or ask.origin.agent,
        "person": backend.name_of(who),
        "date": f"{backend.now():%Y-%m-%d}",
    }
    if backend.store:
        project = task.project if task else ask.origin.project
    else:
        # The templates of this machine: the folder of a server's task is on another one.
        project = find_project(backend, None)
    template = project_files.template(project, args.template)
    return fill(template.text, values | own_variables(args.set))


def _edit_answer(backend: Backend, who: Caller, waiting: Waiting, start: str) -> Any:
    from gatebell.cli.asks.editor import write_in_editor

    value = write_in_editor(backend, who, waiting.ask, start, title=waiting.title)
    if value is None:
        raise InvalidAnswerError(_EMPTY)
    return value


def _record(backend: Backend, who: Caller, waiting: Waiting, given: Given, *, as_json: bool) -> int:
    shown = given._replace(digest=waiting.ask.digest)
    try:
        after = backend.answer(waiting.ask.id, who, shown)
    except AlreadySettledError as error:
        task = waiting.task and backend.task(waiting.task.id)
        raise AlreadySettledError(_describe_not_awaiting(task, str(error))) from None
    if not as_json:
        report_recorded(backend, after)
        return 0
    task = backend.task(waiting.task.id) if waiting.task else None
    document = {"ask": ask_document(after), "task": task and task_document(task)}
    print_json(document | {"worker": backend.has_worker()})
    return 0


def report_recorded(backend: Backend, ask: Ask) -> None:
    """Report that an answer is recorded, and the real next step."""
    task = find_task(backend, ask)
    if task is None or ask.pending:
        print(describe_recorded(ask))
        tell_if_left(backend, ask)
        return
    print(add_colour(f"✓ Response recorded for task {task.id}", "green"))
    if task.worked_on and any(one.pending for one in backend.asks_of_task(task.id)):
        print(f"  Task has another question: gate respond {task.id}")
    elif not task.run:
        print("  The person or agent that claimed the task goes on with it")
    elif backend.has_worker():
        print("  Task returned to 'open' state and will be picked up by worker")
    else:
        print("  Task returned to 'open' state; no worker is running. Start one: gate worker")


def _prompt(backend: Backend, who: Caller, waiting: Waiting) -> int:
    from gatebell.cli.asks.prompts import prompt_for

    try:
        return 0 if prompt_for(backend, who, waiting.ask, tell=report_recorded) else _NOT_YET
    except KeyboardInterrupt:
        return _NOT_YET


def _respond_to_all(args: argparse.Namespace) -> int:
    if not can_prompt():
        raise UsageError("--all needs a terminal; in a script: gate respond ID TEXT")
    backend, who = open_backend(args)
    project = find_project(backend, args.project)
    seen: set[str] = set()
    answered = 0
    try:
        while left := [one for one in _list_waiting(backend, project) if one.ask.id not in seen]:
            seen.add(left[0].ask.id)
            head = f"{len(seen)} of {len(seen) + len(left) - 1}"
            title = inert_line(
                f"{left[0].task and left[0].task.id}  {left[0].title}", columns() - 12
            )
            print(f"\n{add_colour(head, 'dim')}  {title}")
            answered += _answer_one(backend, who, left[0], edit=args.edit)
    except KeyboardInterrupt:
        print("Stopped.")
    still = len(_list_waiting(backend, project))
    if seen:
        print(f"\n{answered} answered, {still} still waiting.")
    else:
        print(f"Nothing is waiting in {inert_line(project)}.")
    return 0


def _list_waiting(backend: Backend, project: str) -> list[Waiting]:
    return [
        Waiting(ask, seen.task)
        for seen in backend.tasks(project, "awaiting", _MAX, project_key(project))
        for ask in backend.asks_of_task(seen.task.id)
        if ask.pending
    ]


def _answer_one(backend: Backend, who: Caller, waiting: Waiting, *, edit: bool) -> bool:
    from gatebell.cli.asks.prompts import prompt_for

    if not edit or not is_plain_text(waiting.ask):
        return prompt_for(backend, who, waiting.ask, leave=STOP, tell=report_recorded)
    return edit_one(backend, who, waiting)


def edit_one(backend: Backend, who: Caller, waiting: Waiting) -> bool:
    """Let the person write one answer in the editor; return whether they did."""
    from gatebell.cli.asks.editor import write_in_editor

    before = backend.draft(waiting.ask.id, who)
    try:
        value = write_in_editor(backend, who, waiting.ask, title=waiting.title)
    except InvalidAnswerError as error:
        print(f"gate: {error}", file=sys.stderr)
        value = None
    if value == STOP:
        backend.save_draft(waiting.ask.id, who, before)
        raise KeyboardInterrupt
    if value is None:
        print(f"Not answered; {waiting.ask.id} is still waiting.")
        return False
    _record(backend, who, waiting, Given(value), as_json=False)
    return True
