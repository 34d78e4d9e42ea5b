"""An agent in a slow tool while its worker is killed, or while another branch continues."""

from __future__ import annotations

from contextlib import closing

import pytest
from nursery import Nursery
from operation import ADA
from plays import Stage, get_run, until
from slow_tools import is_used_once

from gatebell.app import wiring
from gatebell.domain.asks.answers import Given
from gatebell.services.asks import answer_ask


@pytest.mark.proves("RUN-503", "LAW-5")
@pytest.mark.parametrize("tied", [True, False], ids=["dies with its worker", "outlives its worker"])
def test_agent_in_a_slow_tool_ends_before_another_begins(tied, tmp_path):
    is_used_once(
        Stage(tmp_path, str(tmp_path / "store" / "gate.db"), "slow", "slow_agent.sh"), tied=tied
    )


@pytest.mark.proves("RUN-505")
def test_answered_branch_continues_while_another_waits_for_its_agent(tmp_path):
    stage = Stage(tmp_path, str(tmp_path / "store" / "gate.db"), "slow", "slow_agent.sh")
    with Nursery("flow_jobs.py") as nursery, closing(wiring.open_store(stage.path)) as store:
        run_id = stage.start(store, "beside")
        with stage.hold_agents():
            nursery.start("work", path=stage.path).go()
            until(lambda: stage.starts() and store.asks.pending_of_run(run_id))
            (ask,) = store.asks.pending_of_run(run_id)
            answer_ask.answer(store, ask.id, ADA, Given("left"))
            until(stage.effects)
            assert [effect.name for effect in stage.effects()] == ["measure"]
        until(lambda: get_run(store, run_id).has_ended)
        assert get_run(store, run_id).result == ["the tool is done", ["left", "measure"]]
