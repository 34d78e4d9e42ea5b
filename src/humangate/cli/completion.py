"""Print a completion script for your shell.

bash: eval "$(gate completion bash)" in ~/.bashrc, likewise zsh in ~/.zshrc;
fish: gate completion fish > ~/.config/fish/completions/gate.fish
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from humangate.cli.main import COMMANDS, parser_of

if TYPE_CHECKING:
    import argparse

_TAKE_IDS = ("answer", "ask-back", "reply", "show", "wait", "cancel", "continue")
_TAKE_RUNS = (
    *("status", "watch", "logs", "signal", "stop", "kill", "resume", "delete"),
    *("continue", "plan", "diff"),
)

_BASH = """_gate() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" choices=""
    if [ "$COMP_CWORD" -eq 1 ]; then choices="{commands}"
    else case "${{COMP_WORDS[1]}} $before" in
{values}
    *) case "${{COMP_WORDS[1]}}" in
{cases}
    esac;;
    esac; fi
    if [ "$choices" = @files ]; then COMPREPLY=(); return; fi
    if [ "$COMP_CWORD" -ne 2 ]; then choices="${{choices#@ids }}"; choices="${{choices#@runs }}"; fi
    case "$choices" in
    "@ids "*) choices="${{choices/@ids/$(gate inbox --ids 2>/dev/null)}}";;
    esac
    case "$choices" in
    *"@runs "*) choices="${{choices/@runs/$(gate list --ids 2>/dev/null)}}";;
    esac
    COMPREPLY=($(compgen -W "$choices" -- "$word"))
}}
complete -o default -F _gate gate
"""


class Words(NamedTuple):
    """What can stand behind a command."""

    plain: list[str]
    """Verbs and options."""
    values: dict[str, list[str]]
    """Options that take a value, with its choices; without any, a file may be meant."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"))


def run(args: argparse.Namespace) -> int:
    words = {name: _words(name) for name in COMMANDS}
    print(_fish(words) if args.shell == "fish" else _bash(words, args.shell), end="")
    return 0


def _words(name: str) -> Words:
    plain: list[str] = []
    values: dict[str, list[str]] = {}
    for action in parser_of(name)._actions:  # noqa: SLF001 - argparse has no public way to list them
        flags = [flag for flag in action.option_strings if flag.startswith("--")]
        choices = list(map(str, action.choices or ()))
        plain += flags or choices
        if action.nargs != 0:
            values |= dict.fromkeys(flags, choices)
    return Words(plain, values)


def _bash(words: dict[str, Words], shell: str) -> str:
    values = "\n".join(
        f'    "{name} {flag}") choices="{" ".join(choices) or "@files"}";;'
        for name, known in words.items()
        for flag, choices in known.values.items()
    )
    cases = "\n".join(
        f'    {name}) choices="{_placeholder(name)}{" ".join(known.plain)}";;'
        for name, known in words.items()
    )
    script = _BASH.format(commands=" ".join(COMMANDS), values=values, cases=cases)
    load = "autoload -Uz compinit bashcompinit && compinit && bashcompinit\n"
    return load + script if shell == "zsh" else script


def _placeholder(name: str) -> str:
    kinds = (("@ids ", _TAKE_IDS), ("@runs ", _TAKE_RUNS))
    return "".join(placeholder for placeholder, names in kinds if name in names)


def _fish(words: dict[str, Words]) -> str:
    lines = ["complete -c gate -f"]
    for name, about in COMMANDS.items():
        lines.append(f"complete -c gate -n __fish_use_subcommand -a {name} -d {about!r}")
        seen = f"complete -c gate -n '__fish_seen_subcommand_from {name}'"
        known = words[name]
        for word in known.plain:
            if not word.startswith("--"):
                lines.append(f"{seen} -a {word}")
            elif word not in known.values:
                lines.append(f"{seen} -l {word[2:]}")
            elif choices := known.values[word]:
                lines.append(f"{seen} -l {word[2:]} -x -a '{' '.join(choices)}'")
            else:
                lines.append(f"{seen} -l {word[2:]} -r -F")
        if name in _TAKE_IDS:
            lines.append(f"{seen} -a '(gate inbox --ids 2>/dev/null)'")
        if name in _TAKE_RUNS:
            lines.append(f"{seen} -a '(gate list --ids 2>/dev/null)'")
    return "\n".join(lines) + "\n"
