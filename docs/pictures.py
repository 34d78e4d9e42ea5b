"""Takes the pictures of the web inbox that README and docs show: `make pictures`.

A demo store, the real `gate up`, a real browser, and for two pictures the request of a real agent
(`real_agent.py`). Take them again after a change of a page.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from playwright.sync_api import sync_playwright
from real_agent import PUSH, RealAgent

from gatebell.app.wiring import open_throwaway_store
from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.asks import Origin
from gatebell.domain.asks.owners import owner_of
from gatebell.domain.people.principals import Caller, person
from gatebell.domain.permissions.calls import make_call
from gatebell.domain.runs.journals import Carried
from gatebell.domain.runs.runs import FlowCall, Run, RunChange, Turn, build_started_event
from gatebell.services.asks import answer_ask, create_ask
from gatebell.services.asks.apply_deadlines import sweep
from gatebell.services.asks.create_ask import Request
from gatebell.services.notifications import notes
from gatebell.services.people import manage_people

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page, Playwright

    from gatebell.ports.store import Store

PICTURES = Path(__file__).parent / "pictures"
CHROMIUM = "/usr/bin/chromium"
WIDE, PHONE = {"width": 1280, "height": 1000}, {"width": 390, "height": 844}
SHOP, SITE = "/projects/shop", "/projects/site"
ADA = Caller(person("ada"), verified=True, via="web", agent=None, evidence={})

RELEASE = {
    "type": "object",
    "required": ["version", "channel"],
    "properties": {
        "version": {"type": "string", "title": "Version", "description": "such as 2.4.0"},
        "channel": {"title": "Channel", "enum": ["stable", "beta", "nightly"]},
        "notify": {"type": "boolean", "title": "Tell subscribers"},
        "rollout": {
            "type": "object",
            "title": "Rollout",
            "properties": {
                "percent": {"type": "integer", "title": "Percent at first", "minimum": 1},
                "regions": {
                    "type": "array",
                    "title": "Regions",
                    "items": {"enum": ["Europe", "America", "Asia"]},
                },
            },
        },
    },
}


class Clock:
    """The machine's own, set back while the past is made up."""

    ago = timedelta()

    def now(self) -> datetime:
        return datetime.now(UTC) - self.ago

    def monotonic(self) -> float:
        return time.monotonic()


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="gate-pictures-") as folder:
        path, clock = os.path.join(folder, "gate.db"), Clock()
        store = open_throwaway_store(path, clock)
        token = manage_people.add(store, ADA, "ada", ("ask", "answer", "read", "admin"), "laptop")
        _past(store, clock)
        shown = _present(store, clock) | {"run": _run(store, clock)}
        store.close()
        environ = {"PATH": os.environ["PATH"], "HOME": folder, "GATE_STORE": path}
        agent = RealAgent(Path(folder), environ, token)
        with (
            agent.model,
            serve(environ | {"GATE_TOKEN": token}) as link,
            sync_playwright() as playwright,
        ):
            _take(open_browser(playwright), link, shown, agent)


@contextmanager
def serve(environ: dict[str, str]) -> Iterator[str]:
    """Run `gate up` with these variables; yield the link that it prints."""
    command = [sys.executable, "-m", "gatebell", "up", "--port", "0"]
    server = subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout
        yield next(filter(None, (re.search(r"http\S+", line) for line in server.stdout)))[0]
    finally:
        server.terminate()
        server.wait(10)


def open_browser(playwright: Playwright) -> Browser:
    return playwright.chromium.launch(
        executable_path=CHROMIUM, args=["--no-sandbox", "--disable-background-networking"]
    )


def _ask(store: Store, agent: str, prompt: str, project: str = SHOP, **more: object) -> str:
    session = str(more.pop("session", ""))
    owner = str(more.pop("owner", ""))
    origin = Origin(project, project, agent, session=session, started_by=ADA.principal, owner=owner)
    request = Request(prompt, **more)  # type: ignore[arg-type]  # made-up words, checked by asking
    return create_ask.ask(store, request, origin, ADA._replace(via="mcp")).ask.id


def _past(store: Store, clock: Clock) -> None:
    """What was asked and settled in the days before."""
    settled = [
        (9, 300, "claude", "Run this command? git push origin main", "yes", ""),
        (
            8,
            1900,
            "codex",
            "Delete the branch old-checkout?",
            "no",
            "there is work on it: ask me on Monday",
        ),
        (6, 700, "deployer", "Deploy build 39 to staging?", "yes", "tests are green"),
        (5, 1200, "deployer", "Deploy build 40 to production?", "yes", ""),
        (3, 240, "claude", "Run this command? npm publish", "no", "not from a laptop"),
        (2, 480, "codex", "Drop the table carts_old?", "yes", "after the backup of tonight"),
        (1, 90, "deployer", "Deploy build 41 to production?", "yes", "go"),
    ]
    for days, seconds, agent, prompt, word, note in settled:
        clock.ago = timedelta(days=days)
        asked = _ask(store, agent, prompt, kind="approval")
        clock.ago -= timedelta(seconds=seconds)
        answer_ask.answer(store, asked, ADA, Given(word, note))
    clock.ago = timedelta(hours=20)
    _ask(store, "writer", "Which screenshot shall open the page?", SITE, expires_seconds=3600)
    clock.ago -= timedelta(hours=2)
    sweep(store)
    clock.ago = timedelta(hours=3)
    asked = _ask(store, "architect", "Which queue?", kind="choice", options=("Redis", "SQLite"))
    clock.ago -= timedelta(minutes=4)
    answer_ask.answer(store, asked, ADA, Given("SQLite", "one thing less to run"))


def _present(store: Store, clock: Clock) -> dict[str, str]:
    """What waits now."""
    clock.ago = timedelta(minutes=26)
    for agent in ("tester-1", "tester-2", "tester-3"):
        words = "May I update the lock file?"
        _ask(store, agent, words, SITE, kind="choice", options=("Yes", "No"))
    clock.ago = timedelta(minutes=14)
    form = _ask(store, "deployer", "What shall be released?", kind="form", schema=RELEASE)
    clock.ago = timedelta(minutes=9)
    options = ("PostgreSQL", "SQLite", "Other…")
    _ask(store, "architect", "Which database for the orders?", kind="choice", options=options)
    clock.ago = timedelta(minutes=2)
    command = {"command": "git push --force-with-lease origin fix-totals"}
    _ask(
        store, "codex", "Run this command? git push --force-with-lease origin fix-totals",
        kind="approval", call=make_call("Bash", command, SHOP, "fix-totals"), priority="high",
        session="codex/77b0", expires_seconds=900, hard=True,
        context="The branch was rebased on `main`; **three commits** became two. CI was green before.",
    )  # fmt: skip
    clock.ago = timedelta(minutes=1)
    notes.tell(store, Origin(SITE, agent="scout"), ADA, "The link check found nothing broken.")
    clock.ago = timedelta()
    return {"form": form}


def _run(store: Store, clock: Clock) -> str:
    """A run with an architect, a gate and two branches, of which one waits."""
    clock.ago = timedelta(hours=2)
    at = store.now()
    new = Run(
        id=0, flow="feature", source=f"{SHOP}/.gate/flows/feature.py", source_digest="",
        prompt="Add coupons: one per order, with an end date, and tests for it.", project=SHOP,
        started_by=ADA.principal, created_at=at, folder=SHOP, root=SHOP, state="running", agent="coder",
    )  # fmt: skip
    run = store.runs.add(new, [build_started_event(new, ADA)], Carried())
    later = [at + timedelta(minutes=minutes) for minutes in (0, 14, 62, 81, 96)]

    def call(
        path: str, name: str, label: str, begin: int, end: int | None, **more: Any
    ) -> FlowCall:
        over = {"state": "recorded", "ended_at": later[end]} if end else {}
        return FlowCall(run.id, path, name, label, "", later[begin], **over | more)

    def turn(path: str, role: str, session: str, begin: int, end: int, **signal: str) -> Turn:
        return Turn(
            f"t-{path}", run.id, path, 1, role, "claude", session, f"You are the {role}. …",
            later[begin], ended_at=later[end], signal=signal, words="I have read what there is. …",
        )  # fmt: skip

    def ask(path: str, minutes: int, prompt: str, kind: str, **more: Any) -> str:
        clock.ago = timedelta(hours=2) - timedelta(minutes=minutes)
        owner = owner_of(run.id, path)
        return _ask(store, "feature", prompt, kind=kind, owner=owner, **more)

    gate = ask("2", 14, "Approve architecture?", "approval")
    clock.ago = timedelta(minutes=58)
    answer_ask.answer(store, gate, ADA, Given("yes", "keep it in one table"))
    question = ask(
        "3.1.1", 81, "May a coupon be used with a sale?", "choice", options=("Yes", "No")
    )
    said = "Coupons get a table of their own; totals take one coupon and round once, at the end."
    calls = (
        call("1", "run", "architect", 0, 1),
        call("2", "pause", "Approve architecture?", 1, 2, ask_id=gate),
        call("3", "parallel", "", 2, None),
        call("3.1.1", "run", "coder", 2, None, state="waiting", ask_id=question),
        call("3.2.1", "run", "tester", 2, 3),
        call("3.2.2", "step", "coverage", 3, 4, value={"before": 91.4, "after": 92.0}),
    )
    turns = (
        turn("1", "architect", "c90379fe-2b1d", 0, 1, status="DONE", summary=said),
        turn("3.1.1", "coder", "532ec6c2-9c1f", 2, 3, status="NEEDS_HUMAN", question="May a coupon be used with a sale?"),
        turn("3.2.1", "tester", "c37e3e6b-0f52", 2, 3, status="DONE", summary="9 tests that fail as they should."),
    )  # fmt: skip
    parked = run._replace(state="waiting_human", waiting_since=later[3])
    assert store.runs.change(RunChange(parked, calls, turns), run)
    clock.ago = timedelta()
    return str(run.id)


def _take(browser: Browser, link: str, shown: dict[str, str], agent: RealAgent) -> None:
    page = browser.new_context(viewport=WIDE, color_scheme="light").new_page()
    page.goto(link)
    page.get_by_role("button", name="Open the inbox").click()
    state, url = page.context.storage_state(), link.partition("/link/")[0]
    with agent.start() as claude:
        _shoot(page, _find_ask(page, url, "Change shop/totals.py?"), "inbox")
        page.get_by_role("button", name="Approve", exact=True).click()
        dark = browser.new_context(viewport=PHONE, color_scheme="dark", storage_state=state)
        _shoot(dark.new_page(), _find_ask(page, url, PUSH), "phone")
        claude.kill()
    _shoot(page, f"{url}/history", "history")
    _shoot(page, f"{url}/asks/{shown['form']}", "form")
    _shoot(page, f"{url}/runs/{shown['run']}", "run", whole=True)


def _find_ask(page: Page, url: str, words: str) -> str:
    """Wait for the agent's ask, and return its address."""
    page.goto(f"{url}/?list")
    return url + str(page.locator(".entry a", has_text=words).get_attribute("href"))


def _shoot(page: Page, url: str, name: str, *, whole: bool = False) -> None:
    page.goto(url)
    page.get_by_text("live", exact=True).wait_for()
    page.screenshot(path=PICTURES / f"{name}.png", full_page=whole)
    print(f"docs/pictures/{name}.png  {(PICTURES / f'{name}.png').stat().st_size // 1000} KB")


if __name__ == "__main__":
    main()
