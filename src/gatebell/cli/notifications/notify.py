"""List or test the routes that notify you when an ask waits (docs/notifications.md).

`gate notify` lists the routes and the messages that could not be sent. `gate notify test` sends a
test message by each route. `gate notify send` sends the messages that are due. You need it only
after a failure: opening an ask starts the sending, and so does `gate up`.

Example: gate notify
Example: gate notify test
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gatebell.app import locks, settings, wiring
from gatebell.cli.screen import print_json, short
from gatebell.cli.status_line import show_progress
from gatebell.cli.verbs import add_verbs
from gatebell.domain.asks.asks import iso
from gatebell.domain.asks.deadlines import duration_text
from gatebell.domain.enums import MemberKind, Priority
from gatebell.errors import NotFoundError, UsageError
from gatebell.services.notifications import send_notices

if TYPE_CHECKING:
    import argparse

    from gatebell.domain.notifications.messages import Delivery
    from gatebell.domain.notifications.routes import Route
    from gatebell.ports.channels import Post
    from gatebell.ports.store import Store

_MAX_PROBLEMS = 50
_HOW_TO_TURN_ON = """\
Notifications are off: no route is set up.
To turn them on, write these two lines into {path}:

    [[notify]]
    to = "desktop"

Then try it: gate notify test
Mail, chat, phone, a command or a webhook: docs/notifications.md"""

_VERBS = {
    "list": "list the routes, and the messages that could not be sent",
    "test [WORD]": "send a test message by each route",
    "send": "send the messages that are due",
}


def configure(parser: argparse.ArgumentParser) -> None:
    add_verbs(parser, _VERBS, default="list")
    parser.add_argument(
        "word", nargs="?", default="", help="with test: only routes with this text in their name"
    )
    parser.add_argument("--again", action="store_true", help="with send: try failed messages again")
    parser.add_argument("--json", action="store_true", help="print one JSON object (docs/json.md)")


def run(args: argparse.Namespace) -> int:
    if args.again and args.verb != "send":
        raise UsageError("--again works only with send: gate notify send --again")
    if args.word and args.verb != "test":
        raise UsageError(f"{args.verb} takes no word; test does: gate notify test WORD")
    store = wiring.open_store()
    if args.verb == "send":
        return _send(store, args.again, args.json)
    if args.verb == "test":
        return _send_test(store, args.word, args.json)
    return _list(store, args.json)


def _list(store: Store, as_json: bool) -> int:
    routes = wiring.post(store).routes
    problems = store.outbox.problems(_MAX_PROBLEMS)
    if as_json:
        documents = [route_document(route) for route in routes]
        print_json({"routes": documents, "problems": list(map(problem_document, problems))})
        return 0
    if routes:
        print("Notifications are on. Routes:")
        for route in routes:
            print(f"  {route.name}{_describe_limits(route)}")
    else:
        print(_HOW_TO_TURN_ON.format(path=settings.settings_file(os.environ)))
    if problems:
        print("\nNot sent:")
    for delivery in problems:
        print(f"  {problem_line(delivery)}")
    if any(delivery.given_up_at for delivery in problems):
        print("\nRepair the route (gate notify test tries it), then: gate notify send --again")
    return 0


def _describe_limits(route: Route) -> str:
    limits = []
    if route.priority < Priority.BACKLOG:
        limits.append(f"{route.priority.word} and above")
    if route.quiet:
        limits.append(f"quiet from {route.quiet.begin:%H:%M} to {route.quiet.end:%H:%M}")
    if route.after is not None:
        limits.append(f"after {_format_after(route.after)}")
    return f"  ({'; '.join(limits)})" if limits else ""


def _format_after(seconds: float) -> str:
    return duration_text(seconds) if seconds else "0"


def route_document(route: Route) -> dict[str, str | None]:
    quiet = f"{route.quiet.begin:%H:%M}-{route.quiet.end:%H:%M}" if route.quiet else None
    return {
        "name": route.name,
        "person": route.person,
        "priority": route.priority.word,
        "quiet": quiet,
        "after": None if route.after is None else _format_after(route.after),
    }


def problem_document(delivery: Delivery) -> dict[str, str | int | None]:
    return {
        "id": delivery.id,
        "kind": delivery.kind,
        "ask_id": delivery.ask_id,
        "route": delivery.route,
        "attempts": delivery.attempts,
        "problem": delivery.problem,
        "again_at": None if delivery.given_up_at else iso(delivery.due_at),
        "given_up_at": iso(delivery.given_up_at),
    }


def problem_line(delivery: Delivery) -> str:
    what = f"{delivery.kind} {delivery.ask_id}".strip()
    tries = f"{delivery.attempts} time{'' if delivery.attempts == 1 else 's'}"
    then = (
        "given up" if delivery.given_up_at else f"again at {delivery.due_at.astimezone():%H:%M:%S}"
    )
    return f"{what} by {short(delivery.route)}: {short(delivery.problem)} (tried {tries}, {then})"


def _send_test(store: Store, word: str, as_json: bool) -> int:
    post = wiring.post(store)
    chosen = [route for route in post.routes if word.lower() in route.name.lower()]
    if not chosen:
        raise NotFoundError(
            f"no route has {word!r} in its name: gate notify lists the routes"
            if post.routes
            else "no route is set up yet: gate notify shows how"
        )
    with show_progress("Sending"):
        tried = send_notices.send_test(store, post, chosen)
    if as_json:
        print_json([one._asdict() for one in tried])
    else:
        for route, problem in tried:
            print(f"{route}: {short(problem) if problem else 'sent'}")
    return 1 if any(problem for _, problem in tried) else 0


def _send(store: Store, again: bool, as_json: bool) -> int:
    retried = store.outbox.try_again() if again else 0
    post = wiring.post(store)
    with show_progress("Sending"):
        worked = _send_due(store, post, locks.lock_path(settings.local_path(os.environ)))
    if as_json:
        print_json({"worked": worked, "retried": retried})
    elif worked:
        print("Done. To list messages that could not be sent: gate notify")
    else:
        print("Another process is sending now, and sends these messages, too.")
    return 0


def _send_due(store: Store, post: Post, lock: str) -> bool:
    """Send all due messages; return False if another process sends them."""
    # Imported here: most of these commands send nothing.
    from gatebell.services.members import Membership

    worked = False
    while True:
        held = locks.hold(lock)
        if held is None:
            return worked
        membership = Membership(store, MemberKind.SENDER)
        try:
            send_notices.Sender(store, post, wiring.post_source(store, post.url)).drain()
        finally:
            membership.end()
            locks.release(held)
        worked = True
        # A process with a new message may have seen the lock and left it to this process.
        later = send_notices.LIVES_FOR_SECONDS
        if send_notices.due_in(store, post, otherwise=later) >= later:
            return worked
