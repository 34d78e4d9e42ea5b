"""Records how an agent asks and a person answers, as the moving picture of README: `make pictures`.

The agent is Claude Code, with a script for its model (`real_agent.py`); the inbox and the browser
are real. The strip at the top shows the terminal of the agent: its command, and its last words.
"""

from __future__ import annotations

import html
import io
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from pictures import ADA, PICTURES, open_browser, serve
from PIL import Image
from playwright.sync_api import sync_playwright
from real_agent import PROMPT, PUSH, RealAgent

from gatebell.app.wiring import open_throwaway_store
from gatebell.services.people import manage_people

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

WIDTH, STRIP, INBOX = 960, 96, 640
NOTE = "yes, round once"
COMMAND = f'claude -p "{PROMPT}"'
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
        environ = {"PATH": os.environ["PATH"], "HOME": folder, "GATE_STORE": path}
        agent = RealAgent(Path(folder), environ, token)
        with (
            agent.model,
            serve(environ | {"GATE_TOKEN": token}) as link,
            sync_playwright() as playwright,
        ):
            record(open_browser(playwright), link, agent)


def record(browser: Browser, link: str, agent: RealAgent) -> None:
    terminal = browser.new_page(viewport={"width": WIDTH, "height": STRIP})
    inbox = browser.new_context(
        viewport={"width": WIDTH, "height": INBOX}, color_scheme="light"
    ).new_page()
    inbox.goto(link)
    inbox.get_by_role("button", name="Open the inbox").click()
    inbox.get_by_text("live", exact=True).wait_for()
    recording = Recording(terminal, inbox)
    recording.show("$ ", 1000)
    for end in (18, 38, 58, len(COMMAND)):
        recording.show(f"$ {COMMAND[:end]}", 300)
    typed = f"$ {COMMAND}\n"
    with agent.start() as claude:
        approve = inbox.get_by_role("button", name="Approve", exact=True)
        inbox.get_by_role("heading", name="Change shop/totals.py?").wait_for()
        recording.show(typed, 5000)
        for end in (4, 9, len(NOTE)):
            inbox.get_by_label("Note").first.fill(NOTE[:end])
            inbox.evaluate("scrollTo(0, 0)")
            recording.show(typed, 400)
        approve.hover()
        recording.show(typed, 1200)
        approve.click()
        inbox.locator(".command", has_text=PUSH).wait_for()
        recording.show(typed, 3500)
        approve.hover()
        recording.show(typed, 1200)
        approve.click()
        said = claude.communicate(timeout=60)[0]
    inbox.get_by_text("You are done").wait_for()
    recording.show(typed + said, 5500)
    recording.save(PICTURES / "asking.gif")


if __name__ == "__main__":
    main()
