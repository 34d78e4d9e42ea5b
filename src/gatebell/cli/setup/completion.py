"""Print a completion script for your shell.

Write the first line into ~/.bashrc, or with zsh into ~/.zshrc. For fish, run the second one.

Example: eval "$(gate completion bash)"
Example: gate completion fish > ~/.config/fish/completions/gate.fish
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gatebell.cli.commands import COMMANDS
from gatebell.cli.main import parser_of
from gatebell.domain.enums import Priority

if TYPE_CHECKING:
    import argparse

_TAKE_IDS = ("answer", "ask-back", "reply", "show", "wait", "cancel", "continue")
_TAKE_RUNS = (
    *("status", "watch", "logs", "signal", "stop", "kill", "resume", "delete"),
    *("continue", "plan", "diff"),
)
_TAKE_TASKS = tuple(
    f"task {verb}"
    for verb in (*("tree", "update", "edit", "dep", "claim", "release", "close", "defer"),)
)
_TAKE_CLOSED_TASKS = ("task show", "task reopen", "task tail")
_TAKE_FILES = ("task import", "task export")

_LISTS = {
    "@ids": "gate inbox --ids",
    "@runs": "gate list --ids",
    "@tasks": "gate task list --ids",
    "@waiting": "gate task list --awaiting --ids",
    "@closed": "gate task list --all --ids --limit 200",
    "@templates": "gate template --names",
}
"""The placeholder for each kind of ids, and the command that lists them."""
_FOUND = {"--role": "gate agents --names", "--template": "gate template --names"}
"""Options whose values a command lists; these values have no special characters of a shell."""
_PRIORITIES = [f"P{number}" for number in Priority]

_BASH = """_gate() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" choices=""
    local command="${{COMP_WORDS[1]}}" first=2 kind ids=""
    case " {nested} " in *" $command "*)
        if [ "$COMP_CWORD" -gt 2 ]; then command="$command ${{COMP_WORDS[2]}}" first=3; fi;;
    esac
    if [ "$command" = template ]; then first=3; fi
    if [ "$COMP_CWORD" -eq 1 ]; then choices="{commands}"
    else case "$command $before" in
{values}
    *) case "$command" in
{cases}
    esac;;
    esac; fi
    if [ "$choices" = @files ]; then COMPREPLY=(); return; fi
    while [[ "$choices" == @* ]]; do
        kind="${{choices%% *}}" choices="${{choices#@* }}"
        if [ "$COMP_CWORD" -eq "$first" ]; then case "$kind" in
        @paths) if [[ "$word" != -* ]]; then COMPREPLY=(); return; fi;;
{lists}
        esac; fi
    done
    COMPREPLY=($(compgen -W "$ids $choices" -- "$word"))
}}
complete -o default -F _gate gate
"""


class Words(NamedTuple):
    """The words that can follow a command."""

    plain: list[str]
    """Verbs and options."""
    values: dict[str, list[str]]
    """Options that take a value, with its choices; without choices it may be a file."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="the shell")


def run(args: argparse.Namespace) -> int:
    words: dict[str, Words] = {}
    for name in COMMANDS:
        words |= _collect_words(name, parser_of(name))
    for name, known in words.items():
        # Tasks use P0 to P4; asks use other words.
        if name.startswith("task ") and "--priority" in known.values:
            known.values.update(dict.fromkeys(("-p", "--priority"), _PRIORITIES))
    print(_build_fish(words) if args.shell == "fish" else _build_bash(words, args.shell), end="")
    return 0


def _collect_words(name: str, parser: argparse.ArgumentParser) -> dict[str, Words]:
    """Return the words of a command and of its subcommands: `task`, `task create` …"""
    found = {name: _read_words(parser)}
    for action in parser._actions:  # noqa: SLF001 - argparse has no public way to list them
        if isinstance(action.choices, dict):
            for verb, inner in action.choices.items():
                found |= _collect_words(f"{name} {verb}", inner)
    return found


def _read_words(parser: argparse.ArgumentParser) -> Words:
    plain: list[str] = []
    values: dict[str, list[str]] = {}
    for action in parser._actions:  # noqa: SLF001 - argparse has no public way to list them
        flags = [flag for flag in action.option_strings if flag.startswith("--")]
        choices = list(map(str, action.choices or ()))
        plain += flags or choices
        if action.nargs != 0:
            values |= dict.fromkeys(action.option_strings, choices)
    return Words(plain, values)


def _build_bash(words: dict[str, Words], shell: str) -> str:
    values = "\n".join(
        f'    "{name} {flag}") choices="{_format_values(flag, choices) or "@files"}";;'
        for name, known in words.items()
        for flag, choices in known.values.items()
    )
    cases = "\n".join(
        f'    "{name}") choices="{_format_placeholders(name)}{" ".join(known.plain)}";;'
        for name, known in words.items()
    )
    lists = "\n".join(
        f'        {kind}) ids="$ids $({command} 2>/dev/null)";;' for kind, command in _LISTS.items()
    )
    nested = " ".join(dict.fromkeys(name.split()[0] for name in words if " " in name))
    commands = " ".join(COMMANDS)
    script = _BASH.format(commands=commands, nested=nested, values=values, cases=cases, lists=lists)
    load = "autoload -Uz compinit bashcompinit && compinit && bashcompinit\n"
    return load + script if shell == "zsh" else script


def _format_values(flag: str, choices: list[str]) -> str:
    return f"$({_FOUND[flag]} 2>/dev/null)" if flag in _FOUND else " ".join(choices)


def _format_placeholders(name: str) -> str:
    kinds = [*_list_kinds(name), *(["@paths"] if name in _TAKE_FILES else [])]
    return "".join(f"{kind} " for kind in kinds)


def _list_kinds(name: str) -> list[str]:
    """Return the kinds of ids that a command takes."""
    kinds = (("@ids", _TAKE_IDS), ("@runs", _TAKE_RUNS), ("@tasks", _TAKE_TASKS))
    return [
        *(kind for kind, names in kinds if name in names),
        *(["@closed"] if name in _TAKE_CLOSED_TASKS else []),
        *(["@waiting"] if name == "respond" else []),
        *(["@templates"] if name == "template" else []),
    ]


def _build_fish(words: dict[str, Words]) -> str:
    lines = ["complete -c gate -f"]
    for name, about in COMMANDS.items():
        lines.append(f"complete -c gate -n __fish_use_subcommand -a {name} -d {about!r}")
    for name, known in words.items():
        seen = f"complete -c gate -n '{_build_condition(name, words)}'"
        for word in known.plain:
            if not word.startswith("--"):
                lines.append(f"{seen} -a {word}")
            elif word not in known.values:
                lines.append(f"{seen} -l {word[2:]}")
            elif word in _FOUND:
                lines.append(f"{seen} -l {word[2:]} -x -a '({_FOUND[word]} 2>/dev/null)'")
            elif choices := known.values[word]:
                short = " -s p" if choices is _PRIORITIES else ""
                lines.append(f"{seen}{short} -l {word[2:]} -x -a '{' '.join(choices)}'")
            else:
                lines.append(f"{seen} -l {word[2:]} -r -F")
        lines += [f"{seen} -a '({_LISTS[kind]} 2>/dev/null)'" for kind in _list_kinds(name)]
        lines += [f"{seen} -F"] if name in _TAKE_FILES else []
    return "\n".join(lines) + "\n"


def _build_condition(name: str, words: dict[str, Words]) -> str:
    """Return the fish condition under which the words of a command are offered."""
    conditions = [f"__fish_seen_subcommand_from {word}" for word in name.split()]
    if verbs := [other.split()[1] for other in words if other.startswith(f"{name} ")]:
        conditions.append(f"not __fish_seen_subcommand_from {' '.join(verbs)}")
    return "; and ".join(conditions)
