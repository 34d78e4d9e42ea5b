"""A Gate in the code of a flow is refused: a replay would ask again."""

from __future__ import annotations

import sys

from gatebell.domain.enums import AskKind
from gatebell.errors import UsageError

_FLOW_CALLS: dict[str, str] = {
    AskKind.APPROVAL: "flow.approve(…)",
    AskKind.CHOICE: "flow.choose(…)",
    AskKind.SESSION: "flow.ask_interactive(…)",
}
_ANY_CALL = "flow.approve(…), flow.choose(…) or flow.ask(…)"


def must_be_recorded(kind: str = "") -> None:
    """Refuse to ask in the code of a flow, which would ask again at every replay.

    Args:
        kind: the kind of the ask; empty to wait for one

    Raises:
        UsageError: A flow runs here, and none of its steps or functions does.
    """
    # Looked up, not imported: where it was never imported, no flow runs.
    journal = sys.modules.get("gatebell.services.runs.run_journal")
    branch = journal.current.get(None) if journal else None
    if branch is None or branch.step:
        return
    # A flow that waits or has ended stays so, whatever its `finally` does.
    branch.come_out()
    instead = _FLOW_CALLS.get(kind, "flow.ask(…)") if kind else _ANY_CALL
    raise UsageError(
        f"a Gate in a flow asks again at every replay, because it is not recorded: write {instead} "
        "instead, or use the Gate inside a flow.step(…)"
    )
