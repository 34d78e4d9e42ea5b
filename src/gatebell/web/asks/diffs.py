"""Unified diffs as tables that are readable without colours."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from markupsafe import Markup, escape
from unidiff.constants import RE_DIFF_GIT_HEADER
from unidiff.patch import PatchSet

from gatebell.domain.permissions.call_changes import File, Part, Row
from gatebell.domain.text.display import inert, inert_line
from gatebell.web.asks.diff_lines import LineRenderer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from unidiff.patch import Hunk, PatchedFile

MAX_LINES = 5_000
_MAX_READ = 2 * MAX_LINES
_OPEN_LINES = 200
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
_WHOLE = re.compile(r"@@ -(0,0 \+1,\d+|1,\d+ \+0,0) @@", re.ASCII)
_MODES = ("100644", "100755", "120000")


def find(text: str) -> tuple[str, str]:
    """Split free text into the words before its first diff, and the rest."""
    start = _START.search(text)
    return (text[: start.start()], text[start.start() :]) if start else (text, "")


def render(text: str) -> Markup:
    """Read a unified diff, one section per file. Other text is shown unchanged."""
    lines = text.split("\n")
    chunks = re.split(r"^(?=diff --git )", "\n".join(lines[:_MAX_READ]), flags=re.MULTILINE)
    made = render_files([file for chunk in chunks if chunk.strip() for file in _read(chunk)])
    left = len(lines) - _MAX_READ
    return made + _cut(f"not shown: {left:,} more lines of this diff") if left > 0 else made


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
    if created or deleted:
        parts = _leave_out_head(parts)
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


def _leave_out_head(parts: list[Part]) -> list[Part]:
    """Return the parts of a whole file without the place of the only one."""
    alone = len(parts) == 1 and _WHOLE.fullmatch(parts[0].head)
    return [parts[0]._replace(head="")] if alone else parts


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


def render_files(files: list[File], open_lines: int = _OPEN_LINES) -> Markup:
    """Render one section for each file; a longer one than `open_lines` is folded."""
    made, room, renderer = Markup(), MAX_LINES, LineRenderer()
    for number, file in enumerate(files):
        if room <= 0:
            lines = sum(one.length for one in files[number:])
            made += _cut(f"not shown: {len(files) - number:,} more files, {lines:,} lines")
            break
        made += _section(file, room, renderer, open_lines)
        room -= max(1, file.length)
    return made


def _section(file: File, room: int, renderer: LineRenderer, open_lines: int) -> Markup:
    counts = f"+{file.count('+')} −{file.count('-')}" if file.parts else ""
    body = _table(file, room, renderer) if file.parts else Markup()
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
    if file.length > open_lines:
        inner = Markup("<details><summary>{}, {:,} lines</summary>{}</details>").format(
            head, file.length, body
        )
    return Markup('<section class="diff" aria-label="{}">{}</section>\n').format(name, inner)


def _table(file: File, room: int, renderer: LineRenderer) -> Markup:
    lines: list[str] = []
    for part in file.parts:
        if room <= 0:
            break
        if part.head:
            head = escape(inert_line(part.head))
            lines.append(f'<tr class="hunk"><td colspan="4">{head}</td></tr>')
        rows = part.rows[:room]
        made = renderer.render(file.name, [(row.sign, row.text) for row in rows])
        lines += map(_line, rows, made)
        room -= len(part.rows)
    return Markup(
        '<table class="diff"><thead><tr><th scope="col">old</th><th scope="col">new</th>'
        '<th scope="col">sign</th><th scope="col">line</th></tr></thead>\n<tbody>{}</tbody></table>'
    ).format(Markup("\n").join(map(Markup, lines)))


def _line(row: Row, text: str) -> str:
    return (
        f'<tr class="{_KINDS[row.sign]}"><td class="num">{row.old or ""}</td>'
        f'<td class="num">{row.new or ""}</td><td class="sign">{row.sign.strip()}</td>'
        f'<td class="line">{text}</td></tr>'
    )


def _cut(words: str) -> Markup:
    return Markup('<p class="cut">… {}</p>').format(words)
