"""Web push, from an ask to a push service of the test and back."""

from __future__ import annotations

import json
import os
import stat
from contextlib import suppress

import pytest
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric import ec
from tests.support.devices import BrowserKeys, PushService, add_device, decode, read_signature
from tests.support.people import a_person

from gatebell.adapters.files.post_settings import ChangedPost, read_post
from gatebell.adapters.postgres.secrets import SecretKeys
from gatebell.app.push import find_public_key, send_test_message
from gatebell.app.wiring import open_store, open_throwaway_store
from gatebell.cli import main
from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.asks import Origin
from gatebell.errors import StoreError
from gatebell.services.asks import answer_ask, create_ask
from gatebell.services.asks.create_ask import Request
from gatebell.services.notifications import send_notices
from gatebell.testing import FakeClock


@pytest.fixture
def service():
    made = PushService()
    yield made
    made.close()


@pytest.fixture
def store(tmp_path, service, monkeypatch):
    monkeypatch.setenv("GATE_PUSH_SERVICES", service.host)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("GATE_URL", "https://gate.example.org")
    made = open_store(str(tmp_path / "gate.db"), FakeClock(), starts_sender=False)
    yield made
    made.close()


@pytest.fixture
def keys():
    return BrowserKeys()


@pytest.fixture
def device(store, service, keys):
    return add_device(
        store, endpoint=f"{service.url}/to/ada?k=1", keys=keys, services=(service.host,)
    )


def ask(store, prompt="Deploy build 42?", kind="approval", **more):
    return create_ask.ask(store, Request(prompt, kind, **more), Origin("/p/shop", agent="bot"), a_person("sue")).ask  # fmt: skip


def send(store):
    """Send everything that is due."""
    post = read_post(store, "ada")
    send_notices.spread(store, post)
    for route in post.routes:
        while send_notices.send_next(store, post, route):
            pass


@pytest.mark.proves("PUSH-3", "PUSH-5")
def test_message_is_readable_by_the_browser_only(store, service, keys, device):
    asked = ask(store)
    send(store)
    ((path, headers, body),) = service.got
    assert path == "/to/ada?k=1" and headers["content-encoding"] == "aes128gcm"
    message = keys.read(body)
    assert message["type"] == "opened" and message["ask"] == asked.id
    assert "bot" in message["title"] and "Deploy build 42?" in message["body"]
    assert {"approved", "rejected"} <= message.keys() and message["device"] == device.id
    assert b"Deploy" not in body
    assert (headers["ttl"], headers["urgency"]) == ("86400", "normal")
    with pytest.raises(InvalidTag):
        BrowserKeys().decrypt(body)


@pytest.mark.proves("PUSH-2", "PUSH-3")
def test_sender_signs_with_the_key_of_its_store(store, service, device, tmp_path):
    ask(store)
    send(store)
    claims, key = read_signature(service.got[0][1]["authorization"])
    assert claims["aud"] == service.url and claims["sub"] == "https://gate.example.org"
    assert 0 < claims["exp"] - store.now().timestamp() <= 24 * 3600
    assert key == find_public_key(store)
    path = tmp_path / "gate.db-push-key"
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    again = open_store(str(tmp_path / "gate.db"), starts_sender=False)
    assert again.push_key() == store.push_key() and find_public_key(again) == key
    again.close()


@pytest.mark.proves("PUSH-2")
def test_damaged_key_file_is_named_and_turns_push_off(store, tmp_path):
    (tmp_path / "gate.db-push-key").write_text("abc")
    with pytest.raises(Exception, match="push-key"):
        store.push_key()
    assert find_public_key(store) == ""


@pytest.mark.proves("PUSH-6")
def test_ask_that_must_be_seen_arrives_without_buttons(store, service, keys, device):
    ask(store, context={"tests": "green"})
    send(store)
    message = keys.read(service.got[0][2])
    assert "approved" not in message and "rejected" not in message and "green" not in str(message)


@pytest.mark.proves("PUSH-5")
def test_settled_ask_closes_a_sent_message_only(store, service, keys, device):
    unseen = ask(store, "Unseen?")
    answer_ask.answer(store, unseen.id, a_person(), Given("no"))
    seen = ask(store)
    send(store)
    answer_ask.answer(store, seen.id, a_person(), Given("yes"))
    send(store)
    first, last = service.got
    assert keys.read(last[2]) == {"type": "close", "tag": keys.read(first[2])["tag"]}
    assert last[1]["topic"] == first[1]["topic"] and last[1]["urgency"] == "low"


@pytest.mark.proves("PUSH-4")
@pytest.mark.parametrize("status", [404, 410])
def test_device_unknown_to_its_service_is_removed(store, service, device, status):
    service.statuses = [(status, {})]
    ask(store)
    send(store)
    assert store.devices.all() == [] and store.outbox.problems(9) == []
    kinds = [entry.event.kind for entry in store.audit.of_subject("ada")]
    assert kinds == ["device.added", "device.removed"]
    ask(store, "Again?")
    send(store)
    assert len(service.got) == 1


@pytest.mark.proves("PUSH-5")
def test_busy_service_is_called_after_its_pause(store, service, device):
    service.statuses = [(429, {"retry-after": "120"}), (500, {"retry-after": "Wed, 01 Jan 2031"})]
    ask(store)
    for waited, number in ((0, 1), (60, 1), (61, 2), (59, 2), (2, 3), (9999, 3)):
        store._clock.advance(waited)
        send(store)
        assert len(service.got) == number
    assert store.outbox.problems(9) == []
    bodies = {bytes(body) for *_, body in service.got}
    assert len(bodies) == 3, "each attempt has keys of its own"


@pytest.mark.proves("PUSH-1", "PUSH-5")
@pytest.mark.parametrize("status", [301, 307])
def test_redirect_of_a_push_service_is_not_followed(store, service, device, status):
    other = PushService()
    service.statuses = [(status, {"location": f"{other.url}/x"})]
    ask(store)
    send(store)
    assert other.got == [] and f"answered {status}" in store.outbox.problems(1)[0].problem
    assert service.url not in store.outbox.problems(1)[0].problem
    other.close()


@pytest.mark.proves("PUSH-1")
def test_service_that_was_disallowed_is_not_called(store, service, device, monkeypatch):
    monkeypatch.setenv("GATE_PUSH_SERVICES", "")
    ask(store)
    send(store)
    assert service.got == [] and "push_services" in store.outbox.problems(1)[0].problem


@pytest.mark.proves("PUSH-1")
def test_setting_of_services_takes_only_hosts(store, monkeypatch):
    monkeypatch.setenv("GATE_PUSH_SERVICES", "https://push.example.org/x")
    with pytest.raises(Exception, match="GATE_PUSH_SERVICES"):
        read_post(store, "ada")


@pytest.mark.proves("PUSH-4")
def test_running_sender_sees_new_and_removed_devices(store, service):
    source = ChangedPost(store, "", "ada")
    assert source.renew() is None
    made = add_device(store, endpoint=f"{service.url}/x", services=(service.host,))
    (route,) = source.renew().routes
    assert route.name == f"device {made.id} of ada" and service.url not in repr(route)
    assert source.renew() is None
    store.devices.remove(made.id, [])
    assert source.renew().routes == ()


@pytest.mark.proves("PUSH-5")
def test_test_message_reaches_one_device(store, service, keys, device):
    assert send_test_message(store, device, "http://127.0.0.1:1") == ""
    assert keys.read(service.got[0][2])["type"] == "test"
    service.statuses = [(403, {})]
    assert "answered 403" in send_test_message(store, device, "")
    service.close()
    with suppress(OSError):
        assert "cannot be reached" in send_test_message(store, device, "")


@pytest.mark.proves("PUSH-4")
def test_asker_starts_a_sender_only_for_devices(tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr("gatebell.adapters.system.notifier_process.Starter", lambda _: seen.append)
    store = open_store(str(tmp_path / "gate.db"))
    ask(store)
    add_device(store)
    ask(store, "And now?")
    assert seen == [False, True]
    store.close()


@pytest.mark.proves("PUSH-3")
def test_browser_of_tests_reads_the_standards_example():
    """The example of RFC 8291, section 5: the tests decrypt as real browsers do."""
    number = int.from_bytes(decode("q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94"), "big")
    private = ec.derive_private_key(number, ec.SECP256R1())
    browser = BrowserKeys(private, decode("BTBZMqHH6r4Tts7J_aSIgg"))
    body = (
        "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmY"
        "WAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexS"
        "gSxsj_Qulcy4a-fN"
    )
    assert browser.decrypt(decode(body)) == b"When I grow up, I want to be a watermelon"


@pytest.mark.proves("PUSH-4")
def test_devices_are_listed_and_revoked_by_command(tmp_path, monkeypatch, capsys):
    path = str(tmp_path / "gate.db")
    monkeypatch.setenv("GATE_STORE", path)
    store = open_throwaway_store(path)
    device = add_device(store)
    assert main.main(["person", "list"]) == 0
    out = capsys.readouterr().out
    assert f"{device.id}         device of ada: Firefox on Android" in out
    assert "googleapis" not in out
    assert main.main(["person", "list", "--json"]) == 0
    (listed,) = json.loads(capsys.readouterr().out)["devices"]
    assert listed.keys() == {"id", "person", "label", "added_at"}
    assert main.main(["person", "revoke", device.id]) == 0
    assert store.devices.all() == []
    assert main.main(["person", "revoke", device.id]) == 5
    store.close()


@pytest.mark.proves("PUSH-2")
def test_key_of_a_postgresql_store_lasts(tmp_path):
    path, clock = tmp_path / "keys.json", FakeClock()
    keys = SecretKeys(str(path))
    first = keys.get_lasting("push", clock.now())
    keys.hide("a-2", "hunter2", clock.now())
    clock.advance(48 * 3600)
    keys.destroy_old(clock.now())
    assert SecretKeys(str(path)).get_lasting("push", clock.now()) == first
    assert list(json.loads(path.read_text())) == ["push"]
    with pytest.raises(StoreError, match="GATE_KEY_FILE"):
        SecretKeys("")
