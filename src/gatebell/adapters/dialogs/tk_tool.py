"""Show our own dialogs by tkinter in a separate process, because it may crash."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from gatebell.adapters.dialogs import replies
from gatebell.adapters.dialogs.dialog_process import Ended, Tool, describe_odd_end
from gatebell.domain.enums import AskKind
from gatebell.ports.dialogs import LATER, NOTHING, TERMINAL, VALUE

if TYPE_CHECKING:
    from gatebell.ports.dialogs import Reply, Showing

# -P: nothing may be imported from the current folder.
WINDOW = [sys.executable, "-P", "-m", "gatebell.adapters.dialogs.tk_window"]


def _build_command(showing: Showing, nonce: str) -> list[str]:
    return WINDOW


def _feed(showing: Showing, nonce: str) -> str:
    return json.dumps({"nonce": nonce, **showing._asdict()}) + "\n"


def _read(showing: Showing, ended: Ended, nonce: str) -> Reply:
    said = _parse_object(ended.out)
    typed = said.get("typed")
    if ended.code != 0 or said.get("nonce") != nonce or not isinstance(typed, str):
        return describe_odd_end(ended)
    kept = typed if showing.kind == AskKind.TEXT else ""
    outcome, number = said.get("outcome"), said.get("number")
    if outcome == VALUE:
        if showing.kind == AskKind.CHOICE:
            return replies.read_chosen(showing, str(number))
        return replies.read_typed(showing, typed)
    if outcome == LATER:
        return replies.build_later(kept)
    if outcome == TERMINAL:
        return replies.build_in_terminal(kept)
    if outcome == NOTHING:
        return replies.build_nothing(str(said.get("why")), kept)
    return describe_odd_end(ended)


def _parse_object(out: str) -> dict[str, Any]:
    try:
        said = json.loads(out)
    except (ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}


TKINTER = Tool("tkinter", sys.executable, _build_command, _read, _feed, takes_all=True)
