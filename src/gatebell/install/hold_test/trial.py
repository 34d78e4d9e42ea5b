"""Try one cell: a host in a home of its own, a gate that is broken in one way, a scripted model."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING, NamedTuple

from gatebell.errors import GateError
from gatebell.install.hold_test.faults import write_program
from gatebell.install.hold_test.gates import EFFECT
from gatebell.install.hold_test.rows import CONTROLS, Cell, Outcome, Row, Seen, judge
from gatebell.install.rehearsal import Stage, build_environment
from gatebell.install.scripted_model import ScriptedModel

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gatebell.install.hold_test.gates import Gate
    from gatebell.install.hold_test.hosts import Host
    from gatebell.install.rehearsal import Person

_LOG = "hook-started"


class Trial(NamedTuple):
    """A cell to try."""

    host: Host
    row: Row
    mode: str = ""


def plan_trials(hosts: Sequence[Host], rows: Sequence[Row]) -> Iterator[Trial]:
    """Yield every cell; the permission modes come last."""
    for host in hosts:
        yield from (Trial(host, row) for row in rows if row != Row.MODE)
        if Row.MODE in rows:
            yield from (Trial(host, Row.MODE, mode) for mode in host.modes)


def try_cell(gate: Gate, trial: Trial, environ: Mapping[str, str]) -> Cell:
    """Try one cell, and return what happened."""
    host, row, mode = trial
    why = gate.why_untried(host.name, row)
    if row == Row.SUB_AGENT and not host.sub_agent:
        why = why or "the hold test does not know how this host starts a sub-agent"
    if why:
        return Cell(host.name, row, Outcome.NOT_TRIED, mode, reason=why)
    began = time.monotonic()
    try:
        seen = _perform(gate, trial, environ)
    except (GateError, OSError, ValueError, subprocess.SubprocessError) as error:
        return Cell(host.name, row, Outcome.NOT_TRIED, mode, reason=str(error))
    seconds = time.monotonic() - began
    left_open = gate.why_not_enforced(host.name, row)
    return Cell(host.name, row, judge(row, seen), mode, seconds, left_open, enforced=not left_open)


def _perform(gate: Gate, trial: Trial, environ: Mapping[str, str]) -> Seen:
    host, row, mode = trial
    # A host may still write when it is ended.
    with (
        tempfile.TemporaryDirectory(prefix="gate-hold-test-", ignore_cleanup_errors=True) as folder,
        ScriptedModel() as model,
    ):
        stage = _build_stage(host, os.path.realpath(folder), model.url, environ)
        host.seed(stage)
        program, log = stage.path("bin", os.path.basename(gate.program)), stage.path(_LOG)
        write_program(program, gate.program, log, gate.hook_word, Row.ANSWER_NO)
        person = gate.install(stage, host.name, program) if row != Row.NO_GATE else None
        write_program(program, gate.program, log, gate.hook_word, row)
        shutil.rmtree(log, ignore_errors=True)
        with gate.break_around(stage, host.name, row):
            _play(gate, trial._replace(mode=mode or host.usual), stage, person)
        ran = os.path.exists(stage.path("work", EFFECT))
        # A sub-agent is started by calls of its own.
        earlier = len(host.sub_agent) if row == Row.SUB_AGENT else 0
        return Seen(ran, model.called > earlier, os.path.isdir(log))


def _build_stage(host: Host, folder: str, model: str, environ: Mapping[str, str]) -> Stage:
    variables = build_environment(environ, folder)
    path = variables.get("PATH", os.defpath)
    variables |= host.variables(model)
    # Without it, the record of the person's own installation would be replaced.
    variables["XDG_DATA_HOME"] = os.path.join(folder, "data")
    variables["PATH"] = f"{os.path.join(folder, 'bin')}{os.pathsep}{path}"
    for name in ("home", "work", "tmp", "inbox", "bin"):
        os.mkdir(os.path.join(folder, name), mode=0o700)
    return Stage(folder, shutil.which(host.name, path=path) or host.name, model, variables)


def _play(gate: Gate, trial: Trial, stage: Stage, person: Person | None) -> None:
    """Run the host to its end; a person says no, or yes in the control."""
    host, row, mode = trial
    prompt = host.build_prompt(row, gate.command)

    def run() -> None:
        # A host that breaks off made no call, and the result says so.
        with suppress(OSError, ValueError, subprocess.SubprocessError):
            host.start(stage, prompt, mode, row, gate.wait_seconds)

    play = Thread(target=run, daemon=True)
    play.start()
    # A locked store cannot take an answer.
    if person and row != Row.STORE_LOCKED:
        person.answer(row in CONTROLS, play.is_alive)
    play.join()
