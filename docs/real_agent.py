"""A real agent for the pictures: Claude Code in a project, whose calls wait for a person.

A local script replaces its model. The program, its hooks and its requests are real. It needs
`claude` on the PATH.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from gatebell.install.scripted_model import ScriptedModel, script, text, tool

PROMPT = "Totals are wrong by a cent with a coupon. Fix that, and push."
PUSH = "git push origin main"
BEFORE = '''"""The totals of an order."""

from decimal import ROUND_HALF_UP, Decimal

CENT = Decimal("0.01")


def total(items, coupon=None):
    """Add all items up, and take the coupon off."""
    amount = sum(item.price * item.count for item in items)
    if coupon:
        amount = amount - coupon.amount
    return amount


def count(items):
    return sum(item.count for item in items)
'''
OLD = """        amount = amount - coupon.amount
    return amount
"""
NEW = """        amount = max(Decimal(0), amount - coupon.amount)
    return amount.quantize(CENT, rounding=ROUND_HALF_UP)
"""
_GIT = "/usr/bin/git"
_KEY = "a-key-that-no-service-knows"


class RealAgent:
    """A home, a project with a remote, and Claude Code with the gates of `gate install`."""

    def __init__(self, folder: Path, environ: dict[str, str], token: str) -> None:
        claude = shutil.which("claude")
        if claude is None:
            raise SystemExit("make pictures needs claude: npm install -g @anthropic-ai/claude-code")
        self._claude = claude
        self.project = folder / "orders"
        self.file = self.project / "shop" / "totals.py"
        self.model = ScriptedModel()
        self.environ = environ | {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "ANTHROPIC_BASE_URL": self.model.url,
            "ANTHROPIC_API_KEY": _KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        }
        self._make_project(folder)
        self._install(Path(environ["HOME"]), token)

    def _make_project(self, folder: Path) -> None:
        self.file.parent.mkdir(parents=True)
        self.file.write_text(BEFORE, encoding="utf-8")
        remote = str(folder / "remote.git")
        who = ("-c", "user.name=ada", "-c", "user.email=ada@example.org")
        for words in (
            ("init", "-q", "-b", "main"),
            ("init", "-q", "--bare", remote),
            ("remote", "add", "origin", remote),
            ("add", "."),
            (*who, "commit", "-q", "-m", "Add the totals"),
        ):
            subprocess.run([_GIT, *words], cwd=self.project, check=True)

    def _install(self, home: Path, token: str) -> None:
        trusted = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
        seen = {"hasCompletedOnboarding": True, "projects": {str(self.project): trusted}}
        (home / ".claude.json").write_text(json.dumps(seen), encoding="utf-8")
        (home / ".claude").mkdir()
        asks = {"permissions": {"allow": ["Read", "Bash"], "ask": ["Edit"]}}
        (home / ".claude" / "settings.json").write_text(json.dumps(asks), encoding="utf-8")
        command = [sys.executable, "-m", "gatebell", "install", "claude", "--yes"]
        own = self.environ | {"GATE_TOKEN": token}
        subprocess.run(command, cwd=self.project, env=own, check=True, stdout=subprocess.DEVNULL)

    def start(self) -> subprocess.Popen[str]:
        """Ask it to fix the totals: it waits before its edit, and before its push."""
        steps = [
            tool("Read", file_path=str(self.file)),
            tool("Edit", file_path=str(self.file), old_string=OLD, new_string=NEW),
            tool("Bash", command=PUSH, description="Publish the fix"),
            text("The totals are rounded once, at the end. The fix is pushed."),
        ]
        return subprocess.Popen(
            [self._claude, "-p", f"{PROMPT}\n{script(steps)}"],
            cwd=self.project, env=self.environ, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
