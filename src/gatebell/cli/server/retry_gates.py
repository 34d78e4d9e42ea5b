"""Try the gates again, beside `gate up`, after the version of a host has changed."""

from __future__ import annotations

import os
import sys
from contextlib import closing
from threading import Thread
from typing import TYPE_CHECKING

from gatebell.app import wiring
from gatebell.domain.text.display import inert_line
from gatebell.errors import GateError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gatebell.install.records import Installed

_MAX_WORDS = 1000


def begin() -> None:
    """Begin in the background: a try takes seconds, and the inbox must not wait for it."""
    Thread(target=_retry, name="retry-gates", daemon=True).start()


def _retry() -> None:
    # Imported here: the inbox is served before these are loaded.
    from gatebell.install.checks import installations
    from gatebell.install.host_versions import try_changed

    try:
        found = [one for one in installations(os.environ, os.getcwd()) if not isinstance(one, str)]
        for problem in try_changed(found, os.environ, try_gate):
            tell(problem)
    except (GateError, OSError) as error:
        print(f"gate: the gates were not tried again: {error}", file=sys.stderr, flush=True)


def try_gate(installed: Installed) -> Iterator[tuple[bool | None, str]]:
    """Try an installed gate as gate doctor does, or as the hold test does."""
    from gatebell.cli.setup.holdtest import build_own_gate
    from gatebell.cli.setup.rehearsal import ScriptedPerson
    from gatebell.install.hold_test.hosts import HOSTS
    from gatebell.install.hold_test.rows import NAMES, Outcome, Row
    from gatebell.install.hold_test.trial import Trial, try_cell
    from gatebell.install.rehearsal import PLAYS, rehearse

    if installed.cli in PLAYS:
        yield from rehearse(installed, os.environ, ScriptedPerson)
    elif installed.cli in HOSTS:
        for row in (Row.ANSWER_NO, Row.KILLED):
            cell = try_cell(build_own_gate(), Trial(HOSTS[installed.cli], row), os.environ)
            tried = cell.outcome != Outcome.NOT_TRIED
            told = f"{installed.cli}: {NAMES[row]}: {cell.outcome}"
            yield cell.passed if tried else None, told


def tell(problem: str) -> None:
    """Leave a note in the inbox, and print it."""
    # Imported here: only a gate that fails needs it.
    from gatebell.services.notifications import notes

    words = inert_line(
        f"A gate no longer holds. {problem}. Run: gate holdtest, gate doctor", _MAX_WORDS
    )
    print(f"gate: {words}", file=sys.stderr, flush=True)
    with closing(wiring.open_store()) as store:
        who = wiring.caller(store, "cli")
        notes.tell(store, wiring.origin(who), who, words)
