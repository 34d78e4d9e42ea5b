"""List or revoke grants: permissions beyond one tool call.

`gate answer ID yes --for session` makes a grant.

Example: gate grants
Example: gate grants revoke g-2f
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.cli.identity import add_identity, open_backend
from gatebell.cli.screen import columns, print_json, short
from gatebell.cli.verbs import add_verbs
from gatebell.domain.asks.asks import iso
from gatebell.domain.permissions.rules import scope_words
from gatebell.domain.text.display import frame
from gatebell.errors import UsageError
from gatebell.terminal.local_times import localise

if TYPE_CHECKING:
    import argparse

    from gatebell.ports.backends.backend import Backend

_VERBS = {
    "list": "list the grants",
    "revoke ID": "end a grant: a person is asked again",
}


def configure(parser: argparse.ArgumentParser) -> None:
    add_verbs(parser, _VERBS, default="list")
    parser.add_argument("id", nargs="?", default="", help="the id of the grant")
    add_identity(parser)
    parser.add_argument("--json", action="store_true", help="print JSON (docs/json.md)")


def run(args: argparse.Namespace) -> int:
    backend, who = open_backend(args)
    if args.verb == "list":
        return _list(backend, args.json)
    if not args.id:
        raise UsageError("name a grant: gate grants revoke ID (gate grants lists them)")
    rule = backend.end_grant(who, args.id)
    print(f"Revoked: {short(rule.pattern)} needs a person's answer again.")
    return 0


def _list(backend: Backend, as_json: bool) -> int:
    grants = backend.grants()
    if as_json:
        print_json(
            [
                rule._asdict() | {"made_at": iso(rule.made_at), "expires_at": iso(rule.expires_at)}
                for rule in grants
            ]
        )
        return 0
    for rule in grants:
        exactly = "exactly " if rule.identity else ""
        pattern = rule.pattern.replace("\n", " ⏎ ")
        scope = localise(scope_words(rule))
        about = f"{exactly}{pattern}\n{scope}; by {rule.made_by}, {rule.ask_id}"
        # Nothing is cut: these calls run without a question.
        first, *others = frame(about, columns(), bar=" " * 10)
        print("\n".join([f"{rule.id:9}{first[9:]}", *others]))
    if not grants:
        print("There are no grants. To make one: gate answer ID yes --for session")
    return 0
