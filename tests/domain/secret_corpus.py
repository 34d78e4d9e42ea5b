"""Fake secrets for tests, made from the text files of this folder."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import NamedTuple

from gatebell.domain.text.redaction import HIDDEN

ALPHABETS = {
    "hex": "0123456789abcdef",
    "digits": "0123456789",
    "upper": "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
    "alnum": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
    "word": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_",
    "b64": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
}
_SHOWN_AT_MOST = 8


class Sample(NamedTuple):
    """A text with secrets in it."""

    name: str
    text: str
    expected: str
    """The text with only the secrets hidden."""
    secrets: list[str]

    def leaks(self, shown: str) -> list[str]:
        """Return the secrets of which a part is still readable."""
        rest = self.expected.replace(HIDDEN, "\n")
        found = []
        for secret in self.secrets:
            size = min(len(secret), _SHOWN_AT_MOST)
            pieces = (secret[at : at + size] for at in range(len(secret) - size + 1))
            if any(one in shown and one not in rest for one in pieces):
                found.append(secret)
        return found


def read_corpus(file: str = "secret_formats.txt") -> list[Sample]:
    """Return each sample of a file; each format is put into each context."""
    section, surroundings, samples = "", [], []
    for line in (Path(__file__).parent / file).read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line.startswith("# ") or not line:
            continue
        elif section == "surroundings":
            surroundings.append(line)
        else:
            name, _, text = line.partition("\t")
            places = surroundings if section == "formats" else ["@@"]
            marked = f"⟦{text}⟧" if section == "formats" else text
            samples += [_make(name, place.replace("@@", marked)) for place in places]
    return samples


def _make(name: str, marked: str) -> Sample:
    filled = re.sub(r"\{(\w+):(\d+)\}", lambda found: _fill(name + marked, found), marked)
    filled = filled.replace("⏎", "\n")
    return Sample(
        name,
        re.sub("[⟦⟧]", "", filled),
        re.sub("⟦[^⟧]*⟧", HIDDEN, filled),
        re.findall("⟦([^⟧]*)⟧", filled),
    )


def _fill(seed: str, found: re.Match[str]) -> str:
    """Return characters that look random but are equal in each run."""
    alphabet, number = ALPHABETS[found[1]], int(found[2])
    stream = b""
    while len(stream) < number:
        stream += hashlib.sha256(f"{seed} {found.start()} {len(stream)}".encode()).digest()
    return "".join(alphabet[byte % len(alphabet)] for byte in stream[:number])
