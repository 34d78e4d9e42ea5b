"""What the measurements of several engines share: results, noise of the machine, and cells."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from bench import measured
from bench.contestants import NotReachedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.contestants import Child

IDLE_SECONDS = 10.0


def gather(found: Any, findings: Iterator[tuple[str, float]]) -> Any:
    """Fill in the results, until one is not reached."""
    try:
        for name, value in findings:
            found = found._replace(**{name: value})
    except NotReachedError as error:
        found = found._replace(shortfall=str(error))
    return found


class Since:
    """A moment, and the processor time of the machine until then."""

    def __init__(self) -> None:
        self._at, self._own = time.monotonic(), time.process_time()
        self._busy = measured.busy_seconds()

    def others_percent(self, measured_seconds: float) -> float:
        """Return the share of the machine that neither this process nor the measured ones used."""
        own = measured_seconds + time.process_time() - self._own
        busy = measured.busy_seconds() - self._busy - own
        return max(0.0, busy) / (time.monotonic() - self._at) / (os.cpu_count() or 1) * 100


def cpu(child: Child) -> float:
    return measured.cpu_seconds(child.process.pid)


def p99(values: list[float]) -> float:
    return sorted(values)[max(0, int(len(values) * 0.99) - 1)]


def cells(found: Any, base: Any, names: tuple[str, ...], units: tuple[str, ...]) -> list[str]:
    """Show each value, for the others also as a multiple of ours, and the missing ones."""
    shown, shortfall = [], found.shortfall
    for name, unit in zip(names, units, strict=True):
        value, ours_is = getattr(found, name), getattr(base, name)
        if value is None:
            shown.append(shortfall or "–")
            shortfall = ""
            continue
        cell = f"{_number(value)} {unit}".strip()
        if name == "p50" and found.answers < found.wanted_answers:
            cell += f" of {found.answers} answers"
        if found is not base and ours_is and name != "others_percent":
            cell += f" ({_number(value / ours_is)} ×)"
        shown.append(cell)
    return shown


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.2g}"
