"""Contexts of questions as text."""

from __future__ import annotations

import pytest

from gatebell.domain.asks.context_text import context_text


@pytest.mark.proves("TASK-282")
@pytest.mark.parametrize(
    ("context", "words"),
    [
        (None, ""),
        ("As it\nis", "As it\nis"),
        ({"summary": "Did it", "details": ""}, "summary: Did it"),
        ({"summary": "Did it", "details": "- one\n- two\n"}, "summary: Did it\ndetails:\n- one\n- two"),
        ({"summary": "x", "changed": ["a.py", "b.py"]}, "summary: x\nchanged:\n- a.py\n- b.py"),
        ({"n": 7}, '{\n  "n": 7\n}'),
        ({"names": ["a", 7]}, '{\n  "names": [\n    "a",\n    7\n  ]\n}'),
        ({}, "{}"),
        (["ä"], '[\n  "ä"\n]'),
    ],
)  # fmt: skip
def test_text_values_are_lines_and_the_rest_is_json(context, words):
    assert context_text(context) == words
