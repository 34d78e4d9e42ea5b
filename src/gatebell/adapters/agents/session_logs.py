"""Read the agents' session logs: words, tool calls, and which calls have a result.

Only the end of a log is read. A missing, foreign or damaged log counts as empty.
"""

from __future__ import annotations

import json
import os
import re
import stat
from typing import TYPE_CHECKING, Any

from gatebell.domain.enums import AgentCli
from gatebell.domain.runs.session_log import Step, StepKind
from gatebell.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_MAX_BYTES = 1_000_000
# Claude Code logs these as messages of the person: output of commands, news of helpers and other
# sessions, reminders, and the Esc key. Its own tags have a hyphen.
_NOT_TYPED = re.compile(r"<[a-z]+(?:-[a-z]+)+[ >]|\[Request interrupted by user")


def find(cli: str, session: str, environ: Mapping[str, str], ending: str = ".jsonl") -> str:
    """Return the path of this session's log, or ""."""
    # The id becomes part of a path, and an argument that must not be read as an option.
    if not session[:1].isalnum() or not all(c.isalnum() or c in "-_" for c in session):
        return ""
    if cli == AgentCli.CLAUDE:
        base = find_base(cli, environ)
        return _find_newest(os.path.join(base, "projects"), f"{session}{ending}", 1)
    if cli == AgentCli.CODEX:
        base = find_base(cli, environ)
        return _find_newest(os.path.join(base, "sessions"), f"-{session}{ending}", 3)
    return ""


def find_base(cli: str, environ: Mapping[str, str]) -> str:
    """Return the folder in which claude or codex keeps its own files."""
    if cli == AgentCli.CLAUDE:
        return environ.get("CLAUDE_CONFIG_DIR") or os.path.expanduser("~/.claude")
    return environ.get("CODEX_HOME") or os.path.expanduser("~/.codex")


def is_kept(cli: str, session: str, environ: Mapping[str, str]) -> bool:
    """Return whether the program can go on with this session; an empty log counts as none."""
    # Codex compresses logs that were unused for long, and can still go on with them.
    path = find(cli, session, environ) or find(cli, session, environ, ".jsonl.zst")
    try:
        return bool(path) and os.stat(path).st_size > 0
    except OSError:
        return False


def _find_newest(folder: str, ending: str, depth: int) -> str:
    """Return the newest file with this ending, `depth` folders down, or ""."""
    try:
        names = sorted(os.listdir(folder), reverse=True)
    except OSError:
        return ""
    for name in names:
        path = os.path.join(folder, name)
        if depth:
            if found := _find_newest(path, ending, depth - 1):
                return found
        elif name.endswith(ending) and (ending[0] == "-" or name == ending):
            return path
    return ""


def list_codex_logs(environ: Mapping[str, str], most: int) -> list[str]:
    """Return the newest logs of codex; their names begin with their start time."""
    # Imported here: hooks often read one log, and never list all of them.
    import glob

    base = glob.escape(find_base(AgentCli.CODEX, environ))
    found = glob.glob(os.path.join(base, "sessions", "*", "*", "*", "rollout-*.jsonl"))
    return sorted(found, reverse=True)[:most]


def read(cli: str, path: str, most_bytes: int = _MAX_BYTES) -> list[Step]:
    """Return the steps at the end of a log, oldest first; none without a path.

    Raises:
        UsageError: Logs of this program cannot be read.
    """
    if not path:
        return []
    steps = READERS.get(cli)
    if steps is None:
        known = " and ".join(READERS)
        raise UsageError(f"a session log of {cli} cannot be read: only those of {known} can")
    found: list[Step] = []
    for line in _read_last_lines(path, most_bytes):
        try:
            found += [step for step in steps(json.loads(line)) if _is_sound(step)]
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            continue
    return found


def _is_sound(step: Step) -> bool:
    """Return whether its fields have the expected types; a foreign log may contain anything."""
    texts = (step.text, step.tool, step.call_id, step.at)
    return all(isinstance(text, str) for text in texts) and isinstance(step.input, dict | None)


def _read_last_lines(path: str, most_bytes: int) -> list[bytes]:
    try:
        # Without blocking: a pipe in place of the log must not hold up the asker.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return []
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return []
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - most_bytes))
        lines = file.read(most_bytes).split(b"\n")
    return lines[1:] if size > most_bytes else lines


def _parse_claude(record: Any) -> Iterator[Step]:
    at = record.get("timestamp", "")
    if any(record.get(sign) for sign in ("isSidechain", "isMeta", "isCompactSummary")):
        return
    if record["type"] == "last-prompt":
        yield Step(StepKind.PROMPT, record["lastPrompt"])
    if record["type"] not in ("user", "assistant"):
        return
    content = record["message"]["content"]
    blocks: Any = [{"type": "text", "text": content}] if isinstance(content, str) else content
    speaker = StepKind.PROMPT if record["type"] == "user" else StepKind.WORDS
    # Claude Code logs an error of its service like a message of the agent.
    speaker = StepKind.PROBLEM if record.get("isApiErrorMessage") else speaker
    for block in blocks:
        if (
            block["type"] == "text"
            and speaker == StepKind.PROMPT
            and _NOT_TYPED.match(block["text"])
        ):
            continue
        if block["type"] == "text":
            yield Step(speaker, block["text"], at=at)
        elif block["type"] == "tool_use":
            yield Step(StepKind.CALL, "", block["name"], block["input"], block["id"], at)
        elif block["type"] == "tool_result":
            yield Step(StepKind.RESULT, "", call_id=block["tool_use_id"], at=at)


def _parse_codex(record: Any) -> Iterator[Step]:
    item, at = record["payload"], record.get("timestamp", "")
    if record["type"] != "response_item":
        return
    if item["type"] == "message" and item["role"] in ("user", "assistant"):
        text = "\n".join(part.get("text", "") for part in item["content"])
        speaker = StepKind.PROMPT if item["role"] == "user" else StepKind.WORDS
        # Messages that the host adds begin with a tag.
        if speaker == StepKind.WORDS or not text.startswith("<"):
            yield Step(speaker, text, at=at)
    elif item["type"] == "function_call":
        given = json.loads(item["arguments"])
        shell = item["name"] == "exec_command"
        tool_input = {"command": given.get("cmd", "")} if shell else given
        yield Step(
            StepKind.CALL, "", "Bash" if shell else item["name"], tool_input, item["call_id"], at
        )
    elif item["type"] == "function_call_output":
        yield Step(StepKind.RESULT, "", call_id=item["call_id"], at=at)


READERS: dict[str, Callable[[Any], Iterator[Step]]] = {
    AgentCli.CLAUDE: _parse_claude,
    AgentCli.CODEX: _parse_codex,
}
