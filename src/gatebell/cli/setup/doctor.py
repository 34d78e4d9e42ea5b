"""Check the store, this machine and the hosts that `gate install` has set up.

It tests the hosts' gates for real. A scripted model on this machine makes each CLI use a gated
tool, in a separate home folder: a no must block the tool, and a yes must let it run.

Example: gate doctor
Example: gate doctor --json
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from gatebell.app import chats, daemon, environment, server_access, settings, wiring
from gatebell.cli.screen import add_colour, print_json, wrap
from gatebell.cli.setup import old_installations
from gatebell.cli.status_line import show_progress
from gatebell.domain.people.logins import describe_scopes
from gatebell.domain.people.principals import L1, TRUST, find_agent
from gatebell.domain.text.display import inert_line
from gatebell.errors import GateError
from gatebell.services.asks.apply_deadlines import sweep
from gatebell.services.asks.attachments import list_faults
from gatebell.services.audit import verify
from gatebell.terminal.freezes import describe_frozen

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from gatebell.domain.permissions.rules import Rule
    from gatebell.ports.store import Store

_MAX_PROBLEMS = 5
_UNKNOWN_TRUST = "not known until the server says what this token may do; until then take it as L0"
_NETWORK = ("nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs", "afs", "ceph")


_MARK = 5
"""The columns of a mark and a blank."""


class Finding(NamedTuple):
    """The result of one check."""

    ok: bool | None
    """None: known, and cannot be repaired here."""
    what: str


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON object (docs/json.md)")


def run(args: argparse.Namespace) -> int:
    with show_progress("Checking the store, and the gates for real"):
        findings, trust = list(_run_checks()), _trust()
    if args.json:
        print_json({"trust": trust, "findings": [finding._asdict() for finding in findings]})
    else:
        marks = {
            True: add_colour("ok  ", "green"),
            None: add_colour("open", "yellow"),
            False: add_colour("!!  ", "red"),
        }
        for ok, what in findings:
            print(f"{marks[ok]} {wrap(what, _MARK)}")
        print(f"\n{wrap(f'Trust: {trust}')}")
    return 1 if any(finding.ok is False for finding in findings) else 0


def _run_checks() -> Iterator[Finding]:
    if server := settings.server(os.environ):
        yield from _check_server(server)
        if not settings.names_store(os.environ):
            yield _check_agents("approvals from here count only with a token that may approve")
            yield from _check_hosts()
            return
    path = settings.store_path(os.environ)
    try:
        store = wiring.open_store()
        sweep(store)
        yield Finding(True, f"the store {settings.store_name(os.environ)} can be read and written")
        if freeze := store.freezes.find():
            yield Finding(None, describe_frozen(freeze))
        for problem in (*store.problems(), *list_faults(store)):
            yield Finding(False, problem)
        faults = list(verify(store))
        head = store.audit.head()
        yield Finding(not faults, f"the audit trail has {head.seq} events and {len(faults)} faults")
        up = daemon.find(path)
        where = f"gate up runs at {up.url} (process {up.pid})" if up else "gate up does not run"
        yield Finding(True, where)
        yield from _check_other_hosts(store)
        yield from _check_routes(store)
        yield from _check_chats(store)
    except GateError as error:
        yield Finding(False, str(error))
    yield from _check_old_folders()
    yield _check_privacy(os.path.dirname(path))
    if not settings.store_place(os.environ).startswith(settings.ADDRESSES):
        yield _check_file_system(path)
    yield from _check_listeners()
    yield _check_dialogs()
    yield _check_agents()
    yield from _check_hosts()


def _check_server(server: str) -> Iterator[Finding]:
    """Check the server that keeps the asks, and what the token of this machine may do there."""
    try:
        found = server_access.describe_token()
    except GateError as error:
        yield Finding(False, str(error))
        return
    yield Finding(
        True, f"the server {server} knows this token: it may {describe_scopes(found.scopes)}"
    )
    if freeze := wiring.open_backend().find_freeze():
        yield Finding(None, describe_frozen(freeze))
    if found.may_approve:
        yield Finding(
            None,
            "this token may approve, and agents of your user can read it, so this machine is at "
            "L0: on an agent's machine use a token that may only ask (gate person token --ask-only)",
        )
    else:
        yield Finding(True, "this token may not approve, so agents here are at L1")
        if server_access.is_on_this_machine():
            yield Finding(
                None,
                "the server is on this machine: if it runs as your user, agents of your user can "
                "change its store, and that is L0",
            )


def _trust() -> str:
    """Return how far approvals can be trusted that agents of this machine ask for."""
    if not settings.server(os.environ):
        return TRUST
    try:
        return L1 if not server_access.describe_token().may_approve else TRUST
    except GateError:
        return _UNKNOWN_TRUST


def _check_other_hosts(store: Store) -> Iterator[Finding]:
    """Tell which processes of other hosts serve the store."""
    from gatebell.domain.runs.identities import parse_identity
    from gatebell.domain.text.display import age
    from gatebell.services.members import list_living

    for member in list_living(store):
        process = parse_identity(member.process)
        if store.machine.is_of_other_host(process):
            ago = age((store.now() - member.beat_at).total_seconds())
            keys = inert_line(", ".join(member.project_keys), 200)
            where = f" for {keys}" if keys else f" at {member.url}" if member.url else ""
            yield Finding(
                True,
                f"a {member.kind} runs on host {process.host}{where} (process {process.pid}), "
                f"last seen {ago} ago",
            )


def _check_old_folders() -> Iterator[Finding]:
    for folder in settings.old_folders(os.environ):
        yield Finding(True, f"{folder} has the old name and is used as before")
    for folder in settings.ignored_folders(os.environ):
        new = os.path.join(os.path.dirname(folder), settings.NAME)
        yield Finding(None, f"{folder} has the old name and is not used; {new} is used")


def _check_listeners() -> Iterator[Finding]:
    """Check which process collects the questions in files of each project."""
    # Imported here: only projects with gate init need it.
    from gatebell.file_protocol.folders import listener_of
    from gatebell.file_protocol.listener import list_initialised

    for project in list_initialised(os.environ):
        try:
            pid = listener_of(project)
        except GateError as error:
            yield Finding(False, str(error))
            continue
        if pid is None:
            yield Finding(
                None, f"no listener for questions in files of {project}; run: gate listen"
            )
        else:
            yield Finding(True, f"process {pid} listens for questions in files of {project}")


def _check_routes(store: Store) -> Iterator[Finding]:
    """By which routes notifications go out, and what could not be sent."""
    from gatebell.cli.notifications.notify import problem_line

    names = [route.name for route in wiring.post(store).routes]
    told = (
        f"notifications go out by {', '.join(names)}"
        if names
        else "notifications are off: gate notify shows how to turn them on"
    )
    yield Finding(True, told)
    for delivery in store.outbox.problems(_MAX_PROBLEMS):
        what, given_up = f"notification not sent: {problem_line(delivery)}", delivery.given_up_at
        if given_up:
            what += "; repair the route (gate notify test tries it), then: gate notify send --again"
        yield Finding(False if given_up else None, what)


def _check_chats(store: Store) -> Iterator[Finding]:
    """Which chats are set up, whether answers there are read, and for whom."""
    found = chats.list_set_up()
    if not found:
        yield Finding(True, "no chat is set up; gate setup lets you answer in Telegram or Slack")
    for chat in found:
        try:
            yield Finding(True, f"{chat}: the bot {inert_line(chats.find_bot(chat), 64)} answers")
        except GateError as error:
            yield Finding(False, f"{chat}: {error}")
        path = os.path.expanduser(settings.read_settings(os.environ)[f"{chat}_token_file"].text)
        if os.stat(path).st_mode & 0o077:
            yield Finding(False, f"{chat}: other users may use {path}; run: chmod 600 {path}")
        is_heard = chats.is_heard(store, chat)
        heard = "a process here reads the answers" if is_heard else "nothing here reads the answers"
        yield Finding(is_heard, f"{chat}: {heard}{'' if is_heard else '; run: gate up'}")
        linked = [one for one in store.chats.all() if one.chat == chat and one.account]
        who = ", ".join(f"{one.person} (account {one.account}, {one.id})" for one in linked)
        told = (
            f"answers count for {who}"
            if who
            else f"no account is linked; run: gate person link {chat}"
        )
        yield Finding(bool(who), f"{chat}: {told}")


def _check_hosts() -> Iterator[Finding]:
    # Imported here: these checks start processes and load many modules.
    from gatebell.cli.setup.rehearsal import try_hosts
    from gatebell.install.checks import check_hosts

    folder = os.getcwd()
    found = [Finding(*one) for one in check_hosts(os.environ, folder)]
    if not found:
        yield Finding(True, "no agent is set up to ask here; run: gate install claude, or codex")
        return
    yield from found
    yield from (Finding(False, one) for one in old_installations.find_old(folder))
    yield from _find_outdated_rules(folder)
    yield from (Finding(*one) for one in try_hosts(folder))


def _find_outdated_rules(folder: str) -> Iterator[Finding]:
    """Find rules that differ between the store, or the server, and a host's settings."""
    from gatebell.install.checks import installations

    try:
        rules = _list_gates()
    except GateError as error:
        yield Finding(None, f"the gates could not be compared with the agents' rules: {error}")
        return
    for installed in installations(os.environ, folder):
        if isinstance(installed, str):
            continue
        wanted = {rule.pattern for rule in rules if rule.project == installed.project}
        again = f"gate install {installed.cli}{' --project' if installed.project else ''}"
        for pattern in sorted(wanted - set(installed.held)):
            yield Finding(False, f"{installed.cli}: lacks the gate {pattern}; run: {again}")
        if settings.server_alone(os.environ):
            # The default gates and those of --gate are on this machine only.
            continue
        for pattern in sorted(set(installed.held) - wanted):
            yield Finding(False, f"{installed.cli}: still has the gate {pattern}; run: {again}")


def _list_gates() -> list[Rule]:
    """Return the gates and denials of the server, or of the store."""
    if settings.server_alone(os.environ):
        return wiring.open_backend().gates()
    return wiring.local_backend(wiring.open_store()).gates()


def _check_privacy(folder: str) -> Finding:
    try:
        mode = os.stat(folder).st_mode & 0o1777
    except OSError as error:
        return Finding(False, f"{folder}: {error.strerror}")
    private = mode & 0o077 == 0
    hint = (
        "" if private else "; other users can read it: keep the store in its own folder (mode 0700)"
    )
    return Finding(private, f"the store's folder {folder} has mode {mode:04o}{hint}")


def _check_file_system(path: str) -> Finding:
    """Check the file system: SQLite's locks are not reliable on a network."""
    kind, longest = "unknown", -1
    try:
        with open("/proc/self/mounts", encoding="utf-8", errors="replace") as mounts:
            for line in mounts:
                _, point, this = line.split()[:3]
                inside = path.startswith(point.rstrip("/") + "/")
                if inside and len(point) > longest:
                    kind, longest = this, len(point)
    except OSError:
        return Finding(
            True, "the type of the file system is unknown; keep the store on a local disk"
        )
    if kind in _NETWORK:
        return Finding(False, f"the store is on {kind}; put it on a local disk with GATE_STORE")
    return Finding(True, f"the store is on {kind}")


def _check_dialogs() -> Finding:
    try:
        tool = wiring.dialog_tool()
    except GateError as error:
        return Finding(False, str(error))
    if tool:
        return Finding(True, f"{tool} shows questions in windows; to test it: gate dialog test")
    return Finding(True, "no program shows questions in windows; gate dialog lists the reasons")


def _check_agents(who_approves: str = "approvals from here count as yours") -> Finding:
    if not environment.sees_processes():
        return Finding(False, "no /proc here, so agents are recognised only by their variables")
    agent = find_agent(os.environ, environment.ancestors())
    if agent:
        return Finding(
            True, f"{agent.cli} runs this shell ({agent.because}); approvals from here do not count"
        )
    return Finding(True, f"no agent runs this shell; {who_approves}")
