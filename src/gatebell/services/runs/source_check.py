"""Check that a person has seen the flow and the roles of a run, if its agents can edit them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gatebell.services.runs.run_journal import Branch

FLOW = "flow"


def role(name: str) -> str:
    return f"role:{name}"


def must_be_seen(branch: Branch, part: str, digest: str, path: str) -> None:
    """Halt if the flow or a role changed since a person last started or resumed the run.

    Agents in their own folder cannot edit it. Agents in the project could write themselves another
    role, or remove a gate from the flow.
    """
    run = branch.drive.run
    if run.branch:
        return
    known: dict[str, str] | None = None
    for entry in branch.drive.store.audit.of_subject(run.name):
        known = entry.event.content.get("seen") or known
    if known is None or known.get(part) == digest:
        return
    what = "The flow file" if part == FLOW else f"The role {part.partition(':')[2]}"
    branch.halt_at(
        f"{what} has changed since a person started this run, and its agents can write it "
        f"(--in-place). Look at it, then: gate resume {run.id}",
        path,
    )
