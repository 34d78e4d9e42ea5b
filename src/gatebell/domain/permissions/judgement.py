"""Decide whether a command line does a gated act, as a shell would run it.

A line passes only if every command in it is proven to do none of the acts. What cannot be read is
held: a parse error, or an expansion in the place of a program or of its subcommand.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gatebell.domain.permissions.cloud_programs import CLOUDS, judge_cloud
from gatebell.domain.permissions.command_options import is_option, read_words
from gatebell.domain.permissions.ordinary_programs import INTERPRETERS, ORDINARY, SHELLS, SHOWN
from gatebell.domain.permissions.program_names import is_listed, name_program, names_program
from gatebell.domain.permissions.programs import PROGRAMS
from gatebell.domain.permissions.reading_programs import READERS, list_paths, only_reads
from gatebell.domain.permissions.shell_lines import QUOTED, SPLIT, Script, is_known, show_word
from gatebell.domain.permissions.special_programs import SPECIAL, prints_settings
from gatebell.domain.permissions.subcommands import judge_program
from gatebell.domain.permissions.telling_words import find_telling
from gatebell.domain.permissions.wrapper_programs import VALUED, judge_wrapper
from gatebell.domain.records import NamedTuple
from gatebell.domain.text.late_patterns import late_pattern

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gatebell.domain.permissions.acts import Act
    from gatebell.domain.permissions.special_programs import Reason

MAX_DEPTH = 5
_KEYWORDS = read_words("case esac for if then else elif fi while until do done select")
# Their words are looked at once more by the shell: as arithmetic, or as the name of a variable.
_EXPANDING = frozenset(["let", "read", "printf", "test", "[", "wait", "mapfile", "readarray"])
_INPUT = late_pattern(r"-|/dev/stdin|/dev/fd/\d+|/proc/[^/]+/fd/\d+")
# A shell or a program runs what is in these variables.
_RUN_SETTINGS = late_pattern(
    r"BASH_ALIASES\b|\w*(?:COMMAND|CMD|EDITOR|VISUAL|PAGER|BROWSER|SHELL|RSH|SSH|ASKPASS|DIFF|TOOL"
    r"|HELPER|HOOK|LESSOPEN|LESSCLOSE|OPTIONS|OPTS?|FLAGS|STARTUP|PRELOAD)$|(?:BASH_)?ENV$"
    r"|GIT_CONFIG_\w+$|npm_config_\w+$"
)
# Readers and the like with which another program can be started.
_RUN_OPTIONS = {
    "sort": ("--comp*",),
    "man": ("-P", "-H*", "--pag*", "--html*"),
    "rg": ("--pre", "--pre=*", "--hostname-bin*"),
    **dict.fromkeys(("ag", "ack"), ("--pager*",)),
}
# The names of programs in a text, and the marks between its words in any language.
_NAMES_INSIDE = late_pattern(
    r"(?:^-[A-Za-z]|(?<![\w.-]))(?=((?:"
    + "|".join(map(re.escape, sorted([*PROGRAMS, *CLOUDS, "rm", "find"], key=len, reverse=True)))
    + r")(?=[\s'\",]).{0,200}))"
)
_BETWEEN_WORDS = late_pattern(r"[^\w./:@=+*{}-]+")
_MAX_NAMES = 20


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
        self._texts: tuple[str, ...] = ()

    def list_findings(self, script: Script) -> Iterator[Finding]:
        self._values, self._texts = script.values, tuple(_list_texts(script))
        aliases = dict(_list_aliases(script))
        for command in script.commands:
            if code := aliases.get(command.words[0]):
                # Judged as a text, because it may be more than one command.
                text = " ".join([code, *map(_quote, command.words[1:])])
                if found := self.judge_text(text):
                    yield _name_finding(command.text, found)
            if self._depth == 0 and prints_settings(
                command.text, script.functions | aliases.keys()
            ):
                continue
            if command.words[0] in script.functions and not is_listed(command.words[0]):
                # The commands of the function are among the others.
                continue
            if found := self.judge_words(list(command.words), command.input):
                yield _name_finding(command.text, found)
        for text in script.hidden:
            if found := self.judge_text(text):
                yield _name_finding(text, found)
        for text in (*script.tested, *script.values):
            if _is_expanded(text) and (found := self.judge_opaque(["", text])):
                yield _name_finding(text, found)
        for name, text in script.settings:
            if found := self.judge_setting(name, text):
                yield _name_finding(text, found)

    def judge_words(self, words: list[str], text: str | None = None) -> Reason | None:
        """Return the act of a command and the reason; None if it does none."""
        if not words:
            return None
        name, rest = name_program(words[0]), words[1:]
        if not is_known(name):
            return None, "its program is not known before it runs"
        if words[0] in _KEYWORDS:
            # Seen: the grammar takes `! case` for a command.
            return None, "it cannot be parsed"
        if name.startswith("git-") and name not in PROGRAMS:
            return self.judge_words(["git", name.removeprefix("git-"), *rest])
        if name in SPECIAL:
            return SPECIAL[name](self, rest, text)
        if name in _EXPANDING and any(map(_is_expanded, rest)):
            return self.judge_opaque(words)
        if name in SHELLS:
            return self._shell(rest, text)
        if name in INTERPRETERS or name.startswith("python3."):
            return self._interpreter(name, rest, text)
        if name in VALUED:
            return judge_wrapper(self, name, rest, text)
        if name in CLOUDS:
            return judge_cloud(name, rest)
        if name in PROGRAMS:
            return judge_program(self, PROGRAMS[name], name, rest)
        if name in ORDINARY and ("/" not in words[0] or "bin/" in words[0]):
            options = _RUN_OPTIONS.get(name, ())
            if any(is_option(word, option) for word in rest for option in options):
                return self.judge_opaque(words)
            return None if name in READERS or name in SHOWN else self.judge_options(rest)
        if "/" in words[0] and (found := self.judge_written()):
            return found
        return self.judge_opaque(words if text is None else [*words, text])

    def judge_options(self, words: Sequence[str]) -> Reason | None:
        """Judge words of a known program that another program follows, or that are a text for a shell."""
        for at, word in enumerate(words):
            if found := self.judge_inside(word):
                return found
            if names_program([word]) and (found := self.judge_words(list(words[at:]))):
                return found
        return None

    def judge_inside(self, word: str) -> Reason | None:
        """Judge the programs that a text names, in whatever language it is."""
        if word.isalnum():
            return None
        text = word.rpartition("=")[2].lstrip("!+")
        if " " in text and is_known(text) and names_program(text.split()[:1]):
            return self.judge_text(text)
        for count, found in enumerate(_NAMES_INSIDE.finditer(word)):
            words = [one for one in _BETWEEN_WORDS.split(found[1]) if one]
            inner = self.judge_words(words)
            if inner or count == _MAX_NAMES:
                return inner
        return None

    def judge_setting(self, name: str, text: str) -> Reason | None:
        """Judge a variable whose text a shell or a program runs."""
        if not _RUN_SETTINGS.match(name):
            return None
        if name == "BASH_ENV" and not is_known(text):
            return None, "a shell runs a file that is not known before"
        if " " in text and is_known(text) and (found := self.judge_text(text)):
            return found
        return self.judge_opaque(["", text])

    def judge_written(self) -> Reason | None:
        """Judge the texts that the line writes, because it also runs a file."""
        found = (self.judge_text(text) for text in self._texts if is_known(text))
        return next(filter(None, found), None)

    def judge_opaque(self, words: Sequence[str]) -> Reason | None:
        """Judge a program that we do not know by its words."""
        values = self._values if any(not is_known(word) for word in words) else ()
        return find_telling(words, values) or self.judge_options(words[1:])

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
        return self.judge_written() or self.judge_opaque(rest)

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
        return self.judge_opaque([name, *rest, text or ""])


def _list_aliases(script: Script) -> Iterator[tuple[str, str]]:
    """Yield the names and texts of the aliases that a line sets."""
    for command in script.commands:
        for word in command.words[1:] if command.words[0] == "alias" else ():
            name, _, code = word.partition("=")
            yield name, code


def _quote(word: str) -> str:
    """Return a word for another shell; one that is not known stays unknown."""
    return "'" + word.replace("'", "'\\''") + "'" if is_known(word) else '"$x"'


def _list_texts(script: Script) -> Iterator[str]:
    """Yield the texts that a line may write to a file."""
    # A plain line writes no file.
    is_plain = script.is_plain and not any(one.words[0] == "tee" for one in script.commands)
    for command in () if is_plain else script.commands:
        if command.words[0] in ("echo", "printf"):
            yield " ".join(one for one in command.words[1:] if one[:1] != "-")
        elif command.words[0] in ("cat", "tee") and command.input:
            yield command.input


def _name_finding(text: str, found: Reason) -> Finding:
    return Finding(found[0], show_word(" ".join(text.split())), found[1])


def _is_expanded(text: str) -> bool:
    """Return whether a shell that looks at a text once more would run a part of it."""
    return "$(" in text or "`" in text
