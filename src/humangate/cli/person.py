"""People who answer under a name of their own, their personal tokens and their groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from humangate import wiring
from humangate.cli.identity import add_identity, caller
from humangate.cli.screen import print_json, short
from humangate.service import enrolling

if TYPE_CHECKING:
    import argparse

    from humangate.doors.store import Store


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "verb",
        choices=("add", "list", "token", "remove", "group"),
        help="add NAME | list | token NAME | remove NAME | group GROUP [NAME ...]",
    )
    parser.add_argument("name", nargs="?", default="", help="of the person or group")
    parser.add_argument("members", nargs="*", help="of a group; none removes the group")
    add_identity(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object (docs/json.md)")


def run(args: argparse.Namespace) -> int:
    store = wiring.open_store()
    if args.verb == "list":
        return _list(store, args.json)
    # With add and token, `--as` names who does it, and the name stands for whom it is done.
    who = caller(store, args)
    if args.verb in ("add", "token"):
        make = enrolling.add if args.verb == "add" else enrolling.token
        made = make(store, who, args.name)
        if args.json:
            print_json({"name": args.name, "token": made})
        else:
            print(made)
            print(
                f"This is shown once. Answer with it: GATE_TOKEN=… gate answer ID --as {args.name}"
            )
    elif args.verb == "remove":
        enrolling.remove(store, who, args.name)
        _tell(args.json, f"Removed {args.name}")
    else:
        enrolling.set_group(store, who, args.name, args.members)
        _tell(
            args.json, f"{args.name}: {', '.join(args.members) or 'no members, so there is none'}"
        )
    return 0


def _tell(as_json: bool, text: str) -> None:
    if as_json:
        print_json({"done": text})
    else:
        print(text)


def _list(store: Store, as_json: bool) -> int:
    people, groups = store.people.all(), store.people.groups()
    if as_json:
        names = [{"name": one.name, "tokens": one.tokens} for one in people]
        print_json({"people": names, "groups": groups})
        return 0
    for one in people:
        print(f"{one.name:20} {one.tokens} token{'' if one.tokens == 1 else 's'}")
    for name, members in groups.items():
        print(f"{short(name):20} group of {short(', '.join(members))}")
    if not people:
        print("Nobody yet. At first you answer as the OS user; gate person add NAME adds somebody.")
    return 0
