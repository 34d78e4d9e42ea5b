"""Check the store, this machine and the hosts that `gate install` has set up.

The hosts' gates are tried for real: each CLI is told by a scripted model on this machine to use
a gated tool, in a home of its own; a no must block it, and a yes must let it pass.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, NamedTuple

from gatebell.app import daemon, environment, settings, wiring
from gatebell.cli.screen import add_colour, print_json
from gatebell.domain.people.principals import TRUST, find_agent
from gatebell.errors import GateError
from gatebell.services.asks.apply_deadlines import sweep
from gatebell.services.audit import verify

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from gatebell.ports.store import Store

_MAX_PROBLEMS = 5
_NETWORK = ("nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs", "afs", "ceph")


class Finding(NamedTuple):
    """One thing the doctor looked at."""

    ok: bool | None
    """None: known, and nothing that could be mended here."""
    what: str


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON object (docs/json.md)")


def run(args: argparse.Namespace) -> int:
    findings = list(_examine())
    if args.json:
        print_json({"trust": TRUST, "findings": [finding._asdict() for finding in findings]})
    else:
        marks = {
            True: add_colour("ok  ", "green"),
            None: add_colour("open", "yellow"),
            False: add_colour("!!  ", "red"),
        }
        for ok, what in findings:
            print(f"{marks[ok]} {what}")
        print(f"\nTrust: {TRUST}")
    return 1 if any(finding.ok is False for finding in findings) else 0


def _examine() -> Iterator[Finding]:
    path = settings.store_path(os.environ)
    try:
        store = wiring.open_store()
        sweep(store)
        yield Finding(True, f"the store {path} can be read and written")
        for problem in store.problems():
            yield Finding(False, problem)
        faults = list(verify(store))
        head = store.audit.head()
        yield Finding(not faults, f"the audit trail has {head.seq} events and {len(faults)} faults")
        up = daemon.find(path)
        where = f"gate up runs at {up.url} (process {up.pid})" if up else "gate up does not run"
        yield Finding(True, where)
        yield from _check_routes(store)
    except GateError as error:
        yield Finding(False, str(error))
    yield from _old_folders()
    yield _privacy(os.path.dirname(path))
    yield _file_system(path)
    yield from _listeners()
    yield _dialogs()
    yield _agents()
    yield from _hosts()


def _old_folders() -> Iterator[Finding]:
    for folder in settings.old_folders(os.environ):
        yield Finding(True, f"{folder} kept the old name and is used as before")
    for folder in settings.ignored_folders(os.environ):
        new = os.path.join(os.path.dirname(folder), settings.NAME)
        yield Finding(None, f"{folder}, of the old name, is not used: {new} is")


def _listeners() -> Iterator[Finding]:
    """Who answers agents that ask by files, wherever that is set up."""
    # Imported here: it is for those who ran gate init.
    from gatebell.file_protocol.folders import listener_of
    from gatebell.file_protocol.listener import list_initialised

    for project in list_initialised(os.environ):
        try:
            pid = listener_of(project)
        except GateError as error:
            yield Finding(False, str(error))
            continue
        if pid is None:
            yield Finding(None, f"nobody listens to questions in files of {project}: gate listen")
        else:
            yield Finding(True, f"process {pid} listens to questions in files of {project}")


def _check_routes(store: Store) -> Iterator[Finding]:
    """By which routes people are told, and what was given up on the way."""
    from gatebell.cli.notifications.notify import problem_line

    names = [route.name for route in wiring.post(store).routes]
    told = (
        f"people are told by {', '.join(names)}" if names else "no road tells people: gate notify"
    )
    yield Finding(True, told)
    for delivery in store.outbox.problems(_MAX_PROBLEMS):
        hint = "; mend the road (gate notify test), then: gate notify send --again"
        given_up = delivery.given_up_at is not None
        yield Finding(not given_up and None, problem_line(delivery) + (hint if given_up else ""))


def _hosts() -> Iterator[Finding]:
    # Imported here: they start processes, which loads more than the rest of this command.
    from gatebell.cli.setup.rehearsal import try_hosts
    from gatebell.install.checks import check_hosts

    folder = os.getcwd()
    found = [Finding(*one) for one in check_hosts(os.environ, folder)]
    if not found:
        yield Finding(True, "no agent is set up to ask here: gate install claude, or codex")
        return
    yield from found
    yield from _untold(folder)
    print("Trying the gates for real …", file=sys.stderr, flush=True)
    yield from (Finding(*one) for one in try_hosts(folder))


def _untold(folder: str) -> Iterator[Finding]:
    """Rules that stand in the store and that a host has not been told of, or not any more."""
    from gatebell.install.checks import installations
    from gatebell.install.plans import host
    from gatebell.services.permissions import manage_rules

    rules = manage_rules.gates(wiring.open_store())
    for installed in installations(os.environ, folder):
        if isinstance(installed, str) or not host(installed.cli).HAS_GATES:
            continue
        wanted = {rule.pattern for rule in rules if rule.project == installed.project}
        again = f"gate install {installed.cli}{' --project' if installed.project else ''}"
        for pattern in sorted(wanted - set(installed.held)):
            yield Finding(False, f"{installed.cli}: has not been told of {pattern}: {again}")
        for pattern in sorted(set(installed.held) - wanted):
            yield Finding(False, f"{installed.cli}: still holds {pattern}: {again}")


def _privacy(folder: str) -> Finding:
    try:
        mode = os.stat(folder).st_mode & 0o1777
    except OSError as error:
        return Finding(False, f"{folder}: {error.strerror}")
    private = mode & 0o077 == 0
    hint = (
        "" if private else "; others can look inside: keep the store in a folder of its own (0700)"
    )
    return Finding(private, f"the store's folder {folder} has mode {mode:04o}{hint}")


def _file_system(path: str) -> Finding:
    """SQLite's locks cannot be trusted on a network file system."""
    kind, longest = "unknown", -1
    try:
        with open("/proc/self/mounts", encoding="utf-8", errors="replace") as mounts:
            for line in mounts:
                _, point, this = line.split()[:3]
                inside = path.startswith(point.rstrip("/") + "/")
                if inside and len(point) > longest:
                    kind, longest = this, len(point)
    except OSError:
        return Finding(True, "the file system's kind cannot be told here: keep the store local")
    if kind in _NETWORK:
        return Finding(False, f"the store is on {kind}: put it on a local disk with GATE_STORE")
    return Finding(True, f"the store is on {kind}")


def _dialogs() -> Finding:
    try:
        tool = wiring.dialog_tool()
    except GateError as error:
        return Finding(False, str(error))
    if tool:
        return Finding(True, f"dialogs are shown by {tool}: gate dialog test")
    return Finding(True, "no dialogs are shown here: gate dialog says why")


def _agents() -> Finding:
    if not environment.sees_processes():
        return Finding(False, "there is no /proc: agents are recognised by their variables only")
    agent = find_agent(os.environ, environment.ancestors())
    if agent:
        return Finding(
            True, f"{agent.cli} is at work here ({agent.because}): no approvals from here"
        )
    return Finding(True, "no agent is at work in this shell: approvals count as yours")
