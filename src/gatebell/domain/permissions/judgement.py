"""Decide whether a command line does a gated act, as a shell would run it.

A line passes only if every command in it is proven to do none of the acts. What cannot be read is
held: a parse error, or an expansion in the place of a program or of its subcommand.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gatebell.domain.permissions.acts import Act
from gatebell.domain.permissions.ordinary_programs import (
    GIT_READERS,
    INTERPRETERS,
    ORDINARY,
    READERS,
    RUN_WORDS,
    SHELLS,
    SKIPPED,
    VALUED,
    WRAP_VALUED,
    WRITING_OPTIONS,
)
from gatebell.domain.permissions.programs import OPAQUE, PASS, PROGRAMS, WRAPS, Program
from gatebell.domain.permissions.shell_lines import SPLIT, Script, is_known, show_word
from gatebell.domain.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

MAX_DEPTH = 5
# In words that run something unknown, these tell what it may do.
_TELLING = re.compile(
    r"push|publish|deploy|release|upload|rmtree|rmSync|rm_r|\brm['\", ]+-|send-pack|dcommit"
)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_CLOUDS = frozenset(["aws", "gcloud", "az", "gsutil"])
_LOOKING = re.compile(
    r"(describe|get|list|show|view|head|lookup|check|query|search|print|wait|filter)(-.*)?"
    r"|ls|cat|stat|du|version|help|info|login|logout|configure|config|auth|account|whoami|read"
    r"|components|init|find|explain|presign|validate-.*|(.*-)?(list|show|describe)"
)
_LOCAL = re.compile(r"(https?://)?(localhost|127\.0\.0\.1|\[::1\])([:/].*)?")
_SENDING = ("-X", "-d", "-F", "-T", "--request", "--data", "--form", "--upload-file", "--json")


class Finding(NamedTuple):
    """Why a line is held."""

    act: Act | None
    """None: it cannot be read, so it may be any act."""
    command: str
    why: str


class Verdict(NamedTuple):
    """The result for a whole line."""

    finding: Finding | None
    """The first reason to hold it; None: it is proven harmless."""
    only_reads: bool = False
    """Whether it changes nothing, and reads only below the current folder."""
    commands: tuple[str, ...] = ()
    """Its commands, as they are written."""


def judge(line: str, parse: Callable[[str], Script]) -> Verdict:
    """Return whether a line is held, and why."""
    script = parse(line)
    if script.problem:
        return Verdict(Finding(None, line, script.problem))
    found = next(_Judge(parse, 0).list_findings(script), None)
    reads = not found and not script.writes and all(_only_reads(c.words) for c in script.commands)
    return Verdict(found, reads, tuple(command.text for command in script.commands))


class _Judge:
    """Looks at every command of a script, and into the commands that those run."""

    def __init__(self, parse: Callable[[str], Script], depth: int) -> None:
        self._parse = parse
        self._depth = depth
        self._values: tuple[str, ...] = ()
        self._functions: frozenset[str] = frozenset()

    def list_findings(self, script: Script) -> Iterator[Finding]:
        self._values, self._functions = script.values, script.functions
        for command in script.commands:
            if found := self._find(list(command.words), command.input):
                act, why = found
                yield Finding(act, show_word(" ".join(command.text.split())), why)

    def _find(self, words: list[str], text: str | None = None) -> tuple[Act | None, str] | None:
        """Return the act of a command and the reason; None if it does none."""
        while words and _ASSIGNMENT.match(words[0]):
            words = words[1:]
        if not words:
            return None
        name, rest = words[0].rpartition("/")[2], words[1:]
        if not is_known(name):
            return None, "its program is not known before it runs"
        if name in self._functions or (name in ORDINARY and name == words[0]):
            return None
        if name in _SPECIAL:
            return _SPECIAL[name](self, rest, text)
        if name in SHELLS:
            return self._shell(rest, text)
        if name in INTERPRETERS or name.startswith("python3."):
            return self._interpreter(name, rest, text)
        if name in VALUED:
            return self._wrapper(name, rest, text)
        if name in _CLOUDS:
            return _cloud(name, rest)
        if name in PROGRAMS:
            return self._program(PROGRAMS[name], name, rest)
        return None if name in ORDINARY else self._opaque(words)

    def _opaque(self, words: Sequence[str]) -> tuple[Act | None, str] | None:
        """Judge a program that we do not know by its words."""
        values = self._values if any(not is_known(word) for word in words) else ()
        for word in (*words, *values):
            if found := _TELLING.search(word):
                return None, f"it runs something that names {found[0]!r}"
        for at, word in enumerate(words[1:], 1):
            name = word.rpartition("/")[2]
            if (name in PROGRAMS or name in ("rm", "find")) and (found_act := self._find(list(words[at:]))):
                return found_act
        return None

    def _text(self, text: str) -> tuple[Act | None, str] | None:
        """Judge the text that a shell reads."""
        if not is_known(text):
            return None, "a shell runs a text that is not known before"
        if self._depth == MAX_DEPTH:
            return None, "too many shells are inside of each other"
        script = self._parse(text)
        if script.problem:
            return None, f"a shell runs a text, and {script.problem}"
        found = next(_Judge(self._parse, self._depth + 1).list_findings(script), None)
        return (found.act, f"a shell runs `{found.command}`: {found.why}") if found else None

    def _shell(self, rest: list[str], text: str | None) -> tuple[Act | None, str] | None:
        at = 0
        while at < len(rest) and rest[at][:1] in ("-", "+"):
            if rest[at].startswith("-") and not rest[at].startswith("--") and "c" in rest[at]:
                code = next((one for one in rest[at + 1 :] if not one.startswith("-")), SPLIT)
                return self._text(code)
            at += 2 if rest[at] in ("-o", "-O", "--rcfile", "--init-file") else 1
        if at < len(rest) and "-s" not in rest[:at]:
            return self._opaque(rest[at:])
        if text is not None:
            return self._text(text)
        if any(one in ("--version", "--help") for one in rest):
            return None
        return None, "a shell reads commands that the line does not show"

    def _interpreter(self, name: str, rest: list[str], text: str | None) -> tuple[Act | None, str] | None:
        if "-m" in rest and (at := rest.index("-m") + 1) < len(rest) and name.startswith("py"):
            return self._find(rest[at:])
        return self._opaque([*rest, text or ""])

    def _wrapper(self, name: str, rest: list[str], text: str | None) -> tuple[Act | None, str] | None:
        if name == "command" and rest[:1] in (["-v"], ["-V"]):
            return None
        if name in RUN_WORDS:
            if not rest or rest[0] not in RUN_WORDS[name]:
                return self._opaque(rest)
            rest = rest[1:] if name != "direnv" else rest[2:]
        if name == "env" and (code := _value_of(rest, ("-S", "--split-string"))):
            return self._text(code)
        if name == "npx" and (code := _value_of(rest, ("-c", "--call"))):
            return self._text(code)
        return self._inner(rest, VALUED[name], SKIPPED.get(name, 0), text)

    def _inner(self, rest: list[str], valued: frozenset[str], skipped: int, text: str | None = None) -> tuple[Act | None, str] | None:
        """Judge the command after the options; a word after an unknown option may be its value."""
        for start in _list_starts(rest, valued):
            at = start
            while at < len(rest) and _ASSIGNMENT.match(rest[at]):
                at += 1
            inner = rest[at + skipped :]
            if inner and not skipped:
                # Packages may name their version: npx vercel@latest.
                inner = [_without_version(inner[0]), *inner[1:]]
            if found := self._find(inner, text):
                return found
        return None

    def _program(self, program: Program, name: str, rest: list[str]) -> tuple[Act | None, str] | None:
        if any(_is_option(word, program.harmless) for word in rest):
            return None
        if name == "git" and any(word.lower().startswith("alias.") for word in rest):
            return None, "it defines an alias"
        for word in rest:
            for option, act in program.acting.items():
                if word == option or word.startswith((f"{option}=", "--delete")) and option.startswith("--d") or _has_letter(word, option) or (option in word and "=" in option):
                    return act, f"`{name} {option}` is a {act}"
        result: object = None
        for start in _list_starts(rest, program.valued):
            result = self._sub(program, name, rest[start:])
            if result:
                return result  # type: ignore[return-value]
        if result is None and not any(True for _ in _list_starts(rest, program.valued)):
            return self._outcome(program.alone, name, rest)
        return None

    def _sub(self, program: Program, name: str, rest: list[str]) -> tuple[Act | None, str] | None:
        word = rest[0]
        if word.startswith("+"):
            return self._program(program, name, rest[1:])
        if not is_known(word) and program.subs:
            return None, f"the subcommand of {name} is not known before it runs"
        return self._outcome(program.subs.get(word, program.others), f"{name} {word}", rest[1:])

    def _outcome(self, result: object, name: str, rest: list[str]) -> tuple[Act | None, str] | None:
        if isinstance(result, Act):
            return result, f"`{show_word(name)}` is a {result}"
        if isinstance(result, Program):
            return self._program(result, name, rest)
        if result == OPAQUE:
            return self._opaque([name, *rest])
        if result == WRAPS:
            after = rest[rest.index("--") + 1 :] if "--" in rest else None
            found = self._inner(after, frozenset(), 0) if after else self._inner(rest, WRAP_VALUED, 0)
            # The first word may be an image or a service.
            return found or (None if after else self._opaque(rest))
        return None if result == PASS else (None, f"`{show_word(name)}`: {result}")

    def _rm(self, rest: list[str], text: str | None) -> tuple[Act | None, str] | None:
        if any(_has_letter(w, "-r") or _has_letter(w, "-R") or w.startswith("--r") for w in rest):
            return Act.DELETE, "`rm` with -r deletes a tree"
        if any(word.startswith(SPLIT) for word in rest):
            return None, "the options of rm are not known before it runs"
        return None

    def _find_files(self, rest: list[str], text: str | None) -> tuple[Act | None, str] | None:
        if "-delete" in rest:
            return Act.DELETE, "`find -delete` deletes a tree"
        for at, word in enumerate(rest):
            if word in ("-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"):
                if found := self._find(rest[at + 1 :]):
                    return found
        return None

    def _eval(self, rest: list[str], text: str | None) -> tuple[Act | None, str] | None:
        if not all(map(is_known, rest)):
            return Act.EVAL, "eval runs a text that is not known before"
        return self._text(" ".join(rest))

    def _remote(self, rest: list[str], text: str | None) -> tuple[Act | None, str] | None:
        """Judge what ssh or su runs."""
        words = [word for word in rest if not word.startswith("-")]
        return self._text(" ".join(words[1:])) if len(words) > 1 else None

    def _curl(self, rest: list[str], text: str | None) -> tuple[Act | None, str] | None:
        sends = any(word.startswith(_SENDING) for word in rest)
        places = [word for word in rest if "://" in word or _LOCAL.fullmatch(word)]
        if not sends or (places and all(map(_LOCAL.fullmatch, places))):
            return None
        return self._opaque(rest)

    def _awk(self, rest: list[str], text: str | None) -> tuple[Act | None, str] | None:
        return self._opaque(rest) if any("system" in word or "|" in word for word in rest) else None

    def _make(self, rest: list[str], text: str | None) -> tuple[Act | None, str] | None:
        if any(word in ("-n", "--dry-run", "--just-print", "--recon") for word in rest):
            return None
        return self._opaque(["", *rest])

    def _trap(self, rest: list[str], text: str | None) -> tuple[Act | None, str] | None:
        words = [word for word in rest if not word.startswith("-")]
        return self._text(words[0]) if words and len(words) > 1 else None

    def _go(self, rest: list[str], text: str | None) -> tuple[Act | None, str] | None:
        return self._opaque(rest) if rest[:1] in (["run"], ["generate"]) else None


_SPECIAL = {
    "rm": _Judge._rm,
    "find": _Judge._find_files,
    "fd": _Judge._find_files,
    "fdfind": _Judge._find_files,
    "eval": _Judge._eval,
    "ssh": _Judge._remote,
    "su": _Judge._remote,
    "curl": _Judge._curl,
    "http": _Judge._curl,
    "awk": _Judge._awk,
    "gawk": _Judge._awk,
    "mawk": _Judge._awk,
    "make": _Judge._make,
    "gmake": _Judge._make,
    "trap": _Judge._trap,
    "go": _Judge._go,
}


def _list_starts(words: Sequence[str], valued: frozenset[str]) -> Iterator[int]:
    """Yield where a command or subcommand may begin: after an unknown option, at two places."""
    at, unsure = 0, False
    while at < len(words):
        word = words[at]
        if word == "--":
            at += 1
            unsure = False
            if at < len(words):
                yield at
            return
        if word.startswith("-") and word != "-":
            known = word in valued
            unsure = not known and "=" not in word
            at += 2 if known else 1
            continue
        if _ASSIGNMENT.match(word) or word.startswith("@"):
            at += 1
            continue
        yield at
        if not unsure:
            return
        unsure = False
        at += 1


def _has_letter(word: str, option: str) -> bool:
    """Return whether a word of short options has this one."""
    short = len(option) == 2 and word.startswith("-") and not word.startswith("--")
    return short and option[1] in word[1:]


def _is_option(word: str, options: frozenset[str]) -> bool:
    return word in options or any(len(one) == 2 and one == "-n" and _has_letter(word, one) for one in options)


def _value_of(words: list[str], options: tuple[str, ...]) -> str:
    for at, word in enumerate(words):
        for option in options:
            if word == option:
                return " ".join(words[at + 1 :])
            if word.startswith(f"{option}="):
                return word.partition("=")[2]
    return ""


def _without_version(name: str) -> str:
    """Return the name of a package without its version."""
    return name[:1] + name[1:].partition("@")[0]


def _cloud(name: str, rest: list[str]) -> tuple[Act | None, str] | None:
    """Judge the tools of clouds: only the verbs that look at something pass."""
    verbs = [word for word in rest if is_known(word) and re.fullmatch(r"[a-z][a-z0-9-]*", word)]
    if not rest or any(word in ("--help", "--version", "help", "--dryrun") for word in rest):
        return None
    if any(_LOOKING.fullmatch(verb) for verb in verbs[:4]):
        return None
    return Act.DEPLOY, f"`{' '.join([name, *verbs[:2]])}` may change a service"


def _only_reads(words: Sequence[str]) -> bool:
    """Return whether a command changes nothing, and reads only below the current folder."""
    name, rest = words[0], words[1:]
    if name == "git":
        name, rest = f"git {rest[0] if rest else ''}", rest[1:]
    is_reader = name in READERS or name.removeprefix("git ") in GIT_READERS
    return is_reader and not any(
        word.startswith(("/", "~", *WRITING_OPTIONS)) or ".." in word or not is_plain(word)
        for word in rest
    )


def is_plain(word: str) -> bool:
    return is_known(word.replace("\2", ""))
