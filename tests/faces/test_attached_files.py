"""Attachments in each face: command line, Python, MCP, browser and server."""

from __future__ import annotations

import json
import os
import re
import stat

import pytest
from tests.support.mcp_client import Client
from tests.support.people import a_person
from tests.support.server_world import server_world
from tests.support.waiting import eventually
from tests.support.web_inbox import inbox

from gatebell import Gate
from gatebell.adapters.remote.attachments import attach, read_attachment
from gatebell.api.flow_asks import approve
from gatebell.cli.asks import ask_loop
from gatebell.cli.tasks import respond
from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.asks import Origin
from gatebell.domain.asks.attachments import describe_bytes
from gatebell.domain.asks.requests import Request
from gatebell.errors import ServerError, UsageError
from gatebell.services.asks import answer_ask, attachments, create_ask
from gatebell.testing import MemoryStore

__all__ = ["inbox", "server_world"]

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (3).to_bytes(4) + (2).to_bytes(4) + b"\x08\x02\0\0\0"
ADA = a_person("ada")


@pytest.mark.proves("ATT-9")
def test_files_go_both_ways_on_a_command_line(world):
    (world.folder / "project" / "screen.png").write_bytes(PNG)
    (world.folder / "project" / "x").mkdir()
    (world.folder / "project" / "x" / "screen.png").write_bytes(b"other")
    ask_id = world.ask("Is this right?", "--attach", "screen.png", "--attach", "x/screen.png")
    shown = world.ada.gate("show", ask_id).out
    assert "screen.png (image/png, 29 bytes)" in shown and "(text/plain, 5 bytes)" in shown
    (world.folder / "project" / "better.txt").write_bytes(b"better")
    answered = world.ada.gate("answer", ask_id, "no", "--attach", "better.txt", "--json")
    assert json.loads(answered.out)["answer_attachments"][0]["name"] == "better.txt"
    got = world.plain.gate("wait", ask_id)
    assert got.out == "no\n" and "attached files: 1" in got.err
    (world.folder / "project" / "out").mkdir()
    (world.folder / "project" / "out" / "better.txt").symlink_to(
        world.folder / "project" / "elsewhere"
    )
    saved = world.plain.gate("show", ask_id, "--save-attachments", "out", "--json")
    paths = [os.path.basename(path) for path in json.loads(saved.out)["saved"]]
    assert paths == ["screen.png", "screen-2.png", "better-2.txt"]
    out = (world.folder / "project") / "out"
    assert [(out / name).read_bytes() for name in paths] == [PNG, b"other", b"better"]
    assert stat.S_IMODE((out / "screen.png").stat().st_mode) == 0o600
    assert not (world.folder / "project" / "elsewhere").exists()
    again = world.plain.gate("show", ask_id, "--save-attachments", "out")
    assert again.out.split() == [f"out/{name}" for name in paths]


@pytest.mark.proves("ATT-9", "ATT-2", "LAW-10")
@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--attach", "missing"), "missing cannot be attached: No such file"),
        (("--attach", "."), "cannot be attached"),
        (("--attach", "pipe"), "it is not a regular file"),
        (("--attach", "a", "--secret"), "takes no attachments"),
        (("--attach", "a") * 11, "at most 10 paths"),
    ],
)
def test_file_that_cannot_be_attached_opens_no_ask(world, words, why):
    (world.folder / "project" / "a").write_bytes(b"a")
    os.mkfifo(world.folder / "project" / "pipe")
    ran = world.plain.gate("ask", "Why?", "--no-wait", "--json", *words)
    assert ran.code == 2 and why in ran.err
    assert world.store.asks.count() == 0


@pytest.mark.proves("ATT-10")
def test_program_attaches_and_reads_files(tmp_path):
    path = tmp_path / "screen.png"
    path.write_bytes(PNG)
    gate = Gate(MemoryStore())
    ask_id = gate.open("Is this right?", attachments=[path])
    (shown,) = gate.pending()[0].question.attachments
    assert (shown.name, shown.media_type, shown.size) == ("screen.png", "image/png", 29)
    gate.answer(ask_id, "yes", attachments=[str(path)])
    (given,) = gate.wait(ask_id).attachments
    assert (given.name, given.read(), given.digest) == ("screen.png", PNG, shown.digest)
    assert "screen.png" in repr(given)
    assert gate.wait(gate.open("And now?"), timeout=0).attachments == ()
    for wrong in (path, "screen.png", [7], [path] * 11):
        with pytest.raises(UsageError, match="attachments is a list"):
            gate.open("Why?", attachments=wrong)
    with pytest.raises(UsageError, match="a flow takes no attachments"):
        approve("Why?", attachments=[path])


@pytest.mark.proves("ATT-11")
def test_agent_attaches_files_of_its_project_only(world):
    (world.folder / "project" / ".git").mkdir()
    (world.folder / "project" / "shot.png").write_bytes(PNG)
    outside = (world.folder / "project").parent / "secret.txt"
    outside.write_bytes(b"secret")
    (world.folder / "project" / "link").symlink_to(outside)
    client = Client(world, CLAUDE_CODE_SESSION_ID="s1")
    client.result(client.ask("initialize", protocolVersion="2025-06-18", capabilities={}))
    for path in ("link", str(outside), "../secret.txt"):
        said, failed = client.text(client.call("ask_human", question="Why?", attachments=[path]))
        assert failed and "leads out of" in said
    assert client.text(client.call("ask_human", question="Why?", attachments="a"))[1]
    asking = client.call("ask_human", question="Good?", attachments=["shot.png"])
    (asked,) = eventually(lambda: world.store.asks.pending(9))
    assert [one.name for one in asked.question.attachments] == ["shot.png"]
    given = attachments.attach(world.store, "../better.txt", b"better")
    answer_ask.answer(world.store, asked.id, ADA, Given("no", attachments=(given,)))
    said, failed = client.text(asking)
    value, path = said.split("\nattached file: ")
    assert (
        not failed and value.startswith("no") and path.endswith(f"received/{asked.id}/better.txt")
    )
    with open(path, "rb") as file:
        assert file.read() == b"better"
    assert client.close() == 0


@pytest.mark.proves("ATT-9", "LAW-4")
def test_windows_and_tasks_name_the_files():
    store = MemoryStore()
    file = attachments.attach(store, "screen.png", PNG)
    request = Request("Right?", context="c" * 9000, attachments=(file,))
    asked = create_ask.ask(store, request, Origin(), ADA).ask
    line = f"Attached: screen.png. Save: gate show {asked.id} --save-attachments DIR"
    assert ask_loop._describe_context(asked).startswith(line)
    assert f"│ {line}" in respond._question_lines(asked)


@pytest.mark.proves("ATT-7", "LAW-6")
def test_files_of_a_late_answer_are_shown(world):
    ask_id = world.ask("Why?")
    (world.folder / "project" / "late.txt").write_bytes(b"late")
    assert world.bob.gate("answer", ask_id, "so").code == 0
    late = world.ada.gate("answer", ask_id, "no", "--attach", "late.txt")
    assert late.code == 6
    shown = world.plain.gate("show", ask_id).out
    assert "Not counted, from person:ada" in shown and "attached: late.txt" in shown
    saved = world.plain.gate("show", ask_id, "--save-attachments", "out")
    assert saved.out == "out/late.txt\n"


def answer_fields(browser, ask, **more):
    page = browser.get(f"/asks/{ask.id}").text
    return dict(re.findall(r'name="(csrf|digest|key)" value="([^"]*)"', page)) | more


@pytest.mark.proves("ATT-15", "LAW-6")
def test_browser_sends_files_with_the_answer(inbox):
    asked, browser = inbox.ask("Which logo?"), inbox.browser()
    assert 'type="file" multiple' in browser.get(f"/asks/{asked.id}").text
    files = [
        ("attachment", ("logo.png", PNG, "text/html")),
        ("attachment", ("", b"", "application/octet-stream")),
    ]
    empty = answer_fields(browser, asked, text=" ", value="given")
    refused = browser.post(f"/asks/{asked.id}/answer", data=empty, files=files)
    # The value is missing, and the file is kept for the next attempt.
    assert refused.status_code == 422 and inbox.get(asked).pending
    kept = re.search(r'name="attached" value="([^"]*)" checked', refused.text)[1]
    assert kept == f"{describe_bytes(PNG, 'logo.png').digest} logo.png"
    more = [("attachment", ("note.txt", b"a note", "text/plain"))]
    fields = answer_fields(browser, asked, text="this", value="given", attached=kept)
    assert browser.post(f"/asks/{asked.id}/answer", data=fields, files=more).status_code == 303
    found = inbox.get(asked)
    assert [(one.name, one.media_type) for one in found.answer_attachments] == [
        ("logo.png", "image/png"), ("note.txt", "text/plain"),
    ]  # fmt: skip
    page = browser.get(f"/asks/{asked.id}").text
    assert "With the answer" in page and "logo.png" in page


@pytest.mark.proves("ATT-15", "ATT-2")
def test_refused_files_keep_the_typed_answer(inbox):
    asked, browser = inbox.ask("Which logo?"), inbox.browser()
    fields = answer_fields(browser, asked, text="this", value="given")
    files = [("attachment", (f"{n}.txt", b"x", "text/plain")) for n in range(11)]
    refused = browser.post(f"/asks/{asked.id}/answer", data=fields, files=files)
    assert refused.status_code == 422 and "at most 10 attachments, got 11" in refused.text
    assert ">this</textarea>" in refused.text.replace("\n", "") and inbox.get(asked).pending
    large = [("attachment", ("a.bin", bytes(10_000_001), "text/plain"))]
    refused = browser.post(f"/asks/{asked.id}/answer", data=fields, files=large)
    assert refused.status_code == 422 and "at most 10000000" in refused.text
    secret = inbox.ask("Password?", secret=True)
    assert 'type="file"' not in browser.get(f"/asks/{secret.id}").text


@pytest.mark.proves("ATT-16")
def test_files_go_both_ways_through_a_server(server_world, tmp_path):
    project = server_world.folder / "project"
    (project / "log.txt").write_bytes(b"log")
    ask_id = server_world.ask("Is this right?", "--attach", "log.txt", shell=server_world.plain)
    (project / "fix.txt").write_bytes(b"fix")
    answered = server_world.ada.gate("answer", ask_id, "no", "--attach", "fix.txt")
    assert answered.code == 0, answered.err
    assert "log.txt (text/plain, 3 bytes)" in server_world.ada.gate("show", ask_id).out
    got = server_world.plain.gate("wait", ask_id)
    assert got.out == "no\n" and "attached files: 1" in got.err
    saved = server_world.plain.gate("show", ask_id, "--save-attachments", str(tmp_path))
    assert saved.code == 0, saved.err
    assert (tmp_path / "log.txt").read_bytes() + (tmp_path / "fix.txt").read_bytes() == b"logfix"


class LyingServer:
    server = "http://127.0.0.1:1"

    def send(self, method, *_, **__):
        return b"other" if method == "GET" else {"digest": "other"}


@pytest.mark.proves("ATT-16")
def test_server_that_sends_other_bytes_is_refused():
    with pytest.raises(ServerError, match="other bytes"):
        read_attachment(LyingServer(), "a-2", describe_bytes(b"mine", "a"))
    with pytest.raises(ServerError, match="did not keep"):
        attach(LyingServer(), "a", b"mine")
