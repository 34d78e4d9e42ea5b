"""List the hosts that serve this store or have runs, or say that one is lost.

A run is driven by its home, the host with its folder. `forget` asks a person about each run of a
lost host at once: wait, begin from the copy at the remote, or stop. Without it, that happens after
10 minutes of silence. A host that reports again takes its questions back.

Example: gate host list
Example: gate host forget ci-7
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.app import wiring
from gatebell.cli.identity import add_identity, caller
from gatebell.cli.screen import print_json
from gatebell.cli.verbs import add_verbs
from gatebell.domain.text.display import inert_line
from gatebell.errors import UsageError
from gatebell.services.runs import lost_hosts
from gatebell.terminal.runs import format_ago

if TYPE_CHECKING:
    import argparse
    from datetime import datetime
    from typing import Any

    from gatebell.ports.store import Store
    from gatebell.services.runs.lost_hosts import HostView

_VERBS = {
    "list": "list the hosts",
    "forget HOST": "say that a host is lost",
}


def configure(parser: argparse.ArgumentParser) -> None:
    add_verbs(parser, _VERBS, default="list")
    parser.add_argument("name", nargs="?", default="", metavar="HOST", help="the name of a host")
    add_identity(parser)
    parser.add_argument("--json", action="store_true", help="print JSON (docs/json.md)")


def run(args: argparse.Namespace) -> int:
    if bool(args.name) != (args.verb == "forget"):
        raise UsageError("expected: gate host list, or gate host forget HOST")
    store = wiring.open_store()
    if args.verb == "list":
        return _list(store, as_json=args.json)
    asks = lost_hosts.forget(store, args.name, caller(store, args))
    if args.json:
        print_json({"host": args.name, "asks": [ask.id for ask in asks]})
        return 0
    print(f"Host {inert_line(args.name, 70)} is lost")
    for ask in asks:
        print(f"gate answer {ask.id}  {inert_line(ask.question.prompt, 200)}")
    return 0


def _list(store: Store, *, as_json: bool) -> int:
    found, here, now = lost_hosts.list_hosts(store), store.machine.host, store.now()
    if as_json:
        print_json([_build_document(one, here) for one in found])
        return 0
    for one in found:
        print("\n".join(_format(one, here, now)))
    if not found:
        print("No host serves this store, and none has runs that have not ended")
    return 0


def _build_document(host: HostView, here: str) -> dict[str, Any]:
    return {
        "host": host.name,
        "is_this": host.name == here,
        "is_lost": host.is_lost,
        "beat_at": host.beat_at and host.beat_at.isoformat(),
        "members": [
            {
                "kind": one.kind,
                "process": one.process,
                "url": one.url,
                "beat_at": one.beat_at.isoformat(),
            }
            for one in host.members
        ],
        "runs": [one.id for one in host.runs],
    }


def _tell_report(beat_at: datetime, now: datetime) -> str:
    return f"reported {format_ago((now - beat_at).total_seconds())}"


def _format(host: HostView, here: str, now: datetime) -> list[str]:
    what = " (this host)" if host.name == here else ""
    state = "no member is known"
    if host.is_lost:
        state = "LOST"
    elif host.beat_at:
        state = _tell_report(host.beat_at, now)
    runs = ", ".join(f"{one.id} ({one.state})" for one in host.runs)
    return [
        f"{inert_line(host.name, 70)}{what}: {state}",
        # One that was killed stays in the list for a while.
        *(
            f"  {one.kind} {inert_line(one.process, 120)}: {_tell_report(one.beat_at, now)}"
            for one in host.members
        ),
        f"  runs: {runs or 'none'}",
    ]
