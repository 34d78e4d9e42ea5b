"""Tell which hosts notice a command line by the rules that `gate install` gives them.

Claude Code compares texts with wide patterns, and Codex the first words of plain commands. This
follows their behaviour as it was seen (docs/held.md), not their code.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from gatebell.domain.permissions.command_options import is_option
from gatebell.domain.permissions.rules import expand_variables, list_triggers, matches_trigger
from gatebell.domain.permissions.shell_lines import show_word

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gatebell.ports.shell import ShellParser

# A here-document: its first line stays, its text is not compared.
_HERE = re.compile(r"(<<-?[ \t]*\\?(['\"]?)([\w~]+)\2[^\n]*)\n(?:.*\n)*?[ \t]*\3(?=\n|$)")
# Commands after it on its first line are not compared either.
_AFTER_HERE = re.compile(r"(<<-?[ \t]*\\?(['\"]?)[\w~]+\2[^\n;]*);[^\n]*(?=\n)")
# The same for a text that a loop or another group of commands reads.
_READ_BY_GROUP = re.compile(r"(\b(?:done|fi|esac)|[)}])\s*<<<.*")
_SPLIT_WORD = re.compile(r"(?<=\S)\\\n(?=\S)")
# Codex reads no line with one of these: it would have to run the shell.
_NOT_PLAIN = re.compile(
    r"[(){}$`\\<>*?\[\]~!#]|(?:^|[;&|\n])\s*(?:[\"']|\w+=|(?:if|for|while|until|case)\b)"
)


def claude_notices(line: str, parse: ShellParser) -> bool:
    """Return whether Claude Code asks our hook about a line."""
    whole = _AFTER_HERE.sub(r"\1", line)
    seen = _READ_BY_GROUP.sub(r"\1", _HERE.sub(_drop_text, whole))
    if _SPLIT_WORD.search(seen):
        whole, seen = (_SPLIT_WORD.sub("_", one) for one in (whole, seen))
    script = parse(whole)
    if script.problem:
        return bool(list_triggers(line))
    commands = script.commands
    words = (" ".join(map(show_word, command.words)) for command in commands)
    texts = (seen, expand_variables(seen, seen), *(one.text for one in commands), *words)
    return any(map(matches_trigger, texts))


def _drop_text(here: re.Match[str]) -> str:
    """Return the first line of a here-document; all of it if commands are in its text."""
    return here[0] if "$(" in here[0] and not here[2] else here[1]


def codex_asks(line: str, prefixes: Iterable[Sequence[Any]], parse: ShellParser) -> bool:
    """Return whether the first words of a command in a line are those of a rule."""
    if _NOT_PLAIN.search(line):
        return False
    commands = [list(command.words) for command in parse(line).commands]
    for words in commands:
        words[0] = words[0].rpartition("/")[2]
    # Without a rule of ours, Codex asks about rm -f.
    forces = any(
        words[0] == "rm" and any(is_option(word, "-f") for word in words) for words in commands
    )
    return forces or any(_begins(words, prefix) for words in commands for prefix in prefixes)


def _begins(words: list[str], prefix: Sequence[Any]) -> bool:
    """Return whether a command begins with a prefix, in which a list is a choice."""
    return len(words) >= len(prefix) and all(
        word == wanted or (isinstance(wanted, list) and word in wanted)
        for word, wanted in zip(words, prefix, strict=False)
    )
