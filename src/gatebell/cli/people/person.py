"""Manage people who answer under their own names, their personal tokens and their groups.

Example: gate person add ada
Example: gate person list
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from gatebell.app import wiring
from gatebell.cli.identity import add_identity, caller
from gatebell.cli.screen import print_json, short
from gatebell.cli.verbs import add_verbs
from gatebell.domain.asks.asks import iso
from gatebell.domain.asks.documents import token_document
from gatebell.domain.people.logins import PERSONAL, SCOPES, describe_scopes
from gatebell.errors import UsageError
from gatebell.services.notifications import push_devices
from gatebell.services.people import manage_people

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from gatebell.domain.notifications.devices import Device
    from gatebell.ports.store import Store

_NAMED = {"revoke": "a token or a device", "group": "a group"}
"""What a verb changes, if it is not a person."""

_VERBS = {
    "list": "list people with their tokens, groups and devices",
    "add NAME": "add a person, and print a personal token once",
    "token NAME": "print another token for a person, once",
    "revoke ID": "end a token or a device",
    "remove NAME": "remove a person",
    "group GROUP [NAME …]": "set the members of a group; without any, the group is removed",
}


def configure(parser: argparse.ArgumentParser) -> None:
    add_verbs(parser, _VERBS, default="list")
    parser.add_argument(
        "name", nargs="?", default="", help="a person, a group, or the id of a token or device"
    )
    parser.add_argument(
        "members", nargs="*", help="the members of a group; without any, the group is removed"
    )
    parser.add_argument(
        "--scope",
        action="append",
        choices=SCOPES,
        help="a permission of a new token; may be repeated (ask, answer and read)",
    )
    parser.add_argument(
        "--ask-only",
        action="store_true",
        help="a new token that may only ask, for an agent's machine",
    )
    parser.add_argument("--label", default="", metavar="TEXT", help="the purpose of a new token")
    add_identity(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object (docs/json.md)")


def run(args: argparse.Namespace) -> int:
    store = wiring.open_store()
    if args.verb == "list":
        return _list(store, args.json)
    if not args.name:
        raise UsageError(f"name {_NAMED.get(args.verb, 'a person')}: gate person {args.verb} NAME")
    # With add and token, `--as` names the acting person, and NAME the person to add.
    who = caller(store, args)
    if args.verb in ("add", "token"):
        if args.ask_only and args.scope:
            raise UsageError("--ask-only is one scope of its own: leave out --scope")
        scopes = ("ask",) if args.ask_only else args.scope or PERSONAL
        make = manage_people.add if args.verb == "add" else manage_people.token
        made = make(store, who, args.name, scopes, args.label)
        if args.json:
            print_json({"name": args.name, "token": made})
        else:
            print(made)
            # Not on stdout: TOKEN=$(gate person token NAME) must get the token alone.
            hint = f"The token is shown only once. {_describe_use(args.name, scopes)}"
            print(hint, file=sys.stderr)
    elif args.verb == "revoke":
        if args.name.startswith("d-"):
            push_devices.remove(store, who, args.name)
        else:
            manage_people.revoke(store, who, args.name)
        _tell(args.json, f"Revoked {args.name}")
    elif args.verb == "remove":
        manage_people.remove(store, who, args.name)
        _tell(args.json, f"Removed {args.name}")
    else:
        manage_people.set_group(store, who, args.name, args.members)
        _tell(
            args.json,
            f"{args.name}: {', '.join(args.members) or 'no members, so the group is removed'}",
        )
    return 0


def _describe_use(name: str, scopes: Sequence[str]) -> str:
    if "answer" in scopes:
        return f"To answer with it: GATE_TOKEN=… gate answer ID --as {name}"
    if tuple(scopes) == ("ask",):
        return "On the agent's machine: gate login SERVER, or set GATE_SERVER and GATE_TOKEN"
    return f"Over HTTP it may {describe_scopes(scopes)}: Authorization: Bearer …"


def _tell(as_json: bool, text: str) -> None:
    if as_json:
        print_json({"done": text})
    else:
        print(text)


def device_document(device: Device) -> dict[str, str | None]:
    """Return a device without its address and keys."""
    return {
        "id": device.id, "person": device.person, "label": device.label,
        "added_at": iso(device.added_at),
    }  # fmt: skip


def _list(store: Store, as_json: bool) -> int:
    people, groups = store.people.all(), store.people.groups()
    if as_json:
        names = [{"name": one.name, "tokens": one.tokens} for one in people]
        tokens = [token_document(token) for token in store.people.tokens()]
        devices = [device_document(device) for device in store.devices.all()]
        print_json({"people": names, "tokens": tokens, "groups": groups, "devices": devices})
        return 0
    for one in people:
        print(f"{one.name:20} {one.tokens} token{'' if one.tokens == 1 else 's'}")
        for token in store.people.tokens():
            if token.person == one.name:
                print(f"  {token.id:18} {', '.join(token.scopes)}  {short(token.label)}".rstrip())
    for name, members in groups.items():
        print(f"{short(name):20} group of {short(', '.join(members))}")
    for device in store.devices.all():
        print(f"{device.id:20} device of {device.person}: {device.label}")
    if not people:
        print(
            "There are no people yet; you answer as the OS user. To add one: gate person add NAME"
        )
    return 0
