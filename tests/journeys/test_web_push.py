"""The service worker in a real browser: messages, buttons, and what it keeps.

A headless Chromium cannot sign up at a push service, so messages arrive through its debugging
protocol, and its answer to `subscribe` is made up.
"""

from __future__ import annotations

import json
import struct

import pytest
from tests.support.devices import BrowserKeys, PushService
from tests.support.programs import find_program
from tests.support.waiting import eventually
from tests.support.web_server import button

from gatebell.domain.enums import NoticeKind
from gatebell.domain.notifications.devices import build_route
from gatebell.domain.notifications.messages import Delivery, compose
from gatebell.domain.notifications.push import build_payload
from gatebell.services.notifications import push_devices
from gatebell.web.app import STATIC

SHOWN = """self.registration.getNotifications().then(all => all.map(
  one => ({ title: one.title, body: one.body, tag: one.tag, actions: one.actions.map(each => each.action) })))"""
SUBSCRIBE = """(given) => {
  const made = { endpoint: given.endpoint, options: {}, toJSON: () => ({ endpoint: given.endpoint, keys: given }), unsubscribe: async () => { sessionStorage.clear(); } };
  PushManager.prototype.subscribe = async ({ applicationServerKey }) => { sessionStorage.setItem("made", applicationServerKey); return made; };
  PushManager.prototype.getSubscription = async () => {
    const key = sessionStorage.getItem("made");
    if (key) made.options.applicationServerKey = new Uint8Array(key.split(",")).buffer;
    return key ? made : null;
  };
}"""
# Without a desktop, the browser forgets a notification now and then: what was shown is kept.
KEEP = """() => {
  self.told = [];
  const show = self.registration.showNotification.bind(self.registration);
  self.registration.showNotification = async (title, more) => {
    await show(title, more);
    self.told.push({ title, body: more.body, tag: more.tag, actions: (more.actions ?? []).map(one => one.action) });
    self.again = () => show(title, more);
  };
}"""
# Chromium cannot be told to act as an installed app.
INSTALLED = """const match = matchMedia.bind(window);
  window.matchMedia = (query) => query === "(display-mode: standalone)" ? { matches: true } : match(query);"""
PRESS = """async (action) => {
  const [shown] = await self.registration.getNotifications();
  if (shown) self.dispatchEvent(new NotificationEvent("notificationclick", { notification: shown, action }));
  else await self.again();
  return Boolean(shown);
}"""


# Not the browser of other tests: a headless shell shows no notifications.
@pytest.fixture(scope="module")
def chromium():
    program = find_program("chromium", "no service worker was tried")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def service(monkeypatch):
    made = PushService()
    monkeypatch.setenv("GATE_PUSH_SERVICES", made.host)
    yield made
    made.close()


class Phone:
    """One browser, in which a person signs in and allows notifications."""

    def __init__(self, chromium, web, service, name="ada"):
        self.web, self.service, self.keys = web, service, BrowserKeys()
        self.context = chromium.new_context(permissions=["notifications"])
        self.context.set_default_timeout(8_000)
        given = self.keys.subscription(f"{service.url}/{name}")._asdict()
        self.context.add_init_script(f"({SUBSCRIBE})({json.dumps(given)})")
        self.page = self.context.new_page()
        self.sign_in(name)

    def sign_in(self, name):
        self.page.goto(self.web.link(name))
        button(self.page, "Open the inbox").click()
        self.page.wait_for_url(f"{self.web.url}/")

    def sign_up(self):
        button(self.page, "Notify this device").click()
        self.page.get_by_text("This device gets a notification").wait_for()
        (device,) = self.web.store.devices.all()
        self.worker.evaluate(KEEP)
        return device

    @property
    def worker(self):
        (found,) = self.context.service_workers
        return found

    def deliver(self, payload):
        session, found = self.context.new_cdp_session(self.page), []
        session.on(
            "ServiceWorker.workerRegistrationUpdated",
            lambda one: found.extend(
                each for each in one["registrations"]
                if each["scopeURL"] == f"{self.web.url}/" and not each["isDeleted"]
            ),
        )  # fmt: skip
        session.send("ServiceWorker.enable")
        ready = "navigator.serviceWorker.ready.then(one => one.active.state === 'activated')"
        eventually(lambda: self.page.evaluate(ready) and found, what="the service worker")
        session.send(
            "ServiceWorker.deliverPushMessage",
            {"origin": self.web.url, "registrationId": found[-1]["registrationId"], "data": payload.decode()},
        )  # fmt: skip

    def ask(self, prompt, **about):
        """Ask for approval, and wait until the empty inbox has opened it."""
        made = self.web.ask(prompt, kind="approval", **about)
        self.page.locator("article.ask").wait_for()
        return made

    def tell(self, device, ask, kind=NoticeKind.OPENED):
        """Deliver the message of an ask as the sender makes it."""
        now = self.web.store.now()
        delivery = Delivery("n1", kind, ask.id, "", "x", now, now)
        message = compose(delivery, "", ask)
        buttons = push_devices.make_buttons(self.web.store, build_route(device), delivery, ask)
        self.deliver(build_payload(device.id, message._replace(buttons=buttons)))

    def told(self):
        """Return each notification that was shown."""
        return self.worker.evaluate("self.told")

    def press(self, action):
        eventually(lambda: self.worker.evaluate(PRESS, action), what="the notification")

    def shown(self):
        """Return what is on the screen."""
        return self.worker.evaluate(SHOWN)

    def kept(self):
        """Return everything in the caches of the browser."""
        return self.page.evaluate(
            """async () => { const all = {}; for (const name of await caches.keys()) {
              const cache = await caches.open(name); for (const one of await cache.keys())
              all[new URL(one.url).pathname] = await (await cache.match(one)).text(); } return all; }"""
        )


@pytest.fixture
def phone(chromium, web, service):
    made = Phone(chromium, web, service)
    yield made
    made.context.close()


@pytest.mark.proves("PUSH-10")
def test_button_of_a_notification_approves_the_ask(phone, web):
    device = phone.sign_up()
    assert device.person == "ada" and device.endpoint == f"{phone.service.url}/ada"
    ask = phone.ask("Deploy build 42?")
    phone.tell(device, ask)
    (shown,) = eventually(phone.told, what="a notification")
    assert shown["tag"] == "n1" and "Deploy build 42?" in shown["body"]
    assert shown["actions"] == ["approved", "rejected"]
    phone.press("approved")
    eventually(lambda: not web.get(ask.id).pending, what="the answer")
    after = web.get(ask.id)
    assert (after.decision, after.settled_via) == ("approved", "push")
    (said,) = eventually(lambda: [one for one in phone.told() if one["title"] == "Recorded"])
    assert said["actions"] == [] and said["tag"] == "n1"


@pytest.mark.proves("PUSH-10")
def test_message_opens_closes_and_explains_a_lost_login(phone, web):
    device = phone.sign_up()
    seen = phone.ask("Deploy?", context={"tests": "green"})
    phone.tell(device, seen)
    (shown,) = eventually(phone.told, what="a notification")
    assert shown["actions"] == []
    phone.tell(device, seen, NoticeKind.WITHDRAWN)
    eventually(lambda: not phone.shown())
    ask = phone.ask("Deploy build 43?")
    phone.tell(device, ask)
    eventually(lambda: len(phone.told()) == 2)
    phone.context.clear_cookies()
    phone.press("rejected")
    (said,) = eventually(lambda: [one for one in phone.told() if "Not" in one["title"]])
    assert "signed out" in said["body"] and web.get(ask.id).pending
    phone.deliver(b"not of ours")
    eventually(lambda: any("Open the inbox" in one["body"] for one in phone.told()))


@pytest.mark.proves("PUSH-10", "WEB-119")
def test_device_is_tested_and_turned_off_in_the_inbox(phone, web):
    phone.ask("Something waits")
    phone.page.goto(web.url)
    phone.sign_up()
    button(phone.page, "Send a test message").click()
    phone.page.get_by_text("Sent.").wait_for()
    assert phone.keys.read(phone.service.got[0][2])["type"] == "test"
    phone.page.reload()
    button(phone.page, "Do not notify this device").click()
    phone.page.get_by_text("no more notifications").wait_for()
    assert web.store.devices.all() == []
    assert button(phone.page, "Notify this device").is_visible()


@pytest.mark.proves("PUSH-9")
def test_nothing_of_an_ask_is_kept_in_the_browser(phone, web):
    device = phone.sign_up()
    ask = phone.ask("Open the harbour gate?", context="cranes at rest")
    phone.tell(device, ask)
    for path in ("/", f"/asks/{ask.id}", "/history", "/people"):
        phone.page.goto(web.url + path)
    first = phone.kept()
    phone.context.clear_cookies()
    phone.sign_in("bob")
    phone.page.goto(f"{web.url}/asks/{ask.id}")
    assert phone.kept() == first
    assert set(first) == {"/offline", "/static/gate.css", "/static/icon.svg", "/static/seal.js"}
    for text in first.values():
        assert not [word for word in ("harbour", "cranes", ask.id, "ada", "bob") if word in text]


@pytest.mark.proves("PUSH-9")
def test_offline_page_is_shown_without_a_server(phone, web):
    phone.sign_up()
    web.stop()
    phone.page.goto(f"{web.url}/asks/a-7k2")
    assert phone.page.locator("h1").inner_text() == "The inbox cannot be reached"
    assert (
        phone.page.evaluate("getComputedStyle(document.querySelector('.button')).display")
        != "inline"
    )
    assert "monospace" not in phone.page.evaluate("getComputedStyle(document.body).fontFamily")
    web.start()
    phone.page.get_by_text("Try again").click()
    phone.page.locator("#how-many").wait_for()


@pytest.mark.proves("PUSH-9")
def test_installed_app_without_notifications_has_the_offline_page(phone, web, monkeypatch):
    monkeypatch.setattr("gatebell.app.push.find_public_key", lambda _: "")
    phone.page.reload()
    assert phone.page.locator("#device").count() == 0 and phone.context.service_workers == []
    phone.context.add_init_script(INSTALLED)
    phone.page.reload()
    eventually(lambda: phone.page.evaluate("Boolean(navigator.serviceWorker.controller)"))
    web.stop()
    phone.page.goto(f"{web.url}/asks/a-7k2")
    assert phone.page.locator("h1").inner_text() == "The inbox cannot be reached"
    web.start()


@pytest.mark.proves("PUSH-9")
def test_manifest_makes_the_inbox_installable(phone, web):
    session = phone.context.new_cdp_session(phone.page)
    told = session.send("Page.getAppManifest")
    assert told["errors"] == [] and told["url"] == f"{web.url}/manifest.webmanifest"
    assert session.send("Page.getInstallabilityErrors")["installabilityErrors"] in (
        [], [{"errorId": "in-incognito", "errorArguments": []}],
    )  # fmt: skip
    icons = json.loads(told["data"])["icons"]
    assert {(one["sizes"], one.get("purpose", "any")) for one in icons} == {
        ("192x192", "any"), ("512x512", "any"), ("512x512", "maskable"),
    }  # fmt: skip
    for one in icons:
        with open(STATIC + one["src"].removeprefix("/static"), "rb") as file:
            head = file.read(24)
        assert head[:8] == b"\x89PNG\r\n\x1a\n"
        assert "{}x{}".format(*struct.unpack(">II", head[16:24])) == one["sizes"]


@pytest.mark.proves("PUSH-10")
def test_browser_without_push_shows_no_button(tab):
    page = tab("/", who="ada")
    page.add_init_script("delete window.PushManager")
    page.reload()
    page.locator("#how-many").wait_for()
    assert not page.locator("#device").is_visible()
