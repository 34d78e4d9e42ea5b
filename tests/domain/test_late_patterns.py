"""A pattern that is compiled late behaves as any other."""

from __future__ import annotations

import re

import pytest

from gatebell.domain.text.late_patterns import late_pattern


@pytest.mark.proves("REMOTE-11")
def test_late_pattern_matches_as_usual(monkeypatch):
    made = late_pattern(r"(?P<verb>push|PULL) \w+", re.IGNORECASE)
    compiled = []
    monkeypatch.setattr(re, "compile", lambda *given: compiled.append(given) or re._compile(*given))
    assert made.search("git Push origin")["verb"] == "Push" and made.fullmatch("push") is None
    assert made.sub("x", "a pull b") == "a x" and made.search("fetch") is None
    assert len(compiled) == 3, "once for each method"
