"""Which patterns may be allowed for good, without the person of each call.

A pattern may be one of these if its words decide which program runs, with any words in the place of
its `*`. So only a short list of programs and subcommands gets a `*`. Other commands are allowed word
for word, if they build, test, check or only read what is in the project. All other programs, and
lines that the judgement of gates holds or a wide gate looks at, are never allowed so.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from gatebell.domain.enums import RuleKind
from gatebell.domain.permissions.calls import WRITERS, make_call
from gatebell.domain.permissions.judgement import judge
from gatebell.domain.permissions.ordinary_programs import CHECKERS
from gatebell.domain.permissions.patterns import propose_pattern
from gatebell.domain.permissions.programs import PASS, PROGRAMS
from gatebell.domain.permissions.reading_programs import only_reads
from gatebell.domain.permissions.rules import (
    Rule,
    forbids,
    lets_pass,
    list_triggers,
    split_pattern,
)
from gatebell.domain.permissions.shell_lines import Command, Script

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gatebell.domain.permissions.calls import Call

# Words in which a shell changes nothing, one blank between two of them.
_PLAIN = re.compile(r"[A-Za-z0-9_./:@%+,=-]+(?: [A-Za-z0-9_./:@%+,=-]+)*")
# Programs and subcommands that do no gated act and run no other program, whatever follows.
_ANY = frozenset[str]()
_VARYING: dict[str, frozenset[str]] = {
    "npm": frozenset(["test", "t", "tst", "ls", "list"]),
    "cargo": frozenset(["test", "check", "build", "clippy", "fmt", "doc", "bench"]),
    "git": frozenset(["add", "commit", "status", "blame"]),
    **dict.fromkeys(CHECKERS, _ANY),
}
# Programs and subcommands that build, test or check this project; each line is allowed word for word.
_FIXED: dict[str, frozenset[str]] = {
    "npm": frozenset(["run", "run-script", "outdated"]),
    "git": frozenset(["diff", "log", "show", "fetch"]),
    "cargo": frozenset(["run"]),
    **dict.fromkeys(
        ("pnpm", "yarn", "bun"), frozenset(["run", "test", "build", "lint", "format", "typecheck"])
    ),
    **dict.fromkeys(
        ("gradle", "./gradlew"), frozenset(["build", "test", "check", "assemble", "lint"])
    ),
    "dotnet": frozenset(["build", "test"]),
    "mvn": frozenset(["compile", "test", "verify", "package"]),
    "go": frozenset(["build", "test", "vet", "fmt", "list"]),
    "mix": frozenset(["compile", "test", "format"]),
    "cmake": frozenset(["--build"]),
    "terraform": frozenset(["fmt", "validate"]),
    "pre-commit": frozenset(["run"]),
    **dict.fromkeys(("bazel", "swift", "zig"), frozenset(["build", "test"])),
    **dict.fromkeys(("dart", "flutter"), frozenset(["analyze", "format", "test"])),
    **dict.fromkeys(
        ("make", "gmake", "ninja", "just", "task", "rake", "tox", "nox", "ctest", "mage"), _ANY
    ),
}  # fmt: skip
# What may come before a path in one word: `--file=`, `-f`, `SHELL=`.
_OPTION = re.compile(r"-{1,2}[A-Za-z-]+=?|[A-Za-z_]\w*=")
# A person must see all of it, in one line.
_MAX_LENGTH = 200
# Of a rule that is never kept.
_NO_TIME = datetime(2000, 1, 1, tzinfo=UTC)


def propose_standing(call: Call, project: str) -> str:
    """Return the pattern that could be allowed for good instead of this call; empty if none."""
    for pattern in (propose_pattern(call, _NO_TIME), call.pattern):
        rule = Rule("", RuleKind.GRANT, pattern, "", _NO_TIME)
        is_shown = 0 < len(pattern) <= _MAX_LENGTH
        if is_shown and lets_pass(rule, call) and not why_not_standing(pattern, project):
            return pattern
    return ""


def why_not_standing(pattern: str, project: str) -> str:
    """Return why a pattern may not be allowed for good; empty if it may."""
    tool, words = split_pattern(pattern)
    if tool == "Bash" and words:
        return _judge_command(words, project)
    if tool in WRITERS and words and project:
        return _judge_file(words, project)
    return "only a command, or files of the project, can be allowed for good"


def _judge_command(words: str, project: str) -> str:
    is_wide = words.endswith(" *")
    prefix = words.removesuffix(" *")
    if not _PLAIN.fullmatch(prefix):
        return "it is not a plain command: only words, and `*` as the last one"
    names = prefix.split(" ")
    verdict = judge(prefix, {prefix: Script((Command(tuple(names), prefix),))})
    if verdict.finding:
        return verdict.finding.why
    if verdict.unread is not None or not _is_known_kind(prefix):
        return "it is a wrapper or an interpreter, which may run any command"
    if found := list_triggers(prefix):
        return f"a gate for dangerous acts looks at it: its text matches {', '.join(found)}"
    if is_wide and not _decides_alone(names):
        return "with other words at its end it may do something else: write it without `*`"
    if not _is_of_project(names, project):
        return f"{' '.join(names[:2])} may delete, send or change more than this project"
    return ""


def _is_known_kind(prefix: str) -> bool:
    """Return whether a pattern is proposed for such a command at all: not for wrappers."""
    return bool(propose_pattern(make_call("Bash", {"command": prefix}), _NO_TIME))


def _is_of_project(names: list[str], project: str) -> bool:
    """Return whether a command builds, tests, checks or reads what is in the project."""
    program, sub = names[0], names[1] if len(names) > 1 else ""
    places = [_OPTION.sub("", word) for word in names[1:]]
    inside = f"{project.rstrip('/')}/"
    for place in [*places, program]:
        parts = place.removeprefix(inside).removeprefix("./").split("/")
        is_elsewhere = parts[0] == "" and len(parts) > 1
        if is_elsewhere or any(part.startswith(".") and part not in (".", "...") for part in parts):
            return False
    known = [subs for one in (_VARYING, _FIXED) if (subs := one.get(program)) is not None]
    if known:
        return any(not subs or sub in subs for subs in known)
    return program.startswith(("./", inside)) or only_reads(
        Script((Command(tuple(names), " ".join(names)),))
    )


def _decides_alone(names: list[str]) -> bool:
    """Return whether nothing that follows changes what kind of thing the command does."""
    subs = _VARYING.get(names[0])
    if subs is None:
        return False
    if not subs:
        return True
    known = PROGRAMS[names[0]]
    return (
        len(names) > 1
        and names[1] in subs
        and known.subs.get(names[1], known.others) == PASS
        and not known.acting
    )


def _judge_file(words: str, project: str) -> str:
    folder, slash, name = words.rpartition("/")
    inside = folder.removeprefix(f"{project.rstrip('/')}/")
    parts = [*inside.split("/"), *([] if name == "*" else [name])]
    if inside == folder or not slash or ".." in parts or "" in parts:
        return "it is not a folder inside of the project"
    if any(part.startswith(".") for part in parts):
        return "hidden files and folders decide what programs do"
    if "*" in folder or ("*" in name and name != "*"):
        return "its `*` must be all that follows a folder"
    return ""


def find_denial(pattern: str, denials: Iterable[Rule]) -> str:
    """Return the denial that a pattern meets; empty if none."""
    tool, words = split_pattern(pattern)
    prefix = (words or "").removesuffix("*").rstrip()
    call = make_call(tool, {"command": prefix} if tool == "Bash" else {"file_path": prefix})
    for rule in denials:
        denied, about = split_pattern(rule.pattern)
        is_same_tool = denied == tool or (denied == "Edit" and tool in WRITERS)
        overlaps = is_same_tool and (about is None or about.startswith(prefix))
        if rule.kind == RuleKind.DENY and (overlaps or forbids(rule, call)):
            return rule.pattern
    return ""
