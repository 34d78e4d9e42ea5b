"""The journal of a run: the order of its calls, whether a record fits, what a fork takes along."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    """Paths sort like this: 2 before 10, 4 before 4.1."""
    return tuple(int(part) for part in path.split("."))


def is_beneath(path: str, other: str) -> bool:
    return path == other or path.startswith(f"{other}.")


def is_before(path: str, other: str) -> bool:
    """Whether a call was over before another began: earlier, and in no neighbouring branch."""
    mine, its = order(path), order(other)
    if mine >= its:
        return False
    shared = 0
    while shared < len(mine) and mine[shared] == its[shared]:
        shared += 1
    # A path has calls at even places and branches at odd ones.
    return shared % 2 == 0


def misfit(call: FlowCall, name: CallName, label: str, digest: str) -> str:
    """Why a record does not fit what the code asks for at its path; nothing if it does."""
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
    """What a run takes along from the one it was forked from."""

    calls: tuple[FlowCall, ...] = ()
    turns: tuple[Turn, ...] = ()

    def by(self, run_id: int) -> Carried:
        """As the records of the run that takes them along."""
        return Carried(
            tuple(call._replace(run=run_id) for call in self.calls),
            tuple(
                turn._replace(run=run_id, id=f"{turn.id.partition(_CARRIED)[0]}{_CARRIED}{run_id}")
                for turn in self.turns
            ),
        )


def describe_error(error: Mapping[str, str]) -> str:
    """What a failed call raised, as its record tells it, with the line of the user's code."""
    words = error["message"]
    if error["kind"] != "BranchFailedError":
        words = f"{error['kind']}: {words}"
    where = error.get("where")
    return f"{words} ({where})" if where else words


def list_shared(calls: Sequence[FlowCall], path: str) -> list[FlowCall]:
    """The records that a run forked at a call takes along.

    An approval counts again only if nothing after it was started: a person approved what
    came next then, not what comes next now.
    """
    if not path.isdecimal():
        raise UsageError(f"--from takes the number of a call, not {path!r}")
    if not any(call.path == path for call in calls):
        raise UsageError(f"there is no call {path}: gate show N --calls lists them")
    # Call 0 made the folder ready; the new run has one of its own.
    before = [call for call in calls if call.over and 0 < order(call.path)[0] < int(path)]
    used = [
        call.path
        for call in before
        if call.name == CallName.PAUSE and any(is_before(call.path, other.path) for other in calls)
    ]
    # A record around a used approval would answer for it.
    return [call for call in before if not any(is_beneath(one, call.path) for one in used)]


def build_carried(calls: Sequence[FlowCall], turns: Iterable[Turn]) -> Carried:
    """What a forked run takes along: records, and the turns they came from."""
    paths = {call.path for call in calls}
    kept = [turn for turn in turns if turn.path in paths and turn.ended_at]
    return Carried(tuple(calls), tuple(kept))


def is_carried(turn: Turn) -> bool:
    """Whether a turn was another run's: its session is that run's, too."""
    return _CARRIED in turn.id
