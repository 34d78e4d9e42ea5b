"""`gate login`, `logout` and `doctor` with a server, and what a person typed without one."""

from __future__ import annotations

import json
import stat

import pytest
from tests.support.cutting_proxy import CuttingProxy
from tests.support.server_world import ServerWorld, server_world
from tests.support.shells import Shell
from tests.support.waiting import eventually

__all__ = ["server_world"]


@pytest.fixture
def laptop(server_world, tmp_path):
    """A shell of a machine that knows no server yet."""
    environ = {k: v for k, v in server_world.base.items() if k != "GATE_SERVER"}
    return Shell(tmp_path, environ | {"HOME": str(tmp_path)})


@pytest.mark.proves("REMOTE-7")
def test_login_keeps_a_checked_token_privately(server_world, laptop):
    url, token = server_world.web.url, server_world.tokens["agent"]
    wrong = laptop.gate("login", url, "--token-file", "-", text="gate_wrong\n")
    assert wrong.code == 7 and "does not know that token" in wrong.err
    assert "gate person token NAME" in wrong.err
    ran = laptop.gate("login", url, "--token-file", "-", text=f"{token}\n")
    assert ran.code == 0 and f"Signed in to {url} as ci: this token may ask." in ran.out
    kept = list(laptop.folder.rglob("*.token"))
    assert len(kept) == 1 and stat.S_IMODE(kept[0].stat().st_mode) == 0o600
    assert stat.S_IMODE(kept[0].parent.stat().st_mode) == 0o700
    ask_id = laptop.gate("ask", "Q?", "--no-wait").out.strip()
    assert server_world.get(ask_id).pending
    assert laptop.gate("cancel", ask_id).code == 0
    assert laptop.gate("logout").code == 0
    assert not list(laptop.folder.rglob("*.token"))
    assert laptop.gate("logout").code == 5
    assert "Nothing is waiting" in laptop.gate("inbox").out


@pytest.mark.proves("REMOTE-7")
def test_agent_cannot_sign_in_with_a_persons_token(server_world, laptop):
    ran = laptop.gate(
        "login", server_world.web.url, "--token-file", "-", text=server_world.tokens["ada"],
        CLAUDECODE="1",
    )  # fmt: skip
    assert ran.code == 7 and "--ask-only" in ran.err
    assert not list(laptop.folder.rglob("*.token"))


@pytest.mark.proves("REMOTE-7")
def test_address_that_would_show_the_token_is_refused(laptop):
    for address in ("http://gate.example.org", "ftp://x", "gate", "https://a@b", "https://x/y", ""):
        ran = laptop.gate("login", address, "--token-file", "-", text="gate_x")
        assert ran.code == 2, (address, ran)
        if address:
            assert laptop.gate("inbox", GATE_SERVER=address, GATE_TOKEN="x").code == 2, address


@pytest.mark.proves("REMOTE-8")
def test_doctor_tells_the_trust_of_this_machine(server_world):
    ran = server_world.plain.gate("doctor")
    assert ran.code == 0 and "Trust: L1" in ran.out and "it may ask" in ran.out, ran
    assert "open the server is on this machine: if it runs as your user" in ran.out
    mine = server_world.ada.gate("doctor")
    assert "Trust: L0" in mine.out and "may approve" in mine.out
    alone = server_world.plain.gate("doctor", GATE_SERVER="http://127.0.0.1:1")
    assert alone.code == 1 and "Trust: not known until the server says" in alone.out
    asked = server_world.ask("Deploy?", "--kind", "approval")
    assert "Trust: L1" in server_world.ada.gate("show", asked).out
    hers = server_world.ask("Deploy?", "--kind", "approval", shell=server_world.bob)
    assert "Trust: L0" in server_world.ada.gate("show", hers).out


@pytest.mark.proves("REMOTE-8")
def test_token_for_an_agents_machine_may_only_ask(kept_world):
    made = json.loads(
        kept_world.ada.gate("person", "token", "bob", "--ask-only", "--json", "--as", "ada").out
    )
    found = [token for token in kept_world.store.people.tokens() if token.scopes == ("ask",)]
    assert len(found) == 1 and made["token"].startswith("gate_")
    assert kept_world.ada.gate("person", "token", "bob", "--ask-only", "--scope", "read").code == 2


@pytest.mark.proves("REMOTE-9")
def test_ask_waits_for_a_server_that_comes_back(tmp_path):
    world = ServerWorld(tmp_path)
    world.web.stop()
    waiting = world.agent.start("ask", "Which?")
    world.web.start()
    (ask,) = eventually(lambda: world.store.asks.pending(9, None))
    world.web.stop()
    world.web.start()
    assert world.ada.gate("answer", ask.id, "this").code == 0
    out, err = waiting.communicate(timeout=60)
    assert (waiting.returncode, out) == (0, "this\n"), err
    assert len(world.store.asks.list_settled(9)) == 1
    world.close()


@pytest.mark.proves("REMOTE-9")
def test_wait_without_a_server_names_the_next_command(server_world):
    ask_id = server_world.ask("Which?")
    gone = {"GATE_SERVER": "http://127.0.0.1:1"}
    ran = server_world.agent.gate("wait", ask_id, "--timeout", "1", **gone)
    assert ran.code == 8 and "http://127.0.0.1:1 cannot be reached" in ran.err
    opened = server_world.agent.gate("ask", "Q?", "--timeout", "1", **gone)
    assert opened.code == 8 and "run the same again" in opened.err


@pytest.mark.proves("REMOTE-10", "LAW-6")
def test_answer_that_cannot_be_sent_is_kept(server_world, tmp_path):
    proxy = CuttingProxy(server_world.web.port, before=["POST"])
    shell = server_world.shell("ada", "ada", GATE_SERVER=proxy.url, XDG_DATA_HOME=str(tmp_path))
    ask_id = server_world.ask("Which?")
    ran = shell.gate("answer", ask_id, "a long text")
    kept = tmp_path / "gatebell" / "unsent" / f"{ask_id}.txt"
    assert ran.code == 8 and f"it is kept in {kept}" in ran.err, ran
    assert kept.read_text() == "a long text" and stat.S_IMODE(kept.stat().st_mode) == 0o600
    proxy.before = ()
    assert shell.gate("answer", ask_id, "--file", str(kept)).code == 0
    assert server_world.get(ask_id).value == "a long text" and not kept.exists()
    down = shell.gate(
        "answer", ask_id, "--file", "-", text="more", GATE_SERVER="http://127.0.0.1:1"
    )
    assert down.code == 8 and kept.read_text() == "more"
    proxy.close()


@pytest.mark.proves("REMOTE-10")
def test_secret_that_cannot_be_sent_is_not_written(server_world, tmp_path):
    proxy = CuttingProxy(server_world.web.port, before=["POST"])
    shell = server_world.shell("ada", "ada", GATE_SERVER=proxy.url, XDG_DATA_HOME=str(tmp_path))
    opened = server_world.agent.gate("ask", "Key?", "--secret", "--no-wait", "--json")
    ran = shell.gate("answer", json.loads(opened.out)["id"], "--file", "-", text="hunter2")
    assert ran.code == 8 and "not kept" in ran.err and "hunter2" not in ran.err
    assert not list(tmp_path.rglob("*.txt"))
    proxy.close()


@pytest.mark.proves("REMOTE-9")
def test_lost_responses_open_and_settle_once(server_world):
    proxy = CuttingProxy(server_world.web.port, after=["POST"])
    agent = server_world.shell("agent", GATE_SERVER=proxy.url)
    asking = agent.start("ask", "Only once?", "--no-wait")
    eventually(lambda: proxy.cut)
    proxy.after = ()
    out, err = asking.communicate(timeout=60)
    assert asking.returncode == 0, err
    asked = [
        ask
        for ask in server_world.store.asks.pending(99, None)
        if ask.question.prompt == "Only once?"
    ]
    assert [ask.id for ask in asked] == [out.strip()]
    proxy.after, proxy.cut = ["POST"], 0
    answering = server_world.shell("ada", GATE_SERVER=proxy.url).start(
        "answer", out.strip(), "yes, once", "--as", "ada"
    )
    eventually(lambda: proxy.cut)
    proxy.after = ()
    told, err = answering.communicate(timeout=60)
    assert answering.returncode == 0 and "is answered" in told, err
    assert [one.outcome for one in server_world.store.asks.answers(out.strip())] == ["settled"]
    proxy.close()
