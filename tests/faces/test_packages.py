"""The files of deploy/ with which gatebell is installed, and the site of the pages."""

from __future__ import annotations

import hashlib
import json
import re
import runpy
import shutil
import tomllib
from pathlib import Path

import pytest

from gatebell.app import background
from gatebell.install.default_gates import Rules
from gatebell.install.hosts.claude import plan_targets
from gatebell.install.places import Place

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "deploy" / "claude-plugin"
CONTENTS = runpy.run_path(str(ROOT / "docs" / "conf.py"))["site_contents"]
SITE = runpy.run_path(str(ROOT / "docs" / "site.py"))


def read_json(path):
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.proves("PACK-1")
def test_plugin_has_the_hooks_of_the_installation(tmp_path):
    (listed,) = read_json(ROOT / ".claude-plugin" / "marketplace.json")["plugins"]
    assert ROOT / listed["source"] == PLUGIN
    assert read_json(PLUGIN / ".claude-plugin" / "plugin.json")["name"] == listed["name"]
    settings, *_ = plan_targets(Place(str(tmp_path), {}), "gate", Rules(())).targets
    wanted = {}
    for entry in settings.entries:
        if entry.path[0] == "hooks":
            wanted.setdefault(entry.path[1], []).append(entry.value)
    # The plugin is the same in every home.
    anywhere = '"${XDG_DATA_HOME:-$HOME/.local/share}"/gatebell-background/'
    here = f"{background.folder({})}/"
    hooks = json.loads(
        json.dumps(wanted).replace(json.dumps(here)[1:-1], json.dumps(anywhere)[1:-1])
    )
    assert hooks != wanted and read_json(PLUGIN / "hooks" / "hooks.json") == {"hooks": hooks}


@pytest.mark.proves("PACK-2")
def test_formula_names_the_digest_of_the_sdist(tmp_path):
    build = runpy.run_path(str(ROOT / "deploy" / "homebrew.py"))["build_formula"]
    sdist = tmp_path / "gatebell-1.tar.gz"
    sdist.write_bytes(b"x")
    formula = build("https://example.org/gatebell-1.tar.gz", sdist)
    assert f'sha256 "{hashlib.sha256(b"x").hexdigest()}"' in formula
    assert 'shell_output("#{bin}/gate ask' in formula
    with pytest.raises(ValueError, match="https://"):
        build('https://example.org/"; system "true', sdist)


@pytest.mark.proves("PACK-3")
def test_every_extra_and_install_line_is_tried():
    """`make package` does it; here only its lists are checked."""
    tried = runpy.run_path(str(ROOT / "deploy" / "try_packages.py"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    assert set(tried["EXTRAS"]) == {"", *extras}
    rest = set(re.findall(r"\w+", extras["all"][0].partition("[")[2]))
    assert rest == set(extras) - {"all"}
    lines = tried["read_install_lines"]()
    assert lines == ["uv tool install gatebell", "gate install claude", "gate up"]


PAGE = """# A page

![A picture](pictures/form.png)

A [link](https://example.org) to another server loads nothing.

```sh not run: a reason
gate up
```
"""


def list_pages():
    """Return the pages that the contents of the site must name."""
    docs = ROOT / "docs"
    found = [*docs.glob("*.md"), *(docs / "guides").glob("*.md")]
    return {str(page.relative_to(docs).with_suffix("")) for page in found} - {"index"}


@pytest.mark.proves("DOC-5")
def test_contents_of_the_site_name_each_page_once():
    named = [name for names in CONTENTS.values() for name in names]
    assert sorted(named) == sorted(list_pages())


@pytest.mark.proves("DOC-5")
def test_site_loads_only_its_own_files(tmp_path):
    """A small site with the settings of the real one; `make site` checks all pages."""
    docs = tmp_path / "docs"
    (docs / "guides").mkdir(parents=True)
    for name in list_pages():
        (docs / f"{name}.md").write_text("# A page\n", encoding="utf-8")
    for name in ("index", "asks"):
        (docs / f"{name}.md").write_text(PAGE, encoding="utf-8")
    (docs / "pictures").mkdir()
    shutil.copy(ROOT / "docs" / "pictures" / "form.png", docs / "pictures")
    site = tmp_path / "build" / "site"
    assert SITE["build"](tmp_path, site) == 0
    text = (site / "docs" / "index.html").read_text(encoding="utf-8")
    assert all(f'href="{name}.html"' in text for name in list_pages()) and "not run" not in text
    assert SITE["find_foreign_loads"](site) == []


@pytest.mark.proves("DOC-5")
@pytest.mark.parametrize(
    "loads",
    [
        '<script src="https://cdn.example.org/a.js"></script>',
        '<link rel="stylesheet" href="//fonts.example.org/css">',
        "<style>@import 'https://fonts.example.org/css';</style>",
        '<img src="http://example.org/a.png">',
        '<p style="background: url(//example.org/a.png)">',
    ],
)
def test_foreign_script_font_or_style_is_found(tmp_path, loads):
    (tmp_path / "a.html").write_text(f"<a href='https://example.org'>x</a>{loads}")
    (found,) = SITE["find_foreign_loads"](tmp_path)
    assert found.startswith("a.html: ") and "example.org" in found
