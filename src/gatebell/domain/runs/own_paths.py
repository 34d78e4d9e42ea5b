"""The paths of gate's own records in the journal of a run: they are before the flow's call 1."""

from __future__ import annotations

SETUP = "0"
"""The call that prepares the folder."""
CRASHES = "00"
"""The question after several crashes at one place."""
BRANCH = "000"
"""The call that moves the folder of a task to its branch."""
TRAVEL = "0000"
"""Where the run was sent to, and where it arrived."""
LOST_HOST = "00000"
"""The question about a run whose home is lost."""


def is_own(path: str) -> bool:
    """Return whether a record is gate's own, and not of a call of the flow."""
    return not path.partition(".")[0].strip("0")
