"""The plugin of this repository, in the real Claude Code."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from gatebell.install.scripted_model import text, tool

ROOT = Path(__file__).parents[2]
TOUCH = tool("Bash", command="touch gated", description="make a file")


def run_plugin(house, *words):
    ran = subprocess.run(
        [*house.network.prefix, house.programs.claude, "plugin", *words],
        env=house.environ, cwd=house.project, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.proves("PACK-1")
def test_plugin_is_installed_and_brings_requests(house):
    run_plugin(house, "validate", str(ROOT / "deploy" / "claude-plugin"))
    run_plugin(house, "marketplace", "add", str(ROOT))
    run_plugin(house, "install", "gatebell@gatebell")
    settings = json.loads(house.claude_settings.read_text(encoding="utf-8"))
    settings["permissions"]["ask"] = ["Bash(touch gated*)"]
    house.claude_settings.write_text(json.dumps(settings), encoding="utf-8")
    agent = house.run_claude([TOUCH, text("done")])
    (ask,) = house.wait_for_asks()
    assert ask.question.call.input["command"] == "touch gated" and not house.ran()
    house.answer(ask, "yes")
    agent.result()
    assert house.ran()
