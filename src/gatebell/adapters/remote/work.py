"""Runs and tasks on a server: the verbs of `ports/backend.py` (`Working`) as requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gatebell.adapters.remote.wire_format import quote
from gatebell.errors import AgentRefusedError, ServerError

if TYPE_CHECKING:
    from gatebell.adapters.remote.http import Http
    from gatebell.domain.people.principals import Caller
    from gatebell.domain.runs.runs import Run
    from gatebell.domain.runs.seen_runs import SeenRun
    from gatebell.domain.tasks.tasks import Task

_STOP_SECONDS = 60.0
"""The server ends the agents of a run before it responds."""


def must_be_a_person(caller: Caller) -> None:
    """Refuse an agent that found its person's token, as on a store of this machine."""
    if caller.agent and not caller.verified:
        raise AgentRefusedError(
            f"only a person answers, and an agent seems to be at work here "
            f"({caller.agent.because}). Answer in your own terminal, or name yourself: --as NAME"
        )


class RemoteWork:
    """The verbs for runs and tasks on one server."""

    name: str
    _http: Http

    def runs(self, limit: int, *, active: bool = False) -> list[SeenRun]:
        which = "&active=true" if active else ""
        found = self._http.send("GET", f"/api/runs?limit={min(limit, 1000)}{which}")
        return [self._read_run(one) for one in found]

    def run(self, number: int) -> SeenRun:
        return self._read_run(self._http.send("GET", f"/api/runs/{number}"))

    def stop_run(self, number: int, caller: Caller, reason: str) -> Run:
        must_be_a_person(caller)
        path, body = f"/api/runs/{number}/stop", {"reason": reason}
        found = self._http.send(
            "POST", path, body, seconds=_STOP_SECONDS, via=caller.via, again=False
        )
        return self._read_run(found).run

    def _read_run(self, document: dict[str, Any]) -> SeenRun:
        # Imported here: commands that ask and answer do not need it.
        from gatebell.domain.runs.seen_runs import read_seen_run

        try:
            return read_seen_run(document)
        except (KeyError, TypeError, ValueError) as error:
            raise ServerError(
                f"the server {self.name} has another version: a run lacks {error}"
            ) from None

    def task(self, named: str) -> Task:
        return self._read_task(self._http.send("GET", f"/api/tasks/{quote(named)}"))

    def claim_task(self, named: str, caller: Caller) -> Task:
        return self._change_task(named, "claim", caller)

    def release_task(self, named: str, caller: Caller) -> Task:
        return self._change_task(named, "release", caller)

    def close_task(self, named: str, caller: Caller, reason: str) -> Task:
        return self._change_task(named, "close", caller, {"reason": reason})

    def defer_task(self, named: str, caller: Caller, reason: str) -> Task:
        return self._change_task(named, "defer", caller, {"reason": reason})

    def reopen_task(self, named: str, caller: Caller, *, fresh: bool) -> Task:
        return self._change_task(named, "reopen", caller, {"fresh": fresh})

    def _change_task(
        self, named: str, verb: str, caller: Caller, body: dict[str, Any] | None = None
    ) -> Task:
        must_be_a_person(caller)
        path = f"/api/tasks/{quote(named)}/{verb}"
        found = self._http.send(
            "POST", path, body, seconds=_STOP_SECONDS, via=caller.via, again=False
        )
        return self._read_task(found)

    def _read_task(self, document: dict[str, Any]) -> Task:
        from gatebell.domain.tasks.task_reader import read_task

        try:
            return read_task(document)
        except (KeyError, TypeError, ValueError) as error:
            raise ServerError(
                f"the server {self.name} has another version: a task lacks {error}"
            ) from None
