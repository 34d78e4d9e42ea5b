"""The hook settings in README and docs."""

from __future__ import annotations

import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


HOOK = re.compile(r"gate hook (?:claude|codex)\b")


def blocks(page):
    """Return the settings blocks of a page that have a hook of ours."""
    found = re.findall(
        r"^```json\n(.+?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    return [json.loads(block) for block in found if HOOK.search(block)]


SHOWN = {f"{page.stem}-{n}": block for page in PAGES for n, block in enumerate(blocks(page))}
