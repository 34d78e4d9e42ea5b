"""Roles: agents as users define them, in Markdown files with front matter.

Front matter is between two `---` lines and is a small part of YAML:

    key: value               the rest of the line, up to ` #`
    key: "value"  'value'    quoted as in JSON, or with '' for '
    key: |  or  key: >       indented lines, kept or folded
    key: [a, "b, c"]         a list on one line
    key:                     a list, one `- item` a line
      - item

Lists of tools may also be written with commas, as in Claude Code. Keys of Claude Code that we do
not need are ignored. The file's name is the role's name.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from gatebell.domain.digests import text_digest
from gatebell.domain.enums import AgentCli
from gatebell.errors import UsageError

KEYS = (
    *("description", "cli", "model", "confidence", "tools", "command", "join", "arguments"),
    "limit_seconds",
)
"""The keys of a role; docs/roles.md explains them."""

# Keys that Claude Code reads in its own files and gatebell ignores.
_CLAUDE_KEYS = frozenset(
    [
        *("name", "color", "disallowedTools", "permissionMode", "maxTurns", "skills", "hooks"),
        *("mcpServers", "memory", "background", "isolation", "effort", "initialPrompt"),
    ]
)
ROLE_CLIS = (
    AgentCli.CLAUDE,
    AgentCli.CODEX,
    AgentCli.GEMINI,
    AgentCli.OPENCODE,
    AgentCli.COPILOT,
)
_MAX_NAME_BYTES = 128
_FENCE = "---"
_PLAIN_STRINGS = json.JSONDecoder(strict=False)


class Role(NamedTuple):
    """An agent as the user defines it."""

    name: str
    instructions: str
    cli: str = AgentCli.CLAUDE
    """The program of the agent; `command` or `acp` for a program of the user."""
    model: str = ""
    tools: tuple[str, ...] = ()
    """The available tools; empty: all. This does not permit their use without asking."""
    command: tuple[str, ...] = ()
    join: tuple[str, ...] = ()
    """The command that opens the agent's session for a person; may be empty."""
    arguments: tuple[str, ...] = ()
    limit_seconds: float | None = None
    confidence: float | None = None
    """The required confidence in the result, from 0 to 1; below that a person confirms."""
    description: str = ""
    source: str = ""
    """The file it was read from."""
    digest: str = ""

    def get_join(self) -> tuple[str, ...]:
        """Return the command that opens its session, or raise an error if there is none."""
        if not self.join:
            raise UsageError(
                f"{self.name} has no session to join: add the command that opens it as `join` to "
                f"{self.source or 'its role'}, or answer with gate answer"
            )
        return self.join


class _Entry(NamedTuple):
    """A key, the rest of its line, and the lines that belong to it."""

    where: str
    key: str
    value: str
    below: list[str]


def is_role_name(name: str) -> bool:
    """Return whether a name is valid for a role's file, and cannot leave its folder."""
    return re.fullmatch(r"\w[\w.-]*", name) is not None and len(name.encode()) <= _MAX_NAME_BYTES


def parse_role(name: str, text: str, source: str, *, foreign: bool = False) -> Role:
    """Read the role in a file; a UsageError names the file and the wrong line.

    Args:
        foreign: The file was written for another program, so unknown keys are allowed.
    """
    if not is_role_name(name):
        raise UsageError(f"{name!r} is not a name for a role: use letters, digits, _ - and .")
    if "\0" in text:
        raise UsageError(f"{source} has a NUL character: write it as a text file")
    front, instructions = _split(text.removeprefix("\ufeff"), source)
    found: dict[str, _Entry] = {}
    for entry in _parse_entries(front, source):
        if entry.key not in KEYS:
            if not foreign and entry.key not in _CLAUDE_KEYS:
                raise UsageError(f"{entry.where}: unknown key {entry.key!r}, use {', '.join(KEYS)}")
        elif entry.key in found:
            raise UsageError(f"{entry.where}: the key {entry.key} is set a second time: remove one")
        else:
            found[entry.key] = entry
    texts = {
        key: _parse_text(found[key]) for key in ("description", "cli", "model") if key in found
    }
    lists = {
        key: _parse_words(found[key])
        for key in ("tools", "command", "join", "arguments")
        if key in found
    }
    return Role(
        name,
        instructions.strip(),
        cli=_parse_cli(found, texts.get("cli", ""), lists.get("command", ())),
        model="" if texts.get("model") == "inherit" else texts.get("model", ""),
        tools=() if lists.get("tools") == ("*",) else lists.get("tools", ()),
        command=lists.get("command", ()),
        join=lists.get("join", ()),
        arguments=lists.get("arguments", ()),
        limit_seconds=_parse_seconds(found["limit_seconds"]) if "limit_seconds" in found else None,
        confidence=_parse_confidence(found["confidence"]) if "confidence" in found else None,
        description=texts.get("description", ""),
        source=source,
        digest=text_digest(text),
    )


def _split(text: str, source: str) -> tuple[list[str], str]:
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[0].rstrip() != _FENCE:
        return [], "\n".join(lines)
    for number, line in enumerate(lines[1:], 1):
        if line.rstrip() == _FENCE:
            return lines[1:number], "\n".join(lines[number + 1 :])
    raise UsageError(f"{source}, line 1: the front matter has no end: end it with a --- line")


def _parse_entries(lines: list[str], source: str) -> list[_Entry]:
    found: list[_Entry] = []
    for number, line in enumerate(lines, 2):
        where = f"{source}, line {number}"
        if line.startswith("#"):
            continue
        if not line.strip() or line[0] in " \t" or re.match(r"-(\s|$)", line):
            if found:
                found[-1].below.append(line)
            elif line.strip():
                raise UsageError(f"{where}: expected `key: value` before this line")
        elif pair := re.fullmatch(r"([\w-]+)\s*:(?:\s+(.*))?", line.rstrip()):
            found.append(_Entry(where, pair[1], (pair[2] or "").strip(), []))
        else:
            raise UsageError(
                f"{where}: expected `key: value`; indent the lines that continue a value"
            )
    return found


def _parse_cli(found: dict[str, _Entry], cli: str, command: tuple[str, ...]) -> str:
    if command:
        if cli and cli not in (AgentCli.COMMAND, AgentCli.ACP):
            raise UsageError(
                f"{found['cli'].where}: a role has both a command and a cli: remove one"
            )
        return cli or AgentCli.COMMAND
    if cli in (AgentCli.COMMAND, AgentCli.ACP):
        raise UsageError(f'{found["cli"].where}: the command is missing: add command: ["./agent"]')
    if "command" in found:
        raise UsageError(
            f'{found["command"].where}: expected a list for command: ["./agent", "--flag"]'
        )
    if "cli" in found and cli not in ROLE_CLIS:
        raise UsageError(
            f"{found['cli'].where}: expected {', '.join(ROLE_CLIS)} or acp for cli; "
            "for another program, write command: [...]"
        )
    return cli or AgentCli.CLAUDE


def _parse_seconds(entry: _Entry) -> float:
    text = _parse_text(entry)
    seconds = float(text) if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", text) else 0.0
    if not seconds:
        raise UsageError(f"{entry.where}: expected seconds above 0 for limit_seconds, like 1800")
    return seconds


def _parse_confidence(entry: _Entry) -> float:
    text = _parse_text(entry)
    if not re.fullmatch(r"\d(\.\d{1,9})?", text) or float(text) > 1:
        raise UsageError(f"{entry.where}: expected a number from 0 to 1 for confidence, like 0.8")
    return float(text)


def _parse_text(entry: _Entry) -> str:
    if re.fullmatch(r"[|>][+-]?(\s+#.*)?", entry.value):
        return _parse_block(entry)
    if entry.value[:1] in ('"', "'"):
        text, rest = _read_quoted(entry, entry.value)
        if _remove_comment(rest) or _list_items(entry):
            raise UsageError(f"{entry.where}: nothing may follow the closing quotation mark")
        return text
    if entry.value[:1] in tuple("[|>"):
        raise UsageError(f"{entry.where}: put the {entry.key} into quotation marks")
    lines = [entry.value, *_list_items(entry)]
    return " ".join(_remove_comment(line.strip()) for line in lines).strip()


def _parse_block(entry: _Entry) -> str:
    shown = [line.expandtabs(4) for line in entry.below]
    depths = [len(line) - len(line.lstrip()) for line in shown if line.strip()]
    if 0 in depths:
        raise UsageError(f"{entry.where}: indent the lines of {entry.key}")
    text = "\n".join(line[min(depths, default=0) :].rstrip() for line in shown).strip("\n")
    return text if entry.value[0] == "|" else re.sub(r"(?<!\n)\n(?!\n)", " ", text)


def _parse_words(entry: _Entry) -> tuple[str, ...]:
    if entry.value[:1] == "[":
        return _parse_inline_list(entry)
    if not _remove_comment(entry.value):
        return _read_list(entry)
    if entry.key != "tools":
        raise UsageError(f'{entry.where}: expected a list for {entry.key}: ["one", "two"]')
    # Commas inside brackets belong to a tool's pattern: Bash(git log:*, git diff:*).
    text = _parse_text(entry)
    if not re.fullmatch(r"(?:[^()]|\([^()]*\))*", text):
        raise UsageError(f'{entry.where}: write these tools as a list: ["Read", "Bash(ls)"]')
    return tuple(
        tool.strip() for tool in re.findall(r"(?:[^,()]|\([^()]*\))+", text) if tool.strip()
    )


def _read_list(entry: _Entry) -> tuple[str, ...]:
    found = []
    for line in _list_items(entry):
        dash, _, rest = line.strip().partition(" ")
        word = _parse_word(entry, rest.strip())
        if dash != "-" or not word:
            raise UsageError(f"{entry.where}: expected lines `- word` below {entry.key}")
        found.append(word)
    return tuple(found)


def _parse_word(entry: _Entry, text: str) -> str:
    if text[:1] not in ('"', "'"):
        return _remove_comment(text)
    word, rest = _read_quoted(entry, text)
    if _remove_comment(rest):
        raise UsageError(f"{entry.where}: nothing may follow the closing quotation mark")
    return word


def _parse_inline_list(entry: _Entry) -> tuple[str, ...]:
    found, rest = [], entry.value[1:].lstrip()
    while rest[:1] != "]":
        if rest[:1] in ('"', "'"):
            word, rest = _read_quoted(entry, rest)
        else:
            plain = re.split(r"[,\[\]{}\"']", rest, maxsplit=1)[0]
            word, rest = plain.strip(), rest[len(plain) :]
        rest = rest.lstrip()
        if not word or rest[:1] not in (",", "]"):
            raise UsageError(
                f'{entry.where}: expected a list on one line for {entry.key}: ["one", "two"]'
            )
        found.append(word)
        rest = rest[1:].lstrip() if rest[0] == "," else rest
    if _remove_comment(rest[1:]) or _list_items(entry):
        raise UsageError(f"{entry.where}: nothing may follow the closing bracket")
    return tuple(found)


def _read_quoted(entry: _Entry, text: str) -> tuple[str, str]:
    """Return the text in quotation marks, and the rest of the line."""
    if text[0] == "'":
        if single := re.match(r"'((?:[^']|'')*)'", text):
            return single[1].replace("''", "'"), text[single.end() :]
    else:
        try:
            word, end = _PLAIN_STRINGS.raw_decode(text)
            return word, text[end:]
        except ValueError:
            pass
    raise UsageError(
        f"{entry.where}: the closing quotation mark is missing, or a \\ escape is unknown"
    )


def _list_items(entry: _Entry) -> list[str]:
    """Return the lines below a key that are not empty or comments."""
    return [line for line in entry.below if _remove_comment(line.strip())]


def _remove_comment(text: str) -> str:
    return re.sub(r"(^|\s)#.*", "", text).strip()
