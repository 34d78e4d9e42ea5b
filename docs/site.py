"""Builds the pages as a site in build/site, and checks what it loads: `make site`."""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path

ROOT = Path(__file__).parents[1]
SITE = ROOT / "build" / "site"
FIRST_PAGE = """<!doctype html><meta charset="utf-8"><title>gatebell</title>
<meta http-equiv="refresh" content="0; url=docs/index.html"><a href="docs/index.html">gatebell</a>
"""
# A link that a person clicks loads nothing by itself.
_CLICKED = {"a", "area"}
_LOADING = {"src", "href", "srcset", "data", "poster", "action"}
_ELSEWHERE = re.compile(r"\s*(?:[a-z]+:)?//", re.IGNORECASE)
_IN_STYLE = re.compile(r"(?:@import\s+|url\()\s*[\"']?((?:[a-z]+:)?//[^\"')\s]+)", re.IGNORECASE)


class _Loads(HTMLParser):
    """Collects the addresses that a browser loads together with a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if tag not in _CLICKED and name in _LOADING and _ELSEWHERE.match(value or ""):
                self.found.append(f"<{tag} {name}={value}>")
            if name == "style":
                self.found += _IN_STYLE.findall(value or "")


def find_foreign_loads(folder: Path) -> list[str]:
    """Return what the pages and styles of a folder load from other servers."""
    found = []
    for path in sorted(folder.rglob("*")):
        if path.suffix not in {".html", ".css"}:
            continue
        text = path.read_text(encoding="utf-8")
        loads = _Loads()
        if path.suffix == ".html":
            loads.feed(text)
        styles = (
            text if path.suffix == ".css" else " ".join(re.findall(r"(?s)<style.*?</style>", text))
        )
        foreign = [*loads.found, *_IN_STYLE.findall(styles)]
        found += [f"{path.relative_to(folder)}: {one}" for one in foreign]
    return found


def build(source: Path, site: Path) -> int:
    """Build the pages below a folder with the project's settings; warnings are errors."""
    # Imported here: the check alone needs no Sphinx.
    from sphinx.cmd.build import build_main

    settings = str(Path(__file__).parent)
    kept = str(site.parent / "site-cache")
    code = build_main(
        ["-q", "-W", "--keep-going", "-c", settings, "-d", kept, str(source), str(site)]
    )
    (site / "index.html").write_text(FIRST_PAGE, encoding="utf-8")
    return code


def main() -> int:
    code = build(ROOT, SITE)
    foreign = find_foreign_loads(SITE)
    print(
        "\n".join(
            foreign
            or [
                f"{len(list(SITE.rglob('*.html')))} pages in {SITE}; they load only their own files"
            ]
        )
    )
    return code or bool(foreign)


if __name__ == "__main__":
    sys.exit(main())
