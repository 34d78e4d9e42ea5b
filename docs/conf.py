"""Settings of Sphinx for the site: `make site`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "gatebell"
extensions = ["myst_parser"]
root_doc = "docs/index"
include_patterns = ["*.md", "docs/**.md", "bench/README.md", "src/**/README.md"]
myst_heading_anchors = 4
html_theme = "alabaster"
html_theme_options = {"description": "Coding agents stop and ask a person", "page_width": "84em"}
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
# Links to folders and programs of the repository work only in it.
suppress_warnings = ["myst.xref_missing", "toc.not_included"]

# Only for the site: on GitHub the tables of the index are enough.
_CONTENTS = """
```{toctree}
:hidden:
:caption: Guides
guides/claude-code
guides/several-agents
guides/team
guides/ci
guides/flow-authors
guides/framework-authors
```
```{toctree}
:hidden:
:glob:
:caption: Pages
*
```
"""


def _add_contents(_: Sphinx, name: str, source: list[str]) -> None:
    if name == root_doc:
        source[0] += _CONTENTS
    # The reason why a block is not run is for readers of the source.
    source[0] = "\n".join(
        line.partition(" not run: ")[0] if line.lstrip().startswith("```") else line
        for line in source[0].split("\n")
    )


def setup(app: Sphinx) -> None:
    app.connect("source-read", _add_contents)
