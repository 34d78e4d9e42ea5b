"""Processes of agents: their orders, their events, and whether they live."""

from __future__ import annotations

from uuid import uuid4

from gatebell.adapters.system import processes
from gatebell.domain.runs.roles import Role
from gatebell.ports.agents import Events, Order, Ruling
from tests.support.waiting import eventually

SLEEP = "sleep 300"
# It differs from that of any other test run on this machine.
TURN = f"t-{uuid4()}"


def pid_in(path):
    """Wait for a process number in a file, and return it."""
    return int(eventually(lambda: path.exists() and path.read_text(encoding="utf-8").strip()))


def there(pid):
    found = processes.identify(pid)
    return bool(found and processes.lives(found))


def order(tmp_path, *command, turn=TURN, **more):
    role = Role("coder", "", cli="command", command=command, **more)
    environ = {"GATE_SIGNAL_FILE": str(tmp_path / "signal.json")}
    here = str(tmp_path)
    return Order(turn, role, "s-1", True, "", "Please.\n", here, environ, project=here)


class Watched:
    """Recorded events; each may be replaced."""

    def __init__(self):
        self.started, self.said_lines = [], []

    def events(self, **other):
        kept = Events(
            self.started.append, lambda _: None, lambda *_: Ruling(True), self.said_lines.append
        )
        return kept._replace(**other)
