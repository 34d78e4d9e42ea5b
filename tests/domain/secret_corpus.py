"""Fake secrets for tests, made of the files beside this one, which say how."""

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
    """The text with nothing but the secrets hidden."""
    secrets: list[str]

    def leaks(self, shown: str) -> list[str]:
        """The secrets of which a piece can still be read."""
        rest = self.expected.replace(HIDDEN, "\n")
        found = []
        for secret in self.secrets:
            size = min(len(secret), _SHOWN_AT_MOST)
            pieces = (secret[at : at + size] for at in range(len(secret) - size + 1))
            if any(one in shown and one not in rest for one in pieces):
                found.append(secret)
        return found


def read_corpus(file: str = "secret_formats.txt") -> list[Sample]:
    """Every sample of a file; a format is put into each of the surroundings."""
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
    """Characters that look random and are the same in every run."""
    alphabet, number = ALPHABETS[found[1]], int(found[2])
    stream = b""
    while len(stream) < number:
        stream += hashlib.sha256(f"{seed} {found.start()} {len(stream)}".encode()).digest()
    return "".join(alphabet[byte % len(alphabet)] for byte in stream[:number])
