"""Parse a line as bash would, by tree-sitter.

Without the library, or with a line that it cannot parse, the result has a `problem`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from gatebell.domain.permissions.shell_lines import (
    GLOB,
    QUOTED,
    SPLIT,
    Command,
    Script,
    join_scripts,
)
from gatebell.domain.text.late_patterns import late_pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_LENGTH = 20_000
_GLOBS = frozenset("*?[{")
_EXPANSIONS = frozenset(["simple_expansion", "expansion", "command_substitution",
                         "process_substitution", "arithmetic_expansion"])  # fmt: skip
# Nodes without a meaning of their own: their parts are looked at.
_REDIRECTS = frozenset(["file_redirect", "heredoc_redirect", "herestring_redirect"])
_ESCAPES = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "a": "\a",
    "b": "\b",
    "e": "\x1b",
    "f": "\f",
    "v": "\v",
}
_NOWHERE = "/dev/null"
# In these, bash runs what is in `$(…)`, although it is in quotes.
_TESTED = frozenset(["declaration_command", "unset_command", "test_command"])
_PLAIN = frozenset(
    ["program", "list", "pipeline", "command", "command_name", "negated_command", "subshell",
     "if_statement", "elif_clause", "else_clause", "redirected_statement", "file_redirect",
     "file_descriptor", "heredoc_redirect", "heredoc_start", "heredoc_body", "heredoc_content",
     "heredoc_end", "herestring_redirect", "word", "number", "string", "string_content",
     "raw_string", "ansi_c_string", "concatenation", "comment"]
)  # fmt: skip
_BACKTICKS = late_pattern(r"(?:[^`\\]|\\.)+|`((?:[^`\\]|\\.)*)(`?)|.", re.DOTALL)
_CONTINUED = re.compile(r"(?<!\\)((?:\\\\)*)\\\n")
_UNJOINED = re.compile(r"(?:^|[\s;&|()])#|<<")
# The grammar reads some words across the end of a line.
_UNLIKELY = {
    "word": re.compile(r"(?:[^\\]|^)(?:\\\\)*[\n;&|<>`]"),
    "comment": re.compile(r"\n"),
}
_BREAKS = b" \t\n;&|<>()"
# Text of a string or a here-document in which bash runs something.
_RUNS = late_pattern(r"(?:[^\\]|^)(?:\\\\)*(?:\$\(|`)")
_MANY = late_pattern(r"\$@|\$\{@|\[@\]")
_ESCAPED = late_pattern(r"\\([`$\\])")


def parse(line: str) -> Script:
    """Return the commands of a line, or why it cannot be read."""
    if len(line) > MAX_LENGTH:
        return Script(problem=f"it is longer than {MAX_LENGTH} characters")
    if any(mark in line for mark in (QUOTED, SPLIT, GLOB)):
        return Script(problem="it has control characters")
    try:
        # Imported here: only lines that a gate may hold are parsed.
        from tree_sitter import Language, Parser

        from gatebell.adapters.shell.grammar import load_grammar

        grammar = Language(load_grammar())
    except ImportError:
        return Script(problem="the parser is not installed: pip install tree-sitter-bash")
    scripts: list[Script] = []
    for text in dict.fromkeys(_read_continued(line)):
        try:
            source = text.encode()
            root = Parser(grammar).parse(source).root_node
            if root.has_error or not _covers(root, source):
                return Script(problem="it cannot be parsed")
            reader = _Reader(source)
            reader.visit(root)
        except (UnicodeEncodeError, RecursionError):
            return Script(problem="it cannot be parsed")
        scripts.append(reader.build_script())
    return scripts[0] if len(scripts) == 1 else join_scripts(*scripts)


def _read_continued(line: str) -> Iterator[str]:
    r"""Yield the line with `\` and line ends joined: the grammar does not join them inside of words.

    Bash does not join them in a comment, nor in a quoted here-document. So such a line is read in
    both ways.
    """
    yield _CONTINUED.sub(r"\1", line)
    if _UNJOINED.search(line):
        yield _CONTINUED.sub(r"\1\n", line)


def _covers(root: Any, source: bytes) -> bool:
    """Return whether the nodes have all characters: the grammar skips some without an error.

    Seen: it drops the single `-` of `cat - <<EOF`, which changes nothing here.
    """
    rest = bytearray(source)
    for node in _list_leaves(root):
        if node.type == "heredoc_start" and source[node.end_byte : node.end_byte + 1].strip(
            _BREAKS
        ):
            return False
        rest[node.start_byte : node.end_byte] = b" " * (node.end_byte - node.start_byte)
    return set(bytes(rest).split()) <= {b"-"}


def _list_leaves(node: Any) -> Iterator[Any]:
    if node.type in ("string", "heredoc_body", "comment", "regex") or not node.children:
        yield node
        return
    for child in node.children:
        yield from _list_leaves(child)


class _Reader:
    """Collects the commands of a tree."""

    def __init__(self, source: bytes) -> None:
        self._source = source
        self.commands: list[Command] = []
        self.values: list[str] = []
        self.functions: set[str] = set()
        self.problem = ""
        self.is_plain = True
        self.settings: list[tuple[str, str]] = []
        self.tested: list[str] = []
        self.hidden: list[str] = []

    def build_script(self) -> Script:
        return Script(
            tuple(self.commands),
            tuple(self.values),
            frozenset(self.functions),
            self.is_plain,
            tuple(self.settings),
            tuple(self.tested),
            tuple(self.hidden),
            self.problem,
        )

    def visit(self, node: Any, redirects: tuple[Any, ...] = ()) -> None:
        """Collect all commands in a node; `redirects`: those of the statement around it."""
        shape = node.type
        self.is_plain &= shape in _PLAIN
        if shape in _UNLIKELY and _UNLIKELY[shape].search(self._text(node)):
            self.problem = "it cannot be parsed"
        self.hidden += self._list_hidden(node)
        if shape == "command":
            self._add_command(node, redirects)
        elif shape == "function_definition":
            self.functions.add(self._text(node.child_by_field_name("name")))
        elif shape == "variable_assignment" and (value := node.child_by_field_name("value")):
            self.values.append(self._word(value))
            name = self._text(node.child_by_field_name("name"))
            self.settings.append((name, self.values[-1]))
        elif shape in _TESTED:
            self.tested += [self._word(leaf) for leaf in _list_leaves(node)]
        elif shape == "file_redirect":
            self.is_plain &= self._is_harmless(node)
        elif shape == "for_statement":
            self.values += map(self._word, node.children_by_field_name("value"))
        if shape == "redirected_statement":
            redirects = tuple(node.children_by_field_name("redirect"))
        children = node.named_children
        # The redirections of a pipeline are those of its last command.
        first = {
            "redirected_statement": 0,
            "pipeline": len(children) - 1,
            "list": len(children) - 1,
        }
        for at, child in enumerate(children):
            self.visit(child, redirects if at >= first.get(shape, len(children)) else ())

    def _add_command(self, node: Any, redirects: tuple[Any, ...]) -> None:
        name = node.child_by_field_name("name")
        own = [*node.children_by_field_name("redirect"), *redirects]
        # In `sh 0<<<x` the digit belongs to the redirection.
        begins = {one.start_byte for one in own}
        words = [
            self._word(one)
            for one in node.children_by_field_name("argument")
            if one.end_byte not in begins or not self._text(one).isdigit()
        ]
        # A word after a here-string is an argument that the grammar puts into the redirection.
        found = [self._input(one) for one in own if one.type != "file_redirect"]
        for one in own:
            words += [self._word(more) for more in one.children_by_field_name("argument")]
        extra = [self._word(more) for one in own if one.type == "file_redirect"
                 for more in one.children_by_field_name("destination")[1:]]  # fmt: skip
        program = self._word(name.children[0]) if name and name.children else SPLIT
        self.commands.append(
            Command(
                (program, *words, *extra),
                self._text(node),
                found[0] if found else None,
            )
        )

    def _is_harmless(self, redirect: Any) -> bool:
        """Return whether a redirection names no file; words after it are arguments."""
        signs = {self._text(one) for one in redirect.children if not one.is_named}
        target = next(map(self._word, redirect.children_by_field_name("destination")), "-")
        is_copy = signs <= {">&", "<&", ">&-", "<&-"} and (target.isdigit() or target == "-")
        return is_copy or target == _NOWHERE

    def _list_hidden(self, node: Any) -> Iterator[str]:
        r"""Yield texts in backticks that the grammar leaves in a word, or that have `\`` inside."""
        text = self._text(node)
        if node.type == "command_substitution":
            if text.startswith("`") and "\\" in text:
                yield _ESCAPED.sub(r"\1", text[1:-1])
        elif node.type == "heredoc_redirect":
            if not set(self._text(node.named_children[0])) & set("'\"\\"):
                bodies = [one for one in node.named_children if one.type == "heredoc_body"]
                yield from self._list_runs(node, "".join(map(self._text, bodies)))
        elif node.type == "string" and _RUNS.search(self._plain_text(node)):
            yield SPLIT
        elif node.type == "expansion":
            yield from self._list_runs(node, text)

    def _list_runs(self, node: Any, text: str) -> Iterator[str]:
        """Yield what is in backticks, and a mark for `$(` that the grammar did not see."""
        for found in _BACKTICKS.finditer(text):
            if found[1] is not None:
                yield _ESCAPED.sub(r"\1", found[1]) if found[2] else SPLIT
        if any(found[1] is None and "$(" in found[0] and _RUNS.search(found[0])
               for found in _BACKTICKS.finditer(self._plain_text(node))):  # fmt: skip
            yield SPLIT

    def _plain_text(self, node: Any) -> str:
        """Return the text of a node without the expansions that the grammar knows."""
        parts, at = [], node.start_byte
        for child in node.named_children:
            parts.append(self._decode(at, child.start_byte))
            is_beside = node.type == "heredoc_redirect" and child.type != "heredoc_body"
            parts.append(" " if is_beside or child.type in _EXPANSIONS else self._plain_text(child))
            at = child.end_byte
        return "".join([*parts, self._decode(at, node.end_byte)])

    def _input(self, redirect: Any) -> str:
        for child in redirect.named_children:
            if child.type == "heredoc_body":
                return self._text(child) if not self._expands(child) else self._body(child)
            if redirect.type == "herestring_redirect":
                return self._word(child)
        return ""

    def _body(self, node: Any) -> str:
        """Return the text of a here-document, with marks for its expansions."""
        parts, at = [], node.start_byte
        for child in node.named_children:
            if child.type in _EXPANSIONS:
                parts += [self._decode(at, child.start_byte), QUOTED]
                at = child.end_byte
        return "".join([*parts, self._decode(at, node.end_byte)])

    def _expands(self, node: Any) -> bool:
        return any(child.type in _EXPANSIONS for child in node.named_children)

    def _text(self, node: Any) -> str:
        return self._decode(node.start_byte, node.end_byte)

    def _decode(self, begin: int, end: int) -> str:
        return self._source[begin:end].decode(errors="replace")

    def _word(self, node: Any) -> str:
        """Return a word without its quotes, with marks for the parts that only the shell knows."""
        shape, text = node.type, self._text(node)
        if shape == "raw_string":
            return text[1:-1]
        if shape == "ansi_c_string":
            return _unescape(text[2:-1])
        if shape == "translated_string":
            return self._word(node.named_children[0])
        if shape == "string":
            return self._string(node)
        if shape == "concatenation":
            return self._join(node)
        if shape in _EXPANSIONS or shape == "array":
            return SPLIT
        if shape in ("word", "number", "variable_name", "file_descriptor", "test_operator"):
            return _plain(text)
        return "".join(map(self._word, node.children)) if node.children else _plain(text)

    def _join(self, node: Any) -> str:
        parts, at = [], node.start_byte
        for child in node.children:
            parts += [" "] * (child.start_byte > at)
            parts.append(self._word(child))
            at = child.end_byte
        return "".join(parts)

    def _string(self, node: Any) -> str:
        """Return the text of a string in double quotes; expansions become marks.

        `"[$]@"` and `"${a[@]}"` become several words.
        """
        at, parts = node.start_byte + 1, []
        for child in node.named_children:
            if child.type in _EXPANSIONS:
                mark = SPLIT if _MANY.search(self._text(child)) else QUOTED
                parts += [self._source[at : child.start_byte].decode(errors="replace"), mark]
                at = child.end_byte
        parts.append(self._source[at : node.end_byte - 1].decode(errors="replace"))
        text = "".join(parts)
        for mark in '"$`\\':
            text = text.replace(f"\\{mark}", mark)
        return text


def _plain(text: str) -> str:
    """Return a word without backslashes; globs become marks."""
    made, escaped = [], False
    for char in text:
        if escaped or char != "\\":
            made.append(GLOB if char in _GLOBS and not escaped else char)
            escaped = False
        else:
            escaped = True
    return "".join(made)


def _unescape(text: str) -> str:
    r"""Return the text of `$'…'`; an escape by a number makes it unknown."""
    made, escaped = [], False
    for char in text:
        if escaped:
            made.append(QUOTED if char in "0123456789xuUcC" else _ESCAPES.get(char, char))
        elif char != "\\":
            made.append(char)
        escaped = char == "\\" and not escaped
    return "".join(made)
