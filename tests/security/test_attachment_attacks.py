"""Attacks with attachments: disguised files, foreign bytes, hostile names, huge uploads."""

from __future__ import annotations

import re

import pytest
from tests.support.people import a_person
from tests.support.web_inbox import inbox

from gatebell.domain.asks.answers import Given
from gatebell.errors import AlreadySettledError
from gatebell.services.asks import answer_ask, attachments
from gatebell.web.limits import MAX_BYTES

__all__ = ["inbox"]

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (3).to_bytes(4) + (2).to_bytes(4) + b"\x08\x02\0\0\0"
HTML = b"<!doctype html><script>document.title = 'owned'</script>"
SVG = b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"
BYTES = {"content-type": "application/octet-stream"}


def upload(client, content, name="a.png"):
    return client.post("/api/attachments", params={"name": name}, content=content, headers=BYTES)


def named(*uploads):
    return [{"name": one["name"], "digest": one["digest"]} for one in uploads]


@pytest.mark.proves("ATT-14", "ATT-1", "LAW-8")
@pytest.mark.parametrize(
    ("content", "name", "is_image"),
    [
        (PNG, "screen.png", True),
        (PNG, 'x" onerror="alert(1)\r\nset-cookie: a=b', True),
        (HTML, "screen.png", False),
        (SVG, "picture.svg", False),
        (b"%PDF-1.7 /JS (app.alert(1))", "paper.pdf", False),
        (b"GIF89a<script>", "picture.gif", False),
        (HTML, "../../../etc/cron.d/x\u202egnp.html", False),
    ],
)
def test_only_real_images_are_shown(inbox, content, name, is_image):
    file = attachments.attach(inbox.store, name, content)
    asked = inbox.ask("Look?", attachments=(file,))
    browser = inbox.browser()
    page = browser.get(f"/asks/{asked.id}")
    address = f"/asks/{asked.id}/attachments/{file.digest}"
    assert (f'<img src="{address}"' in page.text) == is_image and address in page.text
    assert '" onerror' not in page.text
    assert "\u202e" not in page.text and "<script>" not in page.text
    got = browser.get(address)
    assert got.status_code == 200 and got.content == content
    way, _, saved = got.headers["content-disposition"].partition("; ")
    assert way == ("inline" if is_image else "attachment")
    assert re.fullmatch(r'filename="[A-Za-z0-9._-]+"', saved) and "set-cookie" not in got.headers
    kind = "image/png" if is_image else "application/octet-stream"
    assert got.headers["content-type"] == kind
    assert got.headers["x-content-type-options"] == "nosniff"
    assert got.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
    assert got.headers["cache-control"] == "no-store"


@pytest.mark.proves("ATT-13")
def test_digest_alone_reads_no_bytes(inbox):
    mine, other = inbox.client("ask", name="ada"), inbox.client("ask", name="eve")
    plan = upload(mine, b"a secret plan", "plan.txt").json()
    asked = {"prompt": "Good?", "attachments": named(plan)}
    refused = other.post("/api/asks", json=asked)
    assert refused.status_code == 400 and "upload it first" in refused.json()["detail"]
    made = mine.post("/api/asks", json=asked)
    assert made.status_code == 201 and made.json()["ask"]["attachments"] == [plan]
    answering = inbox.client("answer", name="bob")
    answer = {"value": "so", "attachments": named(plan)}
    ask_id = made.json()["ask"]["id"]
    refused = answering.post(f"/api/asks/{ask_id}/answers", json=answer)
    assert refused.status_code == 400 and inbox.store.asks.get(ask_id).pending
    # A form of another person cannot name it either.
    browser = inbox.browser("eve")
    page = browser.get(f"/asks/{ask_id}").text
    fields = dict(re.findall(r'name="(csrf|digest)" value="([^"]*)"', page))
    fields |= {"text": "so", "value": "given", "attached": f"{plan['digest']} plan.txt"}
    assert browser.post(f"/asks/{ask_id}/answer", data=fields).status_code == 422


@pytest.mark.proves("ATT-12")
def test_bytes_belong_to_their_ask(inbox):
    mine, other = inbox.client("ask", name="ada"), inbox.client("ask", name="eve")
    plan = upload(mine, b"a secret plan", "plan.txt").json()
    first = mine.post("/api/asks", json={"prompt": "Good?", "attachments": named(plan)})
    second = other.post("/api/asks", json={"prompt": "And this?"})
    ids = [one.json()["ask"]["id"] for one in (first, second)]
    path = "/api/asks/{}/attachments/" + plan["digest"]
    assert mine.get(path.format(ids[0])).content == b"a secret plan"
    assert other.get(path.format(ids[0])).status_code == 404
    assert other.get(path.format(ids[1])).status_code == 404
    reader = inbox.client("read", name="bob")
    assert reader.get(path.format(ids[0])).content == b"a secret plan"
    assert reader.get(path.format(ids[1])).status_code == 404
    assert inbox.client().get(path.format(ids[0])).status_code == 401
    assert inbox.client("metrics", name="bob").get(path.format(ids[0])).status_code == 403
    for digest in ("0" * 64, "..%2F..%2Fgate.db", "x"):
        assert reader.get(f"/api/asks/{ids[0]}/attachments/{digest}").status_code == 404


@pytest.mark.proves("ATT-12")
def test_asker_sees_no_files_of_refused_answers(inbox):
    client = inbox.client("ask", name="ada")
    ask_id = client.post("/api/asks", json={"prompt": "Why?"}).json()["ask"]["id"]
    given, late = (attachments.attach(inbox.store, name, name.encode()) for name in ("a", "b"))
    answer = Given("so", attachments=(given,))
    answer_ask.answer(inbox.store, ask_id, a_person("bob"), answer)
    with pytest.raises(AlreadySettledError):
        answer_ask.answer(inbox.store, ask_id, a_person("eve"), Given("no", attachments=(late,)))
    untaken = client.get(f"/api/asks/{ask_id}").json()
    assert untaken["answer_attachments"] == [] and untaken["value"] is None
    taken = client.post(f"/api/asks/{ask_id}/take").json()
    assert [one["digest"] for one in taken["answer_attachments"]] == [given.digest]
    path = f"/api/asks/{ask_id}/attachments/"
    assert client.get(path + given.digest).content == b"a"
    assert client.get(path + late.digest).status_code == 404
    assert inbox.client("read", name="bob").get(path + late.digest).content == b"b"


@pytest.mark.proves("ATT-17", "ATT-2")
def test_huge_bodies_are_refused_unread(inbox):
    client = inbox.client("ask", name="ada")

    def unannounced():
        for _ in range(21):
            yield bytes(500_000)

    headers = BYTES | {"content-length": "100000000"}
    announced = client.post("/api/attachments?name=a", content=b"x", headers=headers)
    assert announced.status_code == 413 and "10000000" in announced.json()["detail"]
    assert (
        client.post("/api/attachments?name=a", content=unannounced(), headers=BYTES).status_code
        == 413
    )
    browser = inbox.browser()
    asked = inbox.ask("Look?")
    headers = {"content-length": "100000000", "content-type": "multipart/form-data; boundary=x"}
    assert (
        browser.post(f"/asks/{asked.id}/answer", content=b"x", headers=headers).status_code == 413
    )
    # Every other form keeps its smaller limit.
    headers["content-length"] = str(MAX_BYTES + 1)
    assert (
        browser.post(f"/asks/{asked.id}/message", content=b"x", headers=headers).status_code == 413
    )
    assert client.post("/api/attachments?name=a", content=b"x").status_code == 415
    assert client.post("/api/attachments", content=b"x", headers=BYTES).status_code == 400
    assert upload(inbox.client("read", name="bob"), b"x").status_code == 403
    assert upload(inbox.client(), b"x").status_code == 401


@pytest.mark.proves("ATT-12")
def test_foreign_page_uploads_nothing(inbox):
    browser = inbox.browser()
    assert upload(browser, b"x").status_code == 403
    browser.headers["origin"] = "http://evil.example"
    assert upload(browser, b"x").status_code == 403
