"""The calls of a flow that need no agent: steps, gates, questions, files, time, random values."""

from __future__ import annotations

import os
import stat
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from gatebell.domain.asks import asks
from gatebell.domain.asks.asks import Origin, settled_sentence
from gatebell.domain.asks.forms import has_hidden
from gatebell.domain.asks.outcomes import Visits, outcome as outcome_of
from gatebell.domain.asks.owners import owner_of
from gatebell.domain.digests import canonical
from gatebell.domain.enums import AskKind, AskStatus, CallName, CallState, Priority
from gatebell.domain.people.principals import is_person
from gatebell.domain.runs import journals, runs
from gatebell.domain.runs.flow_terms import FlowTimeout
from gatebell.domain.runs.identities import parse_identity
from gatebell.errors import GateError, StepFailedError, StoreError, UsageError
from gatebell.services.asks import apply_deadlines, create_ask, wait_for_ask
from gatebell.services.asks.create_ask import Request
from gatebell.services.permissions import permit_call
from gatebell.services.runs.error_lines import find_line
from gatebell.services.runs.run_journal import (
    Overtaken,
    Parked,
    folder_of,
    place_of,
    result_of,
    said_before,
    to_json_value,
)
from gatebell.services.sessions import visits
from gatebell.services.sessions.session_check import check_terms

if TYPE_CHECKING:
    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.asks.outcomes import Outcome
    from gatebell.domain.runs.runs import FlowCall
    from gatebell.ports.flows import StepWork
    from gatebell.services.runs.run_journal import Branch

_MAX_READ_CHARACTERS = 4_000_000
# Leaving the session wakes the run. This time is for a harness that was killed.
_LOOK_AGAIN = timedelta(seconds=5)
_HAPPENED = "It happened"
_RUN_IT = "It did not happen: run it"
_STOP = "Stop the run"


def step(
    branch: Branch, work: StepWork, label: str, arguments: Any, *, dangerous: bool = False
) -> Any:
    """Run a function and record its result.

    An interrupted plain step runs again; a dangerous one becomes a question (law 5).
    """
    call = branch.begin(CallName.STEP, label, to_json_value([arguments, dangerous]))
    if call.over:
        return result_of(call)
    if dangerous:
        if call.owner:
            ended, call = _settle_doubt(branch, call, arguments)
            if ended:
                return call.value
        call = branch.drive.put(
            call._replace(
                state=CallState.OPEN,
                dangerous=True,
                owner=str(branch.drive.store.machine.me()),
                ask_id="",
            )
        )
    branch.step = call
    try:
        done = work()
    except StoreError:
        # That says nothing about the step: it was interrupted, as by a crash.
        raise
    except Exception as error:
        raise _build_failure(branch, call._replace(owner=""), error, str(error)) from error
    finally:
        branch.step = None
    try:
        value = to_json_value(done)
    except (TypeError, ValueError, RecursionError) as error:
        message = f"it ran, but its result is not JSON: {error}"
        raise _build_failure(branch, call, error, message) from error
    return branch.drive.record(call, value)


def _build_failure(
    branch: Branch, call: FlowCall, error: Exception, message: str
) -> StepFailedError:
    kind, where = type(error).__name__, find_line(error, branch.drive.run.project)
    branch.drive.fail(call, kind, message, where=where)
    return StepFailedError(kind, message, call.path, where)


def _settle_doubt(branch: Branch, call: FlowCall, arguments: Any) -> tuple[bool, FlowCall]:
    """Ask a person whether an interrupted dangerous step happened.

    Returns whether it is over, and its record; otherwise it must run.
    """
    begun_by = parse_identity(call.owner)
    lives = branch.drive.store.machine.lives(begun_by)
    ask = answer_to(
        branch,
        call,
        Request(
            f"Did {journals.describe_call(CallName.STEP, call.label)} happen? It was begun and interrupted.",
            AskKind.FORM,
            activity=f"Its arguments: {canonical(to_json_value(arguments))}\n"
            + (f"The process that began it ({begun_by}) may still be at work." if lives else ""),
            schema={
                "type": "object",
                "properties": {
                    "what": {"enum": [_HAPPENED, _RUN_IT, _STOP], "title": "What happened"},
                    "result": {
                        "type": "string",
                        "title": "If it happened: its result, as JSON or plain text",
                    },
                },
                "required": ["what"],
                "additionalProperties": False,
            },
            priority=Priority.HIGH,
        ),
    )
    call = branch.drive.calls[call.path]
    if not is_person(ask.settled_by):
        # Only a person can know this, so no agent may answer.
        return _settle_doubt(branch, ask_again(branch, call), arguments)
    what = ask.value["what"]
    if what == _STOP:
        ask_again(branch, call)
        branch.halt(
            f"{journals.describe_call(CallName.STEP, call.label)} was in doubt: {ask.note or _STOP}",
            call,
        )
    if what == _HAPPENED:
        branch.drive.record(call, _read_typed(ask.value.get("result")))
        return True, branch.drive.calls[call.path]
    return False, call._replace(asked=call.asked + 1)


def ask_again(branch: Branch, call: FlowCall) -> FlowCall:
    """Return the call ready to ask again: its last answer is no longer used."""
    return branch.drive.put(runs.close_ask(call))


def decided_by_person(branch: Branch, call: FlowCall, request: Request) -> Any:
    """Return the answer of a person: if an agent answered, ask again."""
    while True:
        ask = answer_to(branch, call, request)
        call = ask_again(branch, branch.drive.calls[call.path])
        if ask.status != AskStatus.ANSWERED:
            branch.halt(settled_sentence(ask), call)
        if is_person(ask.settled_by):
            return ask.value


def _read_typed(text: str | None) -> Any:
    import json

    try:
        return json.loads(text or "null")
    except ValueError:
        return text


def pause(branch: Branch, message: str, more: dict[str, Any]) -> Outcome:
    """Ask for an approval: true only if a person approves."""
    call = branch.begin(CallName.PAUSE, message, to_json_value([message, more]))
    request = Request(message, AskKind.APPROVAL, **more)
    if call.state == CallState.OPEN and not request.activity:
        request = request._replace(activity=_look_at(branch, call))
    return _ask(branch, call, request)


def _look_at(branch: Branch, call: FlowCall) -> str:
    """Return the context for a person at a gate: folder, conversation and changes."""
    run = branch.drive.run
    said = [f"{one.who}:\n{one.what}" for one in said_before(branch.drive, call.path, "")]
    try:
        changes = branch.drive.needs.workspace.diff(place_of(run)) if run.branch else ""
    except GateError as error:
        changes = f"cannot be shown: {error}"
    parts = [
        f"Workspace: {run.folder}" + (f" (branch {run.branch})" if run.branch else ""),
        *(["Said so far:", *said] if said else []),
        *([f"Changes since the run began:\n{changes}"] if changes else []),
    ]
    return "\n\n".join(parts)


def ask(branch: Branch, request: Request) -> Outcome:
    """Ask a person a question of any kind."""
    if request.secret or has_hidden(request.schema):
        raise UsageError("a journal cannot keep a secret: ask for it in a step, with gate.ask")
    answer = request.session.answer if request.session else request.kind
    name = CallName.PAUSE if answer == AskKind.APPROVAL else CallName.ASK
    arguments = request._asdict()
    if request.session is None:
        # A journal from before there were sessions still matches.
        del arguments["session"]
    call = branch.begin(name, request.prompt, to_json_value(arguments))
    if request.session and not call.over and not call.ask_id:
        check_terms(request.session, branch.drive.run.folder, branch.drive.needs.hosts)
    return _ask(branch, call, request)


def _ask(branch: Branch, call: FlowCall, request: Request) -> Outcome:
    if call.state == CallState.FAILED:
        result_of(call)
    drive, owner = branch.drive, owner_of(call.run, call.path)
    if call.state == CallState.RECORDED:
        settled = create_ask.get(drive.store, call.ask_id)
    else:
        settled = answer_to(branch, call, request)
        call = drive.calls[call.path]
        kept: dict[str, Any] = {"ask": settled.id, "status": settled.status}
        if settled.question.kind == AskKind.SESSION:
            found = visits.summary(drive.store, settled, drive.needs.hosts)
            kept["visits"] = found._asdict()
        # In one transaction: each costs as much as everything else here.
        drive.record(call, kept, asks.take(settled, owner, drive.store.now()))
        call = drive.calls[call.path]
        settled = create_ask.get(drive.store, settled.id)
    # Again: the ask may have changed at the same moment, or an older version recorded the call.
    wait_for_ask.take(drive.store, settled, owner)
    if "visits" in call.value:
        # A result that the flow saw is never computed again (law 5).
        return outcome_of(settled, settled.value, Visits(**call.value["visits"]))
    return wait_for_ask.outcome(drive.store, settled, settled.value)


def answer_to(branch: Branch, call: FlowCall, request: Request) -> Ask:
    """Return the settled ask of a call; park until there is one."""
    drive = branch.drive
    if call.state not in (CallState.WAITING, CallState.HELD):
        call = open_ask(branch, call, request)
    ask = apply_deadlines.fall_due(drive.store, create_ask.get(drive.store, call.ask_id))
    if ask.question.kind == AskKind.SESSION and not ask.pending:
        _await_leaving(branch, call, ask)
    elif ask.pending or call.state == CallState.HELD:
        branch.park(call)
    return _take_answer(branch, call, ask)


def _await_leaving(branch: Branch, call: FlowCall, ask: Ask) -> None:
    """Park during a visit in the session: transcript and duration are not known yet."""
    drive = branch.drive
    if not visits.is_open(drive.store, ask):
        return
    # Not `waiting`: its ask is settled, so the run would be ready at once.
    call = drive.put(call._replace(state=CallState.HELD))
    branch.raise_always(Parked((call,), drive.store.now() + _LOOK_AGAIN))


def open_ask(branch: Branch, call: FlowCall, request: Request, session: str = "") -> FlowCall:
    """Open the ask of a call; after a crash its key finds the same ask again."""
    drive, run = branch.drive, branch.drive.run
    expires, reminds = drive.terms.find_times(
        request.expires_seconds,
        request.remind_every_seconds,
        has_default=request.default is not None,
    )
    request = request._replace(expires_seconds=expires, remind_every_seconds=reminds)
    origin = Origin(
        project=run.project,
        cwd=run.folder,
        agent=call.label if call.name == CallName.RUN else run.flow,
        session=session,
        started_by=run.started_by,
        owner=owner_of(run.id, call.path),
        task=run.task,
        project_key=run.project_key,
    )
    author = drive.needs.caller._replace(principal=run.started_by)
    while True:
        key = f"{call.key}/{call.asked}"
        opened = create_ask.ask(drive.store, request, origin, author, key).ask
        if opened.status != AskStatus.CANCELLED:
            break
        # It was withdrawn when the run ended, and the run was resumed since then.
        call = call._replace(asked=call.asked + 1)
    try:
        return drive.put(call._replace(state=CallState.WAITING, ask_id=opened.id))
    except Overtaken:
        if (now := drive.store.runs.get(run.id)) and now.has_ended:
            permit_call.retire(drive.store, opened, drive.needs.caller, f"run {run.id} has ended")
        raise


def _take_answer(branch: Branch, call: FlowCall, ask: Ask) -> Ask:  # noqa: RET503 - halt never returns
    """Return an answered ask; apply the flow's terms to a timeout."""
    # The flow itself handles the result of a session.
    if ask.status == AskStatus.ANSWERED or ask.question.kind == AskKind.SESSION:
        return ask
    if ask.status == AskStatus.TIMED_OUT:
        terms = branch.drive.terms
        if terms.on_timeout == FlowTimeout.RETURN or ask.value is not None:
            return ask
        if terms.on_timeout == FlowTimeout.FAIL:
            branch.drive.fail(call, "AskExpiredError", settled_sentence(ask))
            result_of(branch.drive.calls[call.path])
    branch.halt(settled_sentence(ask), call)


def read(branch: Branch, path: str) -> str:
    """Return the text of a file in the run's folder, as it was at the first read."""
    call = branch.begin(CallName.READ, path, path)
    if call.over:
        return str(result_of(call))
    folder = folder_of(branch, call.path)
    wanted = os.path.realpath(os.path.join(folder, path))
    try:
        text = _text(folder, wanted)
    except (OSError, ValueError, UsageError) as error:
        raise _build_failure(branch, call, error, str(error)) from error
    return str(branch.drive.record(call, text))


def _text(folder: str, wanted: str) -> str:
    # Open without waiting: an agent may have put a pipe there.
    descriptor = os.open(wanted, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, encoding="utf-8") as file:
        # Check the opened file if the system allows it: the name may be a link since then.
        opened = f"/proc/self/fd/{descriptor}"
        found = os.path.realpath(opened) if os.path.exists(opened) else wanted
        if os.path.commonpath([folder, found]) != folder:
            raise UsageError(f"{wanted} lies outside of the run's folder")
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise UsageError(f"{wanted} is not a file")
        text = file.read(_MAX_READ_CHARACTERS + 1)
    if len(text) > _MAX_READ_CHARACTERS:
        raise UsageError(f"{wanted} is longer than {_MAX_READ_CHARACTERS} characters")
    return text


def sleep(branch: Branch, seconds: float) -> None:
    """Continue after this time; the run needs no process in between."""
    call = branch.begin(CallName.SLEEP, f"{seconds:g} s", seconds)
    if call.over:
        return
    drive = branch.drive
    if call.value is None:
        until = drive.store.now() + timedelta(seconds=seconds)
        call = drive.put(call._replace(value=until.isoformat()))
    until = datetime.fromisoformat(call.value)
    if drive.store.now() < until:
        branch.park(call, until)
    drive.record(call, call.value)


def now(branch: Branch) -> datetime:
    call = branch.begin(CallName.NOW, "", None)
    at = result_of(call) if call.over else branch.drive.store.now().isoformat()
    return datetime.fromisoformat(at if call.over else branch.drive.record(call, at))


def random(branch: Branch) -> float:
    call = branch.begin(CallName.RANDOM, "", None)
    if call.over:
        return float(result_of(call))
    number = int.from_bytes(os.urandom(7)) >> 3
    return float(branch.drive.record(call, number / (1 << 53)))


def log(branch: Branch, text: str) -> None:
    """Write a line for people, once."""
    call = branch.begin(CallName.LOG, text[:200], text)
    if not call.over:
        branch.drive.record(call, text)
        branch.drive.needs.log.write(branch.drive.run, call.path, "log", text)
