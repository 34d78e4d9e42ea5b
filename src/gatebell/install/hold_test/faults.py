"""Break the program of a gate in one way. A broken answer tries to say yes; it must not count."""

from __future__ import annotations

import os
import shlex

from gatebell.install.hold_test.rows import Row

SLOW_SECONDS = 2
"""The limit of the host in the row about a slow hook."""

# Each host has its own word for yes.
_SAY_YES = r"""
case $event in
*'"PermissionRequest"'*) yes='{"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}}}' ;;
*'"PreToolUse"'*) yes='{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}}' ;;
*) yes='{"decision": "allow"}' ;;
esac
"""
_LINES = {
    Row.KILLED: "kill -9 $$",
    Row.EXIT_1: "exit 1",
    Row.SILENT: "exit 0",
    Row.TORN_JSON: _SAY_YES + r'printf "%s\t\n" "${yes%?}"; exit 0',
    Row.TWO_JSONS: _SAY_YES + r'printf "%s\t\n%s\t\n" "$yes" "$yes"; exit 0',
    # Longer than the limit of the host. It ends by itself, if the host leaves it behind.
    Row.SLOW: f"exec sleep {SLOW_SECONDS * 10}",
    Row.DISK_FULL: "ulimit -f 0",
}
# Events at the end of a turn decide nothing: they are neither noted nor broken. The note is a
# folder, because a full disk still has a place for it.
_PROGRAM = r"""#!/bin/sh
case " $* " in {words})
event=$(cat)
case $event in *'"Stop"'* | *'"UserPromptSubmit"'* | *'"SessionEnd"'*) ;; *)
mkdir {log} 2>/dev/null
{line}
;; esac
exec {real} "$@" <<GATE_EVENT
$event
GATE_EVENT
;; esac
exec {real} "$@"
"""


def write_program(path: str, real: str, log: str, word: str, row: Row) -> None:
    """Write a program that notes its start and behaves as the real one, or is broken.

    With `word`, only starts with this argument are noted and broken.
    """
    if os.path.lexists(path):
        os.unlink(path)
    if row == Row.MISSING:
        return
    values = {
        "words": f'*" {word} "*' if word else "*",
        "log": shlex.quote(log),
        "line": _LINES.get(row, ""),
        "real": shlex.quote(real),
    }
    text = _PROGRAM
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", value)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, 0o644 if row == Row.NOT_EXECUTABLE else 0o755)
