"""Every route of the web inbox, every caller and every method: who may do what."""

from __future__ import annotations

import logging
import os
from typing import NamedTuple

import pytest
from tests.security.fingerprint import Fingerprint
from tests.support.people import a_person
from tests.support.run_records import add_run
from tests.support.web_inbox import URL, Inbox

from gatebell.adapters.sqlite.store import SqliteStore
from gatebell.domain.digests import text_digest, token_digest
from gatebell.domain.people.logins import SCOPES
from gatebell.services import freezes
from gatebell.services.asks import attachments
from gatebell.services.people import manage_logins, manage_people
from gatebell.services.tasks import backlog
from gatebell.web.app import make_app, make_web_context
from gatebell.web.context import local_site
from gatebell.web.routes import ROWS

# The scopes of which one suffices (none: everybody), and the status. The third value is the
# status for a caller who may only ask, about a question of another caller.
TABLE = {
    "GET /": ("read", 200),
    "GET /asks/{id}": ("read", 200),
    "GET /asks/{id}/attachments/{digest}": ("read", 200),
    "POST /asks/{id}/answer": ("answer", 303),
    "POST /asks/{id}/draft": ("answer", 204),
    "GET /runs": ("read", 200),
    "GET /runs/new": ("answer", 200),
    "POST /runs": ("answer", 404),
    "GET /runs/{id}": ("read", 200),
    "POST /runs/{id}/stop": ("answer", 303),
    "POST /runs/{id}/resume": ("answer", 303),
    "POST /freeze": ("answer", 303),
    "POST /unfreeze": ("answer", 303),
    "GET /tasks": ("read", 200),
    "GET /tasks/new": ("answer", 200),
    "POST /tasks": ("answer", 404),
    "GET /tasks/{id}": ("read", 200),
    "GET /history": ("read", 200),
    "GET /numbers": ("read", 200),
    "GET /people": ("admin", 200),
    "POST /people": ("admin", 200),
    "POST /people/{name}/tokens": ("admin", 200),
    "POST /people/{name}/remove": ("admin", 303),
    "POST /tokens/{id}/revoke": ("admin", 303),
    # A device needs the seal of its browser, and a button its own token: test_web_push_attacks.py.
    "POST /devices": ("answer", 403),
    "POST /devices/{id}/test": ("answer", 404),
    "POST /devices/{id}/remove": ("answer admin", 404),
    "POST /push/answer": ("answer", 403),
    "GET /sw.js": ("", 200),
    "GET /manifest.webmanifest": ("", 200),
    "GET /offline": ("", 200),
    "GET /login": ("", 200),
    "POST /login": ("", 303),
    "GET /link/{secret}": ("", 200),
    "POST /link/{secret}": ("", 303),
    "POST /logout": ("ask answer read admin metrics", 303),
    "GET /metrics": ("metrics", 200),
    "GET /api/asks": ("read ask", 200, 403),
    "POST /api/asks": ("ask", 201),
    "GET /api/asks/{id}": ("read ask", 200, 404),
    "GET /api/asks/{id}/wait": ("read ask", 200, 404),
    "POST /api/asks/{id}/take": ("ask", 403, 404),
    "POST /api/asks/{id}/heard": ("ask", 403, 404),
    "GET /api/asks/{id}/answers": ("read", 200),
    "POST /api/asks/{id}/answers": ("answer", 201),
    "POST /api/answers": ("answer", 200),
    "POST /api/attachments": ("answer ask", 201),
    "GET /api/asks/{id}/attachments/{digest}": ("read ask", 200, 404),
    "GET /api/asks/{id}/messages": ("read ask", 200, 404),
    "POST /api/asks/{id}/messages": ("answer ask", 200, 404),
    "GET /api/asks/{id}/draft": ("answer", 200),
    "PUT /api/asks/{id}/draft": ("answer", 204),
    "POST /api/asks/{id}/cancel": ("answer ask", 200, 404),
    "GET /api/asks/{id}/events": ("read", 200),
    "GET /api/runs": ("read", 200),
    "POST /api/runs": ("answer", 201),
    "GET /api/runs/{id}": ("read", 200),
    "POST /api/runs/{id}/stop": ("answer", 200),
    "POST /api/runs/{id}/resume": ("answer", 200),
    "GET /api/tasks": ("read", 200),
    "POST /api/tasks": ("answer", 201),
    "GET /api/projects": ("read", 200),
    "GET /api/task-events": ("read", 200),
    "GET /api/tasks/{id}": ("read", 200),
    "PATCH /api/tasks/{id}": ("answer", 200),
    "POST /api/tasks/{id}/needs": ("answer", 200),
    "POST /api/tasks/{id}/claim": ("answer", 200),
    "POST /api/tasks/{id}/release": ("answer", 200),
    "POST /api/tasks/{id}/close": ("answer", 200),
    "POST /api/tasks/{id}/defer": ("answer", 200),
    "POST /api/tasks/{id}/reopen": ("answer", 200),
    "POST /api/runs/{id}/signal": ("answer", 404),
    "GET /api/worker": ("read", 200),
    "POST /api/permissions": ("ask", 201),
    "GET /api/permissions": ("ask", 200),
    "POST /api/permissions/gated": ("ask", 200),
    "POST /api/permissions/{id}/use": ("ask", 403, 404),
    "POST /api/notes": ("ask", 204),
    "GET /api/notes": ("read", 200),
    "POST /api/signals": ("ask", 204),
    "GET /api/rules": ("read", 200),
    "POST /api/rules": ("answer", 201),
    "DELETE /api/rules": ("answer", 404),
    "GET /api/rules/suggestions": ("answer", 200),
    "POST /api/rules/test": ("answer", 200),
    "GET /api/shadow-rules": ("answer", 200),
    "POST /api/shadow-rules": ("answer", 404),
    "DELETE /api/shadow-rules": ("answer", 404),
    "GET /api/asks/{id}/rule": ("read", 200),
    "GET /api/stats": ("read", 200),
    "GET /api/freeze": ("read ask", 200),
    "POST /api/freeze": ("answer", 200),
    "DELETE /api/freeze": ("answer", 200),
    "GET /api/me": ("ask answer read admin metrics", 200),
    "GET /api/counts": ("read", 200),
    "GET /api/events": ("read", 200),
    "GET /api/events/stream": ("read", 200),
    "GET /api/people": ("admin", 200),
    "POST /api/people": ("admin", 201),
    "DELETE /api/people/{name}": ("admin", 204),
    "POST /api/people/{name}/tokens": ("admin", 201),
    "DELETE /api/tokens/{id}": ("admin", 204),
    "GET /api/openapi.json": ("", 200),
    "GET /api/health": ("", 200),
    "GET /api/ready": ("", 200),
}
CALL = {"tool": "Bash", "input": {"command": "ls"}}
PATHS = tuple(dict.fromkeys(row.partition(" ")[2] for row in TABLE))
METHODS = ("GET", "HEAD", "OPTIONS", "PATCH", "PUT", "DELETE", "POST")
READING = ("GET", "HEAD", "OPTIONS")
# Callers who also try the methods that a path lacks; in the whole run all do.
FEW = ("nobody", "all scopes by token", "browser", "browser without proof")


class Visitor(NamedTuple):
    """A caller, with its credentials."""

    headers: dict[str, str]
    scopes: frozenset[str] | None = None
    """None: the inbox does not know the caller."""
    forged: bool = False
    """The request lacks the proof that a page of this login sent it."""
    secrets: tuple[str, ...] = ()


class House(Inbox):
    """An inbox on a real store, with every kind of caller."""

    def __init__(self, folder):
        super().__init__(folder)
        self.store.close()
        path = str(folder / "earnest.db")
        # Not a throwaway one, which checks the managers of people less strictly.
        self.store = SqliteStore(path, self.clock)
        self.desk = make_web_context(self.store, local_site(4283))
        self.app = make_app(self.desk)
        self.fingerprint = Fingerprint(path)

    def login(self, *scopes, name="ada"):
        return manage_logins.enter_by_token(self.store, self.token(*scopes, name=name), {})

    def claimed_login(self, name="ada"):
        link = manage_logins.make_link(self.store, a_person(name))
        return manage_logins.enter_by_link(self.store, link, {})

    def close(self):
        self.fingerprint.close()
        super().close()


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    made = House(tmp_path_factory.mktemp("house"))
    made.everybody = visitors(made)
    with made.running() as made.server:
        yield made
    made.close()


def with_token(token, *scopes, **more):
    headers = {"authorization": f"Bearer {token}"}
    return Visitor(headers, frozenset(scopes) or None, secrets=(token,), **more)


def with_cookie(secret, scopes=None, proof=None):
    headers = {"cookie": f"gatebell={secret}", "origin": URL}
    if proof is not None:
        headers["x-csrf-token"] = text_digest(f"csrf {proof}")
    forged = scopes is not None and proof != secret
    return Visitor(headers, scopes and frozenset(scopes), forged, (secret,))


def visitors(house):
    """Return all callers, by name."""
    expired = house.claimed_login()
    house.clock.advance(31 * 24 * 3600)
    revoked = house.token(*SCOPES)
    ended = house.login(*SCOPES)
    of_revoked = manage_logins.enter_by_token(house.store, revoked, {})
    manage_logins.leave(house.store, ended, manage_logins.whose_login(house.store, ended))
    revoked_id = house.store.people.by_token(token_digest(revoked)).id
    manage_people.revoke(house.store, a_person(), revoked_id)
    own, foreign = house.claimed_login(), house.claimed_login("bob")
    looker = house.login("read")
    every = {
        "nobody": Visitor({"origin": URL}),
        "wrong token": with_token("gate_" + "0" * 64),
        "no token at all": Visitor({"authorization": "Bearer "}),
        "another way to log in": Visitor({"authorization": "Basic YWRhOmFkYQ=="}),
        "wrong cookie": with_cookie("0" * 64),
        "a link as a cookie": with_cookie(manage_logins.make_link(house.store, a_person())),
        "a token as a cookie": with_cookie(house.token(*SCOPES)),
        "a cookie as a token": with_token(own),
        "expired login": with_cookie(expired, proof=expired),
        "ended login": with_cookie(ended, proof=ended),
        "revoked token": with_token(revoked),
        "login of a revoked token": with_cookie(of_revoked, proof=of_revoked),
        "all scopes by token": with_token(house.token(*SCOPES), *SCOPES),
        "browser without proof": with_cookie(own, SCOPES),
        "browser with a foreign proof": with_cookie(own, SCOPES, proof=foreign),
        "browser": with_cookie(own, SCOPES, proof=own),
        "browser of who may only read": with_cookie(looker, ["read"], proof=looker),
    }
    return every | {f"only {one}": with_token(house.token(one), one) for one in SCOPES}


def expect_status(method, path, who):
    """Return the status that the table gives this caller."""
    row = TABLE.get(f"{'GET' if method == 'HEAD' else method} {path}")
    if row is None:
        return 405
    needs, allowed, *foreign = row
    if needs and who.scopes is None:
        return 401
    if needs and not set(needs.split()) & who.scopes:
        return 403
    if method not in READING and who.forged:
        return 403
    return foreign[0] if foreign and who.scopes == {"ask"} else allowed


def changes(method, path, who):
    """Return whether the store may, and must, change."""
    if path == "/logout" and "authorization" in who.headers:
        return False  # a token has no login that could end
    if (method, path) == ("DELETE", "/api/freeze"):
        return False  # nothing is frozen when it comes
    if path in ("/api/permissions/gated", "/api/rules/test"):
        return False  # it only asks, with words that are too long for an address
    return expect_status(method, path, who) < 400 and method not in READING


def list_methods(path):
    """Return the methods of a path."""
    return [one for one in METHODS if f"{'GET' if one == 'HEAD' else one} {path}" in TABLE]


def target(house, path):
    """Return a path with a real id in it, and a valid body."""
    values, about = {}, {}
    freezes.lift(house.store, a_person())
    if path == "/unfreeze":
        freezes.begin(house.store, a_person())
    if "/runs/{id}" in path:
        values["id"] = add_run(house.store, state="stuck" if "resume" in path else "ready").id
    elif "/tasks/{id}" in path:
        task = add_task(house)
        before = {"release": backlog.claim, "reopen": backlog.defer}.get(path.rpartition("/")[2])
        values["id"] = (before(house.store, task.id, a_person()) if before else task).id
    elif ("{id}" in path and "/tokens/" not in path) or path == "/api/answers":
        file = attachments.attach(house.store, "a.txt", b"a")
        about = house.ask(attachments=(file,) if "{digest}" in path else ())
        values |= {"id": about.id, "digest": file.digest}
    if "{name}" in path or "/tokens/{id}" in path:
        name = f"zoe{len(house.store.people.all())}"
        secret = house.token("read", name=name)
        values = {"name": name, "id": house.store.people.by_token(token_digest(secret)).id}
    if "{secret}" in path:
        values["secret"] = manage_logins.make_link(house.store, a_person())
    return path.format(**values), body(house, path, about)


def add_task(house):
    return backlog.create(house.store, "/p", a_person(), {"title": "Do it"})


def body(house, path, ask):
    new, rules = f"new{len(house.store.people.all())}", house.store.rules.in_force()
    return {
        "/asks/{id}/answer": lambda: {"text": "so", "value": "given", "digest": ask.digest},
        "/asks/{id}/draft": lambda: {"text": "perh"},
        "/runs/{id}/stop": lambda: {"reason": "no need"},
        "/people": lambda: {"name": new, "scopes": "read"},
        "/people/{name}/tokens": lambda: {"scopes": "read"},
        "/people/{name}/remove": lambda: {"sure": "yes"},
        "/tokens/{id}/revoke": lambda: {"sure": "yes"},
        "/login": lambda: {"token": house.token("read")},
        "/api/asks": lambda: {"prompt": "Which port?"},
        "/api/asks/{id}/answers": lambda: {"value": "so"},
        "/api/answers": lambda: {"asks": [{"id": ask.id, "digest": ask.digest}], "value": "so"},
        "/api/asks/{id}/messages": lambda: {"text": "which?"},
        "/api/asks/{id}/draft": lambda: {"text": "perh"},
        "/api/people": lambda: {"name": new},
        "/api/asks/{id}/heard": lambda: {"messages": 0},
        "/api/runs": lambda: {"project_key": "name:shop", "flow": "hello"},
        "/api/tasks": lambda: {"title": "Do it", "project": "/p"},
        "/api/tasks/{id}": lambda: {"status": f"half {os.urandom(4).hex()}"},
        "/api/tasks/{id}/needs": lambda: {"needed": [add_task(house).id]},
        "/api/runs/{id}/signal": lambda: {"status": "DONE"},
        "/api/permissions": lambda: {"call": CALL},
        "/api/permissions/gated": lambda: {"call": CALL},
        "/api/permissions/{id}/use": lambda: {"call": CALL},
        "/api/notes": lambda: {"text": "green"},
        "/api/signals": lambda: {"status": "DONE"},
        "/api/rules/test": lambda: {"project": "/p", "pattern": "Bash(npm test *)"},
        "/api/shadow-rules": lambda: {"promote": "s-1"},
        "/api/rules": lambda: {"kind": "ask", "pattern": f"Bash(x{len(rules)} *)"},
    }.get(path, dict)()


def send(house, method, path, visitor, given):
    house.desk.limits._buckets.clear()
    house.server.cookies.clear()
    # A stream has no end while changes are reported, and this client waits for the end.
    house.desk.hub.open = not path.endswith("/stream")
    address = f"{path}?seconds=0" if path.endswith("/wait") else path
    how = {"json": given} if path.startswith("/api/") else {"data": given}
    headers = visitor.headers
    if path == "/api/attachments":
        address, how = f"{path}?name=a", {"content": os.urandom(4)}
        headers = headers | {"content-type": "application/octet-stream"}
    return house.server.request(method, address, headers=headers, follow_redirects=False, **how)


@pytest.mark.proves("WEB-5")
def test_table_and_routes_match(house):
    ours = {f"{row.method} {row.path}": set(row.needs) for row in ROWS}
    assert ours == {row: set(needs.split()) for row, (needs, *_) in TABLE.items()}
    served = {
        f"{method} {route.path}"
        for route in house.app._app._app.routes
        for method in (getattr(route, "methods", None) or {"GET"}) - {"HEAD"}
    }
    assert served == TABLE.keys() | {"GET /static"}


@pytest.mark.proves("WEB-5", "WEB-6", "WEB-7")
@pytest.mark.parametrize("path", PATHS)
def test_each_caller_gets_the_tables_result_and_nothing_changes(house, path, caplog, whole):
    caplog.set_level(logging.DEBUG)
    wrong, secrets, filled = [], set(), ""
    for name, visitor in house.everybody.items():
        for method in METHODS if whole or name in FEW else list_methods(path):
            if not filled:
                filled, given = target(house, path)
            secrets |= {*visitor.secrets, given.get("token", "")} - {""}
            before = house.fingerprint.take()
            response = send(house, method, filled, visitor, given)
            code, changed = expect_status(method, path, visitor), house.fingerprint.take() != before
            if response.status_code != code or changed != changes(method, path, visitor):
                wrong.append((method, name, code, response.status_code, changed, response.text))
            if response.status_code >= 400:
                assert not [one for one in secrets if one in response.text], (method, name)
            if changed:
                filled = ""
    if path == "/logout":
        # That ended logins which the next paths need.
        house.everybody = visitors(house)
    assert not wrong, f"{len(wrong)} differ; the first: {wrong[0]}"
    assert [one for one in secrets if one in caplog.text] == []


@pytest.mark.proves("WEB-5", "WEB-12")
def test_agent_reaches_its_own_question_and_no_other(house):
    """Not even when its token may read everything: it may not take another agent's answer."""
    tokens = {name: house.token("ask", name=name) for name in ("eve", "mal")}
    reader = with_token(house.token("ask", "read", name="mal"), "ask", "read")
    about_one = [row for row, given in TABLE.items() if len(given) == 3 and "{id}" in row]
    for row in about_one:
        method, path = row.split()
        own, foreign = with_token(tokens["eve"]), with_token(tokens["mal"])
        ask = send(house, "POST", "/api/asks", own, {"prompt": row}).json()["ask"]
        if path.endswith("/take"):
            house.answer(house.store.asks.get(ask["id"]), "so")
        if path.endswith(("/use", "/heard", "/{digest}")):
            # These need an ask about a call, a message (test_server_attacks.py) or a file
            # (test_attachment_attacks.py).
            continue
        filled, given = path.format(**ask), body(house, path, None)
        before = house.fingerprint.take()
        for visitor, codes in ((foreign, {404}), (reader, {200} if method == "GET" else {403})):
            response = send(house, method, filled, visitor, given)
            assert response.status_code in codes, (row, response.text)
        assert house.fingerprint.take() == before, row
        assert send(house, method, filled, own, given).status_code == 200, row


@pytest.mark.proves("WEB-5")
def test_session_name_cannot_be_that_of_another_token(house):
    eve, mal = (with_token(house.token("ask", name=name)) for name in ("eve", "mal"))
    door = house.store.asks.get(
        send(house, "POST", "/api/asks", eve, {"prompt": "Mine?"}).json()["ask"]["id"]
    ).origin.session
    for name in (door, f"../{door}", f"/{door}", f"x/{door}"):
        given = {"prompt": "Yours?", "session": name}
        assert send(house, "POST", "/api/asks", mal, given).status_code == 400, name
