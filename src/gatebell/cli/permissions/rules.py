"""Be asked less: find what you always approve, try it as a shadow rule, and make it a grant.

`suggest` reads the history of this project. `test` shows which past asks a pattern would have
answered, and how you decided them; with --shadow it is compared with your next decisions, too, and
decides nothing itself. `promote` makes such a shadow rule a grant for all later calls in this
project. One that would have allowed what you did not plainly approve is suspended, with a note.
Gates and denials: `gate gates`. Grants: `gate grants`. Only a person may do any of this.

Example: gate rules suggest
Example: gate rules test 'Bash(npm test *)' --shadow
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from gatebell.app.environment import project, project_key
from gatebell.cli.identity import add_identity, open_backend
from gatebell.cli.screen import columns, print_json
from gatebell.domain.asks.asks import iso
from gatebell.domain.permissions.past_calls import describe_tally, suggestion_document
from gatebell.domain.text.display import frame, inert, storable
from gatebell.errors import UsageError
from gatebell.services.permissions import standing_rules

if TYPE_CHECKING:
    import argparse

    from gatebell.domain.people.principals import Caller
    from gatebell.domain.permissions.shadow_rules import ShadowRule
    from gatebell.ports.store import Store

_MAX_SHOWN = 20


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "verb",
        nargs="?",
        default="list",
        choices=("list", "suggest", "test", "promote", "remove"),
        help="list | suggest | test PATTERN | promote ID | remove ID",
    )
    add("what", nargs="?", default="", help="a pattern, or the id of a shadow rule")
    add("--shadow", action="store_true", help="after test: compare it with the next decisions")
    add(
        "--days",
        type=int,
        default=standing_rules.SHADOW_DAYS,
        metavar="N",
        help=f"how long --shadow compares ({standing_rules.SHADOW_DAYS})",
    )
    add("--project", metavar="DIR", help="the project of this folder (default: the current one)")
    add_identity(parser)
    add("--json", action="store_true", help="print JSON (docs/json.md)")


def run(args: argparse.Namespace) -> int:
    backend, who = open_backend(args)
    store = backend.store
    if store is None:
        raise UsageError(
            "rules are made on the machine that keeps the store; a server takes --for always: "
            "gate answer ID yes --for always"
        )
    if args.shadow and args.verb != "test":
        raise UsageError("--shadow belongs to test: gate rules test PATTERN --shadow")
    if args.verb in ("test", "promote", "remove") and not args.what:
        raise UsageError(f"name a pattern or an id: gate rules {args.verb} WHAT")
    if args.verb == "list":
        return _list(store, who, args.json)
    if args.verb == "promote":
        return _promote(store, who, args)
    if args.verb == "remove":
        shadow = standing_rules.remove(store, who, args.what)
        if args.json:
            print_json(_describe(shadow))
        else:
            print(inert(f"Removed {shadow.pattern}; it decided nothing."))
        return 0
    if args.project is not None and not os.path.isdir(args.project):
        raise UsageError(f"{args.project} is not a folder; name one that exists")
    where = project(os.path.abspath(args.project or os.getcwd()))
    if args.verb == "suggest":
        return _suggest(store, who, storable(where), args.json)
    return _test(store, who, where, args)


def _list(store: Store, who: Caller, as_json: bool) -> int:
    listed = standing_rules.list_shadows(store, who)
    if as_json:
        print_json([_describe(one.shadow) | {"compared": one.tally._asdict()} for one in listed])
        return 0
    now = store.now()
    for shadow, tally in listed:
        state = str(shadow.state) if shadow.until > now else f"{shadow.state}, over"
        told = f"{shadow.pattern}\nin {shadow.project}\nwould have allowed {tally.total}: "
        _print_framed(shadow.id, f"{told}{describe_tally(tally)} ({state})")
    if not listed:
        print("There are no shadow rules. What you always approve: gate rules suggest")
    return 0


def _suggest(store: Store, who: Caller, where: str, as_json: bool) -> int:
    found = standing_rules.suggest(store, who, where)
    if as_json:
        print_json([suggestion_document(one) for one in found])
        return 0
    for one in found:
        print(inert(f"{one.pattern.text}  {describe_tally(one.replay.tally)}"))
    if found:
        print(inert(f"\nTry one: gate rules test '{found[0].pattern.text}' --shadow"))
    else:
        print("Nothing to suggest: no kind of call here was approved three times without a no.")
    return 0


def _test(store: Store, who: Caller, where: str, args: argparse.Namespace) -> int:
    key = project_key(where)
    checked = standing_rules.check(store, who, storable(where), args.what, key)
    shadow: ShadowRule | None = None
    if args.shadow:
        shadow = standing_rules.begin_shadow(store, who, storable(where), args.what, key, args.days)
    decided = checked.replay.tally
    if args.json:
        print_json(
            {
                "pattern": checked.pattern.text,
                "project": where,
                "decided": decided._asdict(),
                "asks": checked.replay.asks,
                "objecting": checked.replay.objecting,
                "why_not": checked.why_not,
                "shadow": _describe(shadow) if shadow else None,
            }
        )
        return 0
    print(inert(f"{checked.pattern.text} would have answered {decided.total} past asks here:"))
    print(describe_tally(decided))
    for ask_id in checked.replay.objecting[:_MAX_SHOWN]:
        print(inert(f"  not plainly approved: gate show {ask_id}"))
    if checked.why_not:
        print(inert(f"It cannot become a grant: {checked.why_not}."))
    if shadow:
        until = f"{shadow.until:%Y-%m-%d %H:%M} UTC"
        print(f"{shadow.id} is compared with your decisions until {until}: gate rules")
    return 0


def _promote(store: Store, who: Caller, args: argparse.Namespace) -> int:
    grant = standing_rules.promote(store, who, args.what)
    if args.json:
        times = {"made_at": iso(grant.made_at), "expires_at": iso(grant.expires_at)}
        print_json(grant._asdict() | times)
        return 0
    print(inert(f"{grant.id}: {grant.pattern} is allowed in {grant.project} from now on."))
    print(f"To end it: gate grants revoke {grant.id}")
    return 0


def _describe(shadow: ShadowRule) -> dict[str, Any]:
    times = {"made_at": iso(shadow.made_at), "until": iso(shadow.until)}
    return shadow._asdict() | times | {"ended_at": iso(shadow.ended_at)}


def _print_framed(name: str, text: str) -> None:
    first, *others = frame(text, columns(), bar=" " * 10)
    print("\n".join([f"{name:9}{first[9:]}", *others]))
