"""Decide whether a command line does a gated act, as a shell would run it.

A line passes only if every command in it is proven to do none of the acts. What cannot be read is
held: a parse error, or an expansion in the place of a program or of its subcommand.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gatebell.domain.permissions.acts import Act
from gatebell.domain.permissions.command_options import (
    has_harmless_option,
    is_option,
    list_starts,
    value_of,
)
from gatebell.domain.permissions.ordinary_programs import (
    INTERPRETERS,
    ORDINARY,
    RUN_WORDS,
    SHELLS,
    SHOWN,
    SKIPPED,
    VALUED,
    WRAP_FLAGS,
    WRAP_VALUED,
)
from gatebell.domain.permissions.programs import INSIDE, OPAQUE, PASS, PROGRAMS, WRAPS, Program
from gatebell.domain.permissions.reading_programs import READERS, list_paths, only_reads
from gatebell.domain.permissions.shell_lines import QUOTED, SPLIT, Script, is_known, show_word
from gatebell.domain.permissions.special_programs import SPECIAL
from gatebell.domain.records import NamedTuple
from gatebell.domain.text.late_patterns import late_pattern

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gatebell.domain.permissions.special_programs import Reason

MAX_DEPTH = 5
# In words that run something unknown, these tell what it may do.
_TELLING = late_pattern(
    r"push|publish|deploy|release|upload|rmtree|rmSync|rm_r|\brm['\", ]+-|send-pack|dcommit"
)
_CLOUDS = frozenset(["aws", "gcloud", "az", "gsutil"])
_VERB = late_pattern(
    r"(?P<looks>(?:describe|get|list|show|view|head|lookup|check|query|search|print|wait|filter)(?:-.*)?"
    r"|ls|cat|stat|du|version|help|info|login|logout|configure|config|auth|account|whoami|read"
    r"|components|init|find|explain|presign)"
    r"|(?:deploy|create|delete|update|set|add|remove|submit|apply|import|export|restart|reset|start"
    r"|stop|promote|rollback|cp|mv|rm|rb|mb|rsync|sync|ssh|scp|up|put|patch|replace|enable|disable|push"
    r"|publish|execute|invoke|call|resize|move|copy|upload|terminate|reboot|modify)(?:-.*)?"
)

_KEYWORDS = frozenset(
    [
        "case",
        "esac",
        "for",
        "if",
        "then",
        "else",
        "elif",
        "fi",
        "while",
        "until",
        "do",
        "done",
        "select",
    ]
)
# Their words are looked at once more by the shell: as arithmetic, or as the name of a variable.
_EXPANDING = frozenset(["let", "read", "printf", "test", "[", "wait", "mapfile", "readarray"])
_INPUT = late_pattern(r"-|/dev/stdin|/dev/fd/\d+|/proc/[^/]+/fd/\d+")
_SPLIT_STRING = late_pattern(r"(?s)(?:-[0iv]*S|--s[a-z-]*=)(.*)")
# A shell or a program runs what is in these variables.
_RUN_SETTINGS = late_pattern(
    r"BASH_ALIASES\b|PROMPT_COMMAND$|VISUAL$|BROWSER$|LESSOPEN$|[A-Z_]*(?:EDITOR|PAGER)$"
    r"|GIT_[A-Z_]*(?:COMMAND|ASKPASS|DIFF)$"
)


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
    unread: str | None = None
    """A text that a shell in the line would read; nothing is decided before it is parsed."""
    is_plain: bool = False
    """Whether its commands are all that it does."""
    paths: tuple[str, ...] = ()
    """Its words that may name a file."""


class _Unread(Exception):  # noqa: N818  it is not an error
    """The text for a shell that must be parsed first."""


def judge(line: str, scripts: Mapping[str, Script]) -> Verdict:
    """Return whether a line is held, and why.

    Args:
        line: the command line
        scripts: the line as it was parsed, and the texts that `unread` named before
    """
    script = scripts[line]
    if script.problem:
        return Verdict(Finding(None, line, script.problem))
    try:
        found = next(Judge(scripts, 0).list_findings(script), None)
    except _Unread as unread:
        return Verdict(None, unread=str(unread))
    return Verdict(
        found,
        not found and only_reads(script),
        tuple(command.text for command in script.commands),
        is_plain=script.is_plain,
        paths=list_paths(script),
    )


class Judge:
    """Looks at every command of a script, and into the commands that those run."""

    def __init__(self, scripts: Mapping[str, Script], depth: int) -> None:
        self._scripts = scripts
        self._depth = depth
        self._values: tuple[str, ...] = ()
        self._functions: frozenset[str] = frozenset()

    def list_findings(self, script: Script) -> Iterator[Finding]:
        self._values, self._functions = script.values, script.functions
        for command in script.commands:
            if found := self.judge_words(list(command.words), command.input):
                yield _name_finding(command.text, found)
        for text in script.hidden:
            if found := self.judge_text(text):
                yield _name_finding(text, found)
        for text in (*script.tested, *script.values):
            if _is_expanded(text) and (found := self.judge_opaque(["", text])):
                yield _name_finding(text, found)
        for name, text in script.settings:
            if _RUN_SETTINGS.match(name) and is_known(text) and (found := self.judge_text(text)):
                yield _name_finding(text, found)

    def judge_words(self, words: list[str], text: str | None = None) -> Reason | None:
        """Return the act of a command and the reason; None if it does none."""
        if not words:
            return None
        name, rest = words[0].rpartition("/")[2], words[1:]
        if not is_known(name):
            return None, "its program is not known before it runs"
        if words[0] in _KEYWORDS:
            # Seen: the grammar takes `! case` for a command.
            return None, "it cannot be parsed"
        if name in self._functions:
            return None
        if name in SPECIAL:
            return SPECIAL[name](self, rest, text)
        if name in _EXPANDING and any(map(_is_expanded, rest)):
            return self.judge_opaque(words)
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
        if name in ORDINARY and ("/" not in words[0] or "bin/" in words[0]):
            return None if name in READERS or name in SHOWN else self.judge_options(rest)
        return self.judge_opaque(words)

    def judge_options(self, words: Sequence[str]) -> Reason | None:
        """Judge words of a known program that another program follows, or that are a text for a shell."""
        for at, word in enumerate(words):
            text = word.rpartition("=")[2].lstrip("!+")
            is_text = " " in text and is_known(text) and _names_program(text.split()[:1])
            if is_text and (found := self.judge_text(text)):
                return found
            if _names_program([word]) and (found := self.judge_words(list(words[at:]))):
                return found
        return None

    def judge_opaque(self, words: Sequence[str]) -> Reason | None:
        """Judge a program that we do not know by its words."""
        values = self._values if any(not is_known(word) for word in words) else ()
        for word in (*_drop_builds(words), *values):
            if found := _TELLING.search(word):
                return None, f"it runs something that names {found[0]!r}"
        for at, word in enumerate(words[1:], 1):
            if " " in word and is_known(word) and _names_program(word.split()[:1]):
                inner = self.judge_text(word)
            else:
                inner = self.judge_words(list(words[at:])) if _names_program([word]) else None
            if inner:
                return inner
        return None

    def judge_text(self, text: str) -> Reason | None:
        """Judge the text that a shell reads."""
        if not is_known(text):
            return None, "a shell runs a text that is not known before"
        if self._depth == MAX_DEPTH:
            return None, "too many shells are inside of each other"
        if text not in self._scripts:
            raise _Unread(text)
        script = self._scripts[text]
        if script.problem:
            return None, f"a shell runs a text, and {script.problem}"
        found = next(Judge(self._scripts, self._depth + 1).list_findings(script), None)
        return (found.act, f"a shell runs `{found.command}`: {found.why}") if found else None

    def has_value(self, pattern: re.Pattern[str]) -> bool:
        """Return whether the line gives a variable a text that begins like this."""
        return any(map(pattern.match, self._values))

    def judge_file(self, rest: Sequence[str], text: str | None) -> Reason | None:
        """Judge a shell that reads a file; the text is its input."""
        if not rest[0].strip(QUOTED + SPLIT):
            return None, "a shell runs a file that is not known before"
        if _INPUT.fullmatch(rest[0]):
            return self.judge_text(SPLIT if text is None else text)
        return self.judge_opaque(rest)

    def _shell(self, rest: list[str], text: str | None) -> Reason | None:
        if rest[:1] == ["-n"]:
            return None
        at = 0
        while at < len(rest) and rest[at][:1] in ("-", "+"):
            if rest[at].startswith("-") and not rest[at].startswith("--") and "c" in rest[at]:
                code = next((one for one in rest[at + 1 :] if not one.startswith("-")), SPLIT)
                return self.judge_text(code)
            at += 2 if rest[at] in ("-o", "-O", "--rcfile", "--init-file") else 1
        if at < len(rest) and "-s" not in rest[:at]:
            return self.judge_file(rest[at:], text)
        if text is not None:
            return self.judge_text(text)
        if any(one in ("--version", "--help") for one in rest):
            return None
        return None, "a shell reads commands that the line does not show"

    def _interpreter(self, name: str, rest: list[str], text: str | None) -> Reason | None:
        if "-m" in rest and (at := rest.index("-m") + 1) < len(rest) and name.startswith("py"):
            return self.judge_words(rest[at:])
        if text is None and all(word == "-" for word in rest):
            return None, f"{name} reads code that the line does not show"
        return self.judge_opaque([*rest, text or ""])

    def _wrapper(self, name: str, rest: list[str], text: str | None) -> Reason | None:
        if name == "command" and rest[:1] in (["-v"], ["-V"]):
            return None
        if name in RUN_WORDS:
            if not rest or rest[0] not in RUN_WORDS[name]:
                return self.judge_opaque(rest)
            rest = rest[1:] if name != "direnv" else rest[2:]
        if name == "env" and (code := value_of(rest, ("-S", "--split-string"))):
            return self.judge_text(code)
        if name == "env":
            for at, word in enumerate(rest):
                if found := _SPLIT_STRING.match(word):
                    return self.judge_text(" ".join([found[1], *rest[at + 1 :]]))
        if name == "npx" and (code := value_of(rest, ("-c", "--call"))):
            return self.judge_text(code)
        if name in ("xargs", "parallel"):
            # It adds words that only its input knows.
            rest = [*rest, QUOTED]
        return self._inner(rest, VALUED[name], SKIPPED.get(name, 0), text)

    def _inner(
        self, rest: list[str], valued: frozenset[str], skipped: int, text: str | None = None
    ) -> Reason | None:
        """Judge the command after the options; a word after an unknown option may be its value."""
        for start in list_starts(rest, valued, WRAP_FLAGS):
            inner = rest[start + skipped :]
            if inner and not skipped:
                # Packages may name their version: npx vercel@latest.
                inner = [_without_version(inner[0]), *inner[1:]]
            if found := self.judge_words(inner, text):
                return found
        return None

    def _program(self, program: Program, name: str, rest: list[str]) -> Reason | None:
        own = rest[: rest.index("--")] if "--" in rest else rest
        if has_harmless_option(own, program.harmless, program.flags):
            return None
        if name == "git" and any(word.lower().startswith("alias.") for word in rest):
            return None, "it defines an alias"
        if name == "git" and (
            code := _TELLING.search(value_of(rest[:2], ("-c",)).partition("=")[2])
        ):
            return None, f"it sets something that names {code[0]!r}"
        for option, act in program.acting.items():
            if any(is_option(word, option) for word in rest):
                return act, f"`{name} {option.rstrip('*')}` is a {act}"
        starts = list(list_starts(rest, program.valued, program.flags))
        if not starts:
            return self._outcome(program.alone, name, rest)
        found = (self._sub(program, name, rest[start:]) for start in starts)
        return next(filter(None, found), None)

    def _sub(self, program: Program, name: str, rest: list[str]) -> Reason | None:
        word = rest[0]
        if word.startswith("+"):
            return self._program(program, name, rest[1:])
        if not is_known(word) and program.subs:
            return None, f"the subcommand of {name} is not known before it runs"
        return self._outcome(program.subs.get(word, program.others), f"{name} {word}", rest[1:])

    def _outcome(self, result: object, name: str, rest: list[str]) -> Reason | None:
        if isinstance(result, Act):
            return result, f"`{show_word(name)}` is a {result}"
        if isinstance(result, Program):
            return self._program(result, name, rest)
        if result == OPAQUE:
            return self.judge_opaque([name, *rest])
        if result in (WRAPS, INSIDE):
            if "--" in rest:
                return self.judge_words(rest[rest.index("--") + 1 :])
            if result == WRAPS and (code := value_of(rest, ("-c", "--call"))):
                return self.judge_text(code)
            return self._inner(rest, WRAP_VALUED, int(result == INSIDE))
        return None if result == PASS else (None, f"`{show_word(name)}`: {result}")


def _name_finding(text: str, found: Reason) -> Finding:
    return Finding(found[0], show_word(" ".join(text.split())), found[1])


def _is_expanded(text: str) -> bool:
    """Return whether a shell that looks at a text once more would run a part of it."""
    return "$(" in text or "`" in text


def _names_program(words: Sequence[str]) -> bool:
    """Return whether the first word names a program that may act."""
    name = words[0].rpartition("/")[2] if words else ""
    return name in PROGRAMS or name in ("rm", "find")


def _drop_builds(words: Sequence[str]) -> Iterator[str]:
    """Yield the words without `--release`, by which compilers name a kind of build."""
    for at, word in enumerate(words):
        before = words[at - 1] if at else ""
        if word != "--release" and not (word == "release" and before in ("-c", "--configuration")):
            yield word


def _without_version(name: str) -> str:
    """Return the name of a package without its version."""
    return name[:1] + name[1:].partition("@")[0]


def _cloud(name: str, rest: list[str]) -> Reason | None:
    """Judge the tools of clouds: only the verbs that look at something pass."""
    verbs = [word for word in rest if is_known(word) and re.fullmatch(r"[a-z][a-z0-9-]*", word)]
    if not rest or any(word in ("--help", "--version", "help", "--dryrun") for word in rest):
        return None
    # The first verb counts: later words may be names.
    verb = next(filter(None, map(_VERB.fullmatch, verbs)), None)
    if verb and verb["looks"]:
        return None
    return Act.DEPLOY, f"`{' '.join([name, *verbs[:2]])}` may change a service"
