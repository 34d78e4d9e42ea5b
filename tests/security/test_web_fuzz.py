"""The HTTP API against its own document: valid and invalid requests, and no crash."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, Phase, given, settings, strategies as st
from tests.support.people import a_person
from tests.support.run_records import add_run, call
from tests.support.web_inbox import URL, inbox

from gatebell.domain.people.logins import SCOPES
from gatebell.services.tasks import backlog
from gatebell.web.api.openapi import DOCUMENT

__all__ = ["inbox"]

CHECKED = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "unsupported_method",
    "ignored_auth",
)
OPERATIONS = [
    f"{method.upper()} {path}" for path, found in DOCUMENT["paths"].items() for method in found
]
# These take no input that could be wrong.
BARE = ("GET /api/openapi.json", "GET /api/health", "GET /api/ready")
MODES = [
    pytest.param(label, mode, id=f"{label} {mode}")
    for label in OPERATIONS
    for mode in ("positive", "negative")
    if mode == "positive" or label not in BARE
]
FEW, MANY = 6, 2000


@pytest.fixture(scope="module")
def operations():
    """Return the operations of the document by their labels."""
    # Imported here: every worker of a run imports this file, and one runs it.
    import schemathesis

    schemathesis.checks.load_all_checks()
    schema = schemathesis.openapi.from_dict(DOCUMENT)
    return {one.ok().label: one.ok() for one in schema.get_all_operations()}


def operation(operations, inbox, label):
    async def unborn(scope, receive, send):
        # Streams and waits end at once while no change is reported.
        if scope["type"] != "lifespan":
            await inbox.app(scope, receive, send)

    found = operations[label]
    found.app = found.schema.app = unborn
    return found


def find_checks(label):
    from schemathesis.checks import CHECKS

    # The tool reads every event as JSON; the document says that it is text.
    left_out = "response_schema_conformance" if label.endswith("/stream") else ""
    return [CHECKS.get_one(name) for name in CHECKED if name != left_out]


@pytest.mark.proves("WEB-18", "WEB-19")
@pytest.mark.parametrize(("label", "mode"), MODES)
def test_api_does_what_its_document_says(inbox, operations, label, mode, whole):
    """Valid and invalid requests of every operation, sometimes with real asks and runs."""
    from schemathesis import GenerationMode

    # This spelling matters: the check for ignored authentication removes this name.
    bearer = {"Authorization": f"Bearer {inbox.token(*SCOPES)}"}
    asks = [inbox.ask("Which?"), inbox.ask("Deploy?", "approval"), inbox.ask("Sure?")]
    inbox.answer(asks[2], "yes")
    states = ("ready", "completed", "stuck")
    runs = [add_run(inbox.store, [call(inbox.store, "1")], state=state) for state in states]
    tasks = [backlog.create(inbox.store, "/p", a_person(), {"title": "Do it"})]
    known = {"/runs/": runs, "/tasks/": tasks}
    named = next((some for part, some in known.items() if part in label), asks)
    real = [str(one.id) for one in named]
    tried, checks = operation(operations, inbox, label), find_checks(label)
    mode = GenerationMode(mode)
    inbox.desk.hub.open = label.endswith("/ready")

    @settings(
        max_examples=MANY if whole else FEW,
        deadline=None,
        database=None,
        derandomize=not whole,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=tried.as_strategy(generation_mode=mode), name=st.sampled_from(["", *real]))
    def send(case, name):
        inbox.desk.limits._buckets.clear()
        if name and "id" in (case.path_parameters or {}) and mode is GenerationMode.POSITIVE:
            case.path_parameters["id"] = name
        case.call_and_validate(base_url=URL, headers=bearer, checks=checks)

    send()


HOSTILE = (
    '{"prompt": "\\ud800"}', '{"prompt": "x", "session": "\\udfff"}', '{"prompt": "a\\u0000b"}', '{"prompt": "x", "context": NaN}',
    '{"prompt": "x", "context": [1e999]}', '{"prompt": "x", "confidence": -Infinity}', '{"prompt": "x", "prompt": "y"}', "[]", "null", '"x"', "",
    "{", "\ufeff{}", "{'prompt': 'x'}", '{"prompt": "x", "context": ' + "[" * 5000 + "]" * 5000 + "}", "[" * 200_000,
    '{"prompt": "x", "context": ' + "9" * 5000 + "}", '{"prompt": "x", "expires_seconds": 5e-324}', '{"prompt": "x", "expires_seconds": 1e9}',
    '{"prompt": "x", "escalations": [{"after_seconds": 1e308, "who": "x"}]}', '{"prompt": "x", "remind_every_seconds": 1e9}',
    '{"prompt": "x", "kind": "form", "schema": {"$ref": "http://127.0.0.1:9/x"}}', '{"prompt": "x", "kind": "form", "schema": {"type": 7}}',
    '{"prompt": "x", "kind": "form", "schema": {"$ref": "#"}}', '{"prompt": "x", "kind": "form", "schema": {"pattern": "(a+)+$"}}',
    '{"prompt": "x", "kind": "choice", "options": ["a", "a"]}', '{"prompt": "x", "requirement": {"n": 1e99}}', '{"prompt": "x", "priority": 1.0}',
    '{"prompt": "x", "requirement": {"all": [null]}}', '{"prompt": "x", "requirement": {"all": 5}}', '{"prompt": "x", "requirement": {"veto": [[]]}}', '{"prompt": "x", "kind": "approval", "default": "yes"}', '{"prompt": "x", "multiple": true}',
)  # fmt: skip


@pytest.mark.proves("WEB-18")
def test_no_body_breaks_anything(inbox):
    client = inbox.client(*SCOPES)
    client.headers["content-type"] = "application/json"
    ask = inbox.ask("Which?", "choice", options=("a", "b"))
    bodies = [body.encode() for body in HOSTILE]
    bodies += [b"\xff\xfe{}", b'{"prompt": "\xed\xa0\x80"}', b"\x00"]
    codes = [
        (client.post(path, content=raw).status_code, path, raw[:80])
        for raw in bodies
        for path in ("/api/asks", f"/api/asks/{ask.id}/answers", "/api/answers", "/api/people")
    ]
    assert [one for one in codes if one[0] >= 500] == []
    assert all(
        one.prompt.strip() for one in (found.question for found in inbox.store.asks.pending(99))
    )
    for status in ("pending", "settled"):
        assert client.get(f"/api/asks?status={status}").status_code == 200
    for value in ("\\ud800", "a\\u0000"):
        raw = f'{{"value": {{"other": "{value}"}}, "note": "{value}"}}'
        assert client.post(f"/api/asks/{ask.id}/answers", content=raw).status_code < 500


@pytest.mark.proves("WEB-18")
def test_no_address_and_no_header_breaks_anything(inbox):
    client, ask = inbox.client(*SCOPES), inbox.ask()
    wild = (
        "9" * 5000,
        "-1",
        "1e9",
        "%00",
        "%ff",
        "%ed%a0%80",
        "%C2%B2",
        "%D9%A3",
        "",
        "..%2f..%2f",
        "a" * 20_000,
    )
    paths = [f"/api/asks?limit={one}" for one in wild] + [
        f"/api/events?after={one}" for one in wild
    ]
    paths += [f"/api/asks/{ask.id}/wait?seconds={one}" for one in wild]
    paths += [f"/api/asks?status=settled&search={one}" for one in wild]
    paths += [
        f"/{place}/{one}"
        for one in wild
        for place in ("api/asks", "asks", "link", "api/people", "static")
    ]
    paths += [f"/history?limit={one}&q={one}" for one in wild] + [f"/?done={one}" for one in wild]
    codes = [(client.get(path).status_code, path[:60]) for path in paths]
    for name in (
        "authorization",
        "cookie",
        "idempotency-key",
        "last-event-id",
        "content-length",
        "x-csrf-token",
        "content-type",
    ):
        for value in (
            b"\xff\xfe",
            b"9" * 5000,
            b"",
            b"Bearer ",
            b"gatebell=\xff",
            b"multipart/form-data",
            b"-1",
        ):
            sent = {"content": b"{}", "headers": {name: value, "origin": URL}}
            codes += [
                (client.post(path, **sent).status_code, f"{path} {name} {value[:20]}")
                for path in ("/login", "/api/asks", f"/asks/{ask.id}/answer")
            ]
    assert [one for one in codes if one[0] >= 500] == []


@pytest.mark.proves("WEB-18")
def test_no_form_breaks_anything(inbox):
    browser, ask = inbox.browser(), inbox.ask("Which?", "choice", options=("a", "b"))
    plain, many = (
        "application/x-www-form-urlencoded",
        b"&".join(b"a%d=1" % n for n in range(20_000)),
    )
    bodies = [
        (plain, many),
        (plain, b"token=%ff%fe&csrf=%ed%a0%80&%00=%00"),
        (plain, b"=&=&&==%"),
        ("multipart/form-data; boundary=x", b"a" * 100),
        ("multipart/form-data", b"--x\r\n"),
        ("multipart/form-data; boundary=x", b'--x\r\nContent-Disposition: form-data; name="text"; filename="f"\r\n\r\nx\r\n--x--\r\n'),
        ("application/json", b"{}"),
        ("text/plain", b"x" * 100),
        ("", b"\x00"),
    ]  # fmt: skip
    for kind, body in bodies:
        for path in (
            "/login",
            f"/asks/{ask.id}/answer",
            f"/asks/{ask.id}/draft",
            "/people",
            "/logout",
        ):
            inbox.desk.limits._buckets.clear()
            response = browser.post(path, content=body, headers={"content-type": kind})
            assert 400 <= response.status_code < 500, (path, kind, body[:40], response.status_code)
    assert inbox.get(ask).pending


@pytest.mark.proves("WEB-18")
def test_oversized_request_is_refused_before_it_is_read(inbox):
    client = inbox.client(*SCOPES)
    text = json.dumps({"prompt": "x", "context": "y" * 8_000_001}).encode()
    for given_body in (text, (text[n : n + 100_000] for n in range(0, len(text), 100_000))):
        response = client.post(
            "/api/asks", content=given_body, headers={"content-type": "application/json"}
        )
        assert response.status_code == 413
    assert inbox.store.asks.pending(9) == []
