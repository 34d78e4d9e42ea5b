"""Tests name only promised behaviours, and unproven promises are printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent
_PROVES = re.compile(r"\bproves\(((?:[^()]|\([^()]*\))*)\)")
_ID = re.compile(r"\"([A-Z0-9]+-[A-Z]?\d+)\"")


def list_promises() -> dict[str, str]:
    texts = [path.read_text(encoding="utf-8") for path in sorted(HERE.glob("promises/*.txt"))]
    lines = [line for text in texts for line in text.splitlines()]
    pairs = [line.split("  ", 1) for line in lines if line and not line.startswith("#")]
    assert len(pairs) == len({name for name, _ in pairs}), "an id is used twice"
    return dict(pairs)


def proven() -> set[str]:
    texts = [path.read_text(encoding="utf-8") for path in HERE.rglob("test_*.py")]
    return {
        found for text in texts for marks in _PROVES.findall(text) for found in _ID.findall(marks)
    }


@pytest.mark.proves("PROJ-2")
def test_tests_name_only_promised_behaviours():
    assert proven() - list_promises().keys() == set()


@pytest.mark.proves("PROJ-2")
def test_unproven_promises_are_printed(pytestconfig):
    done = proven()
    missing = [name for name in list_promises() if name not in done]
    ours = [name for name in missing if not re.match(r"S\d|X-", name)]
    reporter = pytestconfig.pluginmanager.get_plugin("terminalreporter")
    count = len(list_promises())
    reporter.write_line(
        f"\n{count - len(missing)} of {count} promised behaviours are proven; not yet:"
    )
    reporter.write_line(" ".join(missing))
    assert ours == []
