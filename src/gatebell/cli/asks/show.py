"""Show an ask, a run or a task with everything about it.

An ask has its context, messages, votes, answer and audit trail. The number of a run shows the only
ask that it waits for, and the progress of the run; else the run with all its calls, as --calls
does. A task shows the ask that it waits for, else the task itself, and its last run.

Example: gate show a-7k2
Example: gate show 3 --calls
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from gatebell.cli.freezes.freeze_line import print_freeze
from gatebell.cli.identity import open_asks
from gatebell.cli.screen import ask_lines, columns, make_document, print_json, short
from gatebell.domain.asks.documents import (
    answer_document,
    entry_document,
    message_document,
    visit_document,
)
from gatebell.domain.asks.messages import has_no_replier
from gatebell.domain.asks.outcomes import answer_text
from gatebell.domain.asks.owners import parse_run_number, run_of
from gatebell.domain.enums import AnswerOutcome
from gatebell.domain.text.display import frame, inert, inert_line
from gatebell.errors import NotFoundError
from gatebell.terminal.local_times import format_stamp

if TYPE_CHECKING:
    import argparse

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.runs.seen_runs import SeenRun
    from gatebell.ports.backends.backend import Backend


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", help="the id or its beginning, a task, or the number of a run")
    parser.add_argument("--call", metavar="N", help="show this call of a run instead: 3, or 4.1.2")
    parser.add_argument("--calls", action="store_true", help="show all calls of a run instead")
    parser.add_argument("--all", action="store_true", help="show long texts in full")
    parser.add_argument("--audit", action="store_true", help="add the audit trail of this ask")
    parser.add_argument(
        "--save-attachments",
        metavar="DIR",
        help="save the files of the question and its answers into this folder; none is overwritten",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object (docs/json.md)")


def run(args: argparse.Namespace) -> int:
    backend = open_asks()
    if not args.json:
        print_freeze(backend)
    seen = _find_run(backend, args.id)
    if args.call is not None or args.calls or (seen and len(seen.asks) != 1):
        # Imported here: an ask is shown without the code for runs.
        from gatebell.cli.runs.call_screen import show_call, show_calls

        return (show_calls if args.call is None else show_call)(backend, args)
    try:
        ask = backend.look_up(args.id)
    except NotFoundError:
        if not _is_task(backend, args.id):
            raise
        return _show_task(backend, args)
    if seen is None and ask.origin.task and not _begins_with(ask, args.id):
        seen = _find_run(backend, str(run_of(ask.origin.owner) or ""))
    saved = _save(backend, ask, args.save_attachments) if args.save_attachments else None
    if args.json:
        more: dict[str, object] = {} if saved is None else {"saved": saved}
        print_json(_build_document(backend, ask) | more | _list_run(seen, "run"))
        return 0
    if saved is not None:
        print("\n".join(inert_line(path, 4000) for path in saved) or f"{ask.id} has no attachments")
        return 0
    print("\n".join(ask_lines(backend, ask, whole=args.all)))
    for answer in backend.answers(ask.id):
        if answer.outcome in (AnswerOutcome.LATE, AnswerOutcome.REFUSED):
            files = "".join(f"\nattached: {one.name}" for one in answer.attachments)
            said = f"{answer_text(ask, answer.value)}\n{answer.note}".rstrip() + files
            print(f"Not counted, from {short(answer.principal)}:")
            print("\n".join(frame(f"{said}\n({answer.reason})", columns())))
    if args.audit:
        print()
        for entry in backend.events(ask.id):
            print(
                f"{entry.seq:6}  {format_stamp(entry.at)}  {entry.event.kind:16} {short(entry.event.actor)}"
            )
    _print_progress(backend, seen)
    if ask.pending and ask.question.call and (suggested := _suggest_rule(backend, ask)):
        print(f"\n{suggested}")
    if ask.pending:
        back = "" if has_no_replier(ask) else f"   Ask back: gate ask-back {ask.id} TEXT"
        inside = f"   With an agent: gate continue {ask.id}" if ask.question.session else ""
        print(f"\nAnswer: gate answer {ask.id}{inside}{back}")
    return 0


def _suggest_rule(backend: Backend, ask: Ask) -> str:
    """Return the lines that offer to allow such calls for good; empty if that is not safe."""
    found = backend.find_suggestion(ask)
    if found is None:
        return ""
    # Imported here: only approvals of tool calls need it.
    from gatebell.terminal.asks import describe_offer

    way = f"gate answer {ask.id} yes --for always --pattern {shlex.quote(found['pattern'])}"
    return inert(f"{describe_offer(found)}.\n  {way}")


def _show_task(backend: Backend, args: argparse.Namespace) -> int:
    """Show a task that waits for no answer, and the run that worked on it last."""
    # Imported here: an ask is shown without the code for tasks.
    from gatebell.cli.tasks.task_views import print_task
    from gatebell.domain.tasks.seen_tasks import whole_document

    whole = backend.look_up_task(args.id)
    seen = backend.run(whole.runs[-1].id) if whole.runs else None
    if args.json:
        print_json(whole_document(whole) | _list_run(seen, "last_run"))
        return 0
    print_task(backend, whole)
    _print_progress(backend, seen)
    return 0


def _print_progress(backend: Backend, seen: SeenRun | None) -> None:
    if seen:
        # Imported here: an ask is shown without the code for runs.
        from gatebell.cli.runs.call_screen import describe_progress

        print("\n" + "\n".join(describe_progress(backend, seen)))


def _list_run(seen: SeenRun | None, name: str) -> dict[str, object]:
    """Return a run for a JSON object, below a name; nothing without a run."""
    if seen is None:
        return {}
    # Imported here: an ask is shown without the code for runs.
    from gatebell.domain.runs.seen_runs import seen_run_document

    return {name: seen_run_document(seen)}


def _save(backend: Backend, ask: Ask, folder: str) -> list[str]:
    """Save all files of an ask; return their paths."""
    # Imported here: most asks have no files.
    from gatebell.app.attached_files import save

    answers = [one for answer in backend.answers(ask.id) for one in answer.attachments]
    # A token that may only ask sees the settled ask, and no list of answers.
    files = [*ask.question.attachments, *ask.answer_attachments, *answers]
    return save(backend, ask, list(dict.fromkeys(files)), folder)


def _find_run(backend: Backend, named: str) -> SeenRun | None:
    """Return the run with this number, if there is one."""
    number = parse_run_number(named)
    try:
        return None if number is None else backend.run(number)
    except NotFoundError:
        return None


def _begins_with(ask: Ask, named: str) -> bool:
    """Return whether a text is the beginning of the ask's id, and not the id of its task."""
    return ask.id.removeprefix("a-").startswith(named.strip().lower().removeprefix("a-"))


def _is_task(backend: Backend, named: str) -> bool:
    try:
        return not named.lower().startswith("a-") and bool(backend.task(named))
    except NotFoundError:
        return False


def _build_document(backend: Backend, ask: Ask) -> dict[str, object]:
    suggested = backend.find_suggestion(ask) if ask.pending and ask.question.call else None
    return make_document(backend, ask) | {
        "suggested_rule": suggested,
        "messages": [message_document(one) for one in backend.messages(ask.id)],
        "answers": [answer_document(one) for one in backend.answers(ask.id)],
        "visits": _list_visits(backend, ask),
        "audit": [entry_document(one) for one in backend.events(ask.id)],
    }


def _list_visits(backend: Backend, ask: Ask) -> list[dict[str, object]]:
    """Return the visits to its session, which only the machine of the store knows."""
    if not ask.question.session or backend.store is None:
        return []
    # Imported here: most asks are not sessions.
    from gatebell.services.sessions.visits import list_visits

    return [visit_document(one) for one in list_visits(backend.store, ask.id)]
