"""Take messages back whose asks are settled, where the channel can."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gatebell.domain.enums import ChannelKind, NoticeKind
from gatebell.domain.notifications import routes, timing
from gatebell.domain.notifications.messages import Delivery, compose, compose_bundle
from gatebell.ports.channels import Withdrawal
from gatebell.services.notifications.asking_runs import find_runs
from gatebell.services.notifications.use_channel import withdraw_message

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.notifications.messages import Posted
    from gatebell.domain.notifications.routes import Route
    from gatebell.ports.channels import Post
    from gatebell.ports.store import Store


def build_deliveries(store: Store, post: Post, posted: Posted) -> list[Delivery]:
    """Return a withdrawal for each route that told, or may have told, of a settled ask."""
    ask_id, now = posted.notice.ask_id, store.now()
    told = {one.route for one in store.outbox.list_about(ask_id)}
    return [
        Delivery(
            os.urandom(16).hex(), NoticeKind.WITHDRAWN, ask_id, "", route.name,
            posted.written_at, now,
        )
        for route in post.routes
        if route.name in told and routes.can_withdraw(route)
    ]  # fmt: skip


def send(store: Store, post: Post, route: Route, delivery: Delivery) -> bool:
    """Take back each message that told of a settled ask; return False if that failed.

    After the last attempt the message stays where it is: a person who opens it sees that the ask is
    settled.
    """
    ask = store.asks.get(delivery.ask_id)
    about = [one for one in store.outbox.list_about(delivery.ask_id) if one.route == route.name]
    sent = {one.message_id: one for one in about if one.sent_at}
    problems = [_withdraw(store, post, route, ask, one) for one in sent.values() if ask]
    if not any(problems):
        store.outbox.sent(delivery)
        return True
    again_at = timing.retry_at(delivery.attempts, store.now())
    if again_at is None:
        store.outbox.drop(delivery)
        return True
    store.outbox.record_failure(delivery, next(filter(None, problems)), again_at)
    return False


def try_at_once(store: Store, post: Post, route: Route, delivery: Delivery) -> None:
    """Take back a message that may have arrived before its sender died; do not try it again."""
    ask = store.asks.get(delivery.ask_id)
    if ask and routes.can_withdraw(route):
        _withdraw(store, post, route, ask, delivery)


def replace_older(store: Store, post: Post, route: Route, deliveries: Iterable[Delivery]) -> None:
    """Take back older messages about the same asks: the last one is enough.

    A command is not told: for it nothing is settled.
    """
    if not routes.can_withdraw(route) or route.via == ChannelKind.COMMAND:
        return
    told = {one.ask_id: one for one in deliveries if one.ask_id}
    newest = {one.message_id for one in told.values()}
    older: dict[str, Delivery] = {}
    for ask_id in told:
        for one in store.outbox.list_about(ask_id):
            if one.route == route.name and one.sent_at and one.message_id not in newest:
                older[one.message_id] = one
    for message_id, one in older.items():
        others = {each.ask_id for each in store.outbox.list_in_message(message_id)}
        ask = store.asks.get(one.ask_id)
        if ask and others <= told.keys() | {one.ask_id}:
            _withdraw(store, post, route, ask, one, rest=())


def _withdraw(
    store: Store,
    post: Post,
    route: Route,
    ask: Ask,
    sent: Delivery,
    rest: Iterable[Ask] | None = None,
) -> str:
    """Take back one message, or leave in it the asks that still wait; return the problem."""
    waiting = list(_list_waiting(store, sent) if rest is None else rest)
    news = compose(sent._replace(kind=NoticeKind.WITHDRAWN), post.url, ask)
    bundle = compose_bundle(sent, post.url, waiting, find_runs(store, waiting)) if waiting else None
    withdrawal = Withdrawal(sent.message_id, sent.receipt, news, bundle)
    return withdraw_message(post, route, withdrawal).problem


def _list_waiting(store: Store, sent: Delivery) -> list[Ask]:
    """Return the other asks of a message that still wait."""
    ids = {one.ask_id for one in store.outbox.list_in_message(sent.message)} - {sent.ask_id}
    asks = (store.asks.get(one) for one in sorted(ids))
    return [ask for ask in asks if ask and ask.pending]
