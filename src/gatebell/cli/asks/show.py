"""Show one ask: context, messages, votes, answer and audit trail.

The number of a run means the only ask that the run waits for. A run without a pending ask is shown
with its calls, as with --calls. With --call, one call is shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.app import wiring
from gatebell.cli.screen import ask_lines, columns, make_document, print_json, short
from gatebell.domain.asks.documents import (
    answer_document,
    entry_document,
    message_document,
    visit_document,
)
from gatebell.domain.asks.messages import has_no_replier
from gatebell.domain.asks.outcomes import answer_text
from gatebell.domain.enums import AnswerOutcome
from gatebell.domain.text.display import frame

if TYPE_CHECKING:
    import argparse

    from gatebell.domain.asks.asks import Ask
    from gatebell.ports.backend import Backend
    from gatebell.ports.store import Store


_MAX_DIGITS = 18


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", help="the id or its beginning, a task, or the number of a run")
    parser.add_argument("--call", metavar="N", help="show this call of a run instead: 3, or 4.1.2")
    parser.add_argument("--calls", action="store_true", help="show all calls of a run instead")
    parser.add_argument("--all", action="store_true", help="show long texts in full")
    parser.add_argument("--audit", action="store_true", help="add the audit trail of this ask")
    parser.add_argument("--json", action="store_true", help="print one JSON object (docs/json.md)")


def run(args: argparse.Namespace) -> int:
    backend = wiring.open_backend()
    if args.call is not None or args.calls or (backend.store and _is_number(args.id)):
        # The journal of a run is on the machine that drives it.
        store = backend.store or wiring.open_store()
        # Imported here: an ask is shown without the code for runs.
        from gatebell.cli.runs.call_screen import show_call, show_calls
        from gatebell.services.asks.apply_deadlines import sweep

        # A run whose only ask has expired does not wait.
        sweep(store)
        if args.call is not None:
            return show_call(store, args)
        if args.calls or _has_no_waiter(store, args.id):
            return show_calls(store, args)
    ask = backend.look_up(args.id)
    if args.json:
        print_json(_build_document(backend, ask))
        return 0
    print("\n".join(ask_lines(backend, ask, whole=args.all)))
    for answer in backend.answers(ask.id):
        if answer.outcome in (AnswerOutcome.LATE, AnswerOutcome.REFUSED):
            said = f"{answer_text(ask, answer.value)}\n{answer.note}".rstrip()
            print(f"Not counted, from {short(answer.principal)}:")
            print("\n".join(frame(f"{said}\n({answer.reason})", columns())))
    if args.audit:
        print()
        for entry in backend.events(ask.id):
            print(
                f"{entry.seq:6}  {entry.at[:19]}  {entry.event.kind:16} {short(entry.event.actor)}"
            )
    if ask.pending:
        back = "" if has_no_replier(ask) else f"   Ask back: gate ask-back {ask.id} TEXT"
        inside = f"   With an agent: gate continue {ask.id}" if ask.question.session else ""
        print(f"\nAnswer: gate answer {ask.id}{inside}{back}")
    return 0


def _has_no_waiter(store: Store, named: str) -> bool:
    """Return whether this is the number of a run without a pending ask."""
    run = store.runs.get(int(named)) if _is_number(named) else None
    return run is not None and not store.asks.pending_of_run(run.id)


def _is_number(named: str) -> bool:
    return named.isascii() and named.isdecimal() and len(named) <= _MAX_DIGITS


def _build_document(backend: Backend, ask: Ask) -> dict[str, object]:
    return make_document(backend, ask) | {
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
