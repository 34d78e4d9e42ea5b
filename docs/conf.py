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
html_theme = "furo"
html_title = "gatebell"
# So that a block of 100 columns fits.
html_theme_options = {"light_css_variables": {"code-font-size": "75%"}}
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
# Links to folders and programs of the repository work only in it.
suppress_warnings = ["myst.xref_missing", "toc.not_included"]

# Only for the site: on GitHub the tables of the index are enough.
site_contents = {
    "Guides": (
        *("guides/claude-code", "guides/several-agents", "guides/team", "guides/ci"),
        *("guides/flow-authors", "guides/framework-authors", "troubleshooting"),
    ),
    "Ask and answer": ("asks", "web", "phone", "tui", "notifications", "chat", "dialogs", "freeze"),
    "Agents and gates": (
        *("install", "agents", "held", "files", "trust", "fail-closed"),
        *("rules", "hold-test", "hold-test-adapters"),
    ),
    "Flows and tasks": ("flows", "phases", "roles", "sessions", "worktrees", "backlog"),
    "Teams and machines": ("server", "operating", "deployment", "postgres", "engines", "hosts"),
    "Look up": ("cli", "settings", "python", "http", "json", "glossary"),
    "The project": ("architecture", "proofs", "packages", "releasing"),
}


def _write_contents() -> str:
    """Return the contents for the side of each page, in the words of Sphinx."""
    return "".join(
        "\n".join(["\n```{toctree}", ":hidden:", f":caption: {title}", *names, "```"])
        for title, names in site_contents.items()
    )


def _add_contents(_: Sphinx, name: str, source: list[str]) -> None:
    if name == root_doc:
        source[0] += _write_contents()
    # The reason why a block is not run is for readers of the source.
    source[0] = "\n".join(
        line.partition(" not run: ")[0] if line.lstrip().startswith("```") else line
        for line in source[0].split("\n")
    )


def setup(app: Sphinx) -> None:
    # A change of the contents makes every page again.
    app.add_config_value("site_contents", {}, "env", (dict,))
    app.connect("source-read", _add_contents)
