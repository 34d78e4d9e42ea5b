"""A grant by a pattern, with the real Claude Code: a file outside the project is asked about."""

from __future__ import annotations

import pytest

from gatebell.install.scripted_model import text, tool


@pytest.mark.proves("HOOK-30")
def test_claude_asks_about_files_outside(house, terminal):
    house.install("claude")
    house.change_settings(lambda words: words.replace('"Write"', '"Nothing"'))
    inside, outside = house.project / "a.md", house.folder / "evil.md"
    terminal.claude(
        [
            *(tool("Write", file_path=str(one), content="x") for one in (inside, outside)),
            text("done"),
        ],
        "--permission-mode",
        "manual",
    )
    (ask,) = house.wait_for_asks()
    house.answer(ask, "yes", "--for", "session", "--pattern", "Write(*.md)")
    (second,) = house.wait_for_asks()
    assert second.question.prompt == f"Change {outside}?"
    house.answer(second, "no")
    terminal.until("done")
    assert inside.exists() and not outside.exists()
