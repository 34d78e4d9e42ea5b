"""What was going on when an agent asked: put together, bounded, and without secrets."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from humangate.domain.asks import MAX_GOING_ON_CHARACTERS
from humangate.domain.sending import OURS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from humangate.domain.steps import Step

_MOST_OF_A_PROMPT = 1_500
_MOST_WORDS = 2_500
_MOST_OF_A_COMMAND = 300
HIDDEN = "‹hidden›"

# Forms that are secrets wherever they stand, then what stands before the value of one. Every
# run has an end, and longer lines are cut first: a text must not be able to hold the asker up.
_SECRETS = (
    r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    r"\bgh[pousr]_[A-Za-z0-9]{30,255}|\bgithub_pat_\w{40,255}",
    r"\bglpat-[\w-]{20,255}|\bnpm_[A-Za-z0-9]{30,255}|\bpypi-[\w-]{40,255}",
    r"\bsk-[\w-]{20,255}|\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,255}",
    r"\bxox[abeoprs]-[\w-]{10,255}|\bAIza[\w-]{35}|\bya29\.[\w-]{20,255}",
    r"\bgate_[0-9a-f]{64}\b",
    r"\beyJ[\w-]{8,2000}\.eyJ[\w-]{8,2000}\.[\w-]{0,2000}",
)
_NAMES = "passw(?:or)?d|passphrase|secret|api_?key|access_?key|private_?key|token"
_BEFORE_A_SECRET = (
    r"\b(?:Bearer|Basic|token)\s{1,9}(?=[\w./+=-]{12})",
    rf"(?:{_NAMES})\w{{0,40}}[\"']?\s{{0,9}}[:=]\s{{0,9}}[\"']?(?!\d{{1,20}}\b)(?=[^\s\"']{{4}})",
)
_PRIVATE_KEY = ("-----BEGIN ", "PRIVATE KEY-----", "-----END ")
_LONGEST_LINE = 2_000


def redact(text: str) -> str:
    """The text with everything that looks like a secret hidden, and very long lines cut."""
    lines, in_key = [], False
    for line in text.split("\n"):
        begin, key, end = _PRIVATE_KEY
        if begin in line and key in line:
            lines.append(HIDDEN)
            in_key = True
        elif not in_key:
            lines.append(_cut(line, _LONGEST_LINE) if len(line) > _LONGEST_LINE else line)
        if end in line:
            in_key = False
    text = "\n".join(lines)
    for pattern in _SECRETS:
        text = re.sub(pattern, HIDDEN, text)
    text = re.sub(r"(://[^\s/:@]{0,99}:)[^\s/@]{1,255}(?=@)", rf"\1{HIDDEN}", text)
    for pattern in _BEFORE_A_SECRET:
        text = re.sub(f"({pattern})[^\\s\"',;&]+", rf"\1{HIDDEN}", text, flags=re.IGNORECASE)
    return text


def explain(steps: Sequence[Step], changes: str) -> str:
    """One text, what helps most first, so that the part shown at once is the part needed."""
    # What a flow says to its agent tells a person nothing: the task is named beside the question.
    prompts = [s.text for s in steps if s.kind == "prompt" and not s.text.startswith(OURS)]
    words = [step.text for step in steps if step.kind == "words"][-2:]
    calls = [step for step in steps if step.kind == "call"][-8:]
    parts = []
    if prompts:
        parts.append(f"It works on:\n{_cut(prompts[-1], _MOST_OF_A_PROMPT)}")
    if words:
        parts.append("It last said:\n" + _cut("\n\n".join(words), _MOST_WORDS))
    if calls:
        done = [
            f"{one.tool}: {(one.input or {}).get('command') or json.dumps(one.input)}"
            for one in calls
        ]
        parts.append("It last did:\n" + "\n".join(_cut(one, _MOST_OF_A_COMMAND) for one in done))
    if changes:
        parts.append(f"Changes:\n{changes}")
    return redact("\n\n".join(parts)[:MAX_GOING_ON_CHARACTERS])


def _cut(text: str, most: int) -> str:
    text = text.strip()
    return text if len(text) <= most else f"{text[:most]} … ({len(text) - most} more characters)"
