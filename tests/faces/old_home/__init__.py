"""A home that the last version under the old name has used, unpacked into a test's folder."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import sys
import tarfile
from contextlib import closing
from pathlib import Path

from tests.support.shells import Shell

_ARCHIVE = Path(__file__).parent / "home.tar.gz"
_MADE_AT = "/tmp/ada"
_DATA = Path(".local", "share", "humangate")


class OldHome:
    """The home, the project in it, and a shell of its person."""

    def __init__(self, folder: Path) -> None:
        with tarfile.open(_ARCHIVE) as archive:
            archive.extractall(folder, filter="data")
        self.folder = folder / "ada"
        self.project = self.folder / "project"
        self.data = self.folder / _DATA
        keep = {k: v for k, v in os.environ.items() if k in ("PATH", "LANG", "PYTHONPATH")}
        token = (self.folder / "token").read_text(encoding="utf-8")
        environ = keep | {"HOME": str(self.folder), "TERM": "dumb", "GATE_TOKEN": token}
        self.shell = Shell(self.project, environ, "ada")

    @property
    def store(self) -> str:
        return str(self.data / "gate.db")

    def move_in(self) -> None:
        """Replace the path under which the home was made by the present one.

        The events of the audit trail stay as they are, so the trail names the other path.
        """
        program = self.folder / "bin" / "gate"
        program.parent.mkdir(exist_ok=True)
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -m gatebell "$@"\n', encoding="utf-8")
        program.chmod(0o755)
        digests = {}
        files = sorted(path for path in self.folder.rglob("*") if path.is_file())
        # The installation records hold digests of the other files.
        for path in sorted(files, key=lambda path: path.parent.name == "installed"):
            if path.suffix != ".db" and "objects" not in path.parts:
                self._rewrite(path, digests)
        for path in (self.data / "installed").glob("*-project-*.json"):
            name = hashlib.sha256(os.fsencode(self.project)).hexdigest()[:12]
            path.rename(path.with_name(f"init-project-{name}.json"))
        with closing(sqlite3.connect(self.store)) as store:
            self._rewrite_rows(store)
            store.commit()
        self._change_flow()

    def _change_flow(self) -> None:
        """Change the code of the flow as its author must: its words, not the name of the package."""
        for path in self.folder.rglob(".gate/flows/deploy.py"):
            text = path.read_text(encoding="utf-8")
            for old, new in (
                ("pause, run, step", "pause, run"),
                ("= step(", "= flow.step("),
                ("expires_seconds", "timeout"),
            ):
                text = text.replace(old, new)
            path.write_text(text, encoding="utf-8")

    def _rewrite(self, path: Path, digests: dict[bytes, bytes]) -> None:
        found = path.read_bytes()
        moved = found.replace(_MADE_AT.encode(), os.fsencode(self.folder))
        if path.parent.name == "installed":
            for old, new in digests.items():
                moved = moved.replace(old, new)
        path.write_bytes(moved)
        old, new = (hashlib.sha256(one).hexdigest().encode() for one in (found, moved))
        digests[old] = new

    def _rewrite_rows(self, store: sqlite3.Connection) -> None:
        tables = store.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for (table,) in tables:
            if table == "events" or table.startswith("sqlite_"):
                continue
            for column in store.execute(f"PRAGMA table_info({table})").fetchall():
                name = f'"{column[1]}"'
                store.execute(
                    f"UPDATE {table} SET {name} = replace({name}, ?, ?) "
                    f"WHERE typeof({name}) = 'text'",
                    (_MADE_AT, str(self.folder)),
                )
