"""`gate store fence`: what it asks, and what it prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gatebell.app import wiring
from gatebell.cli.identity import caller
from gatebell.cli.screen import can_prompt, print_json
from gatebell.cli.setup.audit import read_kept_head
from gatebell.domain.people.principals import must_be_a_person
from gatebell.domain.runs.identities import parse_identity
from gatebell.domain.text.display import inert_line
from gatebell.errors import AskCancelledError, UsageError
from gatebell.services import fence
from gatebell.services.members import list_living

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from gatebell.domain.audit.events import Head
    from gatebell.domain.members import Member
    from gatebell.ports.store import Store
    from gatebell.services.fence import Cut, Fenced

_MAX_SHOWN = 20
_MAX_RUNS = 10_000


def run_fence(args: argparse.Namespace) -> int:
    """Fence the store of the settings, after a question."""
    kept = read_kept_head("--kept-head", args.kept_head)
    store = wiring.open_store()
    who = caller(store, args)
    must_be_a_person(who, "fences a store")
    if not args.yes and (args.json or not can_prompt()):
        raise UsageError("cannot prompt without a terminal; add --yes")
    cut = fence.compare(store, kept) if kept else None
    was_fenced = fence.is_fenced(store)
    if not (args.yes or was_fenced):
        _ask(store, kept, cut)
    done = fence.fence(store, who, kept)
    if args.json:
        print_json(_build_document(store, done, cut, was_fenced=was_fenced))
        return 0
    if cut and kept and args.yes:
        print(_describe_cut(kept, cut))
    for line in _describe_result(done, was_fenced=was_fenced):
        print(line)
    for line in _describe_rest(store):
        print(line)
    return 0


def _ask(store: Store, kept: Head | None, cut: Cut | None) -> None:
    found = fence.find(store)
    if kept and cut:
        print(_describe_cut(kept, cut))
    print(
        f"This cancels {len(found.approvals)} approvals that were not used and {len(found.calls)} "
        f"tool calls that wait, and ends {len(found.grants)} grants and all logins of the web "
        "inbox. Processes that drive runs now lose them. It cannot be undone."
    )
    try:
        agreed = input(f"Fence {inert_line(store.name)}? [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        agreed = False
    if not agreed:
        raise AskCancelledError("nothing was changed")


def _describe_cut(kept: Head, cut: Cut) -> str:
    if cut.is_found:
        return f"The kept head, event {kept.seq}, is in the chain: no event before it is missing"
    if cut.events:
        return f"{cut.events} events were cut: the kept head is of event {kept.seq}"
    return (
        f"Event {kept.seq} is not the one whose head was kept: events were written after the "
        "restore, or it is the head of another store"
    )


def _describe_result(done: Fenced, *, was_fenced: bool) -> Iterator[str]:
    if was_fenced:
        yield "The store is fenced already; nothing has happened since then"
        return
    yield f"{done.runs} runs: processes that drove them before write nothing any more"
    yield f"{len(done.approvals)} approvals cancelled{_name(done.approvals)}"
    yield f"{len(done.calls)} waiting tool calls cancelled{_name(done.calls)}"
    yield f"{len(done.grants)} grants ended{_name(done.grants)}"
    yield f"{done.logins} logins and links of the web inbox ended"


def _name(ids: Sequence[str]) -> str:
    if not ids:
        return ""
    more = f" and {len(ids) - _MAX_SHOWN} more" if len(ids) > _MAX_SHOWN else ""
    return f": {', '.join(ids[:_MAX_SHOWN])}{more}"


def _describe_rest(store: Store) -> Iterator[str]:
    """Yield what only a person can judge: what the backup does not know."""
    if tokens := store.people.tokens():
        yield (
            f"Check: {len(tokens)} tokens are valid. One that was revoked after the backup works "
            "again: gate person list, then gate person revoke ID"
        )
    if going := store.runs.newest(_MAX_RUNS, active=True):
        yield (
            f"Check: {len(going)} runs have not ended{_name([str(run.id) for run in going])}. They "
            "repeat what they did after the backup; stop those that must not: gate stop RUN"
        )
    yield "Check: gates and denials that were made after the backup are missing: gate gates"
    for member, host in _list_members(store):
        yield (
            f"Check: a {member.kind} of host {inert_line(host)} uses this store, perhaps since before the "
            "fence. Stop it, and fence again"
        )


def _build_document(
    store: Store, done: Fenced, cut: Cut | None, *, was_fenced: bool
) -> dict[str, Any]:
    tokens = [
        {"id": one.id, "person": one.person, "scopes": one.scopes, "label": one.label}
        for one in store.people.tokens()
    ]
    return {
        "was_fenced": was_fenced,
        **done._asdict(),
        "kept_head_found": cut.is_found if cut else None,
        "cut_events": cut.events if cut else None,
        "active_runs": [run.id for run in store.runs.newest(_MAX_RUNS, active=True)],
        "tokens": tokens,
        "members": [
            {"kind": member.kind, "host": host, "url": member.url}
            for member, host in _list_members(store)
        ],
    }


def _list_members(store: Store) -> list[tuple[Member, str]]:
    """Return the living members of the store, each with its host."""
    return [(member, parse_identity(member.process).host) for member in list_living(store)]
