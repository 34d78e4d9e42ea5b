"""Nothing is confirmed that a power cut could take back, and nothing is synced twice."""

from __future__ import annotations

from contextlib import closing

import pytest
from nursery import Nursery
from operation import OPERATIONS
from syncs import count_syncs
from telling import tell
from tracing import Tracer, needs_strace, since_start, until_acknowledged

VERBS = (
    "ask", "answer", "refuse", "take", "take_secret", "cancel", "expire", "ask_back", "reply", "add_person",
)  # fmt: skip
ROUNDS = 40

pytestmark = [needs_strace, pytest.mark.proves("CRASH-2")]


@pytest.fixture(scope="module")
def nursery():
    with Nursery() as nursery:
        yield nursery


@pytest.mark.parametrize("verb", VERBS)
def test_log_is_synced_before_a_verb_is_confirmed(verb, nursery, tmp_path, capsys):
    path = str(tmp_path / "store" / "gate.db")
    ask_id = OPERATIONS[verb].prepare(path)
    with closing(nursery.start("perform", operation=verb, path=path, ask_id=ask_id)) as child:
        tracer = Tracer(child.pid, f"{path}-trace")
        child.go()
        assert child.line().startswith("ACK")
        calls = until_acknowledged(since_start(tracer.calls()))
    syncs, early = count_syncs(calls)
    tell(capsys, f"{verb}: syncs {dict(syncs)}")
    assert early == []
    # A new person and their first token are two transactions.
    assert syncs["commit"] == (2 if verb == "add_person" else 1)


def test_process_that_stays_open_syncs_once_for_each_verb(nursery, tmp_path, capsys):
    path = str(tmp_path / "store" / "gate.db")
    with closing(nursery.start("stay_open", path=path, rounds=ROUNDS)) as child:
        tracer = Tracer(child.pid, f"{path}-trace")
        child.go()
        acknowledged = child.last_lines()
        syncs, early = count_syncs(since_start(tracer.calls()))
    tell(capsys, f"{len(acknowledged)} verbs in one process: syncs {dict(syncs)}")
    assert early == []
    assert len(acknowledged) == syncs["commit"] == 3 * ROUNDS
