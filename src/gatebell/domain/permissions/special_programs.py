"""Programs whose words need a rule of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.domain.permissions.acts import Act
from gatebell.domain.permissions.command_options import is_option, list_starts, value_of
from gatebell.domain.permissions.shell_lines import QUOTED, SPLIT, is_known
from gatebell.domain.text.late_patterns import late_pattern

if TYPE_CHECKING:
    from collections.abc import Callable

    from gatebell.domain.permissions.judgement import Judge

# An act, or None if it may be any, and the words for people.
Reason = tuple[Act | None, str]

_LOCAL = late_pattern(r"(https?://)?(localhost|127\.0\.0\.1|\[::1\])([:/].*)?")
_SSH_VALUED = frozenset(
    ["-i", "-p", "-l", "-o", "-F", "-L", "-R", "-D", "-J", "-W", "-b", "-E", "-S"]
)
_RECURSIVE = late_pattern(r"-[^-]*[rR]|--r")
# The command `e` and the flag `e` of sed run a text.
_SED_RUNS = late_pattern(r"(?:^|[\d;{}$!,/\s])e(?:\s|$)|\W[gpiImM\d]*e[gpiImMw\d]*\s*(?:$|[;}])")
_SENDING = ("-X", "-d", "-F", "-T", "--request", "--data", "--form", "--upload-file", "--json")
_EXECUTING = frozenset(["-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"])


def _rm(judge: Judge, rest: list[str], text: str | None) -> Reason | None:
    options = rest[: rest.index("--")] if "--" in rest else rest
    if any(is_option(word, one) for word in options for one in ("-r", "-R", "--r*")):
        return Act.DELETE, "`rm` with -r deletes a tree"
    unknown = [word for word in options if not is_known(word)]
    may_be_option = any(word.startswith((SPLIT, "-")) for word in unknown)
    if may_be_option or (judge.has_value(_RECURSIVE) and any(w[0] == QUOTED for w in unknown)):
        return None, "the options of rm are not known before it runs"
    return None


def _find_files(judge: Judge, rest: list[str], text: str | None) -> Reason | None:
    if "-delete" in rest:
        return Act.DELETE, "`find -delete` deletes a tree"
    found = (
        judge.judge_words(rest[at + 1 :]) for at, word in enumerate(rest) if word in _EXECUTING
    )
    return next(filter(None, found), None)


def _eval(judge: Judge, rest: list[str], text: str | None) -> Reason | None:
    if not all(map(is_known, rest)):
        return Act.EVAL, "eval runs a text that is not known before"
    return judge.judge_text(" ".join(rest))


def _remote(judge: Judge, rest: list[str], text: str | None) -> Reason | None:
    """Judge what ssh runs on a host, or su for a user."""
    if code := value_of(rest, ("-c", "--command")):
        return judge.judge_text(code)
    if text is not None:
        return judge.judge_text(text)
    if found := judge.judge_options(rest[: rest.index("--")] if "--" in rest else rest):
        return found
    start = next(list_starts(rest, _SSH_VALUED, frozenset()), len(rest))
    return judge.judge_text(" ".join(rest[start + 1 :])) if rest[start + 1 :] else None


def _curl(judge: Judge, rest: list[str], text: str | None) -> Reason | None:
    sends = any(word.startswith(_SENDING) for word in rest)
    places = [word for word in rest if "://" in word or _LOCAL.fullmatch(word)]
    if not sends or (places and all(map(_LOCAL.fullmatch, places))):
        return None
    return judge.judge_opaque(rest)


def _awk(judge: Judge, rest: list[str], text: str | None) -> Reason | None:
    return (
        judge.judge_opaque(rest) if any("system" in word or "|" in word for word in rest) else None
    )


def _sed(judge: Judge, rest: list[str], text: str | None) -> Reason | None:
    return judge.judge_opaque(rest) if any(map(_SED_RUNS.search, rest)) else None


def _make(judge: Judge, rest: list[str], text: str | None) -> Reason | None:
    if any(word in ("-n", "--dry-run", "--just-print", "--recon") for word in rest):
        return None
    return judge.judge_opaque(["", *rest, text or ""])


def _trap(judge: Judge, rest: list[str], text: str | None) -> Reason | None:
    words = [word for word in rest if not word.startswith("-")]
    return judge.judge_text(words[0]) if words and len(words) > 1 else None


def _go(judge: Judge, rest: list[str], text: str | None) -> Reason | None:
    return judge.judge_opaque(rest) if rest[:1] in (["run"], ["generate"]) else None


def _source(judge: Judge, rest: list[str], text: str | None) -> Reason | None:
    return judge.judge_file(rest, text) if rest else None


def _later(judge: Judge, rest: list[str], text: str | None) -> Reason | None:
    """Judge `at` and `crontab`, which run the commands of their input later."""
    if rest[:1] in (["-l"], ["-c"]):
        return None
    return (
        judge.judge_text(text) if text else (None, "it runs commands that the line does not show")
    )


SPECIAL: dict[str, Callable[[Judge, list[str], str | None], Reason | None]] = {
    "rm": _rm,
    "find": _find_files,
    "fd": _find_files,
    "fdfind": _find_files,
    "eval": _eval,
    "ssh": _remote,
    "su": _remote,
    "curl": _curl,
    "http": _curl,
    "awk": _awk,
    "gawk": _awk,
    "mawk": _awk,
    "sed": _sed,
    "make": _make,
    "gmake": _make,
    "trap": _trap,
    "go": _go,
    "source": _source,
    ".": _source,
    "at": _later,
    "batch": _later,
    "crontab": _later,
}
