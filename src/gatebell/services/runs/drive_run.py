"""Drive a run: claim it, replay its records, continue, then park or finish."""

from __future__ import annotations

import contextvars
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from gatebell.domain.audit.events import EventKind
from gatebell.domain.runs import runs, travel
from gatebell.domain.runs.flow_terms import FlowTerms
from gatebell.domain.runs.identities import parse_identity
from gatebell.domain.runs.runs import RunChange
from gatebell.errors import StepFailedError, StoreError, UsageError
from gatebell.services.asks.create_ask import withdrawals
from gatebell.services.runs import claims, travel_run
from gatebell.services.runs.claims import Heartbeat, Interrupted
from gatebell.services.runs.error_lines import describe, format_traceback
from gatebell.services.runs.journal_values import plain
from gatebell.services.runs.parallel_branches import Stuck
from gatebell.services.runs.placement import place
from gatebell.services.runs.run_journal import (
    Branch,
    Closing,
    Drive,
    Halted,
    Overtaken,
    Parked,
    Postponed,
    Unwritable,
    current,
    waiting_asks,
)
from gatebell.services.runs.source_check import FLOW, must_be_seen
from gatebell.services.runs.workspace_setup import ask_after_crashes, settle_in

if TYPE_CHECKING:
    from collections.abc import Container

    from gatebell.domain.runs.runs import Run
    from gatebell.ports.flows import FlowWork
    from gatebell.ports.store import Store
    from gatebell.services.runs.claims import Keeper
    from gatebell.services.runs.dependencies import RunDependencies

_TRY_AGAIN = timedelta(seconds=30)
"""How soon a run is taken again whose folder could not be made."""


class Driver:
    """Drives runs in this process, one on each thread that calls `drive`."""

    def __init__(self, store: Store, needs: RunDependencies) -> None:
        self._store, self._needs = store, needs
        self._heartbeat = Heartbeat(store, self)
        self._drives: dict[int, Drive] = {}
        self._interrupted = Interrupted(store, self._drives)
        self._closing = False

    def drive(self, run: Run, keeper: Keeper | None = None) -> Run:
        """Drive a run until it parks or ends; return it as it is then.

        With a keeper this process keeps it when it parks.
        """
        claimed = self.claim(run, keeper)
        if claimed is None:
            return self._store.runs.get(run.id) or run
        return self.drive_claimed(claimed)

    def claim(self, run: Run, keeper: Keeper | None = None, checkout: str = "") -> Run | None:
        """Claim a run for this process; None if another process has it.

        `checkout`: the folder of its project here, if no worker has made its folder yet.
        """
        try:
            return claims.claim(self._store, run, keeper, checkout)
        except StoreError as problem:
            if keeper is None:
                self._interrupted.note_claim(run, problem)
            raise

    def drive_claimed(self, claimed: Run) -> Run:
        """Drive a run that `claim` returned."""
        try:
            return self._drive_to_end(claimed)
        except StoreError as problem:
            self._interrupted.note(claimed, problem)
            raise

    def put_off_interrupted(self) -> None:
        """Let any process go on with the runs whose drives here have lost the store."""
        self._interrupted.put_off()

    def _drive_to_end(self, claimed: Run) -> Run:
        drive = Drive(self._store, self._needs, claimed, FlowTerms())
        drive.run = travel_run.use_project_here(self._needs, claimed, drive.calls.values())
        self._drives[claimed.id] = drive
        if not claimed.is_kept:
            self._heartbeat.hold(claimed)
        try:
            if self._closing:
                drive.closing.set()
            end_agents(drive)
            contextvars.copy_context().run(self._flow, drive)
        except Overtaken:
            pass
        except Unwritable as unwritable:
            raise unwritable.problem from None
        finally:
            # Threads that the flow's code left behind may not begin anything.
            drive.is_over = True
            self._heartbeat.let_go(claimed)
            del self._drives[claimed.id]
        if drive.run.has_ended and not drive.lost:
            # Nothing changes it any more.
            return drive.run
        return self._store.runs.get(claimed.id) or drive.run

    @property
    def driven(self) -> Container[int]:
        """Return the runs that this process drives at the moment."""
        return self._drives.keys()

    def _flow(self, drive: Drive) -> None:
        branch = Branch(drive)
        current.set(branch)
        try:
            travel_run.arrive(branch)
            ask_after_crashes(branch)
            work = self._load(branch)
            settle_in(branch)
            self._finish(drive, _run_code(branch, work))
        except Parked as parked:
            self._park(drive, parked)
        except Halted as halted:
            change = runs.give_up(drive.run, halted.reason, halted.path, self._store.now())
            self._end(drive, change)
        except Postponed as postponed:
            until = self._store.now() + _TRY_AGAIN
            drive.write(travel.postpone(drive.run, until, postponed.reason))
        except Closing:
            drive.write(runs.release(drive.run))
        except KeyboardInterrupt:
            # Other branches may be working: the results of their agents no longer count.
            drive.closing.set()
            reason = f"interrupted. Continue with: gate resume {drive.run.id}"
            at = " ".join(turn.path for turn in drive.all_turns() if not turn.ended_at)
            self._end(drive, runs.give_up(drive.run, reason, at, self._store.now()))
            end_agents(drive)
            raise
        except (Overtaken, Unwritable, StoreError):
            # An outage of the store is no result: the run is driven again.
            raise
        except BaseException as error:  # a flow may raise anything; then it has ended
            self._break_down(drive, error)

    def _finish(self, drive: Drive, result: Any) -> None:
        now = self._store.now()
        if isinstance(result, Stuck):
            self._end(drive, runs.give_up(drive.run, result.reason, "", now))
        else:
            self._end(drive, runs.complete(drive.run, _read_result(result), now))
            travel_run.drop_sent(drive, travel_run.find_sent(drive))

    def _load(self, branch: Branch) -> FlowWork:
        drive = branch.drive
        loaded = self._needs.flows.load(drive.run)
        drive.terms, source_digest = loaded.terms, loaded.digest
        place(branch, loaded)
        if source_digest != drive.run.source_digest:
            must_be_seen(branch, FLOW, source_digest, "")
            told = runs.event(
                EventKind.RUN_SOURCE_CHANGED, drive.run, runs.DRIVER,
                before=drive.run.source_digest, now=source_digest,
            )  # fmt: skip
            changed = drive.run._replace(source_digest=source_digest)
            drive.write(RunChange(changed, events=(told,)))
        return loaded.work

    def _park(self, drive: Drive, parked: Parked) -> None:
        asks = waiting_asks(drive, parked.waiting)
        if not parked.waiting and parked.wake_at:
            drive.write(runs.sleep(drive.run, parked.wake_at))
        else:
            change = runs.park(drive.run, parked.waiting, asks, parked.wake_at)
            before = travel_run.find_sent(drive)
            drive.write(travel_run.leave(drive, change))
            travel_run.come_back_if_used(drive)
            if before != travel_run.find_sent(drive):
                travel_run.drop_sent(drive, before)

    def _break_down(self, drive: Drive, error: BaseException) -> None:
        failed: list[str] = []
        cause: BaseException | None = error
        while cause:
            if isinstance(cause, StepFailedError):
                failed += cause.path.split()
            cause = cause.__cause__ or cause.__context__
        told = format_traceback(error)
        reason = describe(error, drive.run.project)
        at = " ".join(dict.fromkeys(failed))
        self._end(drive, runs.break_down(drive.run, reason, told, at, self._store.now()))

    def _end(self, drive: Drive, change: RunChange) -> None:
        reason, caller = f"run {drive.run.id} has ended", self._needs.caller
        withdrawn = withdrawals(self._store, drive.run.id, caller, reason)
        drive.write(change._replace(asks=withdrawn))

    def close(self) -> None:
        """End the agents of this process; the runs continue elsewhere, or after a restart."""
        self._closing = True
        for drive in list(self._drives.values()):
            self._end_work(drive)
        self._heartbeat.stop()

    def lose(self, run_id: int) -> None:
        """End the agents of a run that was stopped, or taken, from another host."""
        if drive := self._drives.get(run_id):
            self._end_work(drive)

    def _end_work(self, drive: Drive) -> None:
        drive.closing.set()
        for turn in list(drive.agents.values()):
            if process := drive.turns[turn.id].process:
                self._store.machine.end(parse_identity(process), ("GATE_TURN", turn.id))


def _run_code(branch: Branch, work: FlowWork) -> Any:
    """Return the result of the flow's code; if a call has ended the flow, raise that again."""
    try:
        result = work(branch.drive.run.prompt)
    except KeyboardInterrupt:
        raise
    except BaseException:
        # An error of the flow's clean-up does not hide why the flow was ended.
        branch.come_out()
        raise
    branch.come_out()
    return result


def end_agents(drive: Drive) -> None:
    """End the processes that an earlier driver of this run left behind."""
    for turn in drive.all_turns():
        if turn.process and not turn.ended_at and not turn.by:
            drive.store.machine.end(parse_identity(turn.process), ("GATE_TURN", turn.id))


def _read_result(result: Any) -> Any:
    try:
        return plain(result)
    except (UsageError, TypeError, ValueError, RecursionError) as error:
        raise UsageError(
            "the flow returned what is not JSON (texts, numbers, True, False, None, lists and "
            f"dicts): {error}"
        ) from None
