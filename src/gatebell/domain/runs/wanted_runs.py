"""A run that a person wants from another machine, without a folder there."""

from __future__ import annotations

from gatebell.domain.records import NamedTuple
from gatebell.errors import UsageError


class WantedRun(NamedTuple):
    """The fields of a run that a worker gives its folder."""

    project_key: str
    flow: str
    """The name of the flow, or NAME:FLOW for one of several in a file."""
    prompt: str = ""
    source_digest: str = ""
    """The digest of the flow's file in the checkout of the person; empty without one."""
    pool: str = "default"
    """The pool whose workers may give it a folder."""


def must_be_flow_name(named: str) -> None:
    """Refuse the path of a file: it would mean another file on the worker's host."""
    file = named.partition(":")[0]
    if not file or file.endswith(".py") or {"/", "\\", "\0"} & set(named):
        raise UsageError(
            f"a worker finds a flow by its name in .gate/flows of its own checkout, not by a path: "
            f"name it as gate flows does, got {named!r}"
        )
