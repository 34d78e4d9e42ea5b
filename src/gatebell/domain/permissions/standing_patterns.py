"""Which patterns may be allowed for good, without the person of each call.

A pattern may be one of these if its words decide which program runs, with any words in the place of
its `*`. So only a short list of programs and subcommands gets a `*`; other commands are allowed word
for word. Lines that the judgement of gates holds or a wide gate looks at, wrappers, interpreters,
and programs that delete or send are never allowed so.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from gatebell.domain.enums import RuleKind
from gatebell.domain.permissions.calls import WRITERS, make_call
from gatebell.domain.permissions.judgement import judge
from gatebell.domain.permissions.patterns import propose_pattern
from gatebell.domain.permissions.programs import PASS, PROGRAMS
from gatebell.domain.permissions.rules import forbids, list_triggers, split_pattern
from gatebell.domain.permissions.shell_lines import Command, Script

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gatebell.domain.permissions.calls import Call
    from gatebell.domain.permissions.rules import Rule

# Words in which a shell changes nothing, one blank between two of them.
_PLAIN = re.compile(r"[A-Za-z0-9_./:@%+,=-]+(?: [A-Za-z0-9_./:@%+,=-]+)*")
# Programs and subcommands that do no gated act and run no other program, whatever follows.
_ANY = frozenset[str]()
_VARYING: dict[str, frozenset[str]] = {
    "npm": frozenset(["test", "t", "tst", "ls", "list", "outdated"]),
    "cargo": frozenset(["test", "check", "build", "clippy", "fmt", "doc", "bench"]),
    "git": frozenset(["add", "commit", "status", "diff", "log", "show", "blame"]),
    "dotnet": frozenset(["build", "test"]),
    **dict.fromkeys(
        ("pytest", "py.test", "mypy", "pyright", "ruff", "black", "isort", "flake8", "pylint",
         "bandit", "codespell", "jest", "vitest", "mocha", "eslint", "prettier", "stylelint",
         "biome", "oxlint", "tsc", "gofmt", "staticcheck", "golangci-lint", "rustfmt", "shellcheck",
         "shfmt", "yamllint", "markdownlint", "rubocop", "rspec", "phpunit", "phpstan", "swiftlint",
         "ktlint", "hadolint", "actionlint", "typos", "clang-format"), _ANY
    ),
}  # fmt: skip
# They delete, send, install or change the machine; or they are our own.
_NEVER = frozenset(
    [
        "rm",
        "rmdir",
        "dd",
        "shred",
        "truncate",
        "unlink",
        "mv",
        "curl",
        "http",
        "https",
        "wget",
        "nc",
        "telnet",
        "aria2c",
        "lynx",
        "w3m",
        "kill",
        "killall",
        "pkill",
        "chmod",
        "chown",
        "chgrp",
        "ln",
        "psql",
        "mysql",
        "sqlite3",
        "redis-cli",
        "mongosh",
        "pg_restore",
        "createdb",
        "brew",
        "apt",
        "apt-get",
        "dnf",
        "yum",
        "apk",
        "pacman",
        "snap",
        "dpkg",
        "rpm",
        "pip",
        "pip3",
        "conda",
        "mamba",
        "systemctl",
        "mount",
        "umount",
        "gate",
        "gatebell",
        "ssh-add",
        "ssh-keygen",
        "gpg",
        "openssl",
        "git-lfs",
        "crontab",
        "install",
        "set",
        "export",
        "unset",
        "open",
        "xdg-open",
        "code",
        "alias",
    ]
)
_NEVER_SUBCOMMANDS = frozenset(
    ["config", "set", "alias", "login", "logout", "token", "adduser", "owner", "access"]
)
# A person must see all of it, in one line.
_MAX_LENGTH = 200
# Of a rule that is never kept.
_NO_TIME = datetime(2000, 1, 1, tzinfo=UTC)


def propose_standing(call: Call, project: str) -> str:
    """Return the pattern that could be allowed for good instead of this call; empty if none."""
    for pattern in (propose_pattern(call, _NO_TIME), call.pattern):
        is_shown = 0 < len(pattern) <= _MAX_LENGTH
        if is_shown and not call.has_more and not why_not_standing(pattern, project):
            return pattern
    return ""


def why_not_standing(pattern: str, project: str) -> str:
    """Return why a pattern may not be allowed for good; empty if it may."""
    tool, words = split_pattern(pattern)
    if tool == "Bash" and words:
        return _judge_command(words)
    if tool in WRITERS and words and project:
        return _judge_file(words, project)
    return "only a command, or files of the project, can be allowed for good"


def _judge_command(words: str) -> str:
    is_wide = words.endswith(" *")
    prefix = words.removesuffix(" *")
    if not _PLAIN.fullmatch(prefix):
        return "it is not a plain command: only words, and `*` as the last one"
    names = prefix.split(" ")
    name = names[0].rpartition("/")[2]
    verdict = judge(prefix, {prefix: Script((Command(tuple(names), prefix),))})
    if verdict.finding:
        return verdict.finding.why
    if verdict.unread is not None or not _is_known_kind(prefix):
        return "it is a wrapper or an interpreter, which may run any command"
    if found := list_triggers(prefix):
        return f"a gate for dangerous acts looks at it: its text matches {', '.join(found)}"
    if name in _NEVER or (name in PROGRAMS and _NEVER_SUBCOMMANDS.intersection(names[1:2])):
        return f"{' '.join(names[:2])} can delete, send or change more than this project"
    if is_wide and not _decides_alone(names):
        return "with other words at its end it may do something else: write it without `*`"
    return ""


def _is_known_kind(prefix: str) -> bool:
    """Return whether a pattern is proposed for such a command at all: not for wrappers."""
    return bool(propose_pattern(make_call("Bash", {"command": prefix}), _NO_TIME))


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
