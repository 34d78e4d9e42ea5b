"""Break the program of a gate in one way. A broken answer tries to say yes; it must not count."""

from __future__ import annotations

import os
import shlex

from gatebell.install.hold_test.rows import Row

SLOW_SECONDS = 2
"""The limit of the host in the row about a slow hook."""

# Each host has its own word for yes. Events that decide nothing get no answer.
_READ_EVENT = r"""
event=$(cat)
case $event in
*'"PermissionRequest"'*) yes='{"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}}}' ;;
*'"PreToolUse"'*) yes='{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}}' ;;
*'"Stop"'* | *'"UserPromptSubmit"'* | *'"SessionEnd"'*) exit 0 ;;
*) yes='{"decision": "allow"}' ;;
esac
"""
_LINES = {
    Row.KILLED: "kill -9 $$",
    Row.EXIT_1: "exit 1",
    Row.SILENT: "cat >/dev/null; exit 0",
    Row.TORN_JSON: _READ_EVENT + r'printf "%s\t\n" "${yes%?}"; exit 0',
    Row.TWO_JSONS: _READ_EVENT + r'printf "%s\t\n%s\t\n" "$yes" "$yes"; exit 0',
    # Longer than the limit of the host. It ends by itself, if the host leaves it behind.
    Row.SLOW: f"exec sleep {SLOW_SECONDS * 10}",
    Row.DISK_FULL: "ulimit -f 0",
}


def write_program(path: str, real: str, log: str, word: str, row: Row) -> None:
    """Write a program that notes its start and behaves as the real one, or is broken.

    With `word`, only starts with this argument are noted and broken.
    """
    if os.path.lexists(path):
        os.unlink(path)
    if row == Row.MISSING:
        return
    # A note with mkdir: it works without a place for bytes.
    noted = f"mkdir {shlex.quote(log)} 2>/dev/null\n{_LINES.get(row, '')}"
    if word:
        noted = f'case " $* " in *" {word} "*)\n{noted}\n;; esac'
    with open(path, "w", encoding="utf-8") as file:
        file.write(f'#!/bin/sh\n{noted}\nexec {shlex.quote(real)} "$@"\n')
    os.chmod(path, 0o644 if row == Row.NOT_EXECUTABLE else 0o755)
