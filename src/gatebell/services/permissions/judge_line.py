"""Judge a command line, with a parser for shells."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.domain.permissions.judgement import Finding, Verdict, judge

if TYPE_CHECKING:
    from gatebell.ports.shell import ShellParser

_MAX_TEXTS = 50


def judge_line(line: str, parse: ShellParser) -> Verdict:
    """Return whether a line is held, and why; it reads the texts for shells inside of it too."""
    scripts = {line: parse(line)}
    for _ in range(_MAX_TEXTS):
        verdict = judge(line, scripts)
        if verdict.unread is None:
            return verdict
        scripts[verdict.unread] = parse(verdict.unread)
    return Verdict(Finding(None, line, "it starts too many shells"))
