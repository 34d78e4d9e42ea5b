"""Logs of agents, for people who watch a run."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from gatebell.adapters.files import run_log
from gatebell.adapters.files.run_log import RunLogFiles
from gatebell.domain.runs.runs import Run

MADE = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.proves("RUN-481")
def test_session_files_are_private_and_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(run_log, "MAX_LOG_BYTES", 100)
    files_folder = RunLogFiles(str(tmp_path / "gate.db"))
    run = Run(1, "feature", "", "", "", "", "", MADE)
    files_folder.write(run, "3", "coder", "hello\nworld")
    path = files_folder.path(run)
    with open(path, encoding="utf-8") as file:
        assert [line.split(" ", 1)[1] for line in file] == ["3 coder  hello\n", "3 coder  world\n"]
    for _ in range(3):
        files_folder.write(run, "3", "coder", "x" * 1000)
    with open(path, encoding="utf-8") as file:
        kept = file.read()
    assert len(kept) < 200 and kept.count("later output is dropped") == 1
    # Run 1 of a new store is another run.
    assert files_folder.path(run._replace(created_at=datetime(2026, 1, 2, tzinfo=UTC))) != path


@pytest.mark.proves("RED-5")
def test_papers_hold_no_secrets(tmp_path):
    files_folder = RunLogFiles(str(tmp_path / "gate.db"))
    run = Run(1, "feature", "", "", "", "", "", MADE)
    key = "-----BEGIN PRIVATE KEY-----\n" + "Ab1/" * 16 + "\n-----END PRIVATE KEY-----"
    files_folder.write(run, "3", "coder", f"DB_PASS=hunter2\n{key}\ndone")
    with open(files_folder.path(run), encoding="utf-8") as file:
        lines = [line.split("  ", 1)[1] for line in file]
    assert lines == ["DB_PASS=‹hidden›\n", "‹hidden›\n", "done\n"]
