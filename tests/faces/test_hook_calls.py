"""`gate hook`: which call a yes is for, with the real command."""

from __future__ import annotations

import pytest
from tests.support.hook_session import Session, decision, the_ask, until_it_waits, wait_for_end


@pytest.fixture
def session(world):
    return Session(world)


@pytest.mark.proves("HOOK-10", "LAW-4")
def test_one_yes_runs_one_of_two_like_calls(world, session):
    """The host starts the second hook before it has written the second call into its log."""
    session.calls("git push", "t1")
    asked = [session.start(session.event("PermissionRequest")) for _ in range(2)]
    first = the_ask(world)
    for process in asked:
        until_it_waits(process.pid)
    world.ada.gate("answer", first.id, "yes")
    second = the_ask(world)
    assert second.id != first.id
    world.ada.gate("answer", second.id, "no")
    said = sorted(decision(wait_for_end(process))["behavior"] for process in asked)
    assert said == ["allow", "deny"]
