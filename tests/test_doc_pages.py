"""The pages of README and docs: which code blocks no test runs, and how wide their lines are."""

from __future__ import annotations

import runpy

import pytest

from tests.support.code_blocks import ROOT, find_blocks, read_blocks, read_pages

# The number of blocks that say why they are not run. It may only fall.
MAX_NOT_RUN = 23
WRAP = runpy.run_path(str(ROOT / "docs" / "wrap.py"))
wrap_page, WIDTH = WRAP["wrap_page"], WRAP["WIDTH"]
LONG = "A word `code span` [a link](to/some.md) and more. " * 5


@pytest.mark.proves("DOC-2")
def test_blocks_that_do_not_run_are_listed(capsys):
    found = [block for block in read_blocks() if block.not_run]
    with capsys.disabled():
        print(f"\n{len(found)} of {len(read_blocks())} code blocks are not run:")
        print("\n".join(f"  {block}: {block.not_run}" for block in found))
    assert len(found) <= MAX_NOT_RUN
    named = [word for block in found for word in block.not_run.split() if word.startswith("tests/")]
    assert named and [name for name in named if not (ROOT / name).exists()] == []


@pytest.mark.proves("DOC-1")
def test_fence_says_why_a_block_is_not_run():
    page = "```sh not run: no network\na\n```\n\n- b\n\n  ```python\n  c\n  ```\n"
    first, second = find_blocks("x.md", page)
    assert (first.language, first.not_run, str(first)) == ("sh", "no network", "x.md:1")
    assert (second.language, second.not_run, second.line) == ("python", "", 7)


@pytest.mark.proves("DOC-1")
def test_no_block_hides_without_a_fence():
    """An indented block would not be found."""
    found = []
    for page, text in read_pages().items():
        before, in_fence = "", False
        for number, line in enumerate(text.splitlines(), 1):
            in_fence ^= line.lstrip().startswith("```")
            if not in_fence and line.startswith("    ") and not before:
                found.append(f"{page}:{number}")
            before = line
    assert found == []


@pytest.mark.proves("DOC-3")
@pytest.mark.parametrize("begin", ["", "- ", "10. ", "  - ", "- [ ] "])
def test_wide_paragraph_is_wrapped_and_says_the_same(begin):
    text = f"{begin}{LONG}\n"
    lines = wrap_page(text).splitlines()
    assert len(lines) > 2 and max(map(len, lines)) <= WIDTH
    assert all(line.startswith(" " * len(begin)) for line in lines[1:])
    assert " ".join(wrap_page(text).split()) == " ".join(text.split())
    assert wrap_page(wrap_page(text)) == wrap_page(text)
    assert all(line.count("`") % 2 == 0 and line.count("[") == line.count("]") for line in lines)


@pytest.mark.proves("DOC-3")
@pytest.mark.parametrize(
    "text",
    [
        f"```\n{LONG}\n```\n",
        f"| {LONG} |\n",
        f"# {LONG}\n",
        f"![{LONG}](a.png)\n",
        "Short.\nToo.\n",
    ],
)
def test_other_lines_are_left_as_they_are(text):
    assert wrap_page(text) == text


@pytest.mark.proves("DOC-3")
@pytest.mark.parametrize("word", ["-", "+", "409.", "#", "|", ">"])
def test_no_wrapped_line_begins_a_list_or_heading(word):
    wrapped = wrap_page(f"{'abc ' * 24}{word} {'more ' * 20}\n")
    assert not any(line.startswith(word) for line in wrapped.splitlines())
    assert max(map(len, wrapped.splitlines())) <= WIDTH


@pytest.mark.proves("DOC-3")
def test_prose_wraps_at_one_hundred_columns():
    """Code blocks, tables, headings, pictures and unbreakable text are left out."""
    found = []
    for page in WRAP["pages"]():
        in_fence = False
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
            in_fence ^= line.lstrip().startswith("```")
            is_prose = not in_fence and not line.lstrip().startswith(("```", "|", "#", "!"))
            if is_prose and len(line) > WIDTH and " " in line.strip("-* "):
                found.append(f"{page.name}:{number}")
    assert found == [], "make docs wraps them"
