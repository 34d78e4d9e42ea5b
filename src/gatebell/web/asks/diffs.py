"""Unified diffs, and the edits of a tool call, as tables that are readable without colours."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup, escape
from unidiff.constants import RE_DIFF_GIT_HEADER
from unidiff.patch import PatchSet

from gatebell.domain.text.display import inert, inert_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from unidiff.patch import Hunk, PatchedFile

    from gatebell.domain.permissions.calls import Call

MAX_LINES = 5_000
_MAX_READ = 2 * MAX_LINES
_OPEN_LINES = 200
# Longer edits are not compared: all old lines, then all new lines.
_MAX_COMPARED = 4_000
# A longer line above a table would be cut.
_MAX_TOLD_LENGTH = 400
_MAX_ANDS = 5
_KINDS = {"+": "add", "-": "del", " ": "ctx", "\\": "ctx"}

_START = re.compile(r"^(?:diff --git |--- (?:a/|/dev/null\b).*\n\+\+\+ )", re.MULTILINE)
# Lines that mean nothing to a person, and have no room for words.
_SAYS_NOTHING = re.compile(
    r"index [0-9a-f]{7,64}\.\.[0-9a-f]{7,64}( \d{6})?"
    r"|(dis)?similarity index \d{1,3}%|\\ No newline at end of file"
)
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)", re.ASCII)
_MODES = ("100644", "100755", "120000")


class Row(NamedTuple):
    """A line of a diff: its sign, its numbers in the old and the new file, its text."""

    sign: str
    old: int | None
    new: int | None
    text: str


class Part(NamedTuple):
    """Adjacent lines, and the heading above them."""

    head: str
    rows: list[Row]


class File(NamedTuple):
    """The change of one file."""

    name: str
    words: list[str]
    parts: list[Part]
    rest: str = ""
    """Text that is not a diff, unchanged."""

    @property
    def length(self) -> int:
        return sum(len(part.rows) for part in self.parts) + _lines(self.rest)

    def count(self, sign: str) -> int:
        return sum(row.sign == sign for part in self.parts for row in part.rows)


def _lines(text: str) -> int:
    return text.rstrip("\n").count("\n") + 1 if text else 0


def find(text: str) -> tuple[str, str]:
    """Split free text into the words before its first diff, and the rest."""
    start = _START.search(text)
    return (text[: start.start()], text[start.start() :]) if start else (text, "")


def render(text: str) -> Markup:
    """Read a unified diff, one section per file. Other text is shown unchanged."""
    lines = text.split("\n")
    chunks = re.split(r"^(?=diff --git )", "\n".join(lines[:_MAX_READ]), flags=re.MULTILINE)
    made = _sections([file for chunk in chunks if chunk.strip() for file in _read(chunk)])
    left = len(lines) - _MAX_READ
    return made + _cut(f"not shown: {left:,} more lines of this diff") if left > 0 else made


def of_call(call: Call) -> Markup | None:
    """Return the changes of an Edit, MultiEdit or Write; None for every other call."""
    edits = _edits(call)
    if not edits or not all(isinstance(text, str) for edit in edits for text in edit[:2]):
        return None
    parts: list[Part] = []
    for number, (old, new, everywhere) in enumerate(edits, 1):
        head = f"edit {number} of {len(edits)}" if len(edits) > 1 else ""
        where = "at every place where it occurs" if everywhere else ""
        said = ", ".join(filter(None, (head, where)))
        parts += _compare(old, new, said, numbered=call.tool == "Write")
    words = ["the whole file is written"] if call.tool == "Write" else []
    return _sections([File(call.path, words, parts)])


def _edits(call: Call) -> list[tuple[Any, Any, bool]]:
    """Return old text, new text, and whether every place is changed."""
    given = call.input
    if call.tool == "Write":
        return [("", given.get("content"), False)]
    listed = given.get("edits") if call.tool == "MultiEdit" else [given]
    if call.tool not in ("Edit", "MultiEdit") or not isinstance(listed, list):
        return []
    return [
        (one.get("old_string"), one.get("new_string"), bool(one.get("replace_all")))
        if isinstance(one, dict)
        else (None, None, False)
        for one in listed
    ]


def _compare(old: str, new: str, head: str, *, numbered: bool) -> Iterator[Part]:
    # The place of the old text in its file is unknown, so its lines have no numbers.
    before, after = old.split("\n") if old else [], new.split("\n") if new else []
    everything = [("replace", 0, len(before), 0, len(after))]
    groups: Iterable[list[Any]] = [everything]
    if len(before) + len(after) <= _MAX_COMPARED:
        groups = SequenceMatcher(None, before, after).get_grouped_opcodes(3)
    for group in groups:
        rows: list[Row] = []
        for tag, a, b, c, d in group:
            if tag == "equal":
                rows += [Row(" ", None, None, line) for line in before[a:b]]
            else:
                rows += [Row("-", None, None, line) for line in before[a:b]]
                rows += [
                    Row("+", None, number if numbered else None, line)
                    for number, line in enumerate(after[c:d], c + 1)
                ]
        yield Part(head, rows)


def _read(chunk: str) -> list[File]:
    """Read the files of a diff. If its end is broken, the part before is still read."""
    head, at, tail = chunk.rpartition("\n@@ ")
    for text, rest in ((chunk, ""), (head, at[1:] + tail)):
        # Blank lines at the end of a text get lost on the way here.
        for ending in ("\n", "\n\n", "\n\n\n", "\n\n\n\n"):
            if found := _parse(text.removesuffix("\n") + ending):
                left = "\n".join(filter(None, (_not_told(found, text), rest)))
                files = [_file(one, text) for one in found]
                return [*files, File("", [], [], left)] if left else files
    return [File("", [], [], chunk)]


def _parse(text: str) -> list[PatchedFile]:
    for line in text.split("\n"):
        # The library's patterns for these lines can be made to run for ever.
        if line.startswith("diff --git ") and not RE_DIFF_GIT_HEADER.match(line):
            return []
        if line.startswith("Binary file") and (
            len(line) > 2 * _MAX_TOLD_LENGTH or line.count(" and ") > _MAX_ANDS
        ):
            return []
    try:
        return PatchSet(text)
    except Exception:  # the library raises errors of its parts; the text is then shown unchanged
        return []


def _file(found: PatchedFile, text: str) -> File:
    source, target = _plain_name(found.source_file), _plain_name(found.target_file)
    created, deleted = found.source_file == "/dev/null", found.target_file == "/dev/null"
    moved = "" if created or deleted or source == target else f"from {source}"
    old_mode, new_mode = found.source_mode, found.target_mode
    changed = not created and not deleted and old_mode != new_mode
    said = {
        "new file": created,
        "deleted": deleted,
        f"{'copied' if 'copy from ' in text else 'renamed'} {moved}": moved,
        "binary, its content is not shown": found.is_binary_file,
        "symbolic link": found.is_symlink,
        "executable": created and new_mode == "100755",
        f"mode {old_mode} becomes {new_mode}": changed,
    }
    words = [word for word, is_so in said.items() if is_so]
    parts = [_part(hunk, text.count("\n") + 1) for hunk in found]
    return File(source if deleted else target, words, parts)


def _plain_name(name: str) -> str:
    quoted = name.startswith('"') and name.endswith('"')
    bare = re.sub(r"^[ab]/", "", name[1:-1] if quoted else name)
    return f'"{bare}"' if quoted else bare


def _part(hunk: Hunk, last: int) -> Part:
    lengths = f"-{hunk.source_start},{hunk.source_length} +{hunk.target_start},{hunk.target_length}"
    rows = [
        Row(line.line_type, line.source_line_no, line.target_line_no, line.value.rstrip("\n"))
        for line in hunk
        # Not the blank lines after a hunk, and not those that were added to make it readable.
        if line.line_type and (line.diff_line_no or 0) <= last
    ]
    return Part(f"@@ {lengths} @@ {hunk.section_header}".strip(), rows)


def _not_told(found: list[PatchedFile], text: str) -> str:
    """Return lines that are in no table and whose meaning is not shown above it."""
    shown = {line.diff_line_no for file in found for hunk in file for line in hunk}
    told = {line for one in found for line in _list_redundant(one)}
    return "\n".join(
        line
        for number, line in enumerate(text.split("\n"), 1)
        if line.strip()
        and number not in shown
        and not _SAYS_NOTHING.fullmatch(line)
        and (len(line) > _MAX_TOLD_LENGTH or _hunk_head(line) not in told)
    )


def _list_redundant(found: PatchedFile) -> Iterator[str]:
    """List the lines of a diff whose meaning the section of their file already shows."""
    source, target = found.source_file, found.target_file
    yield from (f"--- {source}", f"--- {source}\t", f"+++ {target}", f"+++ {target}\t")
    yield f"diff --git {source} {target}"
    names = [_plain_name(one) for one in (source, target) if one != "/dev/null"]
    if names:
        yield f"diff --git {_with_prefix('a', names[0])} {_with_prefix('b', names[-1])}"
    if len(set(names)) == 2:
        yield from (f"{word} from {names[0]}" for word in ("rename", "copy"))
        yield from (f"{word} to {names[1]}" for word in ("rename", "copy"))
    if found.is_binary_file:
        yield f"Binary files {source} and {target} differ"
    old, new = found.source_mode, found.target_mode
    if len(names) == 2 and old != new:
        yield from (f"old mode {old}", f"new mode {new}")
    if len(names) == 1:
        yield from (f"{word} mode {one}" for word in ("new file", "deleted file") for one in _MODES)
    yield from (_part(hunk, 0).head for hunk in found)


def _with_prefix(side: str, name: str) -> str:
    return f'"{side}/{name[1:]}' if name.startswith('"') else f"{side}/{name}"


def _hunk_head(line: str) -> str:
    """Return the first line of a hunk as the table shows it, and other lines unchanged."""
    if not (head := _HUNK.fullmatch(line)):
        return line
    a, b, c, d, section = head.groups("1")
    return f"@@ -{a},{b} +{c},{d} @@ {section}".strip()


def _sections(files: list[File]) -> Markup:
    made, room = Markup(), MAX_LINES
    for number, file in enumerate(files):
        if room <= 0:
            lines = sum(one.length for one in files[number:])
            made += _cut(f"not shown: {len(files) - number:,} more files, {lines:,} lines")
            break
        made += _section(file, room)
        room -= max(1, file.length)
    return made


def _section(file: File, room: int) -> Markup:
    counts = f"+{file.count('+')} −{file.count('-')}" if file.parts else ""
    body = _table(file.parts, room) if file.parts else Markup()
    if file.rest:
        rest = "\n".join(file.rest.rstrip("\n").split("\n")[:room])
        body = Markup('<pre class="diff">{}</pre>').format(inert(rest))
    if file.length > room:
        body += _cut(f"not shown: {file.length - room:,} more lines")
    if not file.name:
        return body
    name = inert_line(file.name)
    head = Markup('<code class="file">{}</code> <span class="counts">{}</span> {}').format(
        name, counts, inert_line(", ".join(file.words))
    )
    inner = Markup('<p class="head">{}</p>{}').format(head, body)
    if file.length > _OPEN_LINES:
        inner = Markup("<details><summary>{}, {:,} lines</summary>{}</details>").format(
            head, file.length, body
        )
    return Markup('<section class="diff" aria-label="{}">{}</section>\n').format(name, inner)


def _table(parts: list[Part], room: int) -> Markup:
    lines: list[str] = []
    for part in parts:
        if room <= 0:
            break
        if part.head:
            head = escape(inert_line(part.head))
            lines.append(f'<tr class="hunk"><td colspan="4">{head}</td></tr>')
        lines += map(_line, part.rows[:room])
        room -= len(part.rows)
    return Markup(
        '<table class="diff"><thead><tr><th scope="col">old</th><th scope="col">new</th>'
        '<th scope="col">sign</th><th scope="col">line</th></tr></thead>\n<tbody>{}</tbody></table>'
    ).format(Markup("\n").join(map(Markup, lines)))


def _line(row: Row) -> str:
    text = escape(inert(row.text))
    return (
        f'<tr class="{_KINDS[row.sign]}"><td class="num">{row.old or ""}</td>'
        f'<td class="num">{row.new or ""}</td><td class="sign">{row.sign.strip()}</td>'
        f'<td class="line">{text}</td></tr>'
    )


def _cut(words: str) -> Markup:
    return Markup('<p class="cut">… {}</p>').format(words)
