"""A copy of the program as its next release: another version, and one more migration."""

from __future__ import annotations

import shutil
from pathlib import Path

import gatebell
from gatebell.adapters.postgres import migrations

VERSION = "99.0.0"
KNOWN = len(migrations.list_migrations())
NAME = f"{KNOWN + 1:04}_tried.sql"
ADDS = f"""-- oldest reader: {KNOWN}
ALTER TABLE asks ADD COLUMN tried text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN tried text COLLATE "C" NOT NULL DEFAULT '';
CREATE INDEX asks_tried ON asks (tried) WHERE tried <> '';
"""
RENAMES = f"""-- oldest reader: {KNOWN + 1}
ALTER TABLE engine RENAME COLUMN store TO store_id;
"""
_USE_OF_IT = ("adapters/postgres/dispatches.sql", "store FROM engine", "store_id FROM engine")
_ITS_VERSION = ("__init__.py", gatebell.__version__, VERSION)


def make_newer(folder, migration=ADDS):
    """Make the copy; return the variable with which Python finds it."""
    copy = folder / "newer" / "gatebell"
    shutil.copytree(Path(gatebell.__file__).parent, copy)
    (copy / "adapters" / "postgres" / "migrations" / NAME).write_text(migration)
    for path, old, new in (_ITS_VERSION, *([_USE_OF_IT] if migration == RENAMES else ())):
        text = (copy / path).read_text(encoding="utf-8")
        assert old in text, path
        (copy / path).write_text(text.replace(old, new), encoding="utf-8")
    return {"PYTHONPATH": str(copy.parent)}
