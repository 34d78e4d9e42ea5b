"""Print a completion script: eval "$(gate completion bash)", likewise for zsh and fish."""

from __future__ import annotations

from typing import TYPE_CHECKING

from humangate.cli.main import COMMANDS, parser_of

if TYPE_CHECKING:
    import argparse

_TAKE_IDS = ("answer", "ask-back", "reply", "show", "wait", "cancel")

_BASH = """_gate() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" choices=""
    if [ "$COMP_CWORD" -eq 1 ]; then choices="{commands}"
    else case "${{COMP_WORDS[1]}}" in
{cases}
    esac; fi
    case "$choices" in *@ids*) choices="${{choices/@ids/$(gate inbox --ids 2>/dev/null)}}";; esac
    COMPREPLY=($(compgen -W "$choices" -- "$word"))
}}
complete -o default -F _gate gate
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"))


def run(args: argparse.Namespace) -> int:
    words = {name: _words(name) for name in COMMANDS}
    print(_fish(words) if args.shell == "fish" else _bash(words, args.shell), end="")
    return 0


def _words(name: str) -> list[str]:
    actions = parser_of(name)._actions  # noqa: SLF001 - argparse has no public way to list options
    flags = [flag for action in actions for flag in action.option_strings if flag.startswith("--")]
    choices = [str(c) for a in actions if not a.option_strings and a.choices for c in a.choices]
    return [*choices, *flags]


def _bash(words: dict[str, list[str]], shell: str) -> str:
    cases = "\n".join(
        f'    {name}) choices="{"@ids " if name in _TAKE_IDS else ""}{" ".join(flags)}";;'
        for name, flags in words.items()
    )
    script = _BASH.format(commands=" ".join(COMMANDS), cases=cases)
    load = "autoload -Uz compinit bashcompinit && compinit && bashcompinit\n"
    return load + script if shell == "zsh" else script


def _fish(words: dict[str, list[str]]) -> str:
    lines = ["complete -c gate -f"]
    for name, about in COMMANDS.items():
        lines.append(f"complete -c gate -n __fish_use_subcommand -a {name} -d {about!r}")
        seen = f"-n '__fish_seen_subcommand_from {name}'"
        for word in words[name]:
            is_flag = word.startswith("--")
            lines.append(f"complete -c gate {seen} {f'-l {word[2:]}' if is_flag else f'-a {word}'}")
        if name in _TAKE_IDS:
            lines.append(f"complete -c gate {seen} -a '(gate inbox --ids 2>/dev/null)'")
    return "\n".join(lines) + "\n"
