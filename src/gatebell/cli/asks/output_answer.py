"""Wait in a shell and hand the answer over: first print it, then record it as taken."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from gatebell.app import settings
from gatebell.cli.screen import print_json, say
from gatebell.domain.asks.asks import settled_sentence
from gatebell.domain.asks.documents import ask_document, message_document
from gatebell.domain.asks.outcomes import answer_text
from gatebell.domain.enums import AskStatus, Decision
from gatebell.domain.records import NamedTuple
from gatebell.domain.text.display import inert, inert_line
from gatebell.errors import GateError, StoreError, UsageError

if TYPE_CHECKING:
    import argparse

    from gatebell.cli.sessions.orphans import Orphans
    from gatebell.domain.asks.asks import Ask, Message
    from gatebell.domain.people.principals import Caller
    from gatebell.ports.backends.backend import Backend

REJECTED = 10
NOT_ANSWERED_YET = 11
_SCRIPT_NAME = "GATE_HIL_NAME"
_MAX_NAME_COLUMNS = 100
_REPORT_SECONDS = 60.0
_UNANSWERED = {AskStatus.TIMED_OUT: 3, AskStatus.CANCELLED: 4}


class Handing(NamedTuple):
    """How to hand the answer over: as text or JSON, and a secret to a file or a command."""

    as_json: bool = False
    token: str = ""
    to_file: str = ""
    command: str = ""

    @property
    def routes(self) -> list[str]:
        """The options that say where a secret goes, for another command line."""
        routes = [("--to-file", self.to_file), ("--exec", self.command)]
        return [word for flag, value in routes if value for word in (flag, value)]


def add_secret_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--to-file",
        metavar="F",
        default="",
        help="write a secret answer to this new file (mode 0600) instead of stdout",
    )
    add(
        "--exec",
        metavar="CMD",
        default="",
        dest="command",
        help="pass a secret answer to this shell command on its standard input",
    )


def build_handing(args: argparse.Namespace, token: str, secret: bool) -> Handing:
    handing = Handing(args.json, token, args.to_file, args.command)
    if handing.routes and not secret:
        raise UsageError("--to-file and --exec are for secret answers: add --secret")
    if args.to_file and os.path.lexists(args.to_file):
        raise UsageError(f"{args.to_file} exists; a secret needs a new file, so name another")
    return handing


def _build_token_path(ask_id: str) -> str:
    if not settings.server(os.environ):
        return f"{settings.local_path(os.environ)}-{ask_id}.token"
    folder = settings.data_folder(os.environ)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    return os.path.join(folder, f"{ask_id}.token")


def _wait_again(ask_id: str, handing: Handing) -> str:
    """Return the command that waits again; keep a secret's token in a file for it."""
    words = ["gate", "wait", ask_id]
    if handing.token:
        path = _build_token_path(ask_id)
        with suppress(FileExistsError):
            _write_file(path, handing.token)
        words += ["--token-file", path, *handing.routes]
    # Imported here: only a wait that ends without an answer needs it.
    from shlex import join

    return join(words)


def wait_and_hand_over(
    backend: Backend, caller: Caller, ask_id: str, handing: Handing, seconds: float | None = None
) -> int:
    """Wait as long as this shell may, print the answer or the next step; return the exit code."""
    if not caller.agent:
        return _wait_and_hand_over(backend, caller, ask_id, handing, seconds)
    # Imported here: only agents ask in the background.
    from gatebell.app import background

    # A host moves a long command to the background and may not trust its late output.
    patience = settings.agent_wait_seconds(os.environ)
    seconds = patience if seconds is None else min(seconds, patience)
    with background.waiting(backend, ask_id):
        return _wait_and_hand_over(backend, caller, ask_id, handing, seconds)


def _wait_and_hand_over(
    backend: Backend, caller: Caller, ask_id: str, handing: Handing, seconds: float | None
) -> int:
    try:
        ask = _wait(backend, ask_id, seconds)
    except KeyboardInterrupt:
        ask = backend.get(ask_id)
    except StoreError as problem:
        if handing.as_json:
            raise
        # The ask still waits. An asker that took this for a failure would ask again.
        print(f"gate: {problem}", file=sys.stderr)
        print(f"NOT ANSWERED YET: run: {_wait_again(ask_id, handing)}")
        return NOT_ANSWERED_YET
    if ask.pending and ask.asked_back > ask.heard:
        return _pass_on_messages(backend, ask, handing)
    if not backend.is_ready(ask):
        _print_pending(ask, handing)
        return NOT_ANSWERED_YET
    ask, value = backend.reveal(ask, handing.token)
    try:
        code = _hand_over(ask, value, handing)
        sys.stdout.flush()
    except GateError as error:
        again = _wait_again(ask.id, handing._replace(to_file="", command=""))
        raise GateError(f"{error}. The answer was not handed over; run: {again}") from None
    if ask.question.call is None:
        # The reader of an answer about a tool call is not the call that uses it.
        backend.take(ask, caller.actor)
    if handing.token:
        with suppress(OSError):
            os.unlink(_build_token_path(ask.id))
    return code


def read_script_prefix() -> str:
    """Return the prefix of each line if scripts/ask-human.sh runs this command, else ''."""
    name = os.environ.get(_SCRIPT_NAME, "")
    return f"[HIL:{inert_line(name, _MAX_NAME_COLUMNS)}]" if name else ""


def _wait(backend: Backend, ask_id: str, seconds: float | None) -> Ask:
    orphans, prefix = _watch_orphans(backend), read_script_prefix()
    if not prefix:
        return _follow(backend, ask_id, seconds, orphans)
    # Imported here: it is slow to load, and only the script needs it.
    import signal

    # The shell that runs the script makes this process ignore SIGINT, so it sends SIGTERM instead.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        elapsed = 0.0
        while seconds is None or elapsed + _REPORT_SECONDS < seconds:
            begun = backend.monotonic()
            ask = _follow(backend, ask_id, _REPORT_SECONDS, orphans)
            if backend.monotonic() - begun < _REPORT_SECONDS:
                return ask
            elapsed += _REPORT_SECONDS
            said = f"{prefix} Still waiting... ({elapsed:.0f}s elapsed)"
            print(said, file=sys.stderr, flush=True)
        return _follow(backend, ask_id, seconds - elapsed, orphans)
    finally:
        signal.signal(signal.SIGTERM, before)


def _watch_orphans(backend: Backend) -> Orphans | None:
    """Return who reports the processes of a session; sessions are open on the store's machine."""
    if backend.store is None:
        return None
    # Imported here: a command that speaks to a server needs no code for sessions.
    from gatebell.cli.sessions.orphans import Orphans

    return Orphans(backend.store)


def _follow(backend: Backend, ask_id: str, seconds: float | None, orphans: Orphans | None) -> Ask:
    for ask in backend.follow(ask_id, seconds):
        if orphans:
            orphans.tell_of_ask(ask)
    return ask


def _new_messages(backend: Backend, ask: Ask) -> list[Message]:
    """Return the messages from people that the asker did not get yet."""
    said = [message for message in backend.messages(ask.id) if not message.by_asker]
    return said[ask.heard - ask.asked_back :]


def _print_pending(ask: Ask, handing: Handing) -> None:
    if handing.as_json:
        print_json(ask_document(ask) | {"next": _wait_again(ask.id, handing)})
    else:
        print(f"NOT ANSWERED YET: run: {_wait_again(ask.id, handing)}")


def _pass_on_messages(backend: Backend, ask: Ask, handing: Handing) -> int:
    new = _new_messages(backend, ask)
    if handing.as_json:
        messages = [message_document(one) for one in new]
        print_json(ask_document(ask) | {"messages": messages, "next": f"gate reply {ask.id} TEXT"})
    else:
        say("\n".join(message.text for message in new))
        print(f"reply: gate reply {ask.id} TEXT")
    if handing.token:
        print(f"then: {_wait_again(ask.id, handing)}")
    sys.stdout.flush()
    backend.hear(ask)
    return NOT_ANSWERED_YET


def _hand_over(ask: Ask, value: Any, handing: Handing) -> int:
    route = {}
    if ask.token_digest and ask.status == AskStatus.ANSWERED and handing.to_file:
        _write_file(handing.to_file, answer_text(ask, value))
        route = {"written_to": handing.to_file}
    elif ask.token_digest and ask.status == AskStatus.ANSWERED and handing.command:
        _run(handing.command, answer_text(ask, value))
        route = {"given_to": handing.command}
    if handing.as_json:
        print_json(ask_document(ask) | {"value": route or value})
    elif route:
        print_json(route)
    else:
        _print_answer(ask, value)
    if ask.status in _UNANSWERED:
        return _UNANSWERED[ask.status]
    return REJECTED if ask.decision == Decision.REJECTED else 0


def _print_answer(ask: Ask, value: Any) -> None:
    if ask.answer_attachments:
        # Not to stdout: a script that captures stdout must get only the value.
        number = len(ask.answer_attachments)
        how = f"gate show {ask.id} --save-attachments DIR"
        print(f"attached files: {number}; to save them: {how}", file=sys.stderr)
    if ask.decision:
        print(ask.decision)
    elif value is not None:
        say(answer_text(ask, value))
    if ask.status != AskStatus.ANSWERED:
        print(f"gate: {inert(settled_sentence(ask))}", file=sys.stderr)
    elif ask.note and ask.decision:
        say(f"note: {ask.note}")
    elif ask.note:
        # Not to stdout: a script that captures stdout must get only the value.
        print(f"note: {inert(ask.note)}", file=sys.stderr)


def _write_file(path: str, text: str) -> None:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
    except FileExistsError:
        raise
    except OSError as error:
        raise GateError(f"cannot write {path}: {error.strerror}") from None


def _run(command: str, text: str) -> None:
    # Imported here: it is slow to load, and only secrets need it.
    import subprocess

    ended = subprocess.run(["/bin/sh", "-c", command], input=text.encode(), check=False)
    if ended.returncode:
        raise GateError(f"the command ended with exit code {ended.returncode}")
