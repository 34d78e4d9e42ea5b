"""Convert values of a flow to JSON for the journal, and back.

Signals and answers come back as signals and answers. A foreign value that looks like one of our
marks is wrapped, and nothing inside a signal is converted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gatebell.domain.asks.outcomes import (
    Approval,
    Outcome,
    Session,
    Visits,
    outcome as outcome_of,
)
from gatebell.domain.phases.records import as_json
from gatebell.domain.runs import signals
from gatebell.domain.runs.signals import Signal
from gatebell.services.asks import wait_for_ask
from gatebell.services.runs.run_journal import to_json_value

if TYPE_CHECKING:
    from gatebell.ports.store import Store

_SIGNAL, _ASK, _SESSION, _PLAIN = "$signal", "$ask", "$session", "$plain"


def pack(value: Any) -> Any:
    """Return a value as the journal keeps it."""
    return to_json_value(_pack(value))


def _pack(value: Any) -> Any:
    if isinstance(value, Signal):
        # `returns=` may have made a class of the value; the journal has its JSON.
        return {_SIGNAL: signals.to_json(value._replace(value=as_json(value.value)))}
    if isinstance(value, Session):
        return {_SESSION: {"ask": value.ask_id, "visits": value.visits._asdict()}}
    if isinstance(value, Outcome):
        return {_ASK: value.ask_id}
    if isinstance(value, dict):
        inner = {name: _pack(one) for name, one in value.items()}
        return {_PLAIN: inner} if any(str(name).startswith("$") for name in inner) else inner
    if isinstance(value, list | tuple):
        return [_pack(one) for one in value]
    return value


def unpack(store: Store, value: Any) -> Any:
    """Return a value as the flow's code gets it, at the first time and on replay."""
    if isinstance(value, list):
        return [unpack(store, one) for one in value]
    if not isinstance(value, dict):
        return value
    if list(value) == [_SIGNAL]:
        return signals.from_json(value[_SIGNAL])
    if list(value) == [_ASK] and (ask := store.asks.get(value[_ASK])):
        return wait_for_ask.outcome(store, ask, ask.value)
    if list(value) == [_SESSION] and (ask := store.asks.get(value[_SESSION]["ask"])):
        return outcome_of(ask, ask.value, Visits(**value[_SESSION]["visits"]))
    inner = value[_PLAIN] if list(value) == [_PLAIN] else value
    return {name: unpack(store, one) for name, one in inner.items()}


def plain(value: Any) -> Any:
    """Return the result of a flow as plain JSON."""
    if isinstance(value, Signal):
        return to_json_value(signals.to_json(value))
    if isinstance(value, Approval):
        return bool(value)
    if isinstance(value, Outcome):
        return to_json_value(value.value)
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return to_json_value(value)
