"""`gate gates test --history`: count what the default gates would ask about in a history."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from gatebell.app import wiring
from gatebell.cli.screen import print_json, short
from gatebell.domain.permissions.rules import list_triggers
from gatebell.domain.text.redaction import redact
from gatebell.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

# Zsh writes the time before a command; bash writes it in a line of its own.
_ZSH_TIME = re.compile(r": \d+:\d+;")
_BASH_TIME = re.compile(r"#\d+")
_UNREAD = "cannot be read"


def run_history(path: str, *, as_json: bool) -> int:
    """Print how many commands Claude Code would ask about, by cause; return the exit code."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            commands = [command for line in file for command in _list_commands(path, line)]
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}; name a file of commands") from None
    noticed = [command for command in commands if list_triggers(command)]
    asked: Counter[tuple[str, str]] = Counter()
    for command in noticed:
        finding = wiring.judge_command(command).finding
        if finding and wiring.find_noticing_hosts(command, [])[0]:
            asked[str(finding.act or _UNREAD), finding.command] += 1
    causes: Counter[str] = Counter()
    for (cause, _), count in asked.items():
        causes[cause] += count
    counts = {"commands": len(commands), "noticed": len(noticed), "asked": asked.total()}
    if as_json:
        print_json({**counts, "causes": dict(causes.most_common())})
        return 0
    print(f"{counts['commands']} commands: {counts['noticed']} match a wide rule, "
          f"and of those {counts['asked']} are asked about.")  # fmt: skip
    for (cause, command), count in asked.most_common():
        print(f"{count:5}  {cause}: {short(redact(command))}")
    return 0


def _list_commands(path: str, line: str) -> Iterator[str]:
    if path.endswith(".jsonl"):
        try:
            entry = json.loads(line)
        except ValueError:
            return
        yield from _find_calls(entry)
    elif (command := _ZSH_TIME.sub("", line, count=1).strip()) and not _BASH_TIME.fullmatch(
        command
    ):
        yield command


def _find_calls(entry: Any) -> Iterator[str]:
    """Yield the commands of an entry in a log of Claude Code."""
    message = entry.get("message") if isinstance(entry, dict) else None
    content = message.get("content") if isinstance(message, dict) else None
    for block in content if isinstance(content, list) else ():
        given = block.get("input") if isinstance(block, dict) and block.get("name") == "Bash" else 0
        if isinstance(given, dict) and isinstance(given.get("command"), str):
            yield given["command"]
