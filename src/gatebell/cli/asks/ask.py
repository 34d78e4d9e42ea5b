"""Ask a person and wait for the answer.

The answer goes to stdout: `approved` or `rejected` (and the person's note on a second line),
the option, the text, or JSON for a form (and a note to stderr). Exit code 11 means: no answer
yet, and stdout has the next command. The ask is durable: even if this process ends,
`gate wait ID` gets the same answer.

Example: gate ask "Which database?" --option SQLite --option PostgreSQL
Example: gate ask "Deploy now?" --kind approval --timeout 30m
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from gatebell.app import wiring
from gatebell.cli.asks.output_answer import (
    add_secret_options,
    build_handing,
    read_script_prefix,
    wait_and_hand_over,
)
from gatebell.cli.identity import add_attach, open_asks, read_text
from gatebell.cli.screen import print_json
from gatebell.domain.asks.deadlines import parse_duration, parse_escalation
from gatebell.domain.asks.documents import ask_document
from gatebell.domain.asks.forms import has_hidden
from gatebell.domain.asks.requests import Request
from gatebell.domain.asks.requirements import parse_requirement
from gatebell.domain.enums import AskKind
from gatebell.domain.sessions.visits import Terms
from gatebell.errors import StoreError, UsageError

if TYPE_CHECKING:
    import argparse

    from gatebell.domain.asks.asks import Origin
    from gatebell.ports.backends.backend import Backend


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("question", help="the question; after -- it may begin with a dash")
    add(
        "--kind",
        choices=[kind.value for kind in AskKind if kind != AskKind.SESSION],
        help="approval, choice, text or form; by default it follows from the other options",
    )
    add(
        "--option",
        action="append",
        default=[],
        metavar="A",
        help="an option of a choice; the option 'Other…' takes text",
    )
    add("--multiple", action="store_true", help="several options may be chosen")
    add("--schema", metavar="F", help="JSON Schema of a form: a file, - or the JSON itself")
    add("--context", metavar="F", help="a file (or -) that is shown with the question")
    add_attach(parser)
    add(
        "--timeout",
        type=parse_duration,
        metavar="TIME",
        help="expire after this time: 300, 90s, 5m, 2h, 1d",
    )
    add("--default", metavar="V", help="the value if the ask times out (not for an approval)")
    add("--priority", default="normal", help="urgent, high, normal, low, backlog or 0 to 4")
    add(
        "--from",
        dest="asker",
        default="",
        metavar="NAME",
        help="the asker's name, as people see it",
    )
    add("--confidence", type=float, metavar="X", help="how sure the asker is, from 0 to 1")
    add(
        "--remind-every",
        type=parse_duration,
        metavar="TIME",
        help="notify people again at this interval",
    )
    add(
        "--escalate",
        type=parse_escalation,
        action="append",
        default=[],
        metavar="AFTER:WHO",
        help="notify WHO, too, after this time: 30m:alice",
    )
    add("--require", metavar="WHO", help="2, 2:GROUP, 2:alice,bob or all:alice,bob must agree")
    add("--veto", action="append", default=[], metavar="NAME", help="this person's no is enough")
    add("--only-by", metavar="WAYS", help="it is answered only so: web, cli, telegram …")
    add("--not-by", metavar="WAYS", help="it is not answered so: telegram,slack")
    add("--not-author", action="store_true", help="the person who started the asker may not answer")
    add("--secret", action="store_true", help="keep the answer apart, hand it over once, erase it")
    add_secret_options(parser)
    _add_terms(parser)
    add("--task", metavar="ID", help="the task that you claimed and ask for; the task waits, too")
    add("--no-wait", action="store_true", help="print the id and do not wait")
    add(
        "--assume",
        metavar="TEXT",
        help="with --no-wait: what you go on with until the answer comes; people see it",
    )
    add("--json", action="store_true", help="print one JSON object (docs/json.md)")


def _add_terms(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--session",
        action="store_true",
        help="a person works it out with an agent, in its own program: gate continue ID",
    )
    add("--model", default="sonnet", help="the model of a session's agent (sonnet)")
    add("--system-prompt", metavar="F", help="a file (or -) with a session's system prompt")
    add(
        "--stay",
        type=parse_duration,
        metavar="TIME",
        help="the longest visit in a session: 90s, 30m, 2h",
    )


def _find_owner(task: str | None) -> str:
    if not task:
        return ""
    # Imported here: most asks are not for a task.
    from gatebell.domain.asks.owners import owner_of_task
    from gatebell.services.tasks.backlog import canonical

    return owner_of_task(canonical(task))


def run(args: argparse.Namespace) -> int:
    request = _build_request(args)
    secret = request.secret or has_hidden(request.schema)
    handing = build_handing(args, "", secret)
    if args.no_wait and handing.routes:
        raise UsageError("--to-file and --exec do not go with --no-wait; use them with gate wait")
    if args.assume is not None and not args.no_wait:
        raise UsageError("--assume says what you do without waiting: add --no-wait")
    if args.no_wait and secret and not args.json:
        raise UsageError(
            "a secret with --no-wait needs --json, which prints the token to get the answer with"
        )
    try:
        backend = open_asks()
        caller = backend.caller("cli")
        origin = wiring.move_to_project(wiring.origin(caller, args.asker, _find_owner(args.task)))
        if caller.agent:
            request = request._replace(activity=wiring.summarise_activity(origin))
        if args.attach:
            request = _attach(backend, request, args.attach)
        is_background = args.no_wait and _goes_on(args, request, origin)
        if is_background or args.assume:
            request = request._replace(assume=args.assume or "")
        opened = backend.ask(request, origin, caller)
    except StoreError as problem:
        if args.task or args.no_wait or args.json or handing.routes or args.attach:
            raise
        # Imported here: only a sandbox cannot reach the store.
        from gatebell.cli.asks import file_fallback

        file_fallback.ask(request, problem)
    ask_id = opened.ask.id
    if args.no_wait:
        if is_background and opened.ask.assume is not None:
            # Imported here: only agents ask in the background.
            from gatebell.app import background

            background.expect(backend, opened.ask, origin)
        if args.json:
            token = {"token": opened.token} if opened.token else {}
            print_json(ask_document(opened.ask) | token)
        else:
            print(ask_id)
        return 0
    way = "continue" if args.session else "answer"
    sent = (
        f"{read_script_prefix()} Question sent, waiting for response...\n"
        if read_script_prefix()
        else ""
    )
    print(f"{sent}Waiting for a person: gate {way} {ask_id}", file=sys.stderr, flush=True)
    handing = handing._replace(token=opened.token)
    return wait_and_hand_over(backend, caller, ask_id, handing)


def _goes_on(args: argparse.Namespace, request: Request, origin: Origin) -> bool:
    """Return whether an agent asks in the background, in a session that can get the answer."""
    is_kept_apart = request.secret or has_hidden(request.schema) or args.session or args.task
    return bool(origin.session.partition("/")[2]) and not is_kept_apart


def _attach(backend: Backend, request: Request, paths: list[str]) -> Request:
    # Imported here: most asks have no files.
    from gatebell.app.attached_files import attach

    if request.secret or has_hidden(request.schema):
        raise UsageError("a secret ask takes no attachments, because they are not erased")
    return request._replace(attachments=attach(backend, paths))


def _build_request(args: argparse.Namespace) -> Request:
    schema = _read_schema(args.schema)
    kind = AskKind(args.kind) if args.kind else _suggest_kind(schema, args.option)
    return Request(
        prompt=args.question,
        kind=AskKind.SESSION if args.session else kind,
        options=tuple(args.option),
        multiple=args.multiple,
        schema=schema,
        context=_read_context(args.context),
        priority=args.priority,
        confidence=args.confidence,
        default=_parse_default(kind, args),
        secret=args.secret,
        requirement=_build_requirement(args),
        expires_seconds=args.timeout,
        remind_every_seconds=args.remind_every,
        escalations=tuple(args.escalate),
        session=_build_terms(kind, args),
    )


def _suggest_kind(schema: Any, options: list[str]) -> AskKind:
    if schema is not None:
        return AskKind.FORM
    return AskKind.CHOICE if options else AskKind.TEXT


def _build_terms(kind: AskKind, args: argparse.Namespace) -> Terms | None:
    prompt = read_text(args.system_prompt) if args.system_prompt else ""
    terms = Terms(kind, prompt, args.model, session_seconds=args.stay)
    if not args.session and terms != Terms(kind):
        raise UsageError("--model, --system-prompt and --stay need --session")
    return terms if args.session else None


def _build_requirement(args: argparse.Namespace) -> dict[str, Any]:
    data = parse_requirement(args.require) if args.require else {}
    if args.veto:
        data["veto"] = args.veto
    if args.not_author:
        data["not_author"] = True
    for name, given in (("via", args.only_by), ("not_via", args.not_by)):
        if given:
            data[name] = [one.strip() for one in given.split(",") if one.strip()]
    return data


def _read_schema(given: str | None) -> Any:
    if given is None:
        return None
    text = given if given.lstrip().startswith("{") else read_text(given)
    try:
        return json.loads(text)
    except ValueError as error:
        raise UsageError(f"--schema is not valid JSON: {error}") from None


def _read_context(path: str | None) -> Any:
    if path is None:
        return None
    try:
        text = read_text(path)
    except UsageError as error:
        raise UsageError(f"--context takes a file, or - for standard input: {error}") from None
    try:
        return json.loads(text)
    except ValueError:
        return text


def _parse_default(kind: AskKind, args: argparse.Namespace) -> Any:
    if args.default is None or kind != AskKind.FORM:
        return [args.default] if args.default and args.multiple else args.default
    try:
        return json.loads(args.default)
    except ValueError as error:
        raise UsageError(f"--default of a form must be valid JSON: {error}") from None
