"""Browsers that get notifications: their keys, and a push service of the test."""

from __future__ import annotations

import hashlib
import hmac
import json
import threading
from base64 import urlsafe_b64decode, urlsafe_b64encode
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from cryptography.hazmat.primitives.asymmetric import ec, utils
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from gatebell.domain.people.logins import SCOPES, Login
from gatebell.services.notifications import push_devices
from gatebell.services.notifications.push_devices import Subscription
from tests.support.people import a_person

HERE = ("fcm.googleapis.com",)
AUTH = b"sixteen bytes ok"


def encode(data):
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def decode(text):
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


class BrowserKeys:
    """The keys of one browser; it decrypts as RFC 8291 says, by its own code."""

    def __init__(self, private=None, auth=AUTH):
        self._key = private or ec.generate_private_key(ec.SECP256R1())
        self._auth = auth
        self.point = self._key.public_key().public_bytes(
            Encoding.X962, PublicFormat.UncompressedPoint
        )

    def subscription(self, endpoint):
        return Subscription(endpoint, encode(self.point), encode(self._auth))

    def read(self, body):
        return json.loads(self.decrypt(body))

    def decrypt(self, body):
        salt, size, length = body[:16], int.from_bytes(body[16:20], "big"), body[20]
        point, sealed = body[21 : 21 + length], body[21 + length :]
        assert size == 4096 and len(body) <= 4096
        theirs = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)
        shared = self._key.exchange(ec.ECDH(), theirs)
        # HKDF in two steps, for results of at most 32 bytes.
        first = _mac(_mac(self._auth, shared), b"WebPush: info\0" + self.point + point + b"\x01")
        second = _mac(salt, first)
        key = _mac(second, b"Content-Encoding: aes128gcm\0\x01")[:16]
        nonce = _mac(second, b"Content-Encoding: nonce\0\x01")[:12]
        plain = AESGCM(key).decrypt(nonce, sealed, None).rstrip(b"\0")
        assert plain[-1:] == b"\x02"
        return plain[:-1]


def _mac(key, text):
    return hmac.new(key, text, hashlib.sha256).digest()


def read_signature(header):
    """Check the signature of a sender (RFC 8292); return its claims and its public key."""
    scheme, _, rest = header.partition(" ")
    parts = dict(part.strip().split("=", 1) for part in rest.split(","))
    assert scheme == "vapid"
    head, claims, mark = parts["t"].split(".")
    point, raw = decode(parts["k"]), decode(mark)
    key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)
    numbers = [int.from_bytes(half, "big") for half in (raw[:32], raw[32:])]
    key.verify(
        utils.encode_dss_signature(*numbers), f"{head}.{claims}".encode(), ec.ECDSA(SHA256())
    )
    assert json.loads(decode(head)) == {"typ": "JWT", "alg": "ES256"}
    return json.loads(decode(claims)), parts["k"]


class PushService:
    """Takes messages on a port of this machine, and answers with the next of its statuses."""

    def __init__(self, *statuses):
        service = self
        self.statuses, self.got = list(statuses), []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                service.got.append((self.path, dict(self.headers.items()), body))
                status, more = service.statuses.pop(0) if service.statuses else (201, {})
                self.send_response(status)
                for name, value in (more | {"content-length": "0"}).items():
                    self.send_header(name, value)
                self.end_headers()

            def log_message(self, *_):
                """Print nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.host = f"127.0.0.1:{self._server.server_port}"
        self.url = f"http://{self.host}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()


def add_device(
    store, name="ada", endpoint="https://fcm.googleapis.com/x", keys=None, seal="s", services=HERE,
    token_id="",
):  # fmt: skip
    """Sign a browser up as its page does."""
    login = Login(name, verified=True, scopes=SCOPES, expires_at=store.now(), seal=seal)
    login = login._replace(token_id=token_id)
    given = (keys or BrowserKeys()).subscription(endpoint)
    caller = a_person(name, verified=True)
    return push_devices.add(store, caller, login, given, "Firefox Android", services)
