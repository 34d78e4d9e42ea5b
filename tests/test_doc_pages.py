"""The pages of README and docs: which code blocks no test runs, and how wide their lines are."""

from __future__ import annotations

import pytest

from tests.support.code_blocks import ROOT, find_blocks, read_blocks, read_pages

# The number of blocks that say why they are not run. It may only fall.
MAX_NOT_RUN = 22


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
    """A block that is only indented would not be found."""
    found = []
    for page, text in read_pages().items():
        before, in_fence = "", False
        for number, line in enumerate(text.splitlines(), 1):
            in_fence ^= line.lstrip().startswith("```")
            if not in_fence and line.startswith("    ") and not before:
                found.append(f"{page}:{number}")
            before = line
    assert found == []
