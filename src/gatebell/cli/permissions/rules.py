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
from typing import TYPE_CHECKING

from gatebell.app.environment import project
from gatebell.cli.identity import add_identity, open_backend
from gatebell.cli.screen import columns, print_json
from gatebell.domain.asks.document_reader import read_time
from gatebell.domain.permissions.past_calls import Tally, describe_tally
from gatebell.domain.permissions.shadow_rules import SHADOW_DAYS
from gatebell.domain.text.display import frame, inert, storable
from gatebell.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from gatebell.domain.people.principals import Caller
    from gatebell.ports.backends.backend import Backend

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
        default=SHADOW_DAYS,
        metavar="N",
        help=f"how long --shadow compares ({SHADOW_DAYS})",
    )
    add("--project", metavar="DIR", help="the project of this folder (default: the current one)")
    add_identity(parser)
    add("--json", action="store_true", help="print JSON (docs/json.md)")


def run(args: argparse.Namespace) -> int:
    backend, who = open_backend(args)
    if args.shadow and args.verb != "test":
        raise UsageError("--shadow belongs to test: gate rules test PATTERN --shadow")
    if args.verb in ("test", "promote", "remove") and not args.what:
        raise UsageError(f"name a pattern or an id: gate rules {args.verb} WHAT")
    if args.verb == "list":
        return _list(backend, who, args.json)
    if args.verb == "promote":
        return _promote(backend, who, args)
    if args.verb == "remove":
        shadow = backend.remove_shadow(who, args.what)
        if args.json:
            print_json(shadow)
        else:
            print(inert(f"Removed {shadow['pattern']}; it decided nothing."))
        return 0
    if args.project is not None and not os.path.isdir(args.project):
        raise UsageError(f"{args.project} is not a folder; name one that exists")
    where = storable(project(os.path.abspath(args.project or os.getcwd())))
    if args.verb == "suggest":
        return _suggest(backend, who, where, args.json)
    return _test(backend, who, where, args)


def _list(backend: Backend, who: Caller, as_json: bool) -> int:
    listed = backend.shadow_rules(who)
    if as_json:
        print_json(listed)
        return 0
    for one in listed:
        tally = Tally(**one["compared"])
        state = f"{one['state']}, over" if one["is_over"] else one["state"]
        told = f"{one['pattern']}\nin {one['project']}\nwould have allowed {tally.total}: "
        _print_framed(one["id"], f"{told}{describe_tally(tally)} ({state})")
    if not listed:
        print("There are no shadow rules. What you always approve: gate rules suggest")
    return 0


def _suggest(backend: Backend, who: Caller, where: str, as_json: bool) -> int:
    found = backend.suggest_rules(who, where)
    if as_json:
        print_json(found)
        return 0
    for one in found:
        print(inert(f"{one['pattern']}  {describe_tally(Tally(**one['decided']))}"))
    if found:
        print(inert(f"\nTry one: gate rules test '{found[0]['pattern']}' --shadow"))
    else:
        print("Nothing to suggest: no kind of call here was approved three times without a no.")
    return 0


def _test(backend: Backend, who: Caller, where: str, args: argparse.Namespace) -> int:
    tested = backend.replay_rule(who, where, args.what, args.days if args.shadow else None)
    if args.json:
        print_json(tested)
        return 0
    tally, shadow = Tally(**tested["decided"]), tested["shadow"]
    print(inert(f"{tested['pattern']} would have answered {tally.total} past asks here:"))
    print(describe_tally(tally))
    for ask_id in tested["objecting"][:_MAX_SHOWN]:
        print(inert(f"  not plainly approved: gate show {ask_id}"))
    if tested["why_not"]:
        print(inert(f"It cannot become a grant: {tested['why_not']}."))
    if shadow:
        until = f"{read_time(shadow['until']):%Y-%m-%d %H:%M} UTC"
        print(inert(f"{shadow['id']} is compared with your decisions until {until}."))
        print("To see how it does: gate rules")
    return 0


def _promote(backend: Backend, who: Caller, args: argparse.Namespace) -> int:
    grant = backend.promote_shadow(who, args.what)
    if args.json:
        print_json(grant)
        return 0
    told = f"{grant['id']}: {grant['pattern']} is allowed in {grant['project']} from now on."
    print(inert(f"{told}\nTo end it: gate grants revoke {grant['id']}"))
    return 0


def _print_framed(name: str, text: str) -> None:
    first, *others = frame(text, columns(), bar=" " * 10)
    print("\n".join([f"{name:9}{first[9:]}", *others]))
