"""Which test runs which code block of a page, and how it runs Python."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.support.code_blocks import find_block

PLAYED: set[tuple[str, str]] = set()


def plays(page, *beginnings):
    """Mark a test as the one that runs the blocks of a page with this beginning."""
    PLAYED.update((page, beginning) for beginning in beginnings)
    blocks = [find_block(page, beginning) for beginning in beginnings]
    return pytest.mark.parametrize("blocks", [pytest.param(blocks, id=Path(page).stem)])


def is_played(block):
    """Return whether a test of the loaded files runs the block."""
    return any(block.page == page and block.text.startswith(begin) for page, begin in PLAYED)


def run_python(block, monkeypatch, **names):
    """Run a block as a module, so that its classes can be imported again; return its names."""
    module = ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", module)
    vars(module).update(names)
    code = compile(block.text, str(block), "exec", dont_inherit=True)
    exec(code, vars(module))
    return vars(module)
