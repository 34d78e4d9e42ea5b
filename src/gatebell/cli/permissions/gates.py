"""List, add, remove or test rules for tool calls that need a person (gates) or are denied.

A pattern is Tool or Tool(words), and * matches any text: Bash(make release *). The default gates,
such as Bash(any push), read a command as a shell does (docs/held.md). Everyone may add a gate or a
denial; only a person may remove one. `test` runs nothing. It tells whether a command line would be
asked about, and why: exit code 0 if it passes, 11 if a person is asked, 10 if it is denied. With
`--history`, it counts what the default gates would ask about in a shell's history or in a log of
Claude Code.

Example: gate gates add 'Bash(make release *)'
Example: gate gates test 'sudo -u me git push'
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from gatebell.app.environment import project, project_key
from gatebell.cli.identity import add_identity, open_backend
from gatebell.cli.screen import columns, print_json, short
from gatebell.cli.verbs import add_verbs
from gatebell.domain.enums import RuleKind
from gatebell.domain.permissions.rules import scope_words
from gatebell.domain.text.display import cell, inert_line
from gatebell.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from gatebell.domain.permissions.rules import Rule
    from gatebell.ports.backends.backend import Backend

_KINDS = {"add": RuleKind.ASK, "deny": RuleKind.DENY}

_BESIDE_PATTERN = 36
"""The columns of the id, the kind and the usual scope."""
_LEAST_SCOPE = 8

_VERBS = {
    "list": "list the rules",
    "add PATTERN": "ask a person about these calls",
    "deny PATTERN": "deny these calls",
    "remove PATTERN": "remove a rule, by its pattern or id",
    "test COMMAND": "tell whether a person is asked about a command line, and why",
}


def configure(parser: argparse.ArgumentParser) -> None:
    add_verbs(parser, _VERBS, default="list")
    parser.add_argument(
        "what", nargs="?", default="", help="a pattern, the id of a rule, or a command line"
    )
    parser.add_argument(
        "--project", metavar="DIR", help="only in the project of this folder (default: everywhere)"
    )
    parser.add_argument(
        "--history",
        metavar="FILE",
        help="with test: one command on each line, or a session of Claude Code (.jsonl)",
    )
    add_identity(parser)
    parser.add_argument("--json", action="store_true", help="print JSON (docs/json.md)")


def run(args: argparse.Namespace) -> int:
    if args.history is not None:
        if args.verb != "test" or args.what:
            raise UsageError("use --history without a command: gate gates test --history FILE")
        # Imported here: the other verbs parse no command.
        from gatebell.cli.permissions.gate_history import run_history

        return run_history(args.history, as_json=args.json)
    backend, who = open_backend(args)
    if args.verb == "list":
        return _list(backend, args.json)
    if not args.what:
        raise UsageError(f"name a pattern, an id or a command: gate gates {args.verb} WHAT")
    if args.verb == "test":
        # Imported here: the other verbs parse no command.
        from gatebell.cli.permissions.gate_test import run_test

        return run_test(backend.gates(), args.what, as_json=args.json)
    if args.verb == "remove":
        rule = backend.end_gate(who, args.what)
        print(f"Removed {short(rule.pattern)}. Run gate install again to update the hosts.")
        return 0
    if args.project is not None and not os.path.isdir(args.project):
        raise UsageError(f"{args.project} is not a folder; name one that exists")
    where = "" if args.project is None else project(os.path.abspath(args.project))
    rule = backend.add_gate(who, _KINDS[args.verb], where, args.what, project_key(where))
    print(f"Recorded as {rule.id}. Run gate install again to update the hosts.")
    if rule.pattern.isalpha() and rule.pattern.islower():
        # Names of tools have capitals or underscores, so a command may be meant.
        print(
            f"gate: this matches a tool with the name {rule.pattern}. For a command, add "
            f"'Bash({rule.pattern} *)' and remove {rule.id}",
            file=sys.stderr,
        )
    return 0


def _list(backend: Backend, as_json: bool) -> int:
    rules = sorted(backend.gates(), key=lambda rule: (rule.project, rule.kind, rule.pattern))
    if as_json:
        print_json([{"id": r.id, "kind": r.kind, **_describe_rule(r)} for r in rules])
        return 0
    longest = max((len(rule.pattern) for rule in rules), default=0)
    width = max(16, min(longest, columns() - _BESIDE_PATTERN))
    for rule in rules:
        line = f"{rule.id:9} {rule.kind:5} {cell(rule.pattern, width)}"
        room = columns() - len(line) - 2
        print(f"{line}  {inert_line(scope_words(rule), room)}" if room > _LEAST_SCOPE else line)
    if not rules:
        print("There are no gates. Run gate install claude, or gate gates add 'Bash(git push *)'")
    return 0


def _describe_rule(rule: Rule) -> dict[str, str]:
    return {"pattern": rule.pattern, "project": rule.project, "made_by": rule.made_by}
