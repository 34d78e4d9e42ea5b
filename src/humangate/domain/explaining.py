"""What was going on when an agent asked: put together, bounded, and without secrets."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from humangate.domain.asks import MAX_GOING_ON_CHARACTERS

if TYPE_CHECKING:
    from collections.abc import Sequence

_MOST_OF_A_PROMPT = 1_500
_MOST_WORDS = 2_500
_MOST_OF_A_COMMAND = 300
HIDDEN = "‹hidden›"

# Forms that are secrets wherever they stand, then names whose values are.
_SECRETS = (
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    r"\bgh[pousr]_[A-Za-z0-9]{30,}\b|\bgithub_pat_\w{40,}\b",
    r"\bglpat-[\w-]{20,}|\bnpm_[A-Za-z0-9]{30,}\b|\bpypi-[\w-]{40,}",
    r"\bsk-[\w-]{20,}|\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}\b",
    r"\bxox[abeoprs]-[\w-]{10,}|\bAIza[\w-]{35}|\bya29\.[\w-]{20,}",
    r"\bgate_[0-9a-f]{64}\b",
    r"\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*",
)
_NAMES = "passw(?:or)?d|passphrase|secret|api_?key|access_?key|private_?key|token"
_BEFORE_A_SECRET = (
    r"://[^\s/:@]*:(?=[^\s/@]+@)",
    r"\b(?:Bearer|Basic|token)\s+(?=[\w./+=-]{12,})",
    rf"\b\w*(?:{_NAMES})\w*[\"']?\s*[:=]\s*[\"']?(?!\d+\b)(?=[^\s\"']{{4,}})",
)


def redact(text: str) -> str:
    """The text with everything that looks like a secret hidden."""
    for pattern in _SECRETS:
        text = re.sub(pattern, HIDDEN, text, flags=re.DOTALL)
    url, *others = _BEFORE_A_SECRET
    text = re.sub(f"({url})[^\\s/@]+", rf"\1{HIDDEN}", text)
    for pattern in others:
        text = re.sub(f"({pattern})[^\\s\"',;&]+", rf"\1{HIDDEN}", text, flags=re.IGNORECASE)
    return text


def explain(prompt: str, words: Sequence[str], commands: Sequence[str], changes: str) -> str:
    """One text, what helps most first, so that the part shown at once is the part needed."""
    parts = []
    if prompt:
        parts.append(f"It works on:\n{_cut(prompt, _MOST_OF_A_PROMPT)}")
    if words:
        parts.append("It last said:\n" + _cut("\n\n".join(words), _MOST_WORDS))
    if commands:
        parts.append(
            "It last did:\n" + "\n".join(_cut(command, _MOST_OF_A_COMMAND) for command in commands)
        )
    if changes:
        parts.append(f"Changes:\n{changes}")
    return redact("\n\n".join(parts))[:MAX_GOING_ON_CHARACTERS]


def _cut(text: str, most: int) -> str:
    text = text.strip()
    return text if len(text) <= most else f"{text[:most]} … ({len(text) - most} more characters)"
