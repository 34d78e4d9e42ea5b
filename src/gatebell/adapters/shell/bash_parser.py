"""Parse a line as bash would, by tree-sitter.

Without the library, or with a line that it cannot parse, the result has a `problem`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gatebell.domain.permissions.shell_lines import GLOB, QUOTED, SPLIT, Command, Script

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
# After these, output goes to no file.
_NOWHERE = ("/dev/null", "/dev/stdout", "/dev/stderr")


def parse(line: str) -> Script:
    """Return the commands of a line, or why it cannot be read."""
    if len(line) > MAX_LENGTH:
        return Script(problem=f"it is longer than {MAX_LENGTH} characters")
    if any(mark in line for mark in (QUOTED, SPLIT, GLOB)):
        return Script(problem="it has control characters")
    try:
        # Imported here: only lines that a gate may hold are parsed.
        from tree_sitter import Language, Parser
        from tree_sitter_bash import language
    except ImportError:
        return Script(problem="the parser is not installed: pip install tree-sitter-bash")
    # The grammar does not join such lines inside of words.
    source = line.replace("\\\n", "").encode()
    root = Parser(Language(language())).parse(source).root_node
    if root.has_error or not _covers(root, source):
        return Script(problem="it cannot be parsed")
    reader = _Reader(source)
    reader.visit(root)
    return reader.build_script()


def _covers(root: Any, source: bytes) -> bool:
    """Return whether the nodes have all characters: the grammar skips some without an error.

    Seen: it drops the single `-` of `cat - <<EOF`, which changes nothing here.
    """
    rest = bytearray(source)
    for node in _list_leaves(root):
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
        self.writes = False

    def build_script(self) -> Script:
        return Script(
            tuple(self.commands), tuple(self.values), frozenset(self.functions), self.writes
        )

    def visit(self, node: Any, redirects: tuple[Any, ...] = ()) -> None:
        """Collect all commands in a node; `redirects`: those of the statement around it."""
        shape = node.type
        if shape == "command":
            self._add_command(node, redirects)
        elif shape == "function_definition":
            self.functions.add(self._text(node.child_by_field_name("name")))
        elif shape == "variable_assignment" and (value := node.child_by_field_name("value")):
            self.values.append(self._word(value))
        elif shape == "file_redirect":
            self.writes |= self._writes(node)
        elif shape == "for_statement":
            self.values += map(self._word, node.children_by_field_name("value"))
        if shape == "redirected_statement":
            redirects = tuple(node.children_by_field_name("redirect"))
        inner = redirects if shape in ("redirected_statement", "pipeline", "list") else ()
        last = node.named_children[-1:] if shape in ("pipeline", "list") else node.named_children
        for child in node.named_children:
            self.visit(child, inner if child in last else ())

    def _add_command(self, node: Any, redirects: tuple[Any, ...]) -> None:
        name = node.child_by_field_name("name")
        words = [self._word(one) for one in node.children_by_field_name("argument")]
        own = [*node.children_by_field_name("redirect"), *redirects]
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

    def _writes(self, redirect: Any) -> bool:
        signs = {self._text(one) for one in redirect.children if not one.is_named}
        targets = map(self._word, redirect.children_by_field_name("destination"))
        return not signs <= {"<", ">&", "<&"} and any(one not in _NOWHERE for one in targets)

    def _input(self, redirect: Any) -> str:
        for child in redirect.named_children:
            if child.type == "heredoc_body":
                return self._text(child) if not self._expands(child) else QUOTED
            if redirect.type == "herestring_redirect":
                return self._word(child)
        return ""

    def _expands(self, node: Any) -> bool:
        return any(child.type in _EXPANSIONS for child in node.named_children)

    def _text(self, node: Any) -> str:
        return self._source[node.start_byte : node.end_byte].decode(errors="replace")

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
        """Return the text of a string in double quotes; expansions become marks."""
        at, parts = node.start_byte + 1, []
        for child in node.named_children:
            if child.type in _EXPANSIONS:
                parts += [self._source[at : child.start_byte].decode(errors="replace"), QUOTED]
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
