"""Another site can do nothing to a person who is logged in to the inbox."""

from __future__ import annotations

import http.client
import json

import pytest
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect
from tests.support.waiting import eventually

from gatebell.services.people import manage_logins
from gatebell.web.app import make_app
from gatebell.web.context import COOKIE
from gatebell.web.routes import ROWS

CHANGING = tuple(row for row in ROWS if row.changes)


def aims(real, attacker="mal"):
    """Return every route that changes something, with a valid body."""
    ask = real.ask()
    made = real.token("read", name=attacker)
    (token,) = [one for one in real.store.people.tokens() if one.person == attacker][-1:]
    values = {"id": ask.id, "name": attacker, "secret": real.link(attacker)}
    bodies = {
        "/asks/{id}/answer": {"text": "so", "value": "given", "digest": ask.digest},
        "/asks/{id}/draft": {"text": "perh"},
        "/people": {"name": "new", "scopes": "read"},
        "/people/{name}/tokens": {"scopes": "read"},
        "/people/{name}/remove": {"sure": "yes"},
        "/tokens/{id}/revoke": {"sure": "yes"},
        "/login": {"token": made},
        "/api/asks": {"prompt": "Which?"},
        "/api/asks/{id}/answers": {"value": "so"},
        "/api/answers": {"asks": [{"id": ask.id, "digest": ask.digest}], "value": "so"},
        "/api/asks/{id}/messages": {"text": "which?"},
        "/api/asks/{id}/draft": {"text": "perh"},
        "/api/people": {"name": "new"},
    }
    return [
        {
            "method": row.method,
            "path": row.path.format(
                **(values | {"id": token.id} if "/tokens/" in row.path else values)
            ),
            "body": bodies.get(row.path, {}),
        }
        for row in CHANGING
    ]


ATTACK = """async ({base, aims}) => {
  const tried = [], words = body => new URLSearchParams(body);
  let count = 0;
  function form(aim, enctype) {
    const frame = document.createElement("iframe"), made = document.createElement("form");
    frame.name = "frame" + ++count;
    Object.assign(made, {action: base + aim.path, method: "post", enctype, target: frame.name});
    const trick = {[JSON.stringify(aim.body).slice(0, -1) + ', "x": "']: '"}'};
    for (const [name, value] of Object.entries(enctype === "text/plain" ? trick : aim.body)) {
      const field = document.createElement("input");
      Object.assign(field, {name, value: typeof value === "string" ? value : JSON.stringify(value)});
      made.append(field);
    }
    document.body.append(frame, made);
    made.submit();
  }
  async function reach(aim, how) {
    try {
      const answer = await fetch(base + aim.path, {method: aim.method, credentials: "include", ...how});
      tried.push([answer.type, answer.status]);
    } catch { tried.push(["failed", 0]); }
  }
  await Promise.all(aims.map(async aim => {
    const body = JSON.stringify(aim.body);
    if (aim.method === "POST") {
      form(aim, "application/x-www-form-urlencoded");
      form(aim, "multipart/form-data");
      form(aim, "text/plain");
      navigator.sendBeacon(base + aim.path, words(aim.body));
      await reach(aim, {mode: "no-cors", body, headers: {"content-type": "text/plain"}});
      await reach(aim, {mode: "no-cors", body: words(aim.body)});
      await reach(aim, {mode: "cors", body: words(aim.body)});
    }
    const headers = {"content-type": "application/json", "x-csrf-token": "0"};
    await reach(aim, {mode: "cors", body, headers});
    await reach(aim, {mode: "no-cors", method: "GET"});
  }));
  return tried;
}"""


@pytest.mark.proves("WEB-8")
@pytest.mark.parametrize("where", ["foreign", "neighbour", "hidden"])
def test_no_other_site_changes_anything_through_a_login(real, evil, logged_in, where):
    """Foreign: without the cookie. Neighbour: with it. Hidden: with it and without an origin."""
    targets = aims(real)
    policy = "no-referrer" if where == "hidden" else "unsafe-url"
    evil.pages["/attack"] = f'<!doctype html><meta name=referrer content="{policy}"><body>'
    posted = [one for one in targets if one["method"] == "POST"]
    before = real.fingerprint.take()
    page = logged_in.new_page()
    page.goto((evil.foreign if where == "foreign" else evil.neighbour) + "/attack")
    tried = page.evaluate(ATTACK, {"base": real.url, "aims": targets})
    assert len(tried) > 4 * len(posted) and {tuple(one) for one in tried} == {("failed", 0)}
    eventually(
        lambda: len(changing(real, "POST")) >= 7 * len(posted) - 2,
        what="all that was sent",
    )
    arrived = changing(real, "POST", "PUT", "DELETE", "OPTIONS")
    assert {one.status for one in arrived} == {403}
    origins = {one.headers.get("origin") for one in arrived}
    assert origins == {evil.foreign} if where == "foreign" else origins <= {evil.neighbour, "null"}
    if where == "hidden":
        assert "null" in origins
    with_cookie = [one for one in arrived if COOKIE in one.headers.get("cookie", "")]
    assert bool(with_cookie) == (where != "foreign")
    assert real.fingerprint.take() == before
    assert [one["value"] for one in logged_in.cookies(real.url)] == [logged_in.secret]


def changing(real, *methods):
    return [one for one in real.seen if one.method in methods]


FOREIGN_ORIGINS = (
    None, "null", "", "http://evil.example", "https://{host}", "http://127.0.0.1", "http://localhost",
    "http://{host}.evil.example", "http://{host}/", "http://evil.example/http://{host}",
    "http://127.0.0.1:1", "http://evil.example:{port}", "http://x@{host}", "{host}", "file://", "http://[::]:{port}",
    "http://0.0.0.0:{port}", "http://127.0.0.2:{port}", "http://2130706433:{port}", "http://localhost.:{port}",
    "chrome-extension://abcdefgh", "http://{host}, http://evil.example", "about:blank",
)  # fmt: skip


@pytest.mark.proves("WEB-8")
def test_cookie_with_its_proof_needs_our_own_origin(real):
    """As if a browser sent the cookie everywhere, and an attacker knew the proof."""
    secret, targets = real.login(), aims(real)
    before, wrong = real.fingerprint.take(), []
    for given in FOREIGN_ORIGINS:
        origin = given and given.format(host=real.host, port=real.port)
        real.forget()
        for aim in targets:
            status = post(real, aim, secret, [] if origin is None else [("Origin", origin)])
            if status != 403:
                wrong.append((given, aim["path"], status))
    doubled = [("Origin", real.url), ("Origin", "http://evil.example")]
    wrong += [one for one in targets if post(real, one, secret, doubled) != 403]
    assert wrong == []
    assert real.fingerprint.take() == before
    assert post(real, targets[0], secret, [("Origin", real.url)]) == 303


def post(real, aim, secret, headers):
    """Send one request with a cookie and its proof, without the headers of a browser."""
    connection = http.client.HTTPConnection("127.0.0.1", real.port, timeout=20)
    api = aim["path"].startswith("/api/")
    body = json.dumps(aim["body"]) if api else "&".join(f"{k}={v}" for k, v in aim["body"].items())
    kind = "application/json" if api else "application/x-www-form-urlencoded"
    connection.putrequest(aim["method"], aim["path"])
    given = [("Cookie", f"{COOKIE}={secret}"), ("X-CSRF-Token", real.proof(secret))]
    given += [("Content-Type", kind), ("Content-Length", str(len(body))), *headers]
    for name, value in given:
        connection.putheader(name, value)
    connection.endheaders(body.encode())
    status = connection.getresponse().status
    connection.close()
    return status


HOSTS = (
    "evil.com", "evil.com:{port}", "localhost.evil.com", "localhost.evil.com:{port}", "127.0.0.1.nip.io",
    "127.0.0.1.nip.io:{port}", "0.0.0.0", "0.0.0.0:{port}", "[::ffff:127.0.0.1]", "[::ffff:127.0.0.1]:{port}",
    "[::ffff:7f00:1]:{port}", "[::]:{port}", "[0:0:0:0:0:0:0:1]:{port}", "127.0.0.1.:{port}", "localhost.:{port}",
    "LOCALHOST.:{port}", "localhost", "127.0.0.1", "[::1]", "127.0.0.1:0", "127.0.0.1:80", "127.0.0.1:1", "127.0.0.1:99999",
    "127.0.0.1:{port}x", "127.0.0.1:0{port}", "127.0.0.1:+{port}", "127.0.0.1:{port}:80", "127.0.0.1:-1", "127.0.0.1:",
    ":{port}", "", "127.1:{port}", "127.0.1:{port}", "2130706433:{port}", "0x7f000001:{port}", "0177.0.0.1:{port}",
    "127.0.0.2:{port}", "127.000.000.001:{port}", "localhost.localdomain:{port}", "ip6-localhost:{port}", "evil.com@127.0.0.1:{port}",
    "127.0.0.1:{port}@evil.com", "127.0.0.1:{port}, evil.com", "evil.com, 127.0.0.1:{port}", "127.0.0.1:{port}/", "127.0.0.1:{port}#",
    "http://127.0.0.1:{port}", "127.0.0.1%00:{port}", "lоcalhost:{port}", "xn--lcalhost-54g:{port}", "*", "127.0.0.1:{port}.evil.com",
    "[::1%25lo]:{port}", "rebind.it:{port}", "app.localhost:{port}",
)  # fmt: skip


@pytest.mark.proves("WEB-9")
def test_inbox_answers_to_its_own_names_only(real):
    """Rebinding: evil.com resolves to 127.0.0.1, and the browser takes it for evil.com's server."""
    token, ask = real.token("answer", "read", "ask", "admin"), real.ask()
    before = real.fingerprint.take()
    body = json.dumps({"value": "so"})
    wrong = []
    for host in HOSTS:
        for line in (
            f"POST /api/asks/{ask.id}/answers",
            "GET /",
            "GET /api/asks",
            "GET /static/gate.js",
        ):
            lines = [f"Host: {host.format(port=real.port)}", f"Authorization: Bearer {token}"]
            status, answer = real.raw(f"{line} HTTP/1.1", lines, body if "POST" in line else "")
            if status != 403 or ask.id in answer:
                wrong.append((host, line, status))
    assert len(HOSTS) >= 30 and wrong == []
    assert real.fingerprint.take() == before


@pytest.mark.proves("WEB-9")
def test_missing_doubled_or_hidden_host_is_refused(real):
    token, ask = real.token("answer", "read"), real.ask()
    before, path = real.fingerprint.take(), f"/api/asks/{ask.id}/answers"
    own, bearer = f"Host: {real.host}", f"Authorization: Bearer {token}"
    cases = [
        (f"POST {path} HTTP/1.1", []),
        (f"POST {path} HTTP/1.0", []),
        (f"POST {path} HTTP/1.1", [own, "Host: evil.com"]),
        (f"POST {path} HTTP/1.1", ["Host: evil.com", own]),
        (f"POST {path} HTTP/1.1", [own, own]),
        (f"POST {path} HTTP/1.1", ["Host : evil.com"]),
        (f"POST {path} HTTP/1.1", ["Host: evil.com", f"X-Forwarded-Host: {real.host}"]),
        (f"POST {path} HTTP/1.1", ["Host: evil.com", f"Forwarded: host={real.host}"]),
        (f"POST http://evil.com{path} HTTP/1.1", ["Host: evil.com"]),
        (f"POST http://evil.com{path} HTTP/1.1", [own]),
        (f"POST http://{real.host}{path} HTTP/1.1", ["Host: evil.com"]),
        (f"POST //evil.com{path} HTTP/1.1", [own]),
    ]
    for first, lines in cases:
        status, _ = real.raw(first, [*lines, bearer], json.dumps({"value": "so"}))
        assert status in (400, 403, 404), (first, lines, status)
    assert real.fingerprint.take() == before
    upper = f"Host: LocalHost:{real.port}"
    assert real.raw(f"POST {path} HTTP/1.1", [upper, bearer], '{"value": "so"}')[0] == 201


LISTEN = """async base => {
  const told = [];
  const source = new EventSource(base + "/api/events/stream", {withCredentials: true});
  source.onmessage = source.onopen = event => told.push(event.type);
  source.addEventListener("hello", () => told.push("hello"));
  await new Promise(done => { source.onerror = done; });
  const web = new WebSocket(base.replace("http", "ws") + "/api/events/stream");
  web.onmessage = web.onopen = event => told.push(event.type);
  await new Promise(done => { web.onclose = done; });
  for (const path of ["/api/asks", "/api/people", "/", "/static/gate.js"]) {
    for (const mode of ["cors", "no-cors", "same-origin"]) {
      try { told.push((await fetch(base + path, {mode, credentials: "include"})).type); } catch {}
    }
    for (const name of ["img", "script", "video"]) {
      const element = document.createElement(name);
      const loaded = new Promise(done => {
        element.onload = element.onloadeddata = () => { told.push(name + path); done(); };
        element.onerror = done; setTimeout(done, 300);
      });
      element.src = base + path; document.body.append(element);
      await loaded;
    }
  }
  return told;
}"""


@pytest.mark.proves("WEB-29")
@pytest.mark.parametrize("where", ["foreign", "neighbour"])
def test_no_other_site_hears_or_reads_anything(real, evil, logged_in, where):
    real.ask("Nobody else's business?")
    page = logged_in.new_page()
    page.goto(getattr(evil, where))
    assert page.evaluate(LISTEN, real.url) == []
    streams = [one for one in real.seen if one.path == "/api/events/stream"]
    assert streams and {one.status for one in streams} <= {401, 403}
    at_home = logged_in.new_page()
    at_home.goto(real.url)
    own = "/api/events/stream", 200
    eventually(
        lambda: own in [(one.path, one.status) for one in real.seen], what="our own page hears"
    )


@pytest.mark.proves("WEB-29")
def test_web_socket_is_never_opened(real):
    """There is none: requested as a page, it is another page; as a socket, it is closed."""
    upgrade = ["Upgrade: websocket", "Sec-WebSocket-Version: 13", f"Host: {real.host}"]
    upgrade += ["Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", f"Cookie: {COOKIE}={real.login()}"]
    for origin, status in (("http://evil.example", 403), (real.url, 200)):
        for path in ("/api/asks", "/", "/api/people"):
            answer = real.raw(f"GET {path} HTTP/1.1", [*upgrade, f"Origin: {origin}"])
            assert answer[0] == status and "sec-websocket" not in answer[1].lower()
    client = TestClient(make_app(real.desk), base_url=real.url)
    with (
        pytest.raises(WebSocketDisconnect) as closed,
        client.websocket_connect("/api/events/stream", headers={"origin": real.url}),
    ):
        pass
    assert closed.value.code == 1008


@pytest.mark.proves("WEB-11")
def test_no_other_site_can_frame_a_page(real, evil, logged_in):
    ask = real.ask("Framed?", "approval")
    paths = [
        "/",
        f"/asks/{ask.id}",
        "/login",
        f"/link/{real.link()}",
        "/history",
        "/people",
        "/nowhere",
    ]
    shapes = ('<iframe src="{}"></iframe>', '<object data="{}"></object>', '<embed src="{}">')
    frames = "".join(shape.format(real.url + path) for path in paths for shape in shapes)
    evil.pages["/frames"] = f"<!doctype html><title>evil</title>{frames}"
    page = logged_in.new_page()
    for site in (evil.foreign, evil.neighbour):
        page.goto(site + "/frames", wait_until="load")
        inside = [frame for frame in page.frames if frame is not page.main_frame]
        assert len(inside) >= len(paths)
        assert [frame.url for frame in inside if frame.url.startswith(real.url)] == []
        assert [frame.title() for frame in inside if "gatebell" in frame.title()] == []
    framed = {one.path for one in real.seen}
    assert set(paths) <= framed, "the pages were asked for, and then not shown"


@pytest.mark.proves("WEB-14")
def test_other_sites_cannot_log_a_person_in_as_another(real, evil, chromium):
    """A person who answers as the attacker gives the attacker their text."""
    token, link = real.token("read", "answer", name="mal"), real.link("mal")
    sends = "<script>document.forms[0].submit()</script>"
    by_token = (
        f'<form method=post action="{real.url}/login"><input name=token value="{token}"></form>'
    )
    by_link = f'<form method=post action="{real.url}/link/{link}"></form>'
    for form in (by_token, by_link):
        for policy in ("unsafe-url", "no-referrer"):
            evil.pages["/enter"] = f'<meta name=referrer content="{policy}">{form}{sends}'
            for site in (evil.foreign, evil.neighbour):
                real.forget()
                context = chromium.new_context()
                page = context.new_page()
                page.goto(site + "/enter")
                eventually(
                    lambda: any(one.method == "POST" for one in real.seen), what="the form was sent"
                )
                page.wait_for_url(real.url + "/**")
                assert [one.status for one in real.seen if one.method == "POST"] == [403]
                assert context.cookies(real.url) == []
                context.close()
    assert manage_logins.find_link(real.store, link), "the link is still there for whom it is meant"


@pytest.mark.proves("WEB-14")
def test_cookie_that_was_there_before_is_not_adopted(real, chromium):
    chosen, of_attacker = "f" * 64, real.login("mal")
    for planted in (chosen, of_attacker):
        real.forget()
        context = chromium.new_context()
        context.add_cookies([{"name": COOKIE, "value": planted, "url": real.url}])
        page = context.new_page()
        page.goto(f"{real.url}/link/{real.link()}")
        page.get_by_role("button", name="Open the inbox").click()
        page.wait_for_url(real.url + "/")
        (cookie,) = context.cookies(real.url)
        assert cookie["value"] != planted and len(cookie["value"]) == 64
        assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
        assert page.evaluate("document.cookie") == ""
        assert manage_logins.whose_login(real.store, cookie["value"]).person == "ada"
        context.close()
    assert manage_logins.whose_login(real.store, chosen) is None
    assert manage_logins.whose_login(real.store, of_attacker).person == "mal"


@pytest.mark.proves("WEB-15")
def test_outgoing_link_does_not_reveal_its_page(real, evil, logged_in):
    out = f"{evil.foreign}/out"
    ask = real.ask("Look?", "approval", context=f"See [the page]({out}) and <{out}?2>.")
    page = logged_in.new_page()
    page.goto(f"{real.url}/asks/{ask.id}")
    for place in page.locator(f'a[href^="{out}"]').all():
        with logged_in.expect_page() as opened:
            place.click()
        opened.value.wait_for_load_state()
        assert opened.value.evaluate("window.opener") is None
        assert opened.value.evaluate("document.referrer") == ""
    visits = [one for one in evil.seen if one.path.startswith("/out")]
    assert len(visits) == 2
    assert not [one for one in visits if "referer" in one.headers or "cookie" in one.headers]


@pytest.mark.proves("WEB-15")
def test_link_secret_goes_to_no_site_and_works_once(real, chromium):
    real.forget()
    link, asked_for = real.link(), []
    context = chromium.new_context()
    page = context.new_page()
    page.on("request", lambda request: asked_for.append(request.url))
    page.goto(f"{real.url}/link/{link}")
    page.get_by_role("button", name="Open the inbox").click()
    page.wait_for_url(real.url + "/")
    assert {one.split("/", 3)[2] for one in asked_for} == {real.host}
    assert link not in page.content() and manage_logins.find_link(real.store, link) is None
    context.close()


@pytest.mark.proves("WEB-80", "LAW-3")
def test_server_on_another_port_cannot_use_the_cookie(real, evil, chromium):
    real.forget()
    ask = real.ask("Deploy?", "approval")
    context = chromium.new_context()
    page = context.new_page()
    page.goto(f"{real.url}/link/{real.link()}")
    page.get_by_role("button").click()
    page.wait_for_url(f"{real.url}/")
    page.goto(f"{evil.neighbour}/preview")
    cookie = next(one.headers["cookie"] for one in evil.seen if one.path == "/preview")
    secret = cookie.partition(f"{COOKIE}=")[2].partition(";")[0]
    before = real.fingerprint.take()
    for path, body in (
        (f"/asks/{ask.id}/answer", f"value=yes&digest={ask.digest}"),
        ("/logout", ""),
    ):
        thief = http.client.HTTPConnection("127.0.0.1", real.port, timeout=10)
        headers = {
            "cookie": cookie,
            "origin": real.url,
            "content-type": "application/x-www-form-urlencoded",
        }
        thief.request("POST", path, f"csrf={real.proof(secret)}&{body}", headers)
        assert thief.getresponse().status == 403
        thief.close()
    assert real.fingerprint.take() == before
    page.goto(f"{real.url}/asks/{ask.id}")
    page.get_by_role("button", name="Approve", exact=True).click()
    page.wait_for_url(lambda url: url.endswith(f"?done={ask.id}"))
    assert real.get(ask).decision == "approved"
    context.close()
