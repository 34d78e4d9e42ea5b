"""`gate gates test`: tell whether a command line would be asked about, and why."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from gatebell.app import wiring
from gatebell.app.environment import project, project_key
from gatebell.cli.screen import print_json
from gatebell.domain.asks.asks import Origin
from gatebell.domain.enums import AgentCli, RuleKind, StrEnum
from gatebell.domain.permissions.acts import GATED_ACTS
from gatebell.domain.permissions.calls import make_call
from gatebell.domain.permissions.rules import forbids, in_scope, list_triggers
from gatebell.domain.text.display import inert
from gatebell.install.checks import installations
from gatebell.install.hosts.codex import list_prefixes
from gatebell.install.records import Installed

if TYPE_CHECKING:
    from gatebell.domain.permissions.calls import Call
    from gatebell.domain.permissions.rules import Rule


class _Outcome(StrEnum):
    """What happens to a command line."""

    PASSES = "passes"
    ASKED = "asked"
    DENIED = "denied"


_NAMES = {AgentCli.CLAUDE.value: "Claude Code", AgentCli.CODEX.value: "Codex"}
# Those of an approval: it is not answered yet, or rejected.
_CODES = {_Outcome.PASSES: 0, _Outcome.ASKED: 11, _Outcome.DENIED: 10}


class Tested(NamedTuple):
    """The result for one command line."""

    outcome: _Outcome
    rule: str
    """The pattern of the rule that holds or denies it."""
    why: str
    hosts: dict[str, str]
    """What Claude Code and Codex do with a line that a default gate holds; otherwise empty."""


def run_test(rules: list[Rule], line: str, *, as_json: bool) -> int:
    """Print what the rules do with a command line in this folder; return the exit code."""
    here = os.getcwd()
    root = project(here)
    origin = Origin(project=root, cwd=here, project_key=project_key(root))
    call = make_call("Bash", {"command": line}, here)
    tested = test_line([rule for rule in rules if in_scope(rule, origin, call)], call)
    if as_json:
        print_json({"command": line, **tested._asdict()})
    else:
        by = f" by {tested.rule}" if tested.rule else ""
        print(inert(f"{tested.outcome}{by}: {tested.why}"))
        for host, outcome in tested.hosts.items():
            if outcome != tested.outcome:
                print(f"{_NAMES[host]} does not notice it, so there it runs unasked (docs/held.md)")
        for sentence in _list_lacking(rules, tested.rule, here):
            print(sentence)
    return _CODES[tested.outcome]


def test_line(rules: list[Rule], call: Call) -> Tested:
    """Return what the rules do with a call; a denial wins."""
    met = [rule for rule in rules if forbids(rule, call)]
    for rule in met:
        if rule.kind == RuleKind.DENY:
            return Tested(_Outcome.DENIED, rule.pattern, "its text matches this denial", {})
    own = [rule.pattern for rule in met if rule.pattern not in GATED_ACTS]
    if own:
        return Tested(_Outcome.ASKED, own[0], "its text matches this pattern", {})
    acts = [rule.pattern for rule in met]
    if not acts:
        return Tested(_Outcome.PASSES, "", _explain_unmatched(call), {})
    finding = wiring.judge_command(call.command).finding
    if finding is None:
        words = ", ".join(list_triggers(call.command, *acts))
        why = f"its text matches {words}, but no command in it does such an act"
        return Tested(_Outcome.PASSES, "", why, {})
    named = f"Bash(any {finding.act})"
    hosts = _find_hosts(call.command, acts)
    return Tested(_Outcome.ASKED, named if named in acts else acts[0], finding.why, hosts)


def _find_hosts(line: str, acts: list[str]) -> dict[str, str]:
    prefixes = [prefix for act in acts for prefix in list_prefixes(act)]
    found = wiring.find_noticing_hosts(line, prefixes)
    outcomes = (_Outcome.ASKED if noticed else _Outcome.PASSES for noticed in found)
    return dict(zip(_NAMES, map(str, outcomes), strict=True))


def _list_lacking(rules: list[Rule], pattern: str, here: str) -> list[str]:
    """Return a sentence for each installation that does not have a rule yet."""
    projects = {rule.project for rule in rules if rule.pattern == pattern}
    return [
        f"{_NAMES[one.cli]} does not have this rule yet; run: "
        f"gate install {one.cli}{' --project' if one.project else ''}"
        for one in installations(os.environ, here)
        if isinstance(one, Installed) and one.cli in _NAMES and one.project in projects
        if pattern not in one.held
    ]


def _explain_unmatched(call: Call) -> str:
    if list_triggers(call.command):
        return "the gate that would look at it is not in force: gate install claude adds it"
    return "its text matches no gate, so the host does not ask about it"
