"""Records how an agent asks and a person answers, as the moving picture of README: `make pictures`.

The program that asks, the inbox and the browser are real. The strip at the top shows the terminal
of the agent: its command, and what the program printed.
"""

from __future__ import annotations

import html
import io
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from pictures import ADA, PICTURES, open_browser, serve
from PIL import Image
from playwright.sync_api import sync_playwright

from gatebell.app.wiring import open_throwaway_store
from gatebell.services.people import manage_people

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

WIDTH, STRIP, INBOX = 960, 180, 640
QUESTION, NOTE = "Deploy build 42 to production?", "go, but watch the totals"
COMMAND = f'gate ask "{QUESTION}" --kind approval --context change.md && ./deploy.sh 42'
CHANGE = """Totals were wrong by a cent when a coupon was used. All 214 tests pass.

```diff
--- a/shop/totals.py
+++ b/shop/totals.py
@@ -8,5 +8,5 @@ def total(items, coupon=None):
     amount = sum(item.price * item.count for item in items)
     if coupon:
-        amount = amount - coupon.amount
-    return amount
+        amount = max(Decimal(0), amount - coupon.amount)
+    return amount.quantize(CENT, rounding=ROUND_HALF_UP)
```
"""
DEPLOY = '#!/bin/sh\necho "deploying build $1 …"\necho "done"\n'
TERMINAL = """<body style="margin:0;background:#1d2330;color:#d9e0ee;padding:12px 16px;
font:15px/21px monospace;white-space:pre-wrap"><span style="color:#8b95ab">the agent's terminal
</span>%s</body>"""


class Recording:
    """The frames, each with its duration in milliseconds."""

    def __init__(self, terminal: Page, inbox: Page) -> None:
        self.terminal, self.inbox = terminal, inbox
        self.frames: list[tuple[Image.Image, int]] = []

    def show(self, text: str, milliseconds: int) -> None:
        """Add a frame: the text in the terminal, and the inbox as it is now."""
        self.terminal.set_content(TERMINAL % html.escape(text))
        frame = Image.new("RGB", (WIDTH, STRIP + INBOX))
        for page, top in ((self.terminal, 0), (self.inbox, STRIP)):
            frame.paste(Image.open(io.BytesIO(page.screenshot())), (0, top))
        self.frames.append((frame, milliseconds))

    def save(self, path: Path) -> None:
        # One palette for all frames: unchanged areas stay equal, and cost nothing.
        whole = Image.new("RGB", (WIDTH, (STRIP + INBOX) * len(self.frames)))
        for number, (frame, _) in enumerate(self.frames):
            whole.paste(frame, (0, number * (STRIP + INBOX)))
        palette = whole.quantize(128, dither=Image.Dither.NONE)
        first, *rest = [
            frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame, _ in self.frames
        ]
        durations = [milliseconds for _, milliseconds in self.frames]
        first.save(path, save_all=True, append_images=rest, duration=durations, loop=0)
        seconds, size = sum(durations) / 1000, path.stat().st_size // 1000
        print(f"docs/pictures/{path.name}  {seconds:.0f} s, {size} KB")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="gate-recording-") as folder:
        path = os.path.join(folder, "gate.db")
        store = open_throwaway_store(path)
        token = manage_people.add(store, ADA, "ada", ("ask", "answer", "read", "admin"), "laptop")
        store.close()
        project = Path(folder) / "shop"
        (project / ".gate").mkdir(parents=True)
        (project / "change.md").write_text(CHANGE, encoding="utf-8")
        (project / "deploy.sh").write_text(DEPLOY, encoding="utf-8")
        (project / "deploy.sh").chmod(0o755)
        environ = {"PATH": os.environ["PATH"], "HOME": folder, "GATE_STORE": path}
        with serve(environ | {"GATE_TOKEN": token}) as link, sync_playwright() as playwright:
            record(open_browser(playwright), link, project, environ)


def record(browser: Browser, link: str, project: Path, environ: dict[str, str]) -> None:
    terminal = browser.new_page(viewport={"width": WIDTH, "height": STRIP})
    inbox = browser.new_context(
        viewport={"width": WIDTH, "height": INBOX}, color_scheme="light"
    ).new_page()
    inbox.goto(link)
    inbox.get_by_role("button", name="Open the inbox").click()
    inbox.get_by_text("live", exact=True).wait_for()
    recording = Recording(terminal, inbox)
    recording.show("$ ", 1000)
    for end in (18, 42, 60, 83):
        recording.show(f"$ {COMMAND[:end]}", 300)
    with ask(project, environ) as agent:
        assert agent.stdout
        typed = f"$ {COMMAND}\n{agent.stdout.readline()}"
        approve = inbox.get_by_role("button", name="Approve")
        approve.wait_for()
        recording.show(typed, 6000)
        for end in (2, 10, 16, len(NOTE)):
            inbox.get_by_label("Note").first.fill(NOTE[:end])
            inbox.evaluate("scrollTo(0, 0)")
            recording.show(typed, 400)
        approve.hover()
        inbox.evaluate("scrollTo(0, 0)")
        recording.show(typed, 1500)
        approve.click()
        said = agent.communicate(timeout=60)[0]
    inbox.get_by_text("You are done").wait_for()
    recording.show(typed + said, 8000)
    recording.save(PICTURES / "asking.gif")


def ask(project: Path, environ: dict[str, str]) -> subprocess.Popen[str]:
    """Start the command of the agent."""
    gate = f'gate() {{ {sys.executable} -m gatebell "$@" --from claude; }}'
    return subprocess.Popen(
        ["/bin/bash", "-c", f"{gate}\n{COMMAND}"],
        cwd=project, env=environ, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


if __name__ == "__main__":
    main()
