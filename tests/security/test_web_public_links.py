"""Links at a public address: a real `gate up` with TLS, and a real browser."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys

import pytest
from tests.support.people import a_person
from tests.support.programs import find_program

from gatebell.app.wiring import open_store
from gatebell.services.people import manage_logins, manage_people
from gatebell.web.context import public_site

ADDRESSES = [
    ("https://Gate.example.org:443", "https://gate.example.org"),
    ("https://gate.example.org:8443/", "https://gate.example.org:8443"),
]
CERTIFICATE = ("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


class PublicInbox:
    """`gate up` at a public address, with one person who has a token."""

    def __init__(self, folder):
        self.path = str(folder / "gate.db")
        keep = {k: v for k, v in os.environ.items() if not k.startswith(("GATE_", "CLAUDE"))}
        self.environ = keep | {"GATE_STORE": self.path, "HOME": str(folder), "NO_COLOR": "1"}
        self.store = open_store(self.path)
        self.token = manage_people.add(self.store, a_person(), "ada")
        cert, key = folder / "c.pem", folder / "k.pem"
        words = ["openssl", *CERTIFICATE, "-subj", "/CN=localhost", "-days", "2"]
        subprocess.run([*words, "-keyout", key, "-out", cert], check=True, capture_output=True)
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            port = one.getsockname()[1]
        self.url = f"https://localhost:{port}"
        options = [f"--port={port}", f"--public-url={self.url}", f"--tls-cert={cert}"]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "gatebell", "up", "--no-worker", *options, f"--tls-key={key}"],
            env=self.environ,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.said = self.process.stdout.readline()

    def gate(self, *words, **environ):
        return subprocess.run(
            [sys.executable, "-m", "gatebell", *words],
            env=self.environ | environ,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            stdin=subprocess.DEVNULL,
        )

    def close(self):
        self.process.terminate()
        self.process.communicate(timeout=60)
        self.store.close()


@pytest.fixture(scope="module")
def public(tmp_path_factory):
    find_program("openssl", "TLS was not tried")
    made = PublicInbox(tmp_path_factory.mktemp("public"))
    yield made
    made.close()


@pytest.fixture
def page(chromium, public):
    context = chromium.new_context(ignore_https_errors=True)
    context.set_default_timeout(8_000)
    yield context.new_page()
    context.close()


@pytest.mark.proves("WEB-94")
@pytest.mark.parametrize(("given", "url"), ADDRESSES)
def test_public_address_is_written_as_browsers_do(given, url):
    site = public_site(given)
    assert (site.url, site.origins) == (url, {url})
    assert site.hosts == {url.removeprefix("https://")}


@pytest.mark.proves("WEB-92", "LAW-10")
def test_gate_link_needs_a_token_at_a_public_address(public):
    assert public.said.split() == ["Inbox", f"{public.url}/login"]
    for words in (("link",), ("link", "--qr"), ("link", "--json")):
        refused = public.gate(*words)
        assert refused.returncode == 7 and "/link/" not in refused.stdout, refused.stdout
        assert "gate link --as NAME" in refused.stderr and "gate person add" in refused.stderr
    assert [one.event.kind for one in public.store.audit.entries()].count("link.made") == 0


@pytest.mark.proves("WEB-92")
def test_link_with_a_token_opens_the_public_inbox(public, page):
    made = public.gate("link", "--as", "ada", GATE_TOKEN=public.token)
    assert re.fullmatch(rf"{public.url}/link/[0-9a-f]{{64}}\n", made.stdout), made.stderr
    page.goto(made.stdout.strip())
    page.get_by_role("button", name="Open the inbox").click()
    page.wait_for_url(f"{public.url}/")
    assert page.locator(".who").text_content() == "ada"
    page.reload()
    assert page.locator(".who").text_content() == "ada"


@pytest.mark.proves("REMOTE-24", "LAW-10")
def test_unknown_certificate_error_names_the_setting(public):
    refused = public.gate("inbox", GATE_SERVER=public.url, GATE_TOKEN=public.token)
    assert refused.returncode == 8 and not refused.stdout, refused
    assert "is not trusted (self-signed certificate): set GATE_CA" in refused.stderr


@pytest.mark.proves("REMOTE-24", "LAW-10")
@pytest.mark.parametrize(
    ("file", "why"), [("nowhere.pem", "No such file"), ("empty.pem", "it has no certificate")]
)
def test_unusable_file_of_certificates_is_named(public, tmp_path, file, why):
    (tmp_path / "empty.pem").write_text("nothing")
    there = {"GATE_SERVER": public.url, "GATE_TOKEN": public.token, "GATE_CA": str(tmp_path / file)}
    refused = public.gate("inbox", **there)
    assert refused.returncode == 2 and not refused.stdout, refused
    assert f"{file} of GATE_CA cannot be used: {why}" in refused.stderr


@pytest.mark.proves("WEB-93")
def test_claimed_link_at_a_public_address_is_refused(public, page):
    secret = manage_logins.make_link(public.store, a_person("root"))
    assert page.goto(f"{public.url}/link/{secret}").status == 403
    told = page.locator("#problem").text_content()
    assert "personal token" in told and "gate link --as NAME" in told
    assert page.get_by_role("button", name="Open the inbox").count() == 0
    answer = page.request.post(
        f"{public.url}/link/{secret}", headers={"origin": public.url}, form={"next": "/"}
    )
    assert answer.status == 403 and page.context.cookies() == []
    assert manage_logins.find_link(public.store, secret) is not None
    # The form of the same page is the way in.
    page.get_by_label("token").fill(public.token)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{public.url}/")
    assert page.locator(".who").text_content() == "ada"


@pytest.mark.proves("WEB-93")
def test_claimed_login_at_a_public_address_does_not_loop(public, page):
    """A cookie from the time when only this machine reached the inbox."""
    secret = manage_logins.make_link(public.store, a_person("root"))
    login = manage_logins.enter_by_link(public.store, secret, {})
    cookie = {"name": "gatebell", "value": login, "url": public.url}
    page.context.add_cookies([cookie | {"sameSite": "Strict"}])
    assert page.goto(f"{public.url}/").status == 401
    assert page.get_by_text("already logged in").count() == 0
    assert "gate link --as NAME" in page.locator("main").text_content()
    page.get_by_label("token").fill(public.token)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{public.url}/")
    assert page.locator(".who").text_content() == "ada"
