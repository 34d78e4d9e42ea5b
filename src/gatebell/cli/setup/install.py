"""Set up an agent CLI to ask here: say what changes, show the diff on request, then write it.

Example: gate install claude
Example: gate install codex --project --dry-run
"""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

from gatebell.app import environment, server_access, settings, wiring
from gatebell.cli.identity import (
    add_identity,
    caller,
    must_be_known_beyond,
    open_backend,
)
from gatebell.cli.screen import add_colour, can_prompt, print_json, wrap
from gatebell.cli.status_line import show_progress
from gatebell.domain.enums import AgentCli, RuleKind
from gatebell.domain.people.principals import must_be_a_person
from gatebell.domain.text.display import inert
from gatebell.errors import AgentRefusedError, AskCancelledError, UsageError
from gatebell.install import plans
from gatebell.install.default_gates import Rules, choose
from gatebell.install.places import Place

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence
    from typing import Any

    from gatebell.domain.people.principals import Caller
    from gatebell.domain.permissions.rules import Rule
    from gatebell.install.plans import Change, Plan


NAMES = {
    AgentCli.CLAUDE: "Claude Code",
    AgentCli.CODEX: "Codex",
    AgentCli.GEMINI: "Gemini CLI",
    AgentCli.OPENCODE: "opencode",
    AgentCli.COPILOT: "Copilot CLI",
    AgentCli.CURSOR: "Cursor (untried)",
}
_YES = ("y", "yes")
_WAITING = "Waiting for the server"


def configure(parser: argparse.ArgumentParser) -> None:
    add_place(parser)
    parser.add_argument(
        "--gate",
        action="append",
        default=[],
        metavar="PATTERN",
        help="add this gate, for example 'Bash(make release *)'; may be repeated",
    )
    parser.add_argument(
        "--no-gate",
        action="append",
        default=[],
        metavar="PATTERN",
        help="leave out this gate; may be repeated",
    )
    parser.add_argument("--yes", action="store_true", help="write without a question")


def add_place(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "cli", choices=[cli.value for cli in plans.HOSTS], help="the agent's command line"
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--user", action="store_true", help="for all your projects (the default)")
    where.add_argument("--project", action="store_true", help="only for the current project")
    parser.add_argument("--dry-run", action="store_true", help="show the changes, write nothing")
    add_identity(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object (docs/json.md)")


class Prepared(NamedTuple):
    """A planned installation."""

    program: str
    rules: Rules
    plan: Plan


def run(args: argparse.Namespace) -> int:
    place = build_place(args)
    if not args.dry_run:
        check_gatekeeper(args, place)
        if not args.yes and (args.json or not can_prompt()):
            raise UsageError("cannot prompt without a terminal; check --dry-run, then add --yes")
    prepared = prepare(args, place)
    if not args.json and (args.dry_run or args.yes):
        show(prepared.plan)
    if not args.dry_run:
        if not args.yes and not _agree_to_words(args.cli, prepared):
            raise AskCancelledError("nothing was written")
        write(args, place, prepared)
    nothing = "Everything exists already; nothing was changed."
    return report(args, prepared.plan, prepared.rules.gates, nothing)


def prepare(args: argparse.Namespace, place: Place) -> Prepared:
    """Plan an installation without writing anything."""
    found = read_rules(place)
    gates = choose(found.gates, args.gate, args.no_gate)
    theirs = list_gates_of_others(args.cli, place)
    brought = tuple(one for one in gates if one not in found.gates or one in theirs)
    rules = found._replace(gates=gates, brought=brought)
    program = find_gate_program()
    plan = plans.install(args.cli, place, program, rules)
    return Prepared(program, rules, plan._replace(notes=(*plan.notes, *_list_notes(program))))


def _list_notes(program: str) -> Iterator[str]:
    if os.environ.get("GATE_STORE"):
        yield "GATE_STORE is set here. Start the agent with it, too, or it uses another inbox."
    if server := settings.server_alone(os.environ):
        yield f"People at {server} decide. Its own gates stay as they are: gate gates."
    if shutil.which("gate") != program:
        folder = os.path.dirname(program)
        yield f"Agents call gate by its name: put {folder} at the front of your PATH."


def build_place(args: argparse.Namespace) -> Place:
    project = environment.project(os.getcwd()) if args.project else ""
    return Place(project, os.environ)


def check_gatekeeper(args: argparse.Namespace, place: Place) -> None:
    """Refuse an agent, which could remove the gates that hold it.

    The caller chooses the store or the server, so an agent's token counts only in that of the gates.
    """
    check = _check_person_of_server if settings.server_alone(os.environ) else check_person
    who = check(args, "changes the gates")
    past = plans.read_installed(args.cli, place)
    if who.agent and past and past.store not in ("", plans.store_of(place)):
        raise AgentRefusedError(
            f"gate was installed for {args.cli} with {past.store}, so a token of another store or "
            "server does not count. Use that one (GATE_STORE or GATE_SERVER), or run this in your own terminal"
        )


def check_person(args: argparse.Namespace, deed: str) -> Caller:
    with closing(wiring.open_store()) as store:
        who = caller(store, args)
        must_be_a_person(who, deed)
        must_be_known_beyond(store, who, deed)
    return who


def _check_person_of_server(args: argparse.Namespace, deed: str) -> Caller:
    """Refuse an agent whose token may not approve: also its own token bears a person's name."""
    backend, who = open_backend(args)
    if who.agent and who.verified:
        with show_progress(_WAITING):
            who = who._replace(verified=server_access.may_approve(backend))
    must_be_a_person(who, deed)
    return who


def find_gate_program() -> str:
    """Return the path by which other programs can start this program."""
    beside = os.path.join(os.path.dirname(sys.executable), "gate")
    for path in (os.path.abspath(sys.argv[0]), beside, shutil.which("gate") or ""):
        if os.path.basename(path) == "gate" and os.access(path, os.X_OK):
            if is_in_cache(path):
                raise UsageError(
                    f"{path} is in a cache, which may be emptied at any time. Install gate first: "
                    "uv tool install gatebell, or pipx install gatebell"
                )
            return path
    raise UsageError("the program gate is not installed; run: pip install gatebell, then try again")


def is_in_cache(program: str) -> bool:
    """Return whether uvx or pipx run has put a program into its cache, only for this time."""
    # The folder of the environment itself has such a file in an installed one, too.
    cache = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(program))))
    while (above := os.path.dirname(cache)) != cache:
        if os.path.exists(os.path.join(cache, "CACHEDIR.TAG")):
            return True
        cache = above
    return False


def list_gates_of_others(cli: str, place: Place) -> set[str]:
    """Return the gates that the installation of another CLI added, not a person."""
    found = [plans.read_installed(name, place) for name in plans.HOSTS if name != cli]
    return {pattern for one in found if one for pattern in one.gates}


def read_rules(place: Place) -> Rules:
    """Return the rules of the server, or of the store, without creating a store."""
    if settings.server_alone(os.environ):
        return _sort_rules(_list_rules_of_server(), place)
    if not os.path.exists(settings.store_path(os.environ)):
        return Rules(())
    from gatebell.services.permissions import manage_rules

    store = wiring.open_store()
    rules = manage_rules.gates(store)
    store.close()
    return _sort_rules(rules, place)


def _list_rules_of_server() -> list[Rule]:
    """Return the gates and denials of the server; none for a token that may not read them."""
    with show_progress(_WAITING):
        if "read" not in server_access.describe_token().scopes:
            return []
        return wiring.open_backend().gates()


def _sort_rules(rules: list[Rule], place: Place) -> Rules:
    found = [rule for rule in rules if rule.project == place.project]
    gates = sorted(rule.pattern for rule in found if rule.kind == RuleKind.ASK)
    return Rules(
        tuple(gates), tuple(sorted(rule.pattern for rule in found if rule.kind == RuleKind.DENY))
    )


def write(args: argparse.Namespace, place: Place, prepared: Prepared) -> None:
    """Write a planned installation, and the gates of the store."""
    set_gates(args, place, prepared.rules.gates)
    # Planned again: the CLI may have written its settings while the person read the plan.
    plans.carry_out(plans.install(args.cli, place, prepared.program, prepared.rules))


def set_gates(args: argparse.Namespace, place: Place, gates: Sequence[str]) -> None:
    if settings.server_alone(os.environ):
        # One machine does not change the gates of all others.
        return
    from gatebell.services.permissions import manage_rules

    store = wiring.open_store()
    key = environment.project_key(place.project)
    manage_rules.set_gates(store, caller(store, args), place.project, gates, key)
    store.close()


def describe(cli: str, prepared: Prepared) -> list[str]:
    """Say in words what an installation does."""
    held = "the usual spellings of push, publish, deploy and recursive delete"
    if cli not in (AgentCli.CODEX, AgentCli.GEMINI):
        held += ", and before its file tools write outside the project"
    number = len(prepared.rules.gates)
    home = os.path.expanduser("~")
    paths = [one.path for one in prepared.plan.changes if one.word != "same"]
    shown = ", ".join(path.replace(f"{home}/", "~/", 1) for path in paths)
    return [
        f"{NAMES[AgentCli(cli)]} will ask you before {held} ({number} patterns; gate gates lists them).",
        f"Changes {shown}. To take it back: gate uninstall {cli}",
    ]


def _agree_to_words(cli: str, prepared: Prepared) -> bool:
    if prepared.plan.changes_nothing:
        return True
    for line in describe(cli, prepared):
        print(wrap(inert(line)))
    print("d shows the diff.")
    answer = _read_answer("Write this?")
    if answer == "d":
        show(prepared.plan)
        return agree_to(prepared.plan, "Write this?")
    return answer in _YES


def agree_to(plan: Plan, question: str) -> bool:
    """Name the files once more, because their diff may be long, and ask for a yes."""
    if plan.changes_nothing:
        return True
    print()
    _name_files(plan, "would be ")
    return ask_agreement(question)


def ask_agreement(question: str) -> bool:
    """Ask for a yes at this terminal; everything else is a no."""
    return _read_answer(question) in _YES


def _read_answer(question: str) -> str:
    try:
        return input(f"{question} [y/N] ").strip().lower()
    except EOFError:
        return ""


def show(plan: Plan) -> None:
    for change in plan.changes:
        for line in _diff(change):
            colour = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
            shown = inert(line)
            print(add_colour(shown, colour) if colour else shown)
        if change.mode is not None:
            print(f"mode {change.mode:04o}: {inert(change.path)}")


def _diff(change: Change) -> Iterator[str]:
    # Imported here: --help and errors do not need it.
    from difflib import unified_diff

    def lines(content: bytes | None) -> list[str]:
        return (content or b"").decode("utf-8", "replace").splitlines()

    old = "/dev/null" if change.found is None else change.path
    new = "/dev/null" if change.after is None else change.path
    return unified_diff(lines(change.found), lines(change.after), old, new, lineterm="")


def report(args: argparse.Namespace, plan: Plan, gates: Sequence[str], if_nothing: str) -> int:
    """Print the changes, or the planned changes."""
    if args.json:
        print_json({**describe_plan(plan), "gates": list(gates)})
    else:
        tell(plan, if_nothing, dry=args.dry_run)
    return 0


def describe_plan(plan: Plan) -> dict[str, Any]:
    changes = [{"path": change.path, "change": change.word} for change in plan.changes]
    return {"files": changes, "notes": list(plan.notes)}


def tell(plan: Plan, if_nothing: str, *, dry: bool) -> None:
    _name_files(plan, "would be " if dry else "")
    if plan.changes_nothing and if_nothing:
        print(if_nothing)
    for note in plan.notes:
        print(wrap(note))


def _name_files(plan: Plan, would: str) -> None:
    for change in plan.changes:
        if change.word != "same":
            print(inert(f"{would}{change.word}: {change.path}"))
