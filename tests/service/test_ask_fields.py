"""A new field of `Request` fails here until each face that asks carries it or lists it as left out."""

from __future__ import annotations

import pytest

from gatebell.cli.asks import file_fallback
from gatebell.domain.asks import ask_options
from gatebell.services.asks.create_ask import Request
from gatebell.web.api import schemas

# `choose`, `ask` and `approve` have arguments for these.
ARGUMENTS = {"prompt", "kind", "options", "multiple", "schema"}
# Only a host that holds a call opens asks with these.
OF_HOSTS = {"call", "deferred"}
CARRIED = {
    "programs and flows": {
        # A flow always waits; a program says it in `Gate.open`.
        *ARGUMENTS, "session", "assume", *OF_HOSTS, *ask_options.read_options("ask", dict.fromkeys(ask_options.KNOWN, 1) | {"escalations": ()}),
    },
    "HTTP": {*schemas.REQUEST["properties"], *OF_HOSTS},
    "files": {
        *file_fallback.NOT_BY_FILES, *OF_HOSTS,
        *("prompt", "kind", "options", "priority", "expires_seconds"),
        # Only information for people: the question is the same without it.
        *("activity", "confidence"),
        # `gate ask` has no option for it, or needs the store for it.
        "hard", "assume",
    },
}  # fmt: skip


@pytest.mark.proves("ASK-34")
@pytest.mark.parametrize("face", CARRIED)
def test_each_face_carries_every_field_of_asks(face):
    assert set(Request._fields) - CARRIED[face] == set()
