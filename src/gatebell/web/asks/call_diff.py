"""The edits of a tool call as tables of a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.domain.permissions.call_changes import list_changes
from gatebell.web.asks.diffs import render_files

if TYPE_CHECKING:
    from collections.abc import Iterable

    from markupsafe import Markup

    from gatebell.domain.permissions.calls import Call

# A person decides on these changes, so more lines than usual are open.
_OPEN_LINES = 1_000


def of_call(call: Call, folders: Iterable[str] = (), content: str | None = None) -> Markup | None:
    """Return the changes of an Edit, MultiEdit or Write, as `list_changes` finds them."""
    file = list_changes(call, folders, content)
    return render_files([file], _OPEN_LINES) if file else None
