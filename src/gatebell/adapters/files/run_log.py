"""Write the output of a run's agents to a file for each run."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from gatebell.adapters.system.folders import runs_folder

if TYPE_CHECKING:
    from gatebell.domain.runs.runs import Run

MAX_LOG_BYTES = 50_000_000


class RunLogFiles:
    """The logs of one store's runs, in a folder beside it."""

    def __init__(self, store_path: str) -> None:
        self._folder = os.path.join(runs_folder(store_path), "papers") if store_path else ""

    def path(self, run: Run) -> str:
        # With its time: a new store begins with run 1 again.
        return os.path.join(self._folder, f"run-{run.id}-{run.created_at:%Y%m%dT%H%M%S}.log")

    def write(self, run: Run, path: str, speaker: str, text: str) -> None:
        if not self._folder:
            # A store in memory has no folder beside it.
            return
        # Imported here: it is only needed when agents write.
        from gatebell.domain.text.redaction import hide_secrets

        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        at = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
        shown = hide_secrets(text).splitlines()
        lines = "".join(f"{at} {path} {speaker}  {line}\n" for line in shown)
        with open(self.path(run), "a", encoding="utf-8", errors="replace") as file:
            left = MAX_LOG_BYTES - file.tell()
            if left > 0:
                file.write(lines[:left])
            if 0 < left <= len(lines):
                file.write(f"\n{at} {path} gate  the log is full: later output is dropped\n")
