"""For your own tests: a store in memory, a clock, a person and agents with scripts, runs of flows.

store = MemoryStore()
ScriptedPerson(store).will_answer("Deploy", "yes")
assert Gate(store).approve("Deploy to production?")
"""

from gatebell.testing.agents import ScriptedAgent
from gatebell.testing.approve_all import auto_approve
from gatebell.testing.clock import FakeClock
from gatebell.testing.flow_runs import FlowRun, run_flow
from gatebell.testing.person import ScriptedPerson
from gatebell.testing.store import MemoryStore

__all__ = [
    "FakeClock",
    "FlowRun",
    "MemoryStore",
    "ScriptedAgent",
    "ScriptedPerson",
    "auto_approve",
    "run_flow",
]
