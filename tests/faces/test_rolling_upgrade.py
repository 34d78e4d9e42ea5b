"""The upgrade of docs/deployment.md, step by step, while agents, a tool call and a run wait."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from contextlib import ExitStack, closing

import pytest
from tests.support.compose_team import team
from tests.support.newer_program import NAME, make_newer
from tests.support.run_project import RunProject
from tests.support.waiting import eventually

from gatebell.domain.audit.events import EventKind
from gatebell.services.members import list_living

__all__ = ["team"]

SERVERS = ("server-a", "server-b")


class Agents:
    """Processes that wait through the proxy: for an answer, or for the decision on a call."""

    def __init__(self, team, store, stack):
        self._team, self._store, self._stack = team, store, stack
        self._shell, self._ada = team.open_shell("agents"), team.open_shell("ada")
        self._waiting = {}

    def start(self, number, server):
        """Let one ask and one hook wait at this server."""
        self._team.proxy.ports = [self._team.stage.ports[server]]
        for name in (f"ask-{number}", f"hook-{number + 1}"):
            words = ("ask", name) if name.startswith("ask") else ("hook", "claude", "--limit=600")
            process = self._shell.start(*words, stdin=subprocess.PIPE)
            self._stack.callback(_end, process)
            process.stdin.write("" if words[0] == "ask" else _describe_call(name))
            process.stdin.close()
            process.stdin = None
            ask = eventually(lambda name=name: self._find(name))
            self._waiting[name] = (process, ask.id)
        eventually(lambda: self._team.count_waits(server) == 2)
        self._team.proxy.ports = list(self._team.stage.ports.values())

    def _find(self, name):
        return next((ask for ask in self._store.asks.pending(99) if name in str(ask)), None)

    def answer(self, name, server):
        """Answer one through this server alone, and check what its agent gets."""
        process, ask_id = self._waiting.pop(name)
        self.give(ask_id, f"for {name}" if name.startswith("ask") else "yes", server)
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        if name.startswith("ask"):
            assert out == f"for {name}\n"
        else:
            assert json.loads(out)["hookSpecificOutput"]["decision"]["behavior"] == "allow"
        return ask_id

    def give(self, ask_id, value, server):
        ports = self._team.proxy.ports
        self._team.proxy.ports = [self._team.stage.ports[server]]
        ran = self._ada.gate("answer", ask_id, value)
        self._team.proxy.ports = ports
        assert ran.code == 0, ran


def _describe_call(name):
    event = {"session_id": name, "hook_event_name": "PermissionRequest", "cwd": "/p"}
    return json.dumps(event | {"tool_name": "Bash", "tool_input": {"command": f"deploy {name}"}})


def _end(process):
    process.kill()
    process.communicate()


def replace_server(team, name):
    """End a server and start it from the image of now, while the other one serves."""
    assert team.stop_server(name) == 0
    team.start_server(name)


@pytest.mark.proves("DEPLOY-3", "DEPLOY-4", "UPGRADE-3", "SRV-3")
def test_upgrade_loses_and_doubles_nothing(team, tmp_path):
    with closing(team.start_everything()) as store, ExitStack() as stack:
        stage, answered = team.stage, []
        flows = RunProject(team.make_house(store))
        stage.start("worker", cwd=team.project)
        stage.run("worker", "gate", "run", "gated", "Ship it", "--detach", cwd=team.project)
        which = flows.ask(1)
        agents = Agents(team, store, stack)
        agents.start(1, "server-a")
        agents.start(3, "server-b")
        assert {one.kind for one in list_living(store)} == {"server", "worker"}

        def all_are_ready():
            return [team.look_ready(one) for one in SERVERS] == [(200, '{"status":"ready"}')] * 2

        # 1 and 2: the new tables, for programs of both versions.
        stage.image = make_newer(tmp_path)
        assert stage.run("migrate") == f"ran {NAME}\n"
        assert all_are_ready()
        answered.append(agents.answer("ask-1", "server-b"))
        # The old worker goes on, to the next wait of its run.
        agents.give(which.id, "left", "server-a")
        deploy = eventually(lambda: (ask := flows.ask(1)).id != which.id and ask)

        # 3: one server after the other.
        replace_server(team, "server-a")
        assert all_are_ready()
        answered.append(agents.answer("hook-2", "server-b"))
        answered.append(agents.answer("ask-3", "server-a"))
        replace_server(team, "server-b")
        assert all_are_ready()
        answered.append(agents.answer("hook-4", "server-b"))

        # 4: the worker; the answer comes while there is none.
        assert stage.stop("worker") == 0
        agents.give(deploy.id, "yes", "server-a")
        stage.start("worker", cwd=team.project)
        assert flows.is_in(1, "completed", "stuck", "failed").result == "deployed"

        asks = {*answered, which.id, deploy.id}
        eventually(lambda: all(store.asks.get(one).delivered_at for one in asks))
        kinds = Counter((one.event.kind, one.event.subject) for one in store.audit.entries())
        for kind in (EventKind.ASK_OPENED, EventKind.ASK_ANSWERED):
            assert {one: n for (what, one), n in kinds.items() if what == kind} == dict.fromkeys(
                asks, 1
            )
        assert kinds[EventKind.RUN_COMPLETED, "run:1"] == 1
        assert [turn.role for turn in store.runs.turns(1)].count("quick") == 1
        assert stage.run("migrate", "gate", "audit", "verify").endswith("nothing was changed\n")
