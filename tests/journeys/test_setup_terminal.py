"""`gate setup` in a real terminal, from an empty home to an answer in a phone-sized browser."""

from __future__ import annotations

import json
import os
import re
import subprocess

import pytest
from playwright.sync_api import expect
from tests.support.phone_world import PhoneWorld
from tests.support.programs import find_program
from tests.support.telegram_service import TOKEN, TelegramService
from tests.support.terminals import Terminal
from tests.support.waiting import eventually
from tests.support.web_server import PHONE, button

from gatebell.app import chats, daemon
from gatebell.app.wiring import open_store
from gatebell.domain.enums import ChannelKind


@pytest.fixture
def phone_world(tmp_path):
    made = PhoneWorld(tmp_path)
    yield made
    made.close()


@pytest.fixture
def phone(chromium):
    wide, high = PHONE
    size = {"width": wide, "height": high}
    context = chromium.new_context(viewport=size, has_touch=True, ignore_https_errors=True)
    context.set_default_timeout(8_000)
    yield context.new_page()
    context.close()


@pytest.fixture
def screen(phone_world, tmp_path):
    find_program("tmux", "no real terminal was tried")
    made = Terminal(f"gate-{os.getpid()}-setup", phone_world.home, phone_world.environ)
    yield made
    made.kill()


def start_held_call(world, command):
    """Start the hook of the installed settings, as Claude Code does before it asks."""
    written = json.loads((world.home / ".claude" / "settings.json").read_text(encoding="utf-8"))
    (hook,) = written["hooks"]["PermissionRequest"][0]["hooks"]
    event = {
        "session_id": "s1", "transcript_path": "", "hook_event_name": "PermissionRequest",
        "cwd": str(world.home), "tool_name": "Bash", "tool_input": {"command": command},
    }  # fmt: skip
    process = subprocess.Popen(
        ["sh", "-c", hook["command"]], env=world.environ, cwd=world.home, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    process.stdin.write(json.dumps(event))
    process.stdin.close()
    process.stdin = None
    store = open_store(world.store)
    eventually(lambda: store.asks.pending(1))
    store.close()
    return process


@pytest.mark.proves("SETUP-1", "SETUP-2", "SETUP-3", "SETUP-8", "SETUP-14")
def test_setup_leads_from_nothing_to_an_answer(phone_world, screen, phone):
    phone_world.add_program("claude")
    phone_world.add_tailscale()
    ntfy = phone_world.ntfy
    screen.run("setup", f"--port={phone_world.port}", f"--ntfy-server={ntfy.url}")
    screen.until("Set it up? (d shows the diff) [Y/n/d]")
    assert "Changes ~/.claude/settings.json, ~/.claude.json" in screen.screen()
    screen.type("d", "Enter")
    screen.until("Set it up? [Y/n]")
    assert '+      "Bash(*jfrog*)",' in screen.screen()
    screen.type("", "Enter")
    screen.until("Notify your phone by ntfy? [Y/n]")
    screen.type("", "Enter")
    screen.until("Answer in a chat, by buttons? (t Telegram, s Slack, n none) [t/s/N]")
    screen.type("", "Enter")
    screen.until("Which way? [1]")
    screen.type("", "Enter")
    screen.until("Your name in the inbox? [ada]")
    screen.type("", "Enter")
    shown = screen.until("Send a test question to your phone? [Y/n]")
    assert shown.count("▄▄▄▄▄▄▄█") >= 2, "two QR codes"

    link = re.search(rf"{phone_world.url}/link/[0-9a-f]{{64}}", shown)[0]
    phone.goto(link)
    button(phone, "Open the inbox").tap()
    expect(phone).to_have_url(f"{phone_world.url}/")

    screen.type("", "Enter")
    screen.until("Sent (a-")
    assert ntfy.came.wait(20)
    (_, _, body), *_ = ntfy.messages
    told = json.loads(body)
    assert re.fullmatch(r"gate-[a-z2-7]{24}", told["topic"])
    click = told["click"]
    # Another site, as for a browser that a notification opens.
    phone.goto(f"data:text/html,<a href='{click}'>tap</a>")
    phone.get_by_role("link", name="tap").tap()
    button(phone, "Approve").tap()
    screen.until("Answered: yes, by ada in the web inbox. It works.")
    screen.until("exit code 0")

    # The next question is a real one: the hook that setup installed holds a call.
    held = start_held_call(phone_world, "git push origin main")
    store = open_store(phone_world.store)
    eventually(lambda: store.asks.pending(1), what="the held call")
    # The inbox opens the only ask that waits.
    phone.goto(phone_world.url)
    expect(phone.locator("article")).to_contain_text("git push origin main")
    button(phone, "Approve").tap()
    said = json.loads(held.communicate(timeout=60)[0])
    assert said["hookSpecificOutput"]["decision"]["behavior"] == "allow"

    asked = store.asks.get(click.rpartition("/")[2])
    assert (asked.settled_by, asked.settled_via) == ("person:ada", "web")
    assert [one.tokens for one in store.people.all()] == [1]

    screen.run("setup", f"--port={phone_world.port}")
    screen.until("Answer in a chat, by buttons?")
    screen.type("", "Enter")
    seen = screen.until("Sign in another phone? [y/N]")
    for line in ("Claude Code is set", "ntfy is set", f"Your inbox is at {phone_world.url}"):
        assert f"{line} up already." in seen or f"{line} already." in seen, line
    screen.type("", "Enter")
    screen.until("Send a test question to your phone? [Y/n]")
    screen.type("", "Enter")
    screen.until("Sent (a-")
    screen.type("", "C-c")
    screen.until("Skipped; the test question is withdrawn.")
    screen.until("exit code 0")
    assert store.asks.pending(1) == []
    store.close()


@pytest.mark.proves("SETUP-17", "SETUP-18")
def test_setup_leads_to_an_answer_in_telegram(phone_world, screen):
    service = TelegramService()
    phone_world.environ["GATE_TELEGRAM_URL"] = service.url
    try:
        screen.run("setup", f"--port={phone_world.port}", "--skip=agents", "--skip=phone")
        screen.until("Notify your phone by ntfy? [Y/n]")
        screen.type("n", "Enter")
        screen.until("Answer in a chat, by buttons?")
        screen.type("t", "Enter")
        assert "@BotFather" in screen.until("The token; it is not shown, Enter skips this:")
        screen.type(TOKEN, "Enter")
        shown = screen.until("Waiting for 5 minutes")
        assert TOKEN not in shown and shown.count("▄▄▄▄▄▄▄█") >= 1
        code = re.search(r"https://t.me/gate_test_bot\?start=([A-Z2-7-]+)", shown)[1]
        service.say(f"/start {code}")
        screen.until("Start it in the background now? [Y/n]")
        screen.type("", "Enter")
        screen.until("Send a test question to Telegram? [Y/n]")
        screen.type("", "Enter")
        screen.until("Press a button below the question in Telegram.")
        service.wait(lambda: service.find("does this reach you?"), "no message")
        service.press(service.find("does this reach you?"), "Approve")
        screen.until("in Telegram. It works.")
        screen.until("exit code 0")
        service.wait(lambda: service.find("approved by"), "the message was not changed")
        # From now on, gate up reads the answers.
        store = open_store(phone_world.store)
        eventually(lambda: chats.is_heard(store, ChannelKind.TELEGRAM))
        store.close()
    finally:
        daemon.end(phone_world.store)
        service.close()
