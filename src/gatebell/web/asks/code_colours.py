"""The colours of code: comments, texts, numbers and keywords, one line at a time.

Not by a library: its patterns can be made to run for ever, and agents choose the text. Each
pattern here reads a character once, and a line knows nothing of the lines before it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAX_LINE = 400


class Span(NamedTuple):
    """A part of a line, and the class of its colour."""

    start: int
    end: int
    kind: str


class _Language(NamedTuple):
    pattern: re.Pattern[str]
    keywords: frozenset[str]


_STRINGS = r'"""(?:[^"\\]|\\.|"(?!""))*(?:""")?|"(?:[^"\\]|\\.)*"?' + r"|'(?:[^'\\]|\\.)*'?"
_NUMBER = r"(?<![\w.])\d[\w.]*"
_NAME = r"[^\W\d]\w*"
_HASH, _SLASHES, _DASHES = r"(?<!\S)#.*", r"//.*|/\*.*?(?:\*/|\Z)", r"--.*"
_TAGS = r"<!--.*?(?:-->|\Z)"

_C_LIKE = (
    "abstract as async await break case catch class const continue default defer delete do else "
    "enum export extends false final finally fn for from func function go if impl implements "
    "import in instanceof interface let loop match mod mut new nil null of override package "
    "private protected pub public readonly return self static struct super switch this throw "
    "throws trait true try type typeof undefined unsafe use var void where while with yield"
)
_PYTHON = (
    "and as assert async await break case class continue def del elif else except False finally "
    "for from global if import in is lambda match None nonlocal not or pass raise return self "
    "True try while with yield"
)
_SHELL = "case do done elif else esac export fi for function if in local return set then while"
_SQL = (
    "add alter and as asc begin between by case check column commit constraint create cross "
    "default delete desc distinct drop else end exists foreign from full group having if in index "
    "inner insert into is join key left like limit not null offset on or order outer primary "
    "references returning right rollback select set table then union unique update using values "
    "view when where with"
)
_RUBY = (
    "and begin break case class def do else elsif end ensure false for if in module next nil not "
    "or require rescue return self super then true unless until when while yield"
)
_DATA = "true false null yes no on off none"


def _language(comment: str, keywords: str, strings: str = _STRINGS) -> _Language:
    parts = (f"(?P<c>{comment})", f"(?P<s>{strings})", f"(?P<n>{_NUMBER})", f"(?P<w>{_NAME})")
    return _Language(re.compile("|".join(parts)), frozenset(keywords.split()))


_C = _language(_SLASHES, _C_LIKE, _STRINGS + r"|`(?:[^`\\]|\\.)*`?")
_PY = _language(r"#.*", _PYTHON)
_SH = _language(_HASH, _SHELL)
_RB = _language(_HASH, _RUBY)
_DB = _language(_DASHES, f"{_SQL} {_SQL.upper()}")
_VALUES = _language(_HASH, _DATA)
_MARKUP = _language(_TAGS, "", r'"[^"]*"?' + r"|'[^']*'?|</?[A-Za-z][\w:-]*|/?>")
_BY_ENDING = {
    **dict.fromkeys(("py", "pyi"), _PY),
    **dict.fromkeys(["sh", "bash", "zsh", "fish", "mk", "env", "dockerfile", "makefile"], _SH),
    **dict.fromkeys(("rb", "ex", "exs", "cr"), _RB),
    "sql": _DB,
    **dict.fromkeys(
        ["json", "jsonc", "json5", "yaml", "yml", "toml", "ini", "cfg", "conf", "lock"], _VALUES
    ),
    **dict.fromkeys(("html", "htm", "xml", "svg", "vue"), _MARKUP),
    **dict.fromkeys(
        [
            "js",
            "mjs",
            "cjs",
            "jsx",
            "ts",
            "tsx",
            "go",
            "rs",
            "java",
            "kt",
            "kts",
            "c",
            "h",
            "cc",
            "cpp",
            "hpp",
            "cs",
            "swift",
            "php",
            "scala",
            "dart",
            "css",
            "scss",
            "less",
            "proto",
            "zig",
            "graphql",
        ],
        _C,
    ),
}
_CLASSES = {"c": "t-c", "s": "t-s", "n": "t-n"}


def find_spans(name: str, line: str) -> list[Span]:
    """Return the coloured parts of a line, in their order, for a file of this name."""
    language = _BY_ENDING.get(name.rpartition("/")[2].rpartition(".")[2].lower())
    if language is None or len(line) > _MAX_LINE:
        return []
    return list(_find(language, line))


def _find(language: _Language, line: str) -> Iterator[Span]:
    for found in language.pattern.finditer(line):
        colour = _CLASSES.get(found.lastgroup or "")
        if colour:
            yield Span(found.start(), found.end(), colour)
        elif found[0] in language.keywords:
            yield Span(found.start(), found.end(), "t-k")
        elif line[found.end() : found.end() + 1] == "(":
            yield Span(found.start(), found.end(), "t-f")
