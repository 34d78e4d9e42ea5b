"""The journal of a run: the order of calls, the check of records, and forks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell import errors
from gatebell.domain.enums import CallName
from gatebell.domain.records import NamedTuple
from gatebell.domain.text.display import inert_line
from gatebell.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gatebell.domain.runs.runs import FlowCall, Turn

ASKING = (CallName.PAUSE, CallName.ASK)
"""The calls that ask a person something."""

_CARRIED = "+"


def order(path: str) -> tuple[int, ...]:
    """Return a sort key for a path: 2 comes before 10, and 4 before 4.1."""
    return tuple(int(part) for part in path.split("."))


def is_beneath(path: str, other: str) -> bool:
    return path == other or path.startswith(f"{other}.")


def is_before(path: str, other: str) -> bool:
    """Return whether a call ended before another began: earlier, not in a parallel branch."""
    mine, its = order(path), order(other)
    if mine >= its:
        return False
    shared = 0
    while shared < len(mine) and mine[shared] == its[shared]:
        shared += 1
    # A path has calls at even places and branches at odd ones.
    return shared % 2 == 0


def explain_misfit(call: FlowCall, name: CallName, label: str, digest: str) -> str:
    """Return why a record does not fit the call at its path; empty if it fits."""
    if (call.name, call.label) != (name, label):
        return (
            f"call {call.path} was {describe_call(call.name, call.label)} and is now "
            f"{describe_call(name, label)}: the flow's code has changed before this point. Put it "
            f"back, or open a new run from there: gate resume {call.run} --from {call.path}"
        )
    if call.digest != digest and not call.accepted:
        way_on = (
            f"To ask again, in a new run: gate resume {call.run} --from {call.path}"
            if name in ASKING
            else f"To keep what is recorded: gate resume {call.run} --accept {call.path}"
        )
        return (
            f"call {call.path}, {describe_call(name, label)}, was made with other arguments before. "
            "Either the flow's code has changed, or a file or a clock is read outside of a call: "
            f"use read(), now() or step(). {way_on}"
        )
    return ""


def describe_call(name: CallName, label: str) -> str:
    return f"{name}({inert_line(label, 60)!r})" if label else f"{name}()"


class Carried(NamedTuple):
    """The records that a run gets from the run that it was forked from."""

    calls: tuple[FlowCall, ...] = ()
    turns: tuple[Turn, ...] = ()

    def by(self, run_id: int) -> Carried:
        """Return the records with the id of the new run."""
        return Carried(
            tuple(call._replace(run=run_id) for call in self.calls),
            tuple(
                turn._replace(run=run_id, id=f"{turn.id.partition(_CARRIED)[0]}{_CARRIED}{run_id}")
                for turn in self.turns
            ),
        )


def describe_error(error: Mapping[str, str]) -> str:
    """Return the recorded error of a failed call, with the line of the user's code."""
    words, kind = error["message"], error["kind"]
    if not is_own_error(kind):
        words = f"{kind}: {words}"
    where = error.get("where")
    return f"{words} ({where})" if where else words


def is_own_error(kind: str) -> bool:
    """Return whether an error of this name is ours: its message is clear without the name."""
    made = getattr(errors, kind, None)
    return isinstance(made, type) and issubclass(made, errors.GateError)


def list_shared(calls: Sequence[FlowCall], path: str) -> list[FlowCall]:
    """Return the records that a run forked at a call gets.

    An approval counts again only if no call after it was started: the person approved the
    next calls of that time, not the next calls of now.
    """
    if not path.isdecimal():
        raise UsageError(f"expected the number of a call after --from, got {path!r}")
    if not any(call.path == path for call in calls):
        raise UsageError(f"there is no call {path}: gate show N --calls lists them")
    # Call 0 prepared the folder; the new run prepares its own.
    before = [call for call in calls if call.over and 0 < order(call.path)[0] < int(path)]
    used = [
        call.path
        for call in before
        if call.name == CallName.PAUSE and any(is_before(call.path, other.path) for other in calls)
    ]
    # A record that contains a used approval would replay it.
    return [call for call in before if not any(is_beneath(one, call.path) for one in used)]


def build_carried(calls: Sequence[FlowCall], turns: Iterable[Turn]) -> Carried:
    """Return the records for a forked run, with the turns that they came from."""
    paths = {call.path for call in calls}
    kept = [turn for turn in turns if turn.path in paths and turn.ended_at]
    return Carried(tuple(calls), tuple(kept))


def is_carried(turn: Turn) -> bool:
    """Return whether a turn came from another run; its session belongs to that run too."""
    return _CARRIED in turn.id
