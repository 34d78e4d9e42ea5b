"""The cryptography of web push: encrypt a message to a browser, and sign as its sender.

RFC 8291 (encryption), RFC 8188 (its format) and RFC 8292 (the sender's signature, VAPID).
"""

from __future__ import annotations

import json
import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from functools import cache

from cryptography.hazmat.primitives.asymmetric import ec, utils
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

_RECORD_BYTES = 4096
_LAST_RECORD = b"\x02"
# The number of points of the curve P-256: a private key is from 1 to one less.
_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551


def encrypt(payload: bytes, p256dh: str, auth: str) -> bytes:
    """Return the payload as only the browser with these keys can read it.

    Raises:
        ValueError: The keys are not those of a browser.
    """
    theirs = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), _decode(p256dh))
    mine = ec.generate_private_key(ec.SECP256R1())
    point, salt = _encode_point(mine), os.urandom(16)
    info = b"WebPush: info\0" + _decode(p256dh) + point
    shared = _derive(mine.exchange(ec.ECDH(), theirs), _decode(auth), info, 32)
    key = _derive(shared, salt, b"Content-Encoding: aes128gcm\0", 16)
    nonce = _derive(shared, salt, b"Content-Encoding: nonce\0", 12)
    head = salt + _RECORD_BYTES.to_bytes(4, "big") + bytes([len(point)]) + point
    return head + AESGCM(key).encrypt(nonce, payload + _LAST_RECORD, None)


@cache
def get_public_key(secret: bytes) -> str:
    """Return the public key of a store, which a browser needs to sign up."""
    return _encode(_encode_point(_get_signing_key(secret)))


def sign(secret: bytes, audience: str, expires_at: int, contact: str) -> str:
    """Return the header `authorization` for a push service.

    Args:
        secret: the secret of the store's web push
        audience: the origin of the push service
        expires_at: until when the signature is valid, in seconds since 1970
        contact: an address of the sender, for the people who run the service
    """
    claims = {"aud": audience, "exp": expires_at, "sub": contact}
    parts = ({"typ": "JWT", "alg": "ES256"}, claims)
    signed = ".".join(_encode(json.dumps(part).encode()) for part in parts)
    key = _get_signing_key(secret)
    numbers = utils.decode_dss_signature(key.sign(signed.encode(), ec.ECDSA(SHA256())))
    mark = b"".join(number.to_bytes(32, "big") for number in numbers)
    return f"vapid t={signed}.{_encode(mark)},k={get_public_key(secret)}"


def _get_signing_key(secret: bytes) -> ec.EllipticCurvePrivateKey:
    # More bytes than the key has, so that all keys are equally likely.
    number = int.from_bytes(_derive(secret, None, b"gatebell vapid", 48), "big")
    return ec.derive_private_key(number % (_ORDER - 1) + 1, ec.SECP256R1())


def _derive(secret: bytes, salt: bytes | None, info: bytes, length: int) -> bytes:
    return HKDF(SHA256(), length, salt, info).derive(secret)


def _encode_point(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def _encode(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def _decode(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))
