"""Ready runs that no worker takes: the sentence for each place says what to do."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from gatebell.domain.enums import MemberKind
from gatebell.domain.members import Member
from gatebell.domain.runs.identities import Identity
from gatebell.ports.engines import WaitingPlace
from gatebell.services.runs.waiting_places import LATE_AFTER, list_unserved
from gatebell.testing import MemoryStore


def join(store, kind, host):
    process = str(Identity("b", 7, "1", host))
    store.members.join(Member(kind, process, "", store.now(), store.now()))


@pytest.mark.proves("ENG-15")
@pytest.mark.parametrize(
    ("place", "told", "what_to_do"),
    [
        (WaitingPlace("ci-7", "", "/p", 2), "2 runs of /p", "gate worker --slots N"),
        (WaitingPlace("ci-8", "", "/p", 1), "1 run of /p", "start gate worker there"),
        (WaitingPlace("", "ci", "/p", 1), "1 run of /p", "gate worker --pool ci --project DIR"),
        (WaitingPlace("", "", "/p", 1), "1 run of /p", "gate stop and gate resume"),
    ],
)
def test_late_runs_say_what_to_do(place, told, what_to_do):
    store, asked = MemoryStore(), []
    join(store, MemberKind.WORKER, "ci-7")
    join(store, MemberKind.SERVER, "ci-8")
    dispatches = SimpleNamespace(list_waiting=lambda at: asked.append(at) or [place])
    (sentence,) = list_unserved(store, dispatches)
    assert sentence.startswith(f"{told} ready for over a minute: ") and what_to_do in sentence
    assert asked == [store.now() - LATE_AFTER]
