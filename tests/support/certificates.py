"""Certificates for tests: an authority, and a certificate by it."""

from __future__ import annotations

import subprocess
from typing import NamedTuple

_CURVE = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2")


class Certificates(NamedTuple):
    """The paths of the files."""

    ca: str
    cert: str
    key: str


def make_certificates(folder, subject) -> Certificates:
    """Make them for a subject, such as `DNS:localhost` or `IP:10.0.0.1`."""
    authority, wanted = str(folder / "ca.key"), str(folder / "want.pem")
    made = Certificates(*(str(folder / name) for name in ("ca.pem", "cert.pem", "key.pem")))
    new = ("openssl", "req", *_CURVE)
    signs = ("-x509", "-addext", "keyUsage=critical,keyCertSign", "-subj", "/CN=an authority")
    _run(*new, *signs, "-keyout", authority, "-out", made.ca)
    named = ("-subj", "/CN=gate", "-addext", f"subjectAltName={subject}")
    _run(*new, *named, "-keyout", made.key, "-out", wanted)
    _run("openssl", "x509", "-req", "-in", wanted, "-CA", made.ca, "-CAkey", authority,
         "-CAcreateserial", "-days", "2", "-copy_extensions", "copy", "-out", made.cert)  # fmt: skip
    return made


def _run(*words):
    subprocess.run(words, check=True, capture_output=True)
