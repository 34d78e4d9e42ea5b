"""Programs that only read, and whether a whole line reads only what its words name.

A host runs such a line without a question. So only what is listed here passes: an option that is
not listed may write a file, run a program, or read another place.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gatebell.domain.permissions.shell_lines import GLOB, is_known
from gatebell.domain.records import NamedTuple
from gatebell.domain.text.late_patterns import late_pattern

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gatebell.domain.permissions.shell_lines import Script


class Reader(NamedTuple):
    """The options with which a program only reads."""

    short: str = ""
    """Single characters; a value without any of A to Z may follow them, as in `-A3` and `-d,`."""
    long: frozenset[str] = frozenset()
    operands: str = ".*"
    """What its other words may be."""


def _reader(short: str = "", long: str = "", operands: str = ".*") -> Reader:
    return Reader(short, frozenset(f"--{name}" for name in long.split()), operands)


_GREP = _reader(
    "rnilLvEFGPoHhcwxqsABCemaIb",
    "include exclude exclude-dir color line-number ignore-case recursive files-with-matches count"
    " files-without-match only-matching context after-context before-context max-count word-regexp"
    " extended-regexp fixed-strings perl-regexp no-filename with-filename invert-match quiet",
)
READERS: dict[str, Reader] = {
    **dict.fromkeys((":", "true", "false", "printf"), Reader()),
    "echo": _reader("neE"),
    "pwd": _reader("LP"),
    "ls": _reader(
        "aAlhrtSRF1dGimnopqsuUvxXcCkBgT",
        "color all almost-all human-readable sort time reverse recursive directory time-style"
        " group-directories-first",
    ),
    "cat": _reader("nbsETAv", "number show-all"),
    "head": _reader("ncqv", "lines bytes quiet"),
    "tail": _reader("ncqvfFs", "lines bytes quiet follow"),
    "wc": _reader("lwcmL", "lines words bytes chars"),
    **dict.fromkeys(("grep", "egrep", "fgrep"), _GREP),
    "rg": _reader(
        "nilvegtTwcoSsuFUPABCmHINx",
        "files type glob hidden no-ignore line-number ignore-case files-with-matches count context"
        " after-context before-context json multiline heading no-heading color stats max-count iglob"
        " smart-case word-regexp fixed-strings vimgrep column only-matching max-depth",
    ),
    "sort": _reader("nruktfbdgihMVc", "numeric-sort reverse unique key field-separator stable"),
    # Its second operand is a file that it writes.
    "uniq": _reader("cdui", "count repeated unique ignore-case", operands="(?!)"),
    "cut": _reader("dfcbs", "delimiter fields characters complement output-delimiter"),
    "tr": _reader("dscC", "delete squeeze-repeats complement"),
    "nl": _reader("bawsvn"),
    "file": _reader("bihk", "mime mime-type"),
    "stat": _reader("cft", "format printf"),
    "du": _reader("shackmdxb", "max-depth summarize human-readable total apparent-size all"),
    "df": _reader("hTkmai", "human-readable"),
    "which": _reader("a"),
    "type": _reader("aptP"),
    # Other operands set the clock.
    "date": _reader("uR", "utc", operands=r"\+.*"),
    "basename": _reader("as"),
    "dirname": _reader("z"),
    "realpath": _reader("ems", "no-symlinks"),
    "readlink": _reader("femn"),
    "diff": _reader(
        "uNqwbBiycp",
        "unified color side-by-side ignore-all-space ignore-space-change new-file"
        " suppress-common-lines",
    ),
    "cmp": _reader("slb"),
    "comm": _reader("", ""),
    # Its programs can read files of other places, and the environment.
    "jq": _reader(
        "rcensSCjaM",
        "raw-output compact-output arg argjson slurp null-input exit-status sort-keys tab indent",
        operands=r"(?!(?s:.*)\b(?:import|include|env|ENV)\b)(?s:.*)",
    ),
    "tree": _reader("LadfIPhpsDFCniJNvtr", "noreport gitignore dirsfirst prune"),
    "column": _reader("tsxc", "table separator"),
    "seq": _reader("wsf"),
}
_HISTORY = _reader(
    "pnSGsLiEFwbMCzuUmtc",
    "oneline graph all decorate stat shortstat numstat name-only name-status cached staged grep"
    " author since until before after format pretty abbrev-commit abbrev merges no-merges reverse"
    " follow max-count patch no-patch word-diff color no-color summary source branches tags remotes"
    " first-parent date quiet exit-code check unified diff-filter ignore-all-space"
    " ignore-space-change ignore-blank-lines no-ext-diff no-textconv minimal find-renames"
    " find-copies pickaxe-regex pickaxe-all merge-base relative skip all-match invert-grep"
    " regexp-ignore-case topo-order date-order left-right cherry-pick not",
)
_GIT: dict[str, Reader] = {
    "status": _reader("sbuzv", "short branch porcelain untracked-files ignored long"),
    **dict.fromkeys(("log", "diff", "show"), _HISTORY),
    "blame": _reader("LwMCslecpnft", "porcelain line-porcelain since date ignore-rev"),
    "grep": _reader(
        "nilLvEFGPohHcwqeIaWpABC",
        "cached untracked count line-number ignore-case name-only files-with-matches heading break"
        " all-match and or not word-regexp color context show-function function-context",
    ),
    "ls-files": _reader(
        "cdmoistuvzkx",
        "others exclude-standard cached modified deleted stage ignored error-unmatch full-name eol"
        " directory unmerged",
    ),
    "rev-parse": _reader(
        "q",
        "abbrev-ref verify short show-toplevel git-dir git-common-dir is-inside-work-tree quiet"
        " symbolic-full-name show-prefix all branches tags remotes symbolic",
    ),
    "describe": _reader(
        "", "tags always dirty abbrev match exact-match long all contains first-parent exclude"
    ),
    "shortlog": _reader("snec", "summary numbered email all since until group no-merges format"),
}
# A value may follow short options: digits and signs, nothing that could be an option.
_VALUE = r"(?:[^A-Za-z/~\\]*)"
# Bash before 5.2 lets a pattern that begins with a dot match the folder above.
_DOTTED = late_pattern(rf"(?:^|/)\.[^/]*{GLOB}")


def only_reads(script: Script) -> bool:
    """Return whether a line changes nothing, and names nothing outside of the current folder."""
    return script.is_plain and all(_reads(command.words) for command in script.commands)


def list_paths(script: Script) -> tuple[str, ...]:
    """Return the words of a line that may name a file; in patterns `GLOB` is any sign."""
    return tuple(
        word for command in script.commands for word in command.words[1:] if word[:1] != "-"
    )


def _reads(words: Sequence[str]) -> bool:
    name, rest = words[0], words[1:]
    if name == "git":
        reader, rest = _GIT.get(rest[0] if rest else ""), rest[1:]
    elif name == "comm":
        # Its options are digits.
        reader, rest = READERS[name], [word for word in rest if not re.fullmatch("-[123]+", word)]
    else:
        reader = READERS.get(name)
    if reader is None:
        return False
    end = rest.index("--") if "--" in rest else len(rest)
    return all(
        _is_safe_option(word, reader)
        if word[:1] == "-" and word != "-" and at < end
        else word == "--" or re.fullmatch(reader.operands, word, re.DOTALL)
        for at, word in enumerate(rest)
    ) and all(map(_is_below, rest))


def _is_safe_option(word: str, reader: Reader) -> bool:
    name, _, value = word.partition("=")
    if word.startswith("--"):
        return name in reader.long and not value.startswith(("/", "~"))
    flags = re.escape(reader.short)
    return bool(re.fullmatch(f"-[{flags}]*{_VALUE}" if flags else f"-{_VALUE}", word))


def _is_below(word: str) -> bool:
    """Return whether a word is known, and is no path to another place.

    Zsh replaces a word like `=ls` by a path. Some commands of shells run what is in `$(…)` although
    it is in quotes.
    """
    is_pattern = GLOB in word
    return (
        is_known(word.replace(GLOB, ""))
        and not word.startswith(("/", "~", "="))
        and ".." not in word
        and "$(" not in word
        and "`" not in word
        and not (is_pattern and ("," in word or _DOTTED.search(word)))
    )
