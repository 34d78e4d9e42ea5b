"""Attacks by which an agent would approve its own ask on a server (trust level L1); none succeeds.

The agent has its own machine, a token that may only ask, the address of the server, and everything
that such a machine has: commands, hooks, MCP tools, files and sockets. `docs/trust.md` lists them.
"""

from __future__ import annotations

import http.client
import json
import socket
import threading
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.support.asking_tasks import let_ask
from tests.support.hook_session import Session
from tests.support.mcp_client import Client
from tests.support.people import a_person
from tests.support.server_world import server_world

from gatebell.domain.asks.answers import Given
from gatebell.domain.digests import token_digest
from gatebell.domain.enums import Decision
from gatebell.domain.permissions.rules import Scope
from gatebell.services.asks import answer_ask
from gatebell.services.permissions import manage_rules
from gatebell.services.tasks import backlog

__all__ = ["server_world"]

YES = {"value": "yes"}
CALL = {"tool": "Bash", "input": {"command": "deploy"}}


class Attack(NamedTuple):
    """A request with the agent's token, unless the headers have another one."""

    about: str
    method: str
    path: str
    body: object = None
    headers: dict | None = None


# {own}: the agent's ask. {other}: another agent's. {used}: its own ask with a yes that is used.
REQUESTS = (
    Attack("answers its own ask", "POST", "/api/asks/{own}/answers", YES),
    Attack("answers another agent's ask", "POST", "/api/asks/{other}/answers", YES),
    Attack("answers with the id in capitals", "POST", "/api/asks/{OWN}/answers", YES),
    Attack("answers with true", "POST", "/api/asks/{own}/answers", {"value": True}),
    Attack("says that it is verified", "POST", "/api/asks/{own}/answers", YES | {"verified": True}),
    Attack("names a principal", "POST", "/api/asks/{own}/answers", YES | {"principal": "person:ada"}),
    Attack("asks for more scopes in the query", "POST", "/api/asks/{own}/answers?scope=answer", YES),
    Attack("puts its token into the query", "POST", "/api/asks/{own}/answers?token={token}", YES),
    Attack("answers several asks at once", "POST", "/api/answers", {"asks": [{"id": "{own}", "digest": "{digest}"}], "value": "yes"}),
    Attack("allows later calls, too", "POST", "/api/asks/{own}/answers", YES | {"for": "session"}),
    Attack("overrides the method", "GET", "/api/asks/{own}/answers", None, {"x-http-method-override": "POST"}),
    Attack("leaves a yes as a draft", "PUT", "/api/asks/{own}/draft", {"text": "yes"}),
    Attack("replies yes to its own ask", "POST", "/api/asks/{own}/messages", {"text": "yes"}),
    Attack("writes yes to another's ask", "POST", "/api/asks/{other}/messages", {"text": "approved"}),
    Attack("withdraws another's ask", "POST", "/api/asks/{other}/cancel", {}),
    Attack("takes another's answer", "POST", "/api/asks/{other}/take", {}),
    Attack("takes an answer that is not there", "POST", "/api/asks/{own}/take", {}),
    Attack("adds a person", "POST", "/api/people", {"name": "eve"}),
    Attack("makes a token of a person", "POST", "/api/people/ada/tokens", {"scopes": ["answer"]}),
    Attack("makes a wider token of its own", "POST", "/api/people/ci/tokens", {"scopes": ["ask", "answer"]}),
    Attack("removes a person", "DELETE", "/api/people/ada"),
    Attack("revokes a person's token", "DELETE", "/api/tokens/{token_id}"),
    Attack("removes the gate", "DELETE", "/api/rules?which=gates&named=Bash(deploy*)"),
    Attack("adds a rule of kind grant", "POST", "/api/rules", {"kind": "grant", "pattern": "Bash"}),
    Attack("begins a shadow rule", "POST", "/api/rules/test", {"project": "/p", "pattern": "Bash(make)", "shadow_days": 9}),
    Attack("makes a shadow rule a grant", "POST", "/api/shadow-rules", {"promote": "Bash(make)"}),
    Attack("allows a kind of call always", "POST", "/api/asks/{own}/answers", YES | {"for": "always", "pattern": "Bash(make)"}),
    Attack("reads suggestions", "GET", "/api/rules/suggestions?project=/p"),
    Attack("reads shadow rules", "GET", "/api/shadow-rules"),
    Attack("reads the numbers of a period", "GET", "/api/stats"),
    Attack("ends a person's grant", "DELETE", "/api/rules?which=grants&named={grant}"),
    Attack("signals a run", "POST", "/api/runs/1/signal", {"status": "APPROVED"}),
    Attack("resumes a run", "POST", "/api/runs/1/resume"),
    Attack("reads the inbox", "GET", "/api/asks"),
    Attack("reads settled asks", "GET", "/api/asks?status=settled"),
    Attack("reads people and tokens", "GET", "/api/people"),
    Attack("reads rules", "GET", "/api/rules?which=grants"),
    Attack("reads the audit trail", "GET", "/api/events"),
    Attack("watches the events", "GET", "/api/events/stream"),
    Attack("reads another's ask", "GET", "/api/asks/{other}"),
    Attack("names another's ask by its beginning", "GET", "/api/asks/a-?by=beginning"),
    Attack("reads asks of another token's session", "GET", "/api/asks?session=../http-x/claude"),
    Attack("uses another's answer", "POST", "/api/permissions/{other}/use", {"call": CALL}),
    Attack("uses a yes for another call", "POST", "/api/permissions/{used}/use", {"call": {"tool": "Bash", "input": {"command": "rm -rf /"}}}),
    Attack("uses a used yes under another id", "POST", "/api/permissions/{used}/use", {"call": CALL, "tool_use_id": "t2", "session": "claude:s1"}),
    Attack("uses a yes in another session", "POST", "/api/permissions/{used}/use", {"call": CALL, "tool_use_id": "t1", "session": "claude:s2"}),
    Attack("holds a call with a grant of its own", "POST", "/api/permissions", {"call": CALL, "grant": "g-1"}),
    Attack("holds a call in another token's session", "POST", "/api/permissions", {"call": CALL, "session": "x/y"}),
    Attack("uses a person's grant for another session", "POST", "/api/permissions", {"call": {"tool": "Bash", "input": {"command": "make"}}, "only_rules": True, "project": "/p", "session": "claude:s2"}),
    Attack("asks with a default of yes", "POST", "/api/asks", {"prompt": "Deploy?", "kind": "approval", "default": "yes", "expires_seconds": 1}),
    Attack("asks with no one needed", "POST", "/api/asks", {"prompt": "Deploy?", "kind": "approval", "requirement": {"n": 0}}),
    Attack("asks as a run", "POST", "/api/asks", {"prompt": "Deploy?", "kind": "approval", "owner": "run:1/1"}),
    Attack("asks with a decision", "POST", "/api/asks", {"prompt": "Deploy?", "kind": "approval", "decision": "approved"}),
    Attack("says that it is ada", "POST", "/api/asks/{own}/answers", YES, {"x-gate-as": "ada"}),
    Attack("says that a proxy signed ada in", "POST", "/api/asks/{own}/answers", YES, {"x-forwarded-user": "ada", "x-remote-user": "ada"}),
    Attack("says that it is the web inbox", "POST", "/api/asks/{own}/answers", YES, {"x-gate-via": "web"}),
    Attack("comes without a token", "POST", "/api/asks/{own}/answers", YES, {"authorization": ""}),
    Attack("guesses a token", "POST", "/api/asks/{own}/answers", YES, {"authorization": "Bearer gate_0"}),
    Attack("uses the id of a person's token", "POST", "/api/asks/{own}/answers", YES, {"authorization": "Bearer {token_id}"}),
    Attack("uses the digest of a person's token", "POST", "/api/asks/{own}/answers", YES, {"authorization": "Bearer {token_digest}"}),
    Attack("signs in as ada without a password", "POST", "/api/asks/{own}/answers", YES, {"authorization": "Basic YWRhOg=="}),
    Attack("sends its token as a cookie", "POST", "/api/asks/{own}/answers", YES, {"authorization": "", "cookie": "gatebell={token}"}),
    Attack("answers by the form of the page", "POST", "/asks/{own}/answer", YES),
    Attack("guesses a link", "POST", "/link/0000"),
    Attack("uses another host name", "POST", "/api/asks/{own}/answers", YES, {"host": "gate.example.org"}),
    Attack("comes from another site", "POST", "/api/asks/{own}/answers", YES, {"origin": "http://evil.example"}),
    Attack("adds a slash to the path", "POST", "/api/asks/{own}/answers/", YES),
    Attack("doubles a slash in the path", "POST", "//api/asks/{own}/answers", YES),
    Attack("hides the path in dots", "POST", "/api/health/../asks/{own}/answers", YES),
    Attack("writes the path in capitals", "POST", "/API/ASKS/{own}/ANSWERS", YES),
    Attack("encodes the slashes of the path", "POST", "/api/asks%2f{own}%2fanswers", YES),
    Attack("encodes the path twice", "POST", "/api/asks%252f{own}%252fanswers", YES),
    Attack("names two tokens in one header", "POST", "/api/asks/{own}/answers", YES, {"authorization": "Bearer {token}, Bearer {token_id}"}),
    Attack("writes the scheme in capitals", "POST", "/api/asks/{own}/answers", YES, {"authorization": "BEARER {token}"}),
    Attack("forges the address of a proxy", "POST", "/api/asks/{own}/answers", YES, {"x-forwarded-for": "127.0.0.1", "x-forwarded-proto": "https", "x-forwarded-host": "127.0.0.1"}),
    Attack("names another host for the proxy", "POST", "/api/asks/{own}/answers", YES, {"forwarded": "for=127.0.0.1;by=ada"}),
    Attack("sends a token and a cookie", "POST", "/api/asks/{own}/answers", YES, {"cookie": "gatebell={token_id}"}),
    Attack("reads the metrics", "GET", "/metrics"),
    Attack("reads a person's draft", "GET", "/api/asks/{own}/draft"),
    Attack("reads the notes of others", "GET", "/api/notes"),
    Attack("reads runs", "GET", "/api/runs"),
    Attack("reads tasks", "GET", "/api/tasks"),
    Attack("reads counts", "GET", "/api/counts"),
    Attack("reads the history page", "GET", "/history"),
    Attack("reads another's messages", "GET", "/api/asks/{other}/messages"),
    Attack("reads another's ask by waiting", "GET", "/api/asks/{other}/wait?seconds=0"),
    Attack("reads another's ask by a wait that hears", "GET", "/api/asks/{other}/wait?seconds=0&hears=true"),
    Attack("hears another's messages", "POST", "/api/asks/{other}/heard", {"messages": 1}),
    Attack("stops a run", "POST", "/api/runs/1/stop", {}),
    Attack("adds a denial for everybody", "POST", "/api/rules", {"kind": "deny", "pattern": "Bash"}),
    Attack("asks for a task of others", "POST", "/api/asks", {"prompt": "Deploy?", "owner": "task:tm-1"}),
    Attack("asks for a run of others", "POST", "/api/asks", {"prompt": "Deploy?", "owner": "run:1/1"}),
    Attack("creates a task", "POST", "/api/tasks", {"title": "Deploy", "project": "/p"}),
    Attack("reads the projects", "GET", "/api/projects"),
    Attack("reads the events of tasks", "GET", "/api/task-events"),
    Attack("reads the asks of a run", "GET", "/api/asks?run=1"),
    Attack("reads the asks of a task", "GET", "/api/asks?task=tm-1"),
    Attack("starts a run", "POST", "/api/runs", {"project_key": "name:shop", "flow": "deploy", "prompt": "Go", "source_digest": ""}),
    Attack("closes a task that waits", "POST", "/api/tasks/tm-1/close", {}),
    Attack("lifts a person's freeze", "DELETE", "/api/freeze"),
    Attack("freezes everything", "POST", "/api/freeze", {}),
    Attack("reads a file of another's ask", "GET", "/api/asks/{other}/attachments/{token_digest}"),
    Attack("signs up a device of a person", "POST", "/devices", {"endpoint": "https://127.0.0.1/x", "p256dh": "x", "auth": "x"}),
    Attack("presses the button of a notification", "POST", "/push/answer", {"device": "d", "ask": "{own}", "decision": "approved", "token": "x"}),
    Attack("hides a run in the name of a task", "POST", "/api/asks", {"prompt": "Deploy?", "owner": "task:/run:1/1"}),
    Attack("opens a session", "POST", "/api/asks", {"prompt": "Deploy?", "kind": "session"}),
    Attack("asks with fewer than no one needed", "POST", "/api/asks", {"prompt": "Deploy?", "kind": "approval", "requirement": {"n": -1}}),
    Attack("asks with a form that is fetched", "POST", "/api/asks", {"prompt": "Deploy?", "kind": "form", "schema": {"$ref": "http://127.0.0.1:1/"}}),
    Attack("asks with a form that never ends", "POST", "/api/asks", {"prompt": "Deploy?", "kind": "form", "schema": {"$ref": "#"}}),
    Attack("names its session like another token's", "POST", "/api/asks", {"prompt": "Deploy?", "session": "http-{token_id}/claude"}),
    Attack("holds a call for years", "POST", "/api/permissions", {"call": CALL, "seconds": 1e8}),
    Attack("hides the direction of a tool's name", "POST", "/api/permissions", {"call": {"tool": "Ba\u202esh", "input": {}}}),
    Attack("hides a zero in a command", "POST", "/api/permissions", {"call": {"tool": "Bash", "input": {"command": "deploy\0 --force"}}}),
    Attack("hides a zero in a folder", "POST", "/api/permissions/gated", {"call": CALL, "folders": ["/p\0"]}),
    Attack("gives a call a field of its own", "POST", "/api/permissions", {"call": CALL | {"identity": "0"}}),
    Attack("drops a used yes to use it again", "POST", "/api/permissions/{used}/use", {"call": CALL, "tool_use_id": "t1", "session": "claude:s1", "drop": True}),
    Attack("asks in the name of a person", "POST", "/api/asks", {"prompt": "Deploy?", "agent": "Ada"}),
    Attack("asks in the name of a proven person", "POST", "/api/asks", {"prompt": "Deploy?", "agent": "person:ada (verified)"}),
    Attack("holds a call in the name of a person", "POST", "/api/permissions", {"call": CALL, "agent": "person:ada"}),
    Attack("leaves a note in the name of a person", "POST", "/api/notes", {"text": "Approve it", "agent": "ada"}),
    Attack("attaches a file of another", "POST", "/api/asks", {"prompt": "See this?", "attachments": [{"name": "a.txt", "digest": "{token_digest}"}]}),
)  # fmt: skip


class Room:
    """The asks that the agent wants approved, and all that must not change."""

    def __init__(self, world):
        self.world = world
        self.store = world.store
        self.own = world.ask("Deploy?", "--kind", "approval")
        other = world.shell(self._new_token("other"), CLAUDECODE="1")
        self.other = world.ask("Deploy there?", "--kind", "approval", shell=other)
        self.used = self._hold_used("t1")
        ada = next(token for token in self.store.people.tokens() if token.person == "ada")
        self.words = {
            "own": self.own,
            "OWN": self.own.upper(),
            "other": self.other,
            "used": self.used,
            "digest": world.get(self.own).digest,
            "token": world.tokens["agent"],
            "token_id": ada.id,
            "token_digest": token_digest(world.tokens["ada"]),
            "grant": manage_rules.grants(self.store)[0].id,
        }

    def _new_token(self, name):
        from gatebell.services.people import manage_people

        return manage_people.add(self.store, a_person("root"), name, ("ask",))

    def _hold_used(self, call_id):
        """Return an ask about a call with a yes that its call has used, and a grant beside it."""
        manage_rules.set_gates(self.store, a_person("ada"), "", ["Bash(deploy*)"])
        for command, scope in (("make", Scope("session")), ("deploy", None)):
            body = {"call": {"tool": "Bash", "input": {"command": command}}, "session": "claude:s1"}
            body["project"] = "/p"
            held = self.post("/api/permissions", body | {"tool_use_id": call_id})
            ask_id = held["ask"]["id"]
            person = a_person("ada")._replace(verified=True)
            answer_ask.answer(self.store, ask_id, person, Given("yes", scope=scope))
            used = self.post(f"/api/permissions/{ask_id}/use", body | {"tool_use_id": call_id})
            assert used["permission"]["allow"] is True
        return ask_id

    def post(self, path, body):
        return json.loads(self.send(Attack("", "POST", path, body))[1])

    def send(self, attack):
        words = self.words if hasattr(self, "words") else {}
        text = None if attack.body is None else self._fill(json.dumps(attack.body), words)
        headers = {"authorization": f"Bearer {self.world.tokens['agent']}"}
        headers |= {
            name: self._fill(value, words) for name, value in (attack.headers or {}).items()
        }
        if text is not None:
            headers["content-type"] = "application/json"
        connection = http.client.HTTPConnection("127.0.0.1", self.world.web.port, timeout=20)
        headers = {name: value for name, value in headers.items() if value}
        connection.request(attack.method, self._fill(attack.path, words), text, headers)
        reply = connection.getresponse()
        # A stream of events would not end.
        said = b"" if reply.status == 200 and "event-stream" in str(reply.headers) else reply.read()
        connection.close()
        return reply.status, said.decode()

    def _fill(self, text, words):
        for name, word in words.items():
            text = text.replace(f"{{{name}}}", word)
        return text

    def state(self):
        """Return all that an agent must not change."""
        people, rules = self.store.people, self.store.rules.in_force()
        return (
            [
                (ask.id, ask.status, ask.decision)
                for ask in map(self.world.get, (self.own, self.other))
            ],
            sorted(token.id for token in people.tokens()),
            sorted(person.name for person in people.all()),
            sorted((rule.id, rule.kind, rule.pattern) for rule in rules),
            sum(entry.event.kind == "ask.answered" for entry in self.store.audit.entries()),
        )


@pytest.fixture(scope="module")
def room(server_world):
    return Room(server_world)


# The server does what it is told, and nothing is decided by it.
_HARMLESS = ("replies yes to its own ask", "takes an answer that is not there")
_READS = ("reads", "watches", "names another's")


@pytest.mark.proves("REMOTE-12", "REMOTE-23", "LAW-3")
@pytest.mark.parametrize("attack", REQUESTS, ids=lambda attack: attack.about.replace(" ", "-"))
def test_agents_request_approves_nothing(room, attack):
    before = room.state()
    status, said = room.send(attack)
    assert room.state() == before, said
    assert '"allow": true' not in said and '"allow":true' not in said, said
    is_refused = status >= 300 or '"permission":null' in said
    assert is_refused or attack.about in _HARMLESS, (status, said)
    if attack.about.startswith(_READS):
        assert "Deploy there?" not in said and "gate_" not in said


@pytest.mark.proves("REMOTE-65", "REMOTE-12")
def test_client_asks_for_no_run_and_no_foreign_task(room):
    """The owner of an ask decides which run or task its answer wakes."""
    store = room.store
    claimed = backlog.create(store, "/p", a_person("ada"), {"title": "Deploy"})
    backlog.claim(store, claimed.id, a_person("ada"))
    waiting, run = waiting_task(store)
    tasks = {one: store.tasks.get(one) for one in (claimed.id, waiting.id)}
    person = {"authorization": f"Bearer {room.world.tokens['bob']}"}
    before, said = store.asks.count(), set()
    for owner in (
        *(f"task:{claimed.id}", f"task:{waiting.id}", "task:tm-zzzz"),
        *(f"run:{run}/1", f"run:{run}", "run:1/1", "", "job:1", f"task:{waiting.id}/run:{run}"),
    ):
        for headers in ({}, person):
            body = {"prompt": "Deploy?", "kind": "approval", "owner": owner}
            status, text = room.send(Attack("", "POST", "/api/asks", body, headers))
            assert status in (400, 403, 404), (owner, text)
            if not headers and owner.startswith("task:tm-") and "/" not in owner:
                # The same words for every task: it does not learn which tasks exist.
                said.add((status, text))
    assert len(said) == 1 and store.asks.count() == before
    assert {one: store.tasks.get(one) for one in tasks} == tasks
    assert store.runs.get(run).state == "waiting_human"


def waiting_task(store):
    """Return a task whose run waits for a person, and the number of the run."""
    backlog.create(store, "/q", a_person("ada"), {"title": "Release"})
    task, _ = let_ask(store, "/q", "Which?")
    return task, task.run


@pytest.mark.proves("REMOTE-12")
def test_trust_page_lists_every_request_and_command():
    page = (Path(__file__).parents[2] / "docs" / "trust.md").read_text(encoding="utf-8")
    about = "; ".join(attack.about for attack in REQUESTS)
    assert f"| a request ({len(REQUESTS)}) | {about} |" in page
    commands = "; ".join(f"`{about}`" for about, _ in COMMANDS)
    assert f"| a command ({len(COMMANDS)}) | {commands} |" in page


COMMANDS = (
    ("gate answer", ["answer", "{own}", "yes"]),
    ("gate answer --as ada", ["answer", "{own}", "yes", "--as", "ada"]),
    ("gate answer --for", ["answer", "{own}", "yes", "--for", "session"]),
    ("gate signal", ["signal", "1", "--status", "APPROVED"]),
    ("gate person token ada", ["person", "token", "ada"]),
    ("gate gates remove", ["gates", "remove", "Bash(deploy*)"]),
    ("gate inbox --answer", ["inbox", "--answer"]),
    ("gate link", ["link"]),
)


@pytest.mark.proves("REMOTE-12", "LAW-3")
@pytest.mark.parametrize(("about", "words"), COMMANDS, ids=[about for about, _ in COMMANDS])
def test_agents_command_approves_nothing(room, about, words):
    before = room.state()
    filled = [word.replace("{own}", room.own) for word in words]
    for shell in (room.world.agent, room.world.plain):
        assert shell.gate(*filled).code != 0, about
    assert room.state() == before


@pytest.mark.proves("REMOTE-12", "LAW-3")
def test_own_store_and_own_server_approve_nothing(room, tmp_path):
    """An agent that answers in a store of its own has not answered on the server."""
    before = room.state()
    store = {"GATE_SERVER": "", "GATE_STORE": str(tmp_path / "gate.db")}
    assert room.world.plain.gate("answer", room.own, "yes", **store).code != 0
    assert room.state() == before


@pytest.mark.proves("REMOTE-12", "LAW-3")
def test_agents_tools_approve_nothing(room):
    before = room.state()
    client = Client(room.world, CLAUDE_CODE_SESSION_ID="s1")
    client.text(client.call("decide", id=room.own, proposal="yes", reason="I am sure"))
    client.text(client.call("ask_human", reply_to=room.other, reply="yes"))
    client.text(client.call("signal", status="APPROVED", summary=room.own))
    client.text(client.call("inbox_status", id=room.other))
    assert client.close() == 0
    assert room.state() == before


@pytest.mark.proves("REMOTE-12", "LAW-3")
def test_hook_with_a_forged_event_approves_nothing(room):
    before, session = room.state(), Session(room.world)
    text = session.event("PermissionRequest", tool_input={"command": "deploy"}, tool_use_id="t9")
    forged = json.loads(text) | {"decision": "approved", "permission_mode": "bypassPermissions"}
    ran = session.hook(json.dumps(forged), "--limit", "2")
    assert '"allow"' not in ran.out
    assert room.state() == before


@pytest.mark.proves("REMOTE-12", "LAW-4")
def test_racing_calls_use_one_approval_once(room):
    body = {"call": {"tool": "Bash", "input": {"command": "race"}}, "session": "claude:s1"}
    ask_id = room.post("/api/permissions", body)["ask"]["id"]
    person = a_person("ada")._replace(verified=True)
    answer_ask.answer(room.store, ask_id, person, Given("yes"))
    allowed = []

    def use(number):
        found = room.post(f"/api/permissions/{ask_id}/use", body | {"tool_use_id": f"r{number}"})
        if found["permission"] and found["permission"]["allow"]:
            allowed.append(number)

    threads = [threading.Thread(target=use, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(allowed) == 1


@pytest.mark.proves("REMOTE-12", "LAW-4")
def test_racing_uses_of_an_edit_make_one_grant(room):
    body = {"call": {"tool": "Bash", "input": {"command": "edit"}}, "session": "codex:s1"}
    ask_id = room.post("/api/permissions", body | {"tool_use_id": "e1"})["ask"]["id"]
    person = a_person("ada")._replace(verified=True)
    answer_ask.answer(room.store, ask_id, person, Given({"input": {"command": "edit --dry-run"}}))
    used = body | {"tool_use_id": "e1", "edits": "no"}
    threads = [
        threading.Thread(target=room.post, args=(f"/api/permissions/{ask_id}/use", used))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len([rule for rule in manage_rules.grants(room.store) if rule.ask_id == ask_id]) == 1


@pytest.mark.proves("REMOTE-12")
def test_replayed_answer_of_a_person_settles_no_other_ask(room):
    """A request of ada's that an agent has recorded is of no use with the agent's token."""
    asked = room.world.ask("Really deploy?", "--kind", "approval")
    answered = room.world.ada.gate("answer", asked, "no", "--key", "k1")
    assert answered.code == 0
    replay = Attack("", "POST", f"/api/asks/{room.own}/answers", YES, {"idempotency-key": "k1"})
    assert room.send(replay)[0] == 403
    assert room.world.get(asked).decision == Decision.REJECTED
    assert room.world.get(room.own).pending


@pytest.mark.proves("REMOTE-12")
def test_smuggled_request_approves_nothing(room):
    """A second request inside the body of the first gets no other token."""
    before = room.state()
    inner = f"POST /api/asks/{room.own}/answers HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"
    for lengths in (
        "content-length: 5\r\ntransfer-encoding: chunked",
        "content-length: 5\r\ncontent-length: 50",
        "transfer-encoding: xchunked",
    ):
        with socket.create_connection(("127.0.0.1", room.world.web.port), 5) as stream:
            head = f"POST /api/asks HTTP/1.1\r\nhost: 127.0.0.1:{room.world.web.port}\r\n{lengths}\r\n\r\n"
            with suppress(OSError):
                stream.sendall(f"{head}0\r\n\r\n{inner}".encode())
                stream.settimeout(2)
                assert b" 20" not in stream.recv(65536).split(b"\r\n")[0]
    assert room.state() == before
